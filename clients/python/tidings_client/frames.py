"""Frames: their kinds, their headers, and bodies in parts. PROTOCOL.md is their definition.

A header is a tuple of its fields; the codecs are made of shapes, as those of bodies are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from . import errors
from .codec import Codec, Ok, Reader
from .trace import Trace

MAGIC = b"tidings\n"
VERSIONS = (2, 2)
CODEC = "postcard"

# A longer body goes in parts.
FRAGMENT = 32 << 10
LONGEST = FRAGMENT + (16 << 10)
LONGEST_HELLO = 4 << 10
# The names in it are no longer together.
NAMES = 4_000
MORE = 0x80

# No message carries more references and replies; a trace may be there besides.
CARRIED = 1024

(
    HELLO, REFUSED, CALL, TELL, ANSWER, REST, CREDIT, NACK,
    DOWN, RELEASE, BIND, BOUND, PING, PONG, BYE,
) = range(1, 16)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Mine:
    """An actor of the sender."""

    target: int


@dataclasses.dataclass(frozen=True)
class Yours:
    """An actor of the receiver."""

    target: int


@dataclasses.dataclass(frozen=True)
class ReplyFor:
    """A reply: the answer of the sender's call."""

    call: int
    # Until when the caller waits, by its clock; 0: for ever.
    until: int


@dataclasses.dataclass(frozen=True)
class Gone:
    """An actor that has ended."""


@dataclasses.dataclass(frozen=True)
class Traced:
    """Nothing that the body refers to: what the message is a part of."""

    trace: Trace


Carried = Mine | Yours | ReplyFor | Gone | Traced

CLASSES = {
    "Carried.Mine": Mine,
    "Carried.Yours": Yours,
    "Carried.Reply": ReplyFor,
    "Carried.Gone": Gone,
    "Carried.Trace": Traced,
    "Trace": Trace,
    **errors.FAILURES,
    **errors.ENDS,
    **errors.UNBOUND,
    **errors.REFUSALS,
}

_GRANT = "(u32,u32)"
_CARRIED = "[Carried<Mine(u32)|Yours(u32)|Reply(u32,u64)|Gone|Trace(Trace{id:[u8;16],parent:[u8;8],flags:u8})>]"
_END = "End<Normal|Stopped|Killed|Panicked(str)|Failed(str)|Linked(str,str)|NoSuchActor|Disconnected(str)>"
_FAILURE = (
    f"Failure<Full|NotExecuted({_END})|Ended(End)|NoReply|Refused(str)|Cycle(str)|Timeout|Overloaded"
    "|NoSuchMethod|Malformed(str)>"
)
_UNBOUND = "Unbound<NoSuchName|OtherInterface(str)|Schema(str)|TooMany>"

HEADERS = {
    kind: Codec(shape, CLASSES)
    for kind, shape in {
        HELLO: f"([u8;8],(u16,u16),str,u64,str,str,u32,u32,{_GRANT},{_GRANT},u64)",
        REFUSED: "Refusal<Version(u16,u16)|Cluster(str)|Codec(str)|Node(str)|Overloaded|Linked>",
        CALL: f"(u32,u32,[u8;4],u64,{_CARRIED})",
        TELL: f"(u32,[u8;4],{_CARRIED})",
        ANSWER: f"(u32,Result<{_CARRIED}|{_FAILURE}>)",
        REST: "u8",
        CREDIT: f"(u32,{_GRANT})",
        NACK: "u32",
        DOWN: f"(u32,{_END})",
        RELEASE: "(u32,u32)",
        BIND: "(u32,str,[u8],str,[(str,[u8;4])])",
        BOUND: f"(u32,Result<u32|{_UNBOUND}>)",
        PING: "u64",
        PONG: "(u64,u64)",
        BYE: "()",
    }.items()
}


# Behind the header may be something else: a body, or what a later version says as it begins.
WITH_BODY = frozenset([HELLO, REFUSED, CALL, TELL, ANSWER, REST])

# Their strings are those of errors, which are short.
WITH_ERRORS = frozenset([REFUSED, ANSWER, DOWN, BOUND])


def _carried(kind: int, header: Any) -> list[Carried]:
    """What a header says that its message carries."""
    found: list[Carried] = []
    if kind in (CALL, TELL):
        found = header[-1]
    elif kind == ANSWER and isinstance(header[1], Ok):
        found = header[1].value
    return found


def parts(kind: int, header: Any, body: bytes | bytearray | memoryview = b"") -> Iterator[bytes]:
    """The frames of a message: one, or several."""
    rest = memoryview(body)
    first, rest = rest[:FRAGMENT], rest[FRAGMENT:]
    yield _part(kind, header, first, more=bool(rest))
    while rest:
        first, rest = rest[:FRAGMENT], rest[FRAGMENT:]
        yield _part(REST, kind, first, more=bool(rest))


def frame(kind: int, header: Any, body: bytes | bytearray | memoryview = b"") -> bytes:
    """A message: one frame, or several."""
    return b"".join(parts(kind, header, body))


def _part(kind: int, header: Any, body: memoryview, *, more: bool) -> bytes:
    out = bytearray(4)
    out.append(kind | MORE if more else kind)
    HEADERS[kind].encode(header, out)
    out += body
    out[:4] = (len(out) - 4).to_bytes(4, "little")
    return bytes(out)


@dataclasses.dataclass(frozen=True)
class Frame:
    """A frame as it was read."""

    kind: int
    # The rest of its body follows.
    more: bool
    header: Any
    body: bytes


# How others begin, whose first four bytes are no length of a greeting. Of TLS an alert, and a handshake.
OTHERS = {
    "HTTP": (b"HTTP", b"GET ", b"HEAD", b"POST", b"PUT ", b"PRI "),
    "SSH": (b"SSH-",),
    "TLS": (b"\x15\x03", b"\x16\x03"),
}


def first(data: bytearray) -> tuple[int, Frame] | None:
    """As `parse`, of what a peer begins with, which may speak another protocol."""
    try:
        return parse(data, LONGEST_HELLO)
    except errors.LinkDown as why:
        other = next((name for name, begins in OTHERS.items() if data.startswith(begins)), None)
        if other is None or why.kind != "frame-too-large":
            raise
        raise errors.LinkDown("protocol", f"it speaks {other}") from None


def parse(data: bytearray, longest: int) -> tuple[int, Frame] | None:
    """The first frame of the bytes, with its length; `None`: it has not come whole."""
    if len(data) < 4:
        return None
    length = int.from_bytes(data[:4], "little")
    if length > longest:
        raise errors.LinkDown("frame-too-large")
    if length == 0:
        raise errors.LinkDown("protocol", "an empty frame")
    if len(data) < 4 + length:
        return None
    kind = data[4] & ~MORE
    codec = HEADERS.get(kind)
    if codec is None:
        raise errors.LinkDown("protocol", "a frame of unknown kind")
    reader = Reader(memoryview(data)[5 : 4 + length])
    if kind in WITH_ERRORS:
        reader.longest_text = errors.LONGEST_TEXT
    try:
        header = codec.read(reader)
        carried = _carried(kind, header)
        traces = sum(isinstance(item, Traced) for item in carried)
        if traces > 1 or len(carried) - traces > CARRIED:
            raise errors.Malformed("it carries too much")
    except errors.Malformed as why:
        raise errors.LinkDown("protocol", f"a header is malformed: {why}") from None
    body = reader.rest()
    if body and kind not in WITH_BODY:
        raise errors.LinkDown("protocol", "bytes behind a header")
    return 4 + length, Frame(kind, bool(data[4] & MORE), header, body)
