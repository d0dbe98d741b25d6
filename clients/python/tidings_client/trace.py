"""Trace context: which request of a distributed system a call belongs to (W3C Trace Context)."""

from __future__ import annotations

import dataclasses
import re

TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Trace:
    """A place in a trace: its number, that of the span that asks, and flags."""

    id: bytes
    parent: bytes
    flags: int = 1

    def __post_init__(self) -> None:
        if (len(self.id), len(self.parent)) != (16, 8) or not 0 <= self.flags < 256:
            raise ValueError(f"no place in a trace: {self!r}")

    @classmethod
    def parse(cls, traceparent: str) -> Trace:
        """What the header `traceparent` says; `ValueError` if it is none."""
        found = TRACEPARENT.fullmatch(traceparent)
        if not found or found[1] == "ff" or (found[1] == "00" and found[5]):
            raise ValueError(f"no traceparent: {traceparent!r}")
        trace = cls(bytes.fromhex(found[2]), bytes.fromhex(found[3]), int(found[4], 16))
        if not trace.is_valid():
            raise ValueError(f"no traceparent: {traceparent!r}")
        return trace

    def is_valid(self) -> bool:
        """Numbers that are 0 stand for none."""
        return any(self.id) and any(self.parent)

    def __str__(self) -> str:
        return f"00-{self.id.hex()}-{self.parent.hex()}-{self.flags:02x}"
