"""A link without sockets and threads: bytes and the time go in, frames and bytes come out.

It knows the handshake, credit, numbers of calls, limits and heartbeats; what targets and bodies mean
is the link's. Whatever breaks the rules ends it: `LinkDown`.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections import Counter, deque
from typing import Any

from . import errors, frames
from .codec import Ok
from .frames import Frame

Grant = tuple[int, int]

INCARNATION = secrets.randbits(64)

# So much is written at a time: what is urgent waits for no more.
CHUNK = 64 << 10

# Frames that the peer brings about by what it says, and that are no messages; and how many bytes of
# them may wait, however little else may.
WORDS = frozenset([frames.CREDIT, frames.RELEASE, frames.BOUND, frames.PONG])
FEW_WORDS = 256 << 10
# A peer is asked for a word no oftener, in seconds.
LEAST = 0.1


@dataclasses.dataclass(frozen=True)
class Limits:
    """What the peer is allowed, and how many seconds it is waited for."""

    # The largest body, in bytes.
    message: int = 1 << 20
    # Calls of the peer's under way.
    calls: int = 1 << 16
    # Actors that are exported to the peer, and those of the peer's that are referred to.
    exports: int = 1 << 16
    # Messages and bytes that the peer may send to one actor before it has taken them, and to all.
    window: Grant = (1 << 10, 256 << 10)
    link_window: Grant = (1 << 14, 4 << 20)
    # Bytes that may wait to be written before requests wait for room; and bytes of what the peer brings
    # about without them before nothing more of it is read.
    outgoing: int = 4 << 20
    # Control frames a second, beyond one for each request and answer.
    control: int = 10_000
    handshake: float = 5.0
    idle: float = 5.0
    silence: float = 15.0
    stall: float = 10.0


@dataclasses.dataclass(frozen=True)
class Peer:
    """Who the peer says it is, and what it takes."""

    node: str
    incarnation: int
    message: int
    calls: int


class Numbers:
    """Numbers of calls: the lowest that is free, or was given back last."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used: set[int] = set()
        self.free: list[int] = []
        # Those of which something speaks that waits to be written; and of them, those that are not in use
        # any more, nor free.
        self.spoken: set[int] = set()
        self.over: set[int] = set()

    def take(self) -> int:
        number = self.free.pop() if self.free else len(self.used) + len(self.over)
        self.used.add(number)
        return number

    def is_full(self) -> bool:
        return len(self.used) + len(self.over) >= self.limit

    def give_back(self, number: int) -> bool:
        if number not in self.used:
            return False
        self.used.remove(number)
        if number in self.spoken:
            self.over.add(number)
        else:
            self.free.append(number)
        return True

    def written(self, number: int) -> None:
        """What spoke of it is written."""
        self.spoken.remove(number)
        if number in self.over:
            self.over.remove(number)
            self.free.append(number)


class Clock:
    """The clock of the peer, as far as what it says of it goes.

    Times on the wire are microseconds since the beginning of who says them. A ping says when it went,
    and its answer what the clock of the other was after that: that is not further ahead than the
    difference of both. And who answered a ping has heard us since, and waits for its patience.
    """

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self.patience = 0
        self._ahead: int | None = None
        self._answered: int | None = None

    def micros(self, at: float) -> int:
        return max(0, int((at - self.begun) * 1e6))

    def until(self, deadline: float | None) -> int:
        """A deadline for the peer; 0 is for ever."""
        return 0 if deadline is None else max(1, self.micros(deadline))

    def answer(self, asked: int, there: int, now: float) -> None:
        here = self.micros(now)
        asked = min(asked, here)
        self._answered = max(asked, self._answered or 0)
        least, most = there - here, there - asked
        if self._ahead is None or not least <= self._ahead <= most:
            self._ahead = most

    def deadline(self, until: int) -> float | None:
        """When that is here; what is not known has passed."""
        if until == 0:
            return None
        here = 0 if self._ahead is None else until - self._ahead
        return self.begun + here / 1e6

    def is_awaited(self, now: float) -> bool:
        """Does the peer still wait for what it has asked?"""
        return self._answered is not None and self.micros(now) < self._answered + self.patience


