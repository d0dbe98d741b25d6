"""The end of an actor, and who hears of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from .errors import End

Watcher = Callable[[End], None]


class Ending:
    """Whether an actor has ended, and who is to hear of it: once.

    Its lock is held for a moment, and nothing is called under it. So it may be taken whatever other
    lock is held.
    """

    def __init__(self, end: End | None = None) -> None:
        self.unlock()
        self.end = end
        self.watchers: list[Watcher] = []

    def unlock(self) -> None:
        """Nobody holds the lock."""
        # It may be taken again: what is collected meanwhile has finalizers.
        self.lock = threading.RLock()

    def watch(self, told: Watcher) -> None:
        """Tells of the end: when it comes, or now. What watches must not keep the actor."""
        with self.lock:
            end = self.end
            if end is None:
                self.watchers.append(told)
        if end is not None:
            told(end)

    def unwatch(self, told: Watcher) -> None:
        """It need not be told any more."""
        with self.lock:
            if told in self.watchers:
                self.watchers.remove(told)

    def finish(self, end: End) -> list[Callable[[], None]]:
        """It has ended, unless it had. Gives what is to be called, without a lock."""
        with self.lock:
            if self.end is not None:
                return []
            self.end = end
            watchers, self.watchers = self.watchers, []
        return [partial(told, end) for told in watchers]
