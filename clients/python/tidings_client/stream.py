"""Sockets that do not block, with TLS or without, and how they are made of an address."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any

CHUNK = 64 << 10
# On, and no time at all.
NO_LINGER = struct.pack("HH" if sys.platform == "win32" else "ii", 1, 0)


class Stream:
    """A connected socket; the link's thread alone uses it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock

    def fileno(self) -> int:
        return self._socket.fileno()

    def has_more(self) -> bool:
        """Is there something that the selector does not see?"""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def receive(self) -> bytes | None:
        """What has come; nothing at the end; `None`: it has not come yet."""
        try:
            return self._socket.recv(CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except ssl.SSLEOFError:
            return b""

    def send(self, data: memoryview) -> int:
        """How many bytes were taken."""
        try:
            return self._socket.send(data)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0

    def close(self, *, give_up: bool = False) -> None:
        """Closes it. Who gives it up takes back what has not arrived, if it can be done: TCP has a reset."""
        if give_up and self._socket.family != getattr(socket, "AF_UNIX", None):
            # One that is broken gives it up by itself.
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self._socket.close()


def tls(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    """Who we are, for `tls://`, and which authority vouches for others: files in PEM."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context


def names_of(certificate: Mapping[str, Any]) -> list[str]:
    """The names that a node may have whose certificate it is: those of DNS in it."""
    return [name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS"]


class Insecure(ValueError):
    """TCP without TLS stays on this machine, unless it is said to be insecure."""


def _connect(sock: socket.socket, path: str, timeout: float) -> None:
    """Waits as long as the listener's queue is full, as over TCP: a socket with a timeout does not do so by itself."""
    until = time.monotonic() + timeout
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise TimeoutError(f"{path}: too many wait there") from None
        time.sleep(0.01)


def dial(
    address: str, context: ssl.SSLContext | None, node: str | None, timeout: float, *, insecure: bool
) -> tuple[socket.socket, list[str] | None]:
    """Connects to an address, and gives the names of the peer's certificate, if it has one."""
    kind, found, rest = address.partition(":")
    if kind != "tls" and context is not None:
        raise ValueError(f"an identity for TLS, and {address} is without")
    path = rest.removeprefix("//")
    if kind == "unix" and found and path:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(timeout)
        try:
            _connect(sock, path, timeout)
        except OSError:
            sock.close()
            raise
        return sock, None
    host, _, port = rest.removeprefix("//").rpartition(":")
    is_port = port.isdecimal() and int(port) <= 65_535
    if kind not in ("tcp", "tls") or not rest.startswith("//") or not host or not is_port:
        raise ValueError(f"no address: {address!r}")
    host = host.removeprefix("[").removesuffix("]")
    if kind == "tls" and context is None:
        raise Insecure("tls:// needs an identity")
    sock = socket.create_connection((host, int(port)), timeout)
    try:
        peer = sock.getpeername()[0]
        if kind == "tcp" and not insecure and not (peer.startswith("127.") or peer == "::1"):
            raise Insecure(f"{address} leaves this machine without TLS")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is None:
            return sock, None
        secured = context.wrap_socket(sock, server_hostname=node or host)
        return secured, names_of(secured.getpeercert() or {})
    except BaseException:
        sock.close()
        raise
