"""Processes that are forked off: they have none of the threads of their parent's links and actors, which
so have ended there, and say so. Those of the parent go on."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Threaded(Protocol):
    """What a thread moves."""

    def unlock(self) -> None:
        """Nobody holds its lock: who did is not in this process."""

    def forked(self) -> None:
        """Ends it here, when nobody holds a lock."""


_known: weakref.WeakSet[Threaded] = weakref.WeakSet()
# A link that has ended forgets itself.
remember, forget = _known.add, _known.discard


def _forked() -> None:
    known = list(_known)
    for one in known:
        one.unlock()
    for one in known:
        one.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
