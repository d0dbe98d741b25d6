"""What a link does with what comes: requests go to actors, answers to callers."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from typing import Any

from . import errors, frames
from .actor import Message, Request
from .codec import Err, Ok
from .hub import Hub
from .session import target_of


class Inward(Hub):
    """A hub that handles what the session has found."""

    def handle(self, frame: frames.Frame) -> None:
        header = frame.header
        match frame.kind:
            case frames.HELLO:
                peer = self.session.peer
                assert peer is not None
                self.tell_later.append(lambda: self.up.settle(peer))
            case frames.CALL | frames.TELL | frames.NACK | frames.RELEASE | frames.BYE:
                # In their order: a request that waits needs what those behind it give up.
                self.hold(frame)
                self.go_on()
            case frames.PONG:
                self.go_on()
            case frames.ANSWER:
                self.answered(header[0], header[1], frame.body)
            case frames.DOWN:
                self.peer_down(*header)
            case frames.BIND:
                self.asked(*header)
            case frames.BOUND:
                self.bound(*header)
        # Credit, a number of a call, or the end of an actor.
        self.room.notify_all()

    def hold(self, frame: frames.Frame) -> None:
        held, limits = self.session.held, self.session.limits
        # Requests have credit; of what goes with them there is no more than calls and references.
        if len(held) >= limits.link_window[0] + limits.calls + limits.exports:
            raise errors.LinkDown("flood")
        held.append(frame)

    def go_on(self) -> bool:
        """Handles what waited for room, or until it is known that the peer still waits. Was there any?"""
        session, before = self.session, len(self.session.held)
        while session.held and not session.is_congested() and session.clock.is_awaited(time.monotonic()):
            frame = session.held.popleft()
            match frame.kind:
                case frames.NACK:
                    self.nacked(frame.header)
                case frames.RELEASE:
                    self.given_back(*frame.header)
                case frames.BYE:
                    session.drain()
                case _:
                    self.requested(frame)
        return len(session.held) < before

    def requested(self, frame: frames.Frame) -> None:
        session, target, size = self.session, target_of(frame), len(frame.body)
        called = frame.kind == frames.CALL
        number, until = (frame.header[0], frame.header[3]) if called else (None, 0)
        self.carried = list(frame.header[-1])
        request: Request | None = Request()
        if number is not None:
            request = self.serve(number, until)
        if request is None:
            self.leftovers()
            session.taken(target, size)
            return
        traced = (one.trace for one in self.carried if isinstance(one, frames.Traced))
        request.trace = next((trace for trace in traced if trace.is_valid()), None)
        served = request
        try:
            message = self.message(target, frame, number, served)
        except errors.CallFailed as why:
            session.stats[type(why).__name__] += 1
            if number is not None:
                del self.served[number]
                session.answer(number, Err(why))
            session.taken(target, size)
        else:
            put = self.exports[target].reference._target.put  # type: ignore[attr-defined]
            self.tell_later.append(lambda: put(message))
        self.leftovers()

    def message(self, target: int, frame: frames.Frame, number: int | None, request: Request) -> Message:
        known = self.exports.get(target)
        if known is None:
            raise errors.NotExecuted(errors.NoSuchActor())
        wire = frame.header[2 if number is not None else 1]
        methods = known.reference.METHODS.values()
        method = next((method for method in methods if method.number == wire), None)
        if method is None:
            raise errors.NoSuchMethod
        codec = method.answer
        if (codec is None) != (number is None):
            raise errors.RefusedCall("the method has no answer, or needs one")
        values = method.arguments.decode(frame.body, self)
        answer: Callable[[Any], None] | None = None
        if number is not None and codec is not None:
            of, call = codec, number
            answer = lambda outcome: self.answer(call, request, of, outcome)
        size = len(frame.body)
        return Message(method, values or (), request, answer, lambda: self.taken(target, size))

    def taken(self, target: int, size: int) -> None:
        with self.lock:
            self.session.taken(target, size)
        self.ring()

    def leftovers(self) -> None:
        """What nobody has taken of what a message carried."""
        left, self.carried = self.carried, []
        for carried in left:
            if isinstance(carried, frames.Mine):
                self.session.release(carried.target, 1)
            elif isinstance(carried, frames.ReplyFor) and self.serve(carried.call, 0):
                del self.served[carried.call]
                why = errors.NotExecuted(errors.NoSuchActor())
                self.session.answer(carried.call, Err(why))

    def answered(self, number: int, outcome: Any, body: bytes) -> None:
        waiting = self.calls.pop(number)
        if isinstance(outcome, Err):
            if isinstance(outcome.error, errors.NoSuchMethod):
                outcome.error.method = waiting.method
            self.settle(waiting, outcome.error)
            return
        self.carried = outcome.value
        if waiting.call is not None:
            try:
                self.settle(waiting, waiting.answer.decode(body, self))
            except errors.Malformed as why:
                self.session.stats["Malformed"] += 1
                self.settle(waiting, errors.RefusedCall(f"the answer is malformed: {why}", executed=True))
        self.leftovers()

    def nacked(self, number: int) -> None:
        self.session.stats["nacks_in"] += 1
        request = self.served.pop(number, None)
        # Its answer may have gone meanwhile.
        if request is not None:
            request.gone = True
            self.session.answer(number, Err(errors.NoReply()))

    def peer_down(self, number: int, end: errors.End) -> None:
        # It comes twice: no reference to the actor is on its way after the second.
        if number in self.ended:
            self.session.spend(time.monotonic())
            del self.ended[number]
            if number in self.imports:
                self.release(number, self.imports[number])
            return
        if len(self.ended) >= self.session.limits.exports:
            raise errors.LinkDown("protocol", "too many actors end")
        self.ended[number] = errors.brief(end)
        known = self.imports.get(number)
        target = known.target() if known is not None else None
        if target is not None:
            self.target_ended(target, end)

    def asked(
        self, number: int, name: str, token: bytes, interface: str, methods: list[tuple[str, bytes]]
    ) -> None:
        try:
            outcome: Any = Ok(self.named(name, token, interface, methods))
        except errors.NotBound as why:
            self.session.stats["refused_names"] += 1
            self.session.count(time.monotonic())
            outcome = Err(why)
        self.session.bound(number, outcome)

    def named(self, name: str, token: bytes, interface: str, methods: list[tuple[str, bytes]]) -> int:
        found = self.names.get(name)
        if found is None or not hmac.compare_digest(found.token, token):
            raise errors.NoSuchName
        reference = found.reference
        if reference.NAME != interface:
            raise errors.OtherInterface(reference.NAME)
        ours = {method.wire_name: method.number for method in reference.METHODS.values()}
        for method, wire in methods:
            # One that it does not have is refused when it is called: newer clients may have more.
            if ours.get(method, wire) != wire:
                raise errors.OtherSchema(method)
        try:
            exported = self.export(reference)
        except errors.Malformed:
            raise errors.TooMany from None
        if exported is None:
            raise errors.NoSuchName
        return exported

    def bound(self, number: int, outcome: Any) -> None:
        interface, done = self.binds.pop(number, (None, None))
        if interface is None or done is None:
            raise errors.LinkDown("protocol", "an answer to no question")
        if isinstance(outcome, Err):
            why = outcome.error
            self.tell_later.append(lambda: done.set_exception(why))
        else:
            self.session.earn(1)
            try:
                reference = interface(self.import_(outcome.value))
            except errors.Malformed:
                self.tell_later.append(lambda: done.set_exception(errors.TooMany()))
            else:
                self.tell_later.append(lambda: done.set_result(reference))
