"""What the numbers of a link stand for: actors, calls, names; and the requests of this side.

All state is behind one lock. Nothing of the user's is called while it is held but the constructors
of arguments; what is to be told is told by the link's thread afterwards. `inward.py` has what is done
with what comes.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from . import errors, frames
from .actor import Call, LocalTarget, Method, Reference, Reply, Request, Streaming, pull, streaming
from .codec import Codec, Err, Ok
from .ending import Ending, Watcher
from .session import Peer, Queued, Session
from .trace import Trace


@dataclasses.dataclass(frozen=True)
class Export:
    """An actor under a name that only who has the token can ask for."""

    reference: Reference
    token: bytes = b""


@dataclasses.dataclass
class Exported:
    """An actor of ours that the peer refers to."""

    reference: Reference
    # Hears of its end.
    told: Watcher
    # How often its reference has been sent, and not been given up.
    sent: int = 0
    down: bool = False

    def forget(self) -> None:
        """The peer refers to it no more: it may outlive the link, and keeps nothing of it."""
        self.reference._target.ending.unwatch(self.told)


@dataclasses.dataclass
class Waiting:
    """A call of ours under way."""

    # `None`: its caller has gone.
    call: Call[Any] | None
    answer: Codec
    # Its method, if it is none that waits for a reply within a message.
    method: str = ""
    queued: Queued | None = None


class RemoteTarget:
    """An actor of the peer's."""

    def __init__(self, hub: Hub, number: int, end: errors.End | None = None) -> None:
        self.hub = hub
        self.number = number
        self.ending = Ending(end)

    def request(
        self, method: Method, arguments: tuple[Any, ...], deadline: float | None, trace: Trace | None
    ) -> Call[Any] | None:
        return self.hub.request(self, method, arguments, deadline, trace)

    def stop(self) -> None:
        raise TypeError("an actor elsewhere is stopped by what its interface has")

    def __repr__(self) -> str:
        return f"actor {self.number} of {self.hub!r}"


class Imported:
    """What the peer is owed for an actor of its: all is given back when nobody refers to it here."""

    def __init__(self, target: RemoteTarget) -> None:
        # How often the reference has come.
        self.received = 0
        hub, number = target.hub, target.number
        # As a callback, and not as `__del__`: then no one can have the target back any more.
        self.target = weakref.ref(target, lambda _: hub.leave(lambda: hub.release(number, self)))


