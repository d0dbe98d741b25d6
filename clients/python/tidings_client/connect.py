"""Links to nodes at addresses: connecting, once or until it succeeds."""

from __future__ import annotations

import contextlib
import random
import ssl
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import NamedTuple

from . import stream
from .actor import Reference
from .errors import LinkDown, LinkedAlready, TooManyLinks
from .hub import Export
from .link import Left, Link
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
    try:
        link.up()
    except BaseException:
        # Who breaks off (Ctrl-C) has nothing to close it by.
        link.close()
        raise
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


# A link that has been up for so many seconds has lasted: what failed before it counts no more.
LASTED = 10.0


class _Made(NamedTuple):
    """A link that `connect_until_up` has made."""

    down: Future[None]
    left: Left
    since: float
    # Of the time before the next try, when it has ended.
    limit: float


# By their addresses.
_made: dict[str, list[_Made]] = {}


def _ended(address: str) -> _Made | None:
    """A link to there that its user has lost, after which nobody has tried yet."""
    links = _made.get(address, [])
    for made in [made for made in links if made.left.it_is or made.down.done()]:
        # Another thread may have taken it meanwhile.
        with contextlib.suppress(ValueError):
            links.remove(made)
            if not made.left.it_is:
                return made
    return None


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
    doubles from `first` to `longest` seconds. What waiting cannot help is raised.

    Called when a link that it has made to there has been lost, it waits before it tries for the first time,
    too: the limit goes on to grow, unless that link was up for 10 s."""
    limit = min(first, longest)
    ended = _ended(address)
    if ended is not None:
        if time.monotonic() - ended.since < LASTED:
            limit = min(ended.limit, longest)
        time.sleep(random.uniform(0, limit))
        limit = min(2 * limit, longest)
    while True:
        try:
            link = connect(
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
        else:
            made = _Made(link._hub.down, link._left, time.monotonic(), limit)
            _made.setdefault(address, []).append(made)
            return link
        time.sleep(random.uniform(0, limit))
        limit = min(2 * limit, longest)
