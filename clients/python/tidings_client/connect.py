"""Links to nodes at addresses: connecting, once or until it succeeds."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Mapping

from . import stream
from .actor import Reference
from .errors import LinkDown, LinkedAlready, TooManyLinks
from .hub import Export
from .link import Link
from .session import Limits, check_names

over = Link


def connect(
    address: str,
    *,
    node: str = "",
    cluster: str = "",
    exports: Mapping[str, Reference | Export] | None = None,
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    to: str | None = None,
    insecure: bool = False,
) -> Link:
    """Connects to `tcp://host:port`, `tls://host:port` or `unix:/path`, and waits for the handshake.

    `node` is our name, `exports` what the peer can ask for; `to` is the node that the peer's
    certificate must be for, if it is not the address's host. `LinkDown` if it will not speak with us,
    `OSError` if nobody can be reached, `ValueError` if the names are too long for a greeting.
    """
    check_names(node, cluster)
    limits = limits or Limits()
    sock, names = stream.dial(address, tls, to, limits.handshake, insecure=insecure)
    link = over(sock, node=node, cluster=cluster, exports=exports, limits=limits, expect=names)
    link.up()
    return link


# What listens there is none of ours.
FOREIGN = frozenset(["protocol", "frame-too-large", "message-too-large", "credit", "flood"])


def may_pass(why: BaseException | None) -> bool:
    """Can it be better later?"""
    if isinstance(why, LinkDown):
        if why.refusal is not None:
            return isinstance(why.refusal, (TooManyLinks, LinkedAlready))
        return why.kind not in FOREIGN and may_pass(why.__cause__)
    # A certificate, ours or theirs, that is not good: the second, of which TLS 1.3 tells when its handshake is
    # done here. One that only breaks off may be a node that ends.
    broken_off = (ssl.SSLEOFError, ssl.SSLZeroReturnError, TimeoutError)
    return not isinstance(why, ssl.SSLError) or isinstance(why, broken_off)


def connect_until_up(
    address: str,
    *,
    first: float = 0.1,
    longest: float = 30.0,
    node: str = "",
    cluster: str = "",
    exports: Mapping[str, Reference | Export] | None = None,
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    to: str | None = None,
    insecure: bool = False,
) -> Link:
    """As `connect`, again and again until it succeeds, after a time between nothing and a limit that
    doubles from `first` to `longest` seconds. What waiting cannot help is raised."""
    limit = first
    while True:
        try:
            return connect(
                address,
                node=node,
                cluster=cluster,
                exports=exports,
                limits=limits,
                tls=tls,
                to=to,
                insecure=insecure,
            )
        except (LinkDown, OSError) as why:
            if not may_pass(why):
                raise
        time.sleep(random.uniform(0, limit))
        limit = min(2 * limit, longest)
