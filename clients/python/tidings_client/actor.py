"""Calls, references, replies, and actors of this side.

A reference is an instance of its interface's class, whether its actor is here or elsewhere: it has a
target, here a `LocalTarget` or the link's. An actor of this side is an object whose methods are the
handlers; it has a thread, which handles one message after the other.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import math
import queue
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from . import errors, forking, shape
from .codec import Codec
from .ending import Ending
from .trace import Trace

T = TypeVar("T")
Self = TypeVar("Self", bound="Reference")

_log = logging.getLogger("tidings_client")

STOPPED = errors.Stopped()

# Messages of callers of this side that may wait at an actor; those of a peer have their window.
MAILBOX = 1024


class Call(Future[T], Generic[T]):
    """The answer of a call, now or later: `call.result()` waits for it, and so does `await call`.

    `cancel` gives it up: its handler can know.
    """

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self).__await__()

    def settle(self, outcome: Any) -> None:
        """Ends it with a value or an exception, if it has not ended."""
        try:
            if isinstance(outcome, BaseException):
                self.set_exception(outcome)
            else:
                self.set_result(outcome)
        except InvalidStateError:
            # It was cancelled meanwhile.
            pass
        except KeyboardInterrupt:
            # That is the main thread's.
            raise
        except BaseException:
            # What a callback raises may end its own thread, but not the one that tells it.
            _log.exception("a callback of %r has raised", self)


class Reply(Generic[T]):
    """The place of an answer. Dropped without one, its call ends with `NoReply`."""

    def __init__(self, answer: Callable[[Any], None], abandon: Callable[[], None]) -> None:
        self._answer: Callable[[Any], None] | None = answer
        self._abandon = abandon
        self._call: Call[T] | None = None

    @classmethod
    def pair(cls) -> tuple[Reply[T], Call[T]]:
        """A reply to be sent in a message, and the call that is answered by it."""
        call: Call[T] = Call()
        reply = cls(call.settle, lambda: call.settle(errors.NoReply()))
        reply._call = call
        return reply, call

    def send(self, value: T) -> None:
        """Answers. Once: after that it is nobody's."""
        self._take()(value)

    def fail(self, why: errors.CallFailed) -> None:
        """Answers that there will be none."""
        self._take()(why)

    def as_call(self) -> Call[T]:
        """The call that is answered by it, which takes its place."""
        answer = self._take()
        if self._call is not None:
            return self._call
        call: Call[T] = Call()
        call.add_done_callback(lambda done: answer(outcome_of(done)))
        return call

    def _take(self) -> Callable[[Any], None]:
        answer, self._answer = self._answer, None
        if answer is None:
            raise ValueError("the reply has been used")
        return answer

    def __del__(self) -> None:
        if self._answer is not None:
            self._abandon()


def outcome_of(done: Future[Any]) -> Any:
    """The value of a future that is done, or why there is none."""
    if done.cancelled():
        return errors.NoReply()
    why = done.exception()
    if why is None:
        return done.result()
    return why if isinstance(why, errors.CallFailed) else errors.RefusedCall(errors.short(why))


# The classes of types that have another's name elsewhere: in the arguments of a method, and in its answer.
Apart = tuple[Mapping[str, Any], Mapping[str, Any]]


class Method:
    """A method of an interface, with its codecs."""

    def __init__(self, name: str, text: str, classes: Mapping[str, Any], apart: Apart = ({}, {})) -> None:
        parsed = shape.parse_method(text)
        # As Python has it: `from` is `from_`.
        self.name = name
        self.shape = text
        self.wire_name = parsed.name
        self.number = parsed.number.to_bytes(4, "little")
        arguments = shape.Tuple(parsed.arguments) if parsed.arguments else shape.Word("()")
        self.arguments = Codec(arguments, {**classes, **apart[0]})
        self.empty = not parsed.arguments
        self.answer = Codec(parsed.answer, {**classes, **apart[1]}) if parsed.answer else None


class Request:
    """What a handler can know of the request in its hands: `tidings_client.current()`."""

    def __init__(self, deadline: float | None = None, trace: Trace | None = None) -> None:
        # What its sender sent it as a part of.
        self.trace = trace
        # As of `time.monotonic`; `None`: for ever.
        self.deadline = deadline
        # Has its caller gone?
        self.gone = False

    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline


_handled = threading.local()


def current() -> Request | None:
    """The request that this thread handles."""
    found: Request | None = getattr(_handled, "request", None)
    return found


