"""A link, as its users have it, and the thread that moves its bytes."""

from __future__ import annotations

import contextlib
import copy
import heapq
import logging
import selectors
import socket
import threading
import time
from collections.abc import Mapping
from concurrent import futures
from types import TracebackType
from typing import Any, TypeVar

from . import errors, forking
from .actor import Reference
from .hub import Export
from .inward import Inward
from .session import Limits, Peer, Session
from .stream import Stream

_log = logging.getLogger("tidings_client")

R = TypeVar("R", bound=Reference)


class Left:
    """Has the user of a link ended it, before it ended by itself?"""

    it_is = False


class Link:
    """A connection to another node; `connect` makes one, or `over` a connected socket of the caller's,
    whose peer may only be one of the expected. As a context it is drained at the end."""

    def __init__(
        self,
        sock: socket.socket,
        *,
        node: str = "",
        cluster: str = "",
        exports: Mapping[str, Reference | Export] | None = None,
        limits: Limits | None = None,
        expect: list[str] | None = None,
    ) -> None:
        session = Session(node, cluster, limits or Limits(), time.monotonic(), expect)
        names = (exports or {}).items()
        named = {name: it if isinstance(it, Export) else Export(it) for name, it in names}
        self._hub = Inward(session, named, self._ring)
        self._session = session
        self._left = Left()
        self._stream = Stream(sock)
        self._writing = memoryview(b"")
        self._can_write = True
        # When the time is to be looked at again.
        self._due = time.monotonic()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        thread = threading.Thread(target=self._run, name="tidings link", daemon=True)
        self._hub.thread = thread
        thread.start()
        forking.remember(self)

    def up(self) -> Peer:
        """Waits for the end of the handshake; gives the peer. `LinkDown` if there is no link."""
        self._may_wait_for(self._hub.up)
        return self._hub.up.result()

    def down(self) -> errors.LinkDown:
        """Waits for the end of the link; gives the reason."""
        self._may_wait_for(self._hub.down)
        self._hub.down.result()
        assert self._hub.closing is not None
        return self._hub.closing

    @property
    def exit(self) -> errors.LinkDown | None:
        """Why the link has ended; `None` while it lives."""
        return self._hub.closing if self._hub.down.done() else None

    def get(self, interface: type[R], name: str, token: bytes = b"") -> R:
        """The actor that the peer exports under a name; `NotBound` or `LinkDown` if there is none."""
        done: futures.Future[R] = futures.Future()
        self._may_wait_for(done)
        methods = [(m.wire_name, m.number) for m in interface.METHODS.values()]
        try:
            with self._hub.lock:
                if self._hub.closing is not None:
                    # One of its own: who raises one again and again adds to where it has been.
                    raise copy.copy(self._hub.closing)
                number = next(self._hub.next_bind)
                self._session.bind(number, name, token, interface.NAME, methods)
                self._hub.binds[number] = (interface, done)
            self._ring()
            return done.result()
        except errors.NotBound as why:
            why.name = name
            raise

    def stats(self) -> dict[str, int]:
        """What has been counted."""
        with self._hub.lock:
            return dict(self._session.stats)

    def drain(self, timeout: float | None = None) -> bool:
        """Begins no more calls, and waits until all that are under way have their answers and the
        link has ended. `False`: it took longer."""
        self._may_wait_for(self._hub.down)
        with self._hub.lock:
            self._left.it_is |= self._hub.closing is None
            self._session.drain()
        self._ring()
        # Of the same name as the builtin in 3.10, and another.
        with contextlib.suppress(futures.TimeoutError):
            self._hub.down.result(timeout)
            return True
        return False

    def close(self) -> None:
        """Ends the link at once. What is under way ends with an unknown outcome."""
        with self._hub.lock:
            self._left.it_is |= self._hub.closing is None
            self._hub.end_by(errors.LinkDown("dropped"))
        self._ring()

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.drain(self._session.limits.handshake)
        finally:
            self.close()

    def __repr__(self) -> str:
        peer = self._session.peer
        return f"<Link to {peer.node!r}>" if peer else "<Link>"

    def _may_wait_for(self, done: futures.Future[Any]) -> None:
        if threading.current_thread() is self._hub.thread and not done.done():
            # It is this thread that would bring it about.
            raise RuntimeError("what a link calls back runs in its thread, and cannot wait for it")

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            self._bell.send(b"!")

    def _run(self) -> None:
        why = errors.LinkDown("dropped")
        with selectors.DefaultSelector() as selector:
            selector.register(self._ear, selectors.EVENT_READ)
            wishes = selectors.EVENT_READ
            selector.register(self._stream, wishes)
            try:
                while True:
                    due = self._turn()
                    self._tell()
                    writes = bool(self._writing) and self._can_write
                    # Who does not read what it has brought about is not read.
                    reads = not (writes and self._session.is_full())
                    wish = selectors.EVENT_READ if reads else 0
                    if writes:
                        wish |= selectors.EVENT_WRITE
                    if wish != wishes:
                        wishes = wish
                        selector.modify(self._stream, wishes)
                    more = reads and self._stream.has_more()
                    ready = selector.select(0 if more else max(0.0, due - time.monotonic()))
                    for key, events in ready:
                        if key.fileobj is self._ear:
                            self._listen()
                        elif events & selectors.EVENT_READ:
                            more = True
                    if more:
                        self._read()
            except errors.LinkDown as end:
                why = end
            except OSError as end:
                closed = isinstance(end, ConnectionError)
                why = errors.LinkDown("closed") if closed else errors.LinkDown("io", str(end))
                why.__cause__ = end
            except BaseException:
                _log.exception("a fault of this package ends %r", self)
                why = errors.LinkDown("dropped", "by a fault on this side")
        self._end(why)
        self._tell()

    def _listen(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._ear.recv(4096):
                pass

    def _turn(self) -> float:
        """Does what there is to do, and writes. Gives when it is to be done again."""
        with self._hub.lock:
            while self._hub.letters:
                self._hub.letters.popleft()()
            if self._hub.closing is not None:
                raise self._hub.closing
            now = time.monotonic()
            self._session.stood_still(max(0.0, now - self._due), now)
            due = self._session.tick(now)
            while self._hub.deadlines and self._hub.deadlines[0][0] <= now:
                _, _, waiting, number = heapq.heappop(self._hub.deadlines)
                if self._hub.calls.get(number) is waiting:
                    self._hub.settle(waiting, errors.Timeout())
                    self._hub.given_up(number, waiting)
            if self._hub.deadlines:
                due = min(due, self._hub.deadlines[0][0])
            self._write(now)
            while self._hub.go_on():
                self._write(now)
            if self._session.stalled is not None:
                due = min(due, self._session.stalled + self._session.limits.stall)
            if self._session.is_drained() and not self._writing:
                raise errors.LinkDown("drained")
            self._due = due
            return due

    def _write(self, now: float) -> None:
        session = self._session
        while self._can_write:
            if not self._writing:
                self._writing = memoryview(session.output())
                self._hub.room.notify_all()
            if not self._writing:
                return
            try:
                written = self._stream.send(self._writing)
            except OSError:
                # What the peer has said before may tell why.
                self._can_write = False
                return
            if written == 0:
                if session.stalled is None:
                    session.stalled = now
                return
            session.stalled = None
            session.stats["bytes_out"] += written
            self._writing = self._writing[written:]

    def _read(self) -> None:
        data = self._stream.receive()
        if data is None:
            return
        with self._hub.lock:
            if not data:
                # It may go when it has all that it waits for.
                raise errors.LinkDown("drained" if self._session.is_done() else "closed")
            self._session.stats["bytes_in"] += len(data)
            for frame in self._session.receive(data, time.monotonic()):
                self._hub.handle(frame)

    def _tell(self) -> None:
        with self._hub.lock:
            later, self._hub.tell_later = self._hub.tell_later, []
        for tell in later:
            tell()

    def unlock(self) -> None:
        """For `forking`."""
        self._hub.unlock()

    def forked(self) -> None:
        """For `forking`. The connection is the parent's, which must not notice."""
        for its in (self._stream, self._bell, self._ear):
            its.close()
        why = errors.LinkDown("dropped", "it is of the process that this one was forked off")
        self._hub.end_by(why)
        self._hub.close(why)
        self._tell()

    def _end(self, why: errors.LinkDown) -> None:
        hub = self._hub
        forking.forget(self)
        hub.end_by(why)
        with hub.lock:
            why = hub.closing or why
            # A refusal is to be written; what else is left is lost.
            self._can_write = self._can_write and why.kind == "refused"
            with contextlib.suppress(OSError):
                self._write(time.monotonic())
            # What a network held up would be done when nobody knows of it.
            self._stream.close(give_up=why.kind in ("dropped", "silent", "slow-peer"))
            self._bell.close()
            self._ear.close()
            hub.close(why)
