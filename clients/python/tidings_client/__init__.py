"""Typed references to the actors of tidings nodes, from Python.

`connect` makes a `Link`, `link.get(Counter, "counter")` gives a reference, and its methods call. The
classes of interfaces are generated: `python -m tidings_client.generate schema.json`.
"""

from . import errors
from .actor import Call, Method, Reference, Reply, Request, Streaming, current, define
from .codec import Codec, Err, Ok, Some
from .connect import connect, connect_until_up, over
from .errors import (
    CallFailed,
    End,
    Ended,
    LinkDown,
    NoReply,
    NotBound,
    NotExecuted,
    TidingsError,
    Timeout,
)
from .hub import Export
from .link import Link
from .session import Limits, Peer
from .stream import Insecure, tls
from .trace import Trace

__all__ = [
    "Call",
    "CallFailed",
    "Codec",
    "End",
    "Ended",
    "Err",
    "Export",
    "Insecure",
    "Limits",
    "Link",
    "LinkDown",
    "Method",
    "NoReply",
    "NotBound",
    "NotExecuted",
    "Ok",
    "Peer",
    "Reference",
    "Reply",
    "Request",
    "Some",
    "Streaming",
    "TidingsError",
    "Timeout",
    "Trace",
    "connect",
    "connect_until_up",
    "current",
    "define",
    "errors",
    "over",
    "tls",
]
