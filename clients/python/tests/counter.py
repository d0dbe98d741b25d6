"""Interfaces of the tests, generated from shapes, and actors of them."""

import importlib.util
import json
import logging
import pathlib
import socket
import tempfile
import unittest
from concurrent.futures import Future

import tidings_client as t
from tidings_client import generate, shape

METHODS = {
    "Counter.add(i64)": ["n"],
    "Counter.get()->i64": [],
    "Counter.echo([u8])->[u8]": ["bytes"],
    "Counter.join(@Listener)->@Counter": ["listener"],
    "Counter.hang()->u32": [],
    "Counter.fails()->u32": [],
    "Counter.later([Ask{n:u32,reply:!u32}])": ["asks"],
    "Counter.last()->@Listener": [],
    "Counter.count(u32)->*u32": ["to"],
    "Counter.total(*u32)->u32": ["numbers"],
    "Listener.heard(Event<Opened|Sold(str,u32)|Named{name:str?}>)": ["event"],
    "Listener.from()->Kind<Tea|Cake>": [],
}


def described(methods):
    """What a program in Rust would print of these methods."""
    interfaces = {}
    for text, arguments in methods.items():
        method = shape.parse_method(text)
        interfaces.setdefault(method.interface, []).append(
            {
                "name": method.name,
                "arguments": arguments,
                "shape": text,
                "number": method.number,
            }
        )
    found = [{"name": name, "methods": methods} for name, methods in interfaces.items()]
    return json.dumps({"interfaces": found})


def load(text, name="generated"):
    """A module of this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        # Where dataclasses look for the names in their annotations.
        import sys

        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module


g = load(generate.generate(described(METHODS)))


class Tally:
    def __init__(self):
        self.sum = 0
        self.parts = []
        self.hung = []
        self.this = None
        self.listeners = []
        self.asks = []
        self.left = Future()

    def add(self, n):
        self.sum += n
        self.parts.append(t.current().trace)

    def get(self):
        return self.sum

    def echo(self, data):
        return data

    def join(self, listener):
        self.listeners.append(listener)
        listener.heard(g.EventSold("tea", 3))
        return self.this

    def hang(self):
        self.hung.append(t.current())
        return Future()

    def fails(self):
        raise ValueError("the counter breaks")

    def last(self):
        return self.listeners[-1]

    def count(self, to):
        return t.Streaming(self.counted(to))

    def counted(self, to):
        try:
            for n in range(to):
                if n == 500:
                    raise ValueError("it is too much")
                yield n
        finally:
            self.left.set_result(n)

    def total(self, numbers):
        return sum(numbers)

    def later(self, asks):
        for ask in asks:
            if ask.n == 0:
                self.asks.append(ask)
            elif ask.n > 1:
                ask.reply.send(10 * ask.n)


class Ear:
    def __init__(self):
        self.heard_first = Future()

    def heard(self, event):
        self.heard_first.set_result(event)

    def from_(self):
        return g.Kind.Cake


LINKS = []


def pair(exports, theirs=None, **options):
    """Two ends of a link over a pair of sockets; `exports` are the first one's."""
    a, b = socket.socketpair()
    server = t.over(a, node="server", exports=exports, **options)
    client = t.over(b, node="client", exports=theirs, **options)
    LINKS.extend([server, client])
    client.up()
    return server, client


def close_all():
    """The links of a test."""
    while LINKS:
        link = LINKS.pop()
        link.close()
        link.down()


class LinkTest(unittest.TestCase):
    """A test that makes links, which end with it."""

    def setUp(self):
        self.addCleanup(close_all)
        # Handlers that fail are part of the tests.
        logging.getLogger("tidings_client").setLevel(logging.CRITICAL)


def counter(**options):
    """A counter here, its handler, a link that exports it, and what the other end has."""
    tally = Tally()
    here = g.Counter.start(tally)
    server, client = pair({"counter": here}, **options)
    return tally, here, server, client, client.get(g.Counter, "counter")