class Target(Protocol):
    """An actor, here or elsewhere."""

    ending: Ending

    def request(
        self, method: Method, arguments: tuple[Any, ...], deadline: float | None, trace: Trace | None
    ) -> Call[Any] | None: ...

    def stop(self) -> None: ...


class Reference:
    """What all references have. Their classes are generated, or made by `define`."""

    NAME: ClassVar[str] = ""
    METHODS: ClassVar[dict[str, Method]] = {}

    __slots__ = ("_limit", "_target", "_trace")
    __match_args__ = ()

    def __init__(self, target: Target, limit: float | None = None, trace: Trace | None = None) -> None:
        self._target = target
        self._limit = limit
        self._trace = trace

    def within(self: Self, seconds: float) -> Self:
        """The same actor, whose calls may take so long: after that they fail with `Timeout`."""
        if math.isnan(seconds):
            raise ValueError("the time is no number")
        # What is longer than anything can wait is for ever.
        limit = seconds if seconds < threading.TIMEOUT_MAX else None
        return type(self)(self._target, limit, self._trace)

    def traced(self: Self, trace: Trace | None) -> Self:
        """The same actor, whose messages are a part of this trace: their handler can know."""
        return type(self)(self._target, self._limit, trace)

    def down(self) -> Call[errors.End]:
        """Tells, once, why the actor has ended, or that its link has."""
        call: Call[errors.End] = Call()
        ending = self._target.ending
        ending.watch(call.settle)
        # Who waits no more is not kept until the end.
        call.add_done_callback(lambda done: ending.unwatch(call.settle) if done.cancelled() else None)
        return call

    def stop(self) -> None:
        """Ends an actor of this side, behind the messages that it has."""
        self._target.stop()

    @classmethod
    def _start(cls: type[Self], handler: Any) -> Self:
        for name in cls.METHODS:
            if inspect.iscoroutinefunction(getattr(type(handler), name, None)):
                # There is no loop that would run it.
                raise TypeError(f"the handler {name} is a coroutine: one that answers later returns a Future")
        return cls(LocalTarget(handler))

    def _call(self, method: str, *arguments: Any) -> Call[Any]:
        limit = self._limit
        deadline = None if limit is None else time.monotonic() + limit
        call = self._target.request(self.METHODS[method], arguments, deadline, self._trace)
        assert call is not None
        return call

    def _tell(self, method: str, *arguments: Any) -> None:
        self._target.request(self.METHODS[method], arguments, None, self._trace)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._target is other._target

    def __hash__(self) -> int:
        return hash(id(self._target))

    def __repr__(self) -> str:
        return f"<{self.NAME}: {self._target!r}>"


def define(
    classes: Mapping[str, Any],
    methods: Mapping[type[Reference], Mapping[str, str]],
    apart: Mapping[str, Apart] = MappingProxyType({}),
) -> None:
    """Gives interfaces their methods: the shape of each, by its name in Python. Where a type is not the one
    that has its name in `classes`, its class stands in `apart`, by the method's shape."""
    known = {**classes, **{"@" + cls.NAME: cls for cls in methods}}
    for cls, shapes in methods.items():
        named = shapes.items()
        cls.METHODS = {name: Method(name, text, known, apart.get(text, ({}, {}))) for name, text in named}


class Streaming(Generic[T]):
    """An answer of many parts, or an argument: `for item in stream` takes them as they come.

    One that is sent is made of anything that can be iterated: `Streaming([1, 2, 3])`. Whoever sends it
    iterates only when the other side asks for more. It raises, at its end, why it has broken off.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)

    def __iter__(self) -> Iterator[T]:
        return self._items

    def next(self, _most: int) -> list[T]:
        """What the peer asks for: an item, or nothing at the end."""
        return list(itertools.islice(self._items, 1))


# Items that are asked for at a time.
ITEMS = 64


def streaming(items: Codec) -> type[Reference]:
    """What a stream is on the wire: an actor that is asked for items, whose codec is that of the list."""
    method = Method("next", "Streaming.next(u32)->[T]", {})
    method.answer = items
    return type("Source", (Reference,), {"NAME": "Streaming", "METHODS": {"next": method}, "__slots__": ()})


def pull(source: Reference) -> Iterator[Any]:
    """The items of a stream of the peer's."""
    while items := source._call("next", ITEMS).result():
        yield from items