class Purse:
    """What we may send: a window for each target, and one for the link."""

    def __init__(self, window: Grant, link: Grant, most: int) -> None:
        self.window = window
        self.link = list(link)
        # For those of which nothing is under way.
        self.last_quarter = (link[0] // 4, link[1] // 4)
        # Those that are not whole; and how many of them there may be before all wait.
        self.targets: dict[int, list[int]] = {}
        self.most = most

    def may_send(self, target: int) -> bool:
        if min(self.link) <= 0 or len(self.targets) >= self.most:
            return False
        left = self.targets.get(target)
        if left is None:
            return min(self.window) > 0
        is_wide = self.link[0] > self.last_quarter[0] and self.link[1] > self.last_quarter[1]
        return is_wide and min(left) > 0

    def spend(self, target: int, size: int) -> None:
        for left in (self.link, self.targets.setdefault(target, list(self.window))):
            left[0] -= 1
            left[1] -= size

    def add(self, target: int, grant: Grant) -> None:
        left = self.targets.get(target)
        if left is None or grant[0] == 0:
            raise errors.LinkDown("protocol", "credit for what was not sent")
        for one in (self.link, left):
            one[0] += grant[0]
            one[1] += grant[1]
        if left[0] > self.window[0] or left[1] > self.window[1]:
            raise errors.LinkDown("protocol", "credit for what was not sent")
        if tuple(left) == self.window:
            del self.targets[target]


class Ledger:
    """What the peer has sent and has no credit back for, and how much of it is owed."""

    def __init__(self, window: Grant, link: Grant) -> None:
        self.window = window
        self.link_window = link
        self.link = [0, 0]
        self.owed_by_link = [0, 0]
        self.targets: dict[int, list[int]] = {}
        self.owed: dict[int, list[int]] = {}
        # Actors that the peer has given up: what is owed for them is given at once.
        self.closed: set[int] = set()

    def check(self, target: int) -> None:
        for spent, window in (
            (self.link, self.link_window),
            (self.targets.get(target, (0, 0)), self.window),
        ):
            if spent[0] >= window[0] or spent[1] >= window[1]:
                raise errors.LinkDown("credit")

    def spend(self, target: int, size: int) -> list[tuple[int, Grant]]:
        """A message has come. Gives what the peer is to be given."""
        for spent in (self.link, self.targets.setdefault(target, [0, 0])):
            spent[0] += 1
            spent[1] += size
        return [self.settle(target) for target in list(self.owed)] if self._is_narrow() else []

    def _is_narrow(self) -> bool:
        """Has the peer no more left of the link's window than the last quarter, as far as it knows?"""
        windows = zip(self.link, self.link_window)
        return any(spent >= window - window // 4 for spent, window in windows)

    def taken(self, target: int, size: int) -> list[tuple[int, Grant]]:
        """A message has been taken. Gives what the peer is to be given."""
        is_narrow = self._is_narrow()
        for owed in (self.owed_by_link, self.owed.setdefault(target, [0, 0])):
            owed[0] += 1
            owed[1] += size
        if _is_due(self.owed_by_link, self.link_window):
            return [self.settle(target) for target in list(self.owed)]
        if is_narrow or target in self.closed or _is_due(self.owed[target], self.window):
            return [self.settle(target)]
        return []

    def close(self, target: int) -> list[tuple[int, Grant]]:
        """The actor is forgotten: nothing is to be owed for it."""
        if target in self.targets:
            self.closed.add(target)
        return [self.settle(target)] if target in self.owed else []

    def settle(self, target: int) -> tuple[int, Grant]:
        owed = self.owed.pop(target)
        spent = self.targets[target]
        for left in (self.link, self.owed_by_link, spent):
            left[0] -= owed[0]
            left[1] -= owed[1]
        if spent[0] == 0:
            del self.targets[target]
            self.closed.discard(target)
        return target, (owed[0], owed[1])


def _is_due(owed: list[int], window: Grant) -> bool:
    return owed[0] >= -(-window[0] // 4) or owed[1] >= -(-window[1] // 4)


class Queued:
    """A frame that waits to be written; it can be asked whether it still does."""

    def __init__(self, data: bytes, words: int) -> None:
        self.data = data
        # How much of it are words.
        self.words = words
        self.begun = False


def check_names(node: str, cluster: str) -> None:
    """Do they go into a greeting, with the codec?"""
    if sum(len(name.encode()) for name in (node, cluster, frames.CODEC)) > frames.NAMES:
        raise ValueError(f"the names of a node take {frames.NAMES} bytes at most, with its cluster and codec")


class Session:
    """One end of a link."""

    def __init__(
        self,
        node: str,
        cluster: str,
        limits: Limits,
        now: float,
        expect: list[str] | None = None,
        incarnation: int = INCARNATION,
    ) -> None:
        check_names(node, cluster)
        self.cluster = cluster
        self.limits = limits
        # The names that the peer may have; any if there are none.
        self.expect = expect
        self.peer: Peer | None = None
        self.heard = self.ask = now
        self.clock = Clock(now)
        # What belongs to requests, and waits until it is known that the peer still does.
        self.held: deque[Frame] = deque()
        self._asks = limits.idle
        self.stats: Counter[str] = Counter()
        self.calls = Numbers(0)
        self.served: set[int] = set()
        self.drains = self.peer_drains = False
        self._goodbye: Queued | None = None
        self.stalled: float | None = None
        # Control, answers, requests: what is urgent first.
        self.queues: tuple[deque[Queued], ...] = (deque(), deque(), deque())
        # How many bytes wait, and how many of them are words.
        self.waiting = 0
        self.words = 0
        self._nacks: deque[tuple[int, Queued]] = deque()
        self._input = bytearray()
        self._parts: dict[int, tuple[Frame, bytearray]] = {}
        self._control = (now, 0)
        # How many words the peer may say beside that: see `earn`.
        self._earned = 0
        self._purse = Purse((0, 0), (0, 0), 0)
        self._ledger = Ledger(limits.window, limits.link_window)
        self._send(
            frames.HELLO,
            (
                frames.MAGIC,
                frames.VERSIONS,
                node,
                incarnation,
                cluster,
                frames.CODEC,
                limits.message,
                limits.calls,
                limits.window,
                limits.link_window,
                int(min(limits.silence, limits.stall) * 1e6),
            ),
        )

    # What goes.

    def _send(self, kind: int, header: Any, body: bytes | bytearray = b"", queue: int = 0) -> Queued:
        """Gives the first frame: what is urgent comes between it and the others of its message."""
        said = [Queued(data, len(data) if kind in WORDS else 0) for data in frames.parts(kind, header, body)]
        self.queues[queue].extend(said)
        self.waiting += sum(len(one.data) for one in said)
        self.words += sum(one.words for one in said)
        return said[0]

    def output(self) -> bytes:
        """What is to be written next; nothing if it is empty."""
        chunk = bytearray()
        for queue in self.queues:
            # Before the handshake is done the greeting goes, or a refusal, and nothing else.
            if self.peer is None and queue is not self.queues[0]:
                break
            while queue and len(chunk) < CHUNK:
                queued = queue.popleft()
                queued.begun = True
                chunk += queued.data
                self.words -= queued.words
        self.waiting -= len(chunk)
        # What is put in from here on comes behind it, whatever its class.
        while self._nacks and self._nacks[0][1].begun:
            self.calls.written(self._nacks.popleft()[0])
        return bytes(chunk)

    def is_congested(self) -> bool:
        """Does so much wait to be written that requests are to wait?"""
        return self.waiting >= self.limits.outgoing

    def is_full(self) -> bool:
        """Is nothing of the peer to be read, because so much that it has brought about waits?"""
        return self.words >= max(self.limits.outgoing, FEW_WORDS)

    def may_send(self, target: int) -> bool:
        """May a request be sent to this actor?"""
        return (
            self.peer is not None
            and not self.calls.is_full()
            and not self.is_congested()
            and self._purse.may_send(target)
        )

    def call(
        self,
        call: int,
        target: int,
        method: bytes,
        deadline: float | None,
        carried: list[Any],
        body: bytearray,
    ) -> Queued:
        until = self.clock.until(deadline)
        queued = self._send(frames.CALL, (call, target, method, until, carried), body, 2)
        self.stats["calls_out"] += 1
        self._purse.spend(target, len(body))
        return queued

    def tell(self, target: int, method: bytes, carried: list[Any], body: bytearray) -> Queued:
        queued = self._send(frames.TELL, (target, method, carried), body, 2)
        self.stats["tells_out"] += 1
        self._purse.spend(target, len(body))
        return queued

    def answer(self, call: int, outcome: Any, body: bytes | bytearray = b"") -> None:
        self.served.discard(call)
        self._send(frames.ANSWER, (call, outcome), body, 1)

    def nack(self, call: int) -> None:
        self.stats["nacks_out"] += 1
        # Behind its request: before it, nobody would know what it is about.
        self._nacks.append((call, self._send(frames.NACK, call, queue=2)))
        self.calls.spoken.add(call)

    def down(self, target: int, end: errors.End) -> None:
        """An actor of ours has ended: behind all answers, and behind all requests."""
        for queue in (1, 2):
            self._send(frames.DOWN, (target, end), queue=queue)

    def release(self, target: int, count: int) -> None:
        self._send(frames.RELEASE, (target, count), queue=2)

    def bind(self, number: int, name: str, token: bytes, interface: str, methods: Any) -> None:
        question = (number, name, token, interface, methods)
        if len(frames.frame(frames.BIND, question)) > 4 + frames.LONGEST:
            # Nobody can ask for it.
            raise errors.NoSuchName
        self._send(frames.BIND, question)

    def bound(self, number: int, outcome: Any) -> None:
        self._send(frames.BOUND, (number, outcome))

    def ping(self, now: float) -> None:
        """Asks the peer for a word."""
        self.ask = now + self._asks
        self.stats["pings"] += 1
        self._send(frames.PING, self.clock.micros(now))

    def pong(self, at: int, now: float) -> None:
        """Answers a ping of that time, or the peer's greeting, which is one of time 0."""
        self._send(frames.PONG, (at, self.clock.micros(now)))

    def drain(self) -> None:
        """Begins no more calls."""
        if not self.drains:
            self.drains = True
            self._goodbye = self._send(frames.BYE, None, queue=2)

    def is_drained(self) -> bool:
        """Is all done, on both sides, and written?"""
        return self.is_done() and not self.waiting

    def is_done(self) -> bool:
        """As `is_drained`, but for what the peer does not wait for."""
        said = self._goodbye is not None and self._goodbye.begun
        return said and self.peer_drains and not (self.calls.used or self.served or self.held)

    def taken(self, target: int, size: int) -> None:
        """A request has been taken, or refused: it is the peer's credit again."""
        for number, grant in self._ledger.taken(target, size):
            self._send(frames.CREDIT, (number, grant))

    def forget(self, target: int) -> None:
        """An actor of ours is no longer exported."""
        for number, grant in self._ledger.close(target):
            self._send(frames.CREDIT, (number, grant))

    def serve(self, call: int) -> bool:
        """The peer's call is under way. `False`: there are too many."""
        if call in self.served:
            raise errors.LinkDown("protocol", "a call whose number is in use")
        if len(self.served) >= self.limits.calls or call >= self.limits.calls:
            self.stats["overloaded"] += 1
            return False
        self.served.add(call)
        return True

    # What comes.

    def receive(self, data: bytes, now: float) -> list[Frame]:
        """Takes bytes; gives the messages that are whole, the peer's greeting first."""
        self._input += data
        found: list[Frame] = []
        while True:
            greeted = self.peer is not None
            parsed = frames.parse(self._input, frames.LONGEST) if greeted else frames.first(self._input)
            if parsed is None:
                return found
            # Not a byte now and then of a frame that never comes whole.
            self.heard = now
            length, frame = parsed
            del self._input[:length]
            message = self._frame(frame, now) if greeted else self._greeting(frame, now)
            if message is not None:
                found.append(message)

    def _greeting(self, frame: Frame, now: float) -> Frame:
        if frame.kind == frames.REFUSED:
            raise errors.LinkDown("refused-by-peer", str(frame.header), frame.header)
        if frame.kind != frames.HELLO or frame.more or frame.header[0] != frames.MAGIC:
            raise errors.LinkDown("protocol", "it does not begin with a greeting")
        _, versions, node, incarnation, cluster, codec, message, calls, *rest = frame.header
        window, link, patience = rest
        objection = self._objection(versions, node, cluster, codec)
        if objection is not None:
            why, told = objection
            self._send(frames.REFUSED, told)
            raise errors.LinkDown("refused", str(why), why)
        # As many as there may be references, and as many that the peer has not forgotten yet.
        self._purse = Purse(window, link, 2 * self.limits.exports)
        self.calls = Numbers(min(calls, 1 << 20))
        self.peer = Peer(node, incarnation, message, calls)
        self.clock.patience = patience
        self._asks = min(self.limits.idle, max(LEAST, patience / 3e6))
        # Before all requests: the peer begins none before it knows this.
        self.pong(0, now)
        self.ping(now)
        return frame

    def _objection(
        self, versions: tuple[int, int], node: str, cluster: str, codec: str
    ) -> tuple[errors.Refused, errors.Refused] | None:
        """Why we do not speak with the peer, by what it is, and what it is told, which is what we are."""
        first, last = frames.VERSIONS
        if versions[1] < first or versions[0] > last:
            return errors.OtherVersion(*versions), errors.OtherVersion(first, last)
        if cluster != self.cluster:
            return errors.OtherCluster(cluster), errors.OtherCluster(self.cluster)
        if codec != frames.CODEC:
            return errors.OtherCodec(codec), errors.OtherCodec(frames.CODEC)
        if self.expect is not None and node not in self.expect:
            return errors.OtherNode(node), errors.OtherNode(node)
        return None

    def _frame(self, frame: Frame, now: float) -> Frame | None:
        if frame.kind in (frames.CALL, frames.TELL, frames.ANSWER):
            return self._message(frame)
        if frame.kind == frames.REST:
            return self._rest(frame)
        if frame.more:
            raise errors.LinkDown("protocol", "only bodies come in parts")
        if frame.kind in (frames.PING, frames.PONG, frames.BYE):
            self.count(now)
        match frame.kind:
            case frames.CREDIT:
                self._purse.add(*frame.header)
            case frames.NACK:
                self.spend(now)
            case frames.PING:
                self.pong(frame.header, now)
            case frames.PONG:
                asked, there = frame.header
                self.clock.answer(asked, there, now)
            case frames.BYE:
                self.peer_drains = True
            case frames.REFUSED:
                raise errors.LinkDown("refused-by-peer", str(frame.header), frame.header)
            case frames.HELLO:
                raise errors.LinkDown("protocol", "a second greeting")
        return frame

    def earn(self, words: int) -> None:
        """The peer may say so many words more, later: that the caller of its call has gone, that its
        actor has ended. It has no more to say than it may have of both at once."""
        most = self.limits.calls + self.limits.exports
        self._earned = min(self._earned + words, most)

    def spend(self, now: float) -> None:
        """The peer says a word that is to be earned. What is not, counts."""
        if self._earned > 0:
            self._earned -= 1
        else:
            self.count(now)

    def count(self, now: float) -> None:
        """The peer says what nothing bounds but the time."""
        since, count = self._control
        if now - since >= 1:
            since, count = now, 0
        self._control = (since, count + 1)
        if count >= self.limits.control:
            raise errors.LinkDown("flood")

    def _message(self, frame: Frame) -> Frame | None:
        if frame.kind != frames.ANSWER:
            if self.peer_drains:
                raise errors.LinkDown("protocol", "a request behind a goodbye")
            self._ledger.check(target_of(frame))
        carried = frame.header[-1]
        if frame.kind == frames.ANSWER:
            carried = carried.value if isinstance(carried, Ok) else []
        earns = sum(isinstance(one, (frames.Mine, frames.ReplyFor)) for one in carried)
        self.earn(earns + (frame.kind == frames.CALL))
        self._check_size(len(frame.body))
        if not frame.more:
            return self._complete(frame)
        slot = int(frame.kind == frames.ANSWER)
        if slot in self._parts:
            raise errors.LinkDown("protocol", "a message within another")
        self._parts[slot] = (frame, bytearray(frame.body))
        return None

    def _rest(self, frame: Frame) -> Frame | None:
        slot = int(frame.header == frames.ANSWER)
        first, body = self._parts.get(slot, (None, bytearray()))
        if first is None or first.kind != frame.header:
            raise errors.LinkDown("protocol", "a part of no message")
        if not frame.body:
            raise errors.LinkDown("protocol", "an empty part")
        body += frame.body
        self._check_size(len(body))
        if frame.more:
            return None
        del self._parts[slot]
        return self._complete(dataclasses.replace(first, more=False, body=bytes(body)))

    def _check_size(self, size: int) -> None:
        if size > self.limits.message:
            raise errors.LinkDown("message-too-large")

    def _complete(self, frame: Frame) -> Frame:
        if frame.kind == frames.ANSWER:
            if not self.calls.give_back(frame.header[0]):
                raise errors.LinkDown("protocol", "an answer to no call")
        else:
            for number, grant in self._ledger.spend(target_of(frame), len(frame.body)):
                self._send(frames.CREDIT, (number, grant))
            self.stats["calls_in" if frame.kind == frames.CALL else "tells_in"] += 1
        return frame

    # The time.

    def stood_still(self, late: float, now: float) -> None:
        """So much later than it should have this side looks at the time: what the peer has not said or read by
        then is no silence of its."""
        self.heard = min(now, self.heard + late)
        if self.stalled is not None:
            self.stalled = min(now, self.stalled + late)

    def tick(self, now: float) -> float:
        """Looks at the time; gives when it is to be looked at again."""
        limits = self.limits
        if self.peer is None:
            due = self.clock.begun + limits.handshake
            if now >= due:
                raise errors.LinkDown("handshake")
            return due
        if self.is_full():
            # It is this side that does not read.
            self.heard = now
        if now >= self.heard + limits.silence:
            raise errors.LinkDown("silent")
        due = self.heard + limits.silence
        if self.stalled is not None:
            if now >= self.stalled + limits.stall:
                raise errors.LinkDown("slow-peer")
            due = min(due, self.stalled + limits.stall)
        if now >= self.ask:
            self.ping(now)
        return min(due, self.ask)


def target_of(frame: Frame) -> int:
    """The actor that a request is for."""
    return int(frame.header[1] if frame.kind == frames.CALL else frame.header[0])
