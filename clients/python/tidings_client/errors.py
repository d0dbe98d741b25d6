"""What can go wrong: with a call, with a name, with a link; and how actors end.

The classes are the variants of PROTOCOL.md's enums too: the codec writes and reads them as such.
`executed` of a failed call says what is known: `False`, `True` if only its answer could not be read, or
`None` for perhaps.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Union, get_args

# A string of an error is at most so long.
LONGEST_TEXT = 1024


def short(text: object) -> str:
    """A text that can be sent as an error, whatever it is of."""
    try:
        said = str(text)
    except Exception:
        said = f"a {type(text).__name__}"
    return said.encode(errors="replace")[:LONGEST_TEXT].decode(errors="ignore")


def described(why: BaseException) -> str:
    """What was raised, with its kind."""
    return short(f"{type(why).__name__}: {short(why)}")


@dataclass(frozen=True)
class _Said:
    """Whatever it says can be sent."""

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, short(getattr(self, field.name)))


@dataclass(frozen=True)
class Normal:
    """In order."""


@dataclass(frozen=True)
class Stopped:
    """It was asked to stop."""


@dataclass(frozen=True)
class Killed:
    """It was killed."""


@dataclass(frozen=True)
class Panicked(_Said):
    """It panicked, or its handler raised, with this message."""

    text: str


@dataclass(frozen=True)
class Failed(_Said):
    """It failed, with this error."""

    text: str


@dataclass(frozen=True)
class Linked(_Said):
    """It was linked to this actor, which ended for this reason."""

    actor: str
    text: str


@dataclass(frozen=True)
class NoSuchActor:
    """There is no such actor."""


@dataclass(frozen=True)
class Disconnected(_Said):
    """It lives elsewhere, and cannot be reached, for this reason."""

    text: str


End = Union[Normal, Stopped, Killed, Panicked, Failed, Linked, NoSuchActor, Disconnected]


def brief(end: End) -> End:
    """The same end in few words: what is kept of it for references that come when it is known."""
    return replace(end, **{field.name: getattr(end, field.name)[:64] for field in fields(end)})


class TidingsError(Exception):
    """All errors of this package."""

    # As of a dataclass: what it is made of, in order.
    __match_args__: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What it says, or else what it is."""
        return super().__str__() or str(type(self).__doc__).strip().partition("\n")[0]


class _WithText(TidingsError):
    __match_args__ = ("text",)

    def __init__(self, text: str = "") -> None:
        self.text = short(text)
        super().__init__(self.text)


class _WithEnd(TidingsError):
    __match_args__ = ("end",)

    def __init__(self, end: End) -> None:
        super().__init__(end)
        self.end = end


class CallFailed(TidingsError):
    """A call that has no answer."""

    executed: bool | None = None


class Full(CallFailed):
    """There was no place for it. Not executed."""

    executed = False


class NotExecuted(_WithEnd, CallFailed):
    """The actor had ended, or cannot be reached. Not executed."""

    executed = False


class Ended(_WithEnd, CallFailed):
    """The actor, or the link, ended with the request under way: perhaps it was executed."""


class NoReply(CallFailed):
    """The handler gave no answer."""


class RefusedCall(_WithText, CallFailed):
    """It was refused, for this reason. Not executed where it was not sent; perhaps if the peer says so."""

    def __init__(self, text: str = "", *, executed: bool | None = None) -> None:
        super().__init__(text)
        self.executed = executed


class Cycle(_WithText, CallFailed):
    """It closes a cycle of calls, which is described."""


class Timeout(CallFailed, TimeoutError):
    """Its time has passed. Not executed if the peer says so; else perhaps."""


class Overloaded(CallFailed):
    """Too many calls are under way. Not executed."""

    executed = False


class NoSuchMethod(CallFailed):
    """The actor has no such method, or one of another shape. Not executed. Its text has the name, `method`."""

    executed = False

    def __init__(self, method: str = "") -> None:
        super().__init__()
        self.method = method

    def __str__(self) -> str:
        if not self.method:
            return super().__str__()
        return f"the actor has no method {self.method!r}, or one of another shape"


class Malformed(_WithText, CallFailed, ValueError):
    """Arguments, or bytes, that are not what they should be. Not executed."""

    executed = False


FAILURES = {
    "Failure." + name: cls
    for name, cls in {
        "Full": Full,
        "NotExecuted": NotExecuted,
        "Ended": Ended,
        "NoReply": NoReply,
        "Refused": RefusedCall,
        "Cycle": Cycle,
        "Timeout": Timeout,
        "Overloaded": Overloaded,
        "NoSuchMethod": NoSuchMethod,
        "Malformed": Malformed,
    }.items()
}
ENDS = {"End." + cls.__name__: cls for cls in get_args(End)}


class NotBound(TidingsError):
    """A name gave no reference. `name` is the name that was asked for, which its text has, too."""

    name: str = ""


class NoSuchName(NotBound):
    """Nothing is exported by this name, or not with this token."""

    def __str__(self) -> str:
        return f"nothing is exported as {self.name!r}"


class OtherInterface(_WithText, NotBound):
    """It is exported as another interface, of this name."""

    def __str__(self) -> str:
        return f"{self.name!r} is exported as another interface, {self.text!r}"


class OtherSchema(_WithText, NotBound):
    """This method has another shape there."""

    def __str__(self) -> str:
        return f"method {self.text!r} of {self.name!r} has another shape there"


class TooMany(NotBound):
    """The peer exports too many actors."""

    def __str__(self) -> str:
        return f"{self.name!r} is one too many of the actors that the peer exports"


UNBOUND = {
    "Unbound.NoSuchName": NoSuchName,
    "Unbound.OtherInterface": OtherInterface,
    "Unbound.Schema": OtherSchema,
    "Unbound.TooMany": TooMany,
}


class Refused(TidingsError):
    """One side will not speak with the other."""


class OtherVersion(Refused):
    """The peer speaks these versions of the protocol, from and to."""

    __match_args__ = ("first", "last")

    def __init__(self, first: int, last: int) -> None:
        super().__init__(first, last)
        self.first, self.last = first, last


class OtherCluster(_WithText, Refused):
    """The peer belongs to another cluster, of this name."""


class OtherCodec(_WithText, Refused):
    """The peer writes bodies in another format, of this name."""


class OtherNode(_WithText, Refused):
    """The peer says that it is this node, which is not expected, or which its certificate is not for."""


class TooManyLinks(Refused):
    """The peer has as many links as it takes."""


class LinkedAlready(Refused):
    """The peer keeps to one link for each node, and has one to this, or connects to it itself."""


REFUSALS = {
    "Refusal.Version": OtherVersion,
    "Refusal.Cluster": OtherCluster,
    "Refusal.Codec": OtherCodec,
    "Refusal.Node": OtherNode,
    "Refusal.Overloaded": TooManyLinks,
    "Refusal.Linked": LinkedAlready,
}


class LinkDown(TidingsError):
    """The link has ended; `kind` is the reason in a word.

    `closed`, `drained`, `dropped`, `io`, `protocol`, `frame-too-large`, `message-too-large`, `credit`,
    `flood`, `handshake`, `silent`, `slow-peer`, `refused`, `refused-by-peer`.
    """

    def __init__(self, kind: str, text: str = "", refusal: Refused | None = None) -> None:
        super().__init__(f"{kind}: {text}" if text else kind)
        self.kind = kind
        self.text = text
        self.refusal = refusal