class Message:
    """A request on its way to a handler."""

    def __init__(
        self,
        method: Method,
        arguments: tuple[Any, ...],
        request: Request,
        answer: Callable[[Any], None] | None,
        taken: Callable[[], None],
    ) -> None:
        self.method = method
        self.arguments = arguments
        self.request = request
        self.answer = answer
        self.taken = taken

    def refuse(self, why: errors.CallFailed) -> None:
        """It goes to no handler."""
        self.taken()
        self.say(why)

    def say(self, outcome: Any) -> None:
        """Answers, if it is a call."""
        if self.answer is not None:
            self.answer(outcome)


class _Mailbox:
    """What a thread handles; it does not keep the actor's references alive."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler
        self.messages: queue.SimpleQueue[Message | errors.End] = queue.SimpleQueue()
        self.places = threading.BoundedSemaphore(MAILBOX)
        self.ending = Ending()

    def run(self) -> None:
        end = None
        while end is None:
            end = self.step()
        self.over(end)

    def over(self, end: errors.End) -> None:
        """It handles nothing any more."""
        self.handler = None
        watchers = self.ending.finish(end)
        while not self.messages.empty():
            message = self.messages.get()
            if isinstance(message, Message):
                _surely(partial(message.refuse, errors.NotExecuted(end)))
        for told in watchers:
            _surely(told)

    def step(self) -> errors.End | None:
        # No message is kept while the next is waited for: it may hold the last reference.
        message = self.messages.get()
        if not isinstance(message, Message):
            return message
        try:
            message.taken()
            self.handle(message)
        except BaseException as why:
            # Whatever it is, the thread does not end without the actor.
            _log.exception("an actor ends: its handler %s has raised", message.method.name)
            end = errors.Panicked(errors.described(why))
            _surely(partial(message.say, errors.Ended(end)))
            return end
        return None

    def handle(self, message: Message) -> None:
        request = message.request
        handler = getattr(self.handler, message.method.name, None)
        if handler is None:
            message.say(errors.NoSuchMethod(message.method.name))
        elif request.is_late():
            message.say(errors.Timeout())
        elif not request.gone:
            _handled.request = request
            try:
                value = handler(*message.arguments)
            finally:
                _handled.request = None
            answer = message.answer
            if answer is not None and isinstance(value, Future):
                # It keeps no more of the message than this.
                value.add_done_callback(lambda done: answer(outcome_of(done)))
            elif answer is not None:
                answer(value)


def _surely(tell: Callable[[], None]) -> None:
    """Tells one, so that the next can be told whatever it raises."""
    try:
        tell()
    except BaseException:
        _log.exception("what is told of the end of an actor has raised")


class LocalTarget:
    """An actor of this side. It ends when nobody refers to it, when it is stopped, or by an exception
    of its handler."""

    def __init__(self, handler: Any) -> None:
        self._box = _Mailbox(handler)
        self.ending = self._box.ending
        # As a callback, and not as `__del__`: then no one can have it back any more.
        weakref.finalize(self, self._box.messages.put, errors.Normal()).atexit = False
        name = f"tidings actor {type(handler).__name__}"
        threading.Thread(target=self._box.run, name=name, daemon=True).start()
        forking.remember(self)

    def unlock(self) -> None:
        """For `forking`."""
        self.ending.unlock()

    def forked(self) -> None:
        """For `forking`."""
        self._box.over(errors.Killed())

    def put(self, message: Message) -> None:
        """A message, if need be beyond the places."""
        with self.ending.lock:
            end = self.ending.end
            if end is None:
                self._box.messages.put(message)
        if end is not None:
            message.refuse(errors.NotExecuted(end))

    def request(
        self, method: Method, arguments: tuple[Any, ...], deadline: float | None, trace: Trace | None
    ) -> Call[Any] | None:
        box = self._box
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not box.places.acquire(timeout=wait):
            raise errors.Full
        call: Call[Any] | None = Call() if method.answer else None
        request = Request(deadline, trace)
        answer = None if call is None else call.settle
        if call is not None:
            # Whoever has given it up, or has its answer, waits no more.
            call.add_done_callback(lambda _: setattr(request, "gone", True))
            if wait is not None:
                timer = threading.Timer(wait, call.settle, [errors.Timeout()])
                timer.daemon = True
                call.add_done_callback(lambda _: timer.cancel())
                timer.start()
        self.put(Message(method, arguments, request, answer, box.places.release))
        return call

    def stop(self) -> None:
        self.stopper()(STOPPED)

    def stopper(self) -> Callable[[errors.End], None]:
        """What ends it, and does not keep it."""
        return self._box.messages.put

    def __repr__(self) -> str:
        return f"actor {type(self._box.handler).__name__}"