class Forward:
    """An actor of another link, as an actor of this side."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference

    def __getattr__(self, name: str) -> Any:
        if name not in self._reference.METHODS:
            raise AttributeError(name)
        return getattr(self._reference, name)


class Hub:
    """What one link knows, whatever moves its bytes."""

    def __init__(self, session: Session, names: Mapping[str, Export], ring: Callable[[], None]) -> None:
        self.session = session
        self.names = names
        # Wakes the link's thread.
        self.ring = ring
        self.thread: threading.Thread | None = None
        self.unlock()
        self.up: Call[Peer] = Call()
        self.down: Call[None] = Call()
        # Why the link is to end, or has ended.
        self.closing: errors.LinkDown | None = None
        self.exports: dict[int, Exported] = {}
        self.by_target: dict[tuple[int, str], int] = {}
        self.next_export = itertools.count()
        self.imports: dict[int, Imported] = {}
        # Actors that have ended, references to which may still be on their way.
        self.ended: dict[int, errors.End] = {}
        self.calls: dict[int, Waiting] = {}
        self.served: dict[int, Request] = {}
        self.binds: dict[int, tuple[type[Reference], Future[Any]]] = {}
        self.next_bind = itertools.count(1)
        self.deadlines: list[tuple[float, int, Waiting, int]] = []
        self.tie = itertools.count()
        # Actors of other links that are exported to this one, by the identity of their targets.
        self.forwards: weakref.WeakValueDictionary[int, LocalTarget] = weakref.WeakValueDictionary()
        # The carried of the message that is encoded, and of that which is decoded.
        self.carries: list[Any] = []
        self.carried: list[Any] = []
        # What others have left to be done, and what is to be told when the lock is free.
        self.letters: deque[Callable[[], None]] = deque()
        self.tell_later: list[Callable[[], None]] = []

    def unlock(self) -> None:
        """Nobody holds the lock, nor waits for room."""
        self.lock = threading.RLock()
        self.room = threading.Condition(self.lock)

    def leave(self, letter: Callable[[], None]) -> None:
        """Leaves something to be done by the link's thread, from anywhere."""
        if not self.down.done():
            self.letters.append(letter)
            self.ring()

    # Requests.

    def request(
        self,
        to: RemoteTarget,
        method: Method,
        arguments: tuple[Any, ...],
        deadline: float | None,
        trace: Trace | None,
    ) -> Call[Any] | None:
        values = None if method.empty else arguments
        with self.lock:
            while self.closing is None and to.ending.end is None and not self.session.drains:
                if self.session.may_send(to.number):
                    break
                self.wait_for_room(deadline)
            self.check_alive(to)
            body = bytearray()
            self.carries = []
            call: Call[Any] | None = None
            number = 0
            try:
                method.arguments.encode(values, body, self)
                assert self.session.peer is not None
                if len(body) > self.session.peer.message:
                    raise errors.RefusedCall("the message is too large", executed=False)
                if method.answer is not None:
                    call = Call()
                    number = self.wait_for(Waiting(call, method.answer, method.name))
            except BaseException:
                self.undo()
                self.ring()
                raise
            carried, self.carries = self.carries, []
            if trace is not None:
                carried.append(frames.Traced(trace))
            if call is None:
                self.session.tell(to.number, method.number, carried, body)
            else:
                waiting = self.calls[number]
                waiting.queued = self.session.call(
                    number, to.number, method.number, deadline, carried, body
                )
                if deadline is not None:
                    entry = (deadline, next(self.tie), waiting, number)
                    heapq.heappush(self.deadlines, entry)
                    self.forget_deadlines()
        self.ring()
        return call

    def wait_for_room(self, deadline: float | None) -> None:
        if threading.current_thread() is self.thread:
            # It is this thread that would make room.
            raise errors.Full
        wait = None if deadline is None else deadline - time.monotonic()
        if wait is not None and wait <= 0:
            raise errors.Timeout
        self.room.wait(wait)

    def check_alive(self, to: RemoteTarget) -> None:
        end = to.ending.end
        if end is not None:
            raise errors.NotExecuted(end)
        if self.closing is not None or self.session.drains:
            why = self.closing or errors.LinkDown("drained")
            raise errors.NotExecuted(errors.Disconnected(str(why)))

    def wait_for(self, waiting: Waiting) -> int:
        """A number for a call of ours. Its answer may be given up from here on."""
        if self.session.calls.is_full():
            raise errors.Full
        number = self.session.calls.take()
        self.calls[number] = waiting
        call = waiting.call
        assert call is not None
        call.add_done_callback(
            lambda done: self.leave(lambda: self.given_up(number, waiting)) if done.cancelled() else None
        )
        return number

    def given_up(self, number: int, waiting: Waiting) -> None:
        if self.calls.get(number) is waiting and waiting.call is not None:
            # The number is free when the answer has come.
            waiting.call = None
            self.session.nack(number)

    def undo(self) -> None:
        """The message that was encoded is not sent: what it carries is taken back."""
        self.session.stats["unsendable"] += 1
        carries, self.carries = self.carries, []
        for carried in carries:
            if isinstance(carried, frames.Mine):
                self.given_back(carried.target, 1)
            elif isinstance(carried, frames.ReplyFor):
                waiting = self.calls.pop(carried.call)
                self.session.calls.give_back(carried.call)
                self.settle(waiting, errors.RefusedCall("its message was not sent"))

    def forget_deadlines(self) -> None:
        """Deadlines of calls that have ended are forgotten before they are more than the others."""
        if len(self.deadlines) > 64 + 2 * len(self.calls):
            alive = [entry for entry in self.deadlines if self.calls.get(entry[3]) is entry[2]]
            heapq.heapify(alive)
            self.deadlines = alive

    def settle(self, waiting: Waiting, outcome: Any) -> None:
        call = waiting.call
        if call is not None:
            self.tell_later.append(lambda: call.settle(outcome))

    def answer(self, number: int, request: Request, codec: Codec, outcome: Any) -> None:
        """An actor of ours has answered."""
        with self.lock:
            if self.served.get(number) is not request:
                # Its caller has gone, or the link.
                return
            body = bytearray()
            self.carries = []
            result: Any
            if isinstance(outcome, BaseException):
                result = Err(outcome)
            else:
                try:
                    codec.encode(outcome, body, self)
                    assert self.session.peer is not None
                    if len(body) > self.session.peer.message:
                        raise errors.RefusedCall("the answer is too large")
                    result = Ok(self.carries)
                except errors.CallFailed as why:
                    self.undo()
                    body = bytearray()
                    result = Err(errors.RefusedCall(str(why) or type(why).__name__))
                except BaseException:
                    self.undo()
                    raise
            self.carries = []
            del self.served[number]
            self.session.answer(number, result, body)
        self.ring()

    # What a codec asks.

    def send_reference(self, reference: Any, interface: str) -> int:
        if not isinstance(reference, Reference) or reference.NAME != interface:
            raise TypeError(f"it is no reference to a {interface}")
        target = reference._target
        if isinstance(target, RemoteTarget) and target.hub is self:
            known = self.imports.get(target.number)
            # One that has ended may have been given up.
            is_there = known is not None and known.target() is target
            return self.carry(frames.Yours(target.number) if is_there else frames.Gone())
        number = self.export(reference)
        return self.carry(frames.Gone() if number is None else frames.Mine(number))

    def send_reply(self, reply: Any, of: Codec) -> int:
        if not isinstance(reply, Reply):
            raise TypeError("it is no reply")
        if self.session.calls.is_full():
            raise errors.Full
        number = self.wait_for(Waiting(reply.as_call(), of))
        return self.carry(frames.ReplyFor(number, 0))

    def send_stream(self, stream: Any, items: Codec) -> int:
        if not isinstance(stream, Streaming):
            raise TypeError("it is no stream")
        number = self.export(streaming(items)._start(stream))
        assert number is not None
        return self.carry(frames.Mine(number))

    def take_stream(self, place: int, items: Codec) -> Any:
        match self.take(place):
            case frames.Mine(number):
                return Streaming(pull(streaming(items)(self.import_(number))))
        raise errors.Malformed("no such stream")

    def take_reference(self, place: int, cls: Any) -> Any:
        match self.take(place):
            case frames.Mine(number):
                target = self.import_(number)
                if isinstance(cls, str):
                    raise errors.Malformed(f"no class for {cls}")
                return cls(target)
            case frames.Yours(number) if number in self.exports:
                reference = self.exports[number].reference
                if reference.NAME == (cls if isinstance(cls, str) else cls.NAME):
                    return reference
            case frames.Gone():
                return cls(RemoteTarget(self, -1, errors.NoSuchActor()))
        raise errors.Malformed("no such reference")

    def take_reply(self, place: int, of: Codec) -> Any:
        match self.take(place):
            case frames.ReplyFor(number, until):
                request = self.serve(number, until)
                if request is not None:
                    return Reply(
                        lambda outcome: self.answer(number, request, of, outcome),
                        lambda: self.leave(lambda: self.answer(number, request, of, errors.NoReply())),
                    )
        raise errors.Malformed("no such reply")

    def carry(self, carried: Any) -> int:
        self.carries.append(carried)
        if len(self.carries) > frames.CARRIED:
            raise errors.Malformed("it carries too many references")
        return len(self.carries) - 1

    def take(self, place: int) -> Any:
        if place >= len(self.carried):
            raise errors.Malformed("no such place")
        carried, self.carried[place] = self.carried[place], None
        return carried

    def export(self, reference: Reference) -> int | None:
        """The number of an actor of ours; `None`: it has ended, or is the peer's own."""
        target = reference._target
        if isinstance(target, RemoteTarget):
            if target.hub is self:
                return None
            target = self.forward(reference, target)
        key = (id(target), reference.NAME)
        number = self.by_target.get(key)
        if number is not None:
            known = self.exports[number]
            if known.down:
                return None
            known.sent += 1
            return number
        if target.ending.end is not None:
            return None
        if len(self.exports) >= self.session.limits.exports:
            raise errors.Malformed("too many actors are exported")
        number = next(self.next_export)
        told: Watcher = lambda end: self.leave(lambda: self.export_ended(number, end))
        self.exports[number] = Exported(type(reference)(target), told, sent=1)
        self.by_target[key] = number
        target.ending.watch(told)
        return number

    def export_ended(self, number: int, end: errors.End) -> None:
        known = self.exports.get(number)
        if known is not None and not known.down:
            known.down = True
            self.session.down(number, end)

    def given_back(self, number: int, count: int) -> None:
        known = self.exports.get(number)
        if known is None or not 0 < count <= known.sent:
            raise errors.LinkDown("protocol", "a reference is given up that was not sent")
        known.sent -= count
        if known.sent == 0:
            known.forget()
            del self.exports[number]
            del self.by_target[(id(known.reference._target), known.reference.NAME)]
            self.session.forget(number)

    def import_(self, number: int) -> RemoteTarget:
        imported = self.imports.get(number)
        target = imported.target() if imported is not None else None
        if imported is None or target is None:
            if len(self.imports) >= self.session.limits.exports:
                self.session.release(number, 1)
                raise errors.Malformed("too many actors are imported")
            target = RemoteTarget(self, number, self.ended.get(number))
            self.imports[number] = imported = Imported(target)
        imported.received += 1
        return target

    def release(self, number: int, imported: Imported) -> None:
        """The last reference to an actor of the peer's is gone here, or no other will come."""
        received, imported.received = imported.received, 0
        if received > 0:
            self.session.release(number, received)
        if self.imports.get(number) is imported:
            del self.imports[number]

    def forward(self, reference: Reference, target: RemoteTarget) -> LocalTarget:
        """An actor of another link, as one of this side."""
        known = self.forwards.get(id(target))
        if known is None:
            # Without its time limit, which is the caller's.
            known = LocalTarget(Forward(type(reference)(target)))
            self.forwards[id(target)] = known
            stop = known.stopper()
            target.ending.watch(stop)
            known.ending.watch(lambda _: target.ending.unwatch(stop))
        return known

    def serve(self, number: int, until: int) -> Request | None:
        """The peer's call is under way; `None`: it was refused."""
        if not self.session.serve(number):
            self.session.answer(number, Err(errors.Overloaded()))
            return None
        request = Request(self.session.clock.deadline(until))
        self.served[number] = request
        return request

    def end_by(self, why: errors.LinkDown) -> None:
        """The link is to end: whoever waits for room need not."""
        with self.lock:
            if self.closing is None:
                self.closing = why
                self.room.notify_all()

    def close(self, why: errors.LinkDown) -> None:
        """The link has ended: whoever waits for something of it hears why."""
        end = errors.Disconnected(str(why))
        for waiting in self.calls.values():
            queued = waiting.queued
            # What has not begun to be written cannot have been executed.
            unsent = queued is not None and not queued.begun
            self.settle(waiting, errors.NotExecuted(end) if unsent else errors.Ended(end))
        for known in self.imports.values():
            target = known.target()
            if target is not None:
                self.target_ended(target, end)
        for exported in self.exports.values():
            exported.forget()
        for _, done in self.binds.values():
            self.tell_later.append(partial(done.set_exception, why))
        for request in self.served.values():
            request.gone = True
        for table in (self.calls, self.imports, self.binds, self.served, self.exports, self.by_target):
            table.clear()
        self.letters.clear()
        self.tell_later.append(lambda: self.up.settle(why))
        self.tell_later.append(lambda: self.down.settle(None))

    def target_ended(self, target: RemoteTarget, end: errors.End) -> None:
        self.tell_later.extend(target.ending.finish(end))
