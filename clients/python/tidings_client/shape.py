"""Shapes of types, as PROTOCOL.md writes them: text read into trees, and the numbers of methods.

`Counter.add(i64)` is the shape of a method; codecs and generated modules are made from its parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Union

from . import naming

WORDS = frozenset(
    ["()", "bool", "str", "char", "f32", "f64"]
    + [sign + str(bits) for sign in "ui" for bits in (8, 16, 32, 64, 128)]
)


class ShapeError(ValueError):
    """The text is no shape."""


@dataclass(frozen=True)
class Word:
    """A type of the language: `()`, `u32`, `str`."""

    name: str


@dataclass(frozen=True)
class Sequence:
    of: Shape


@dataclass(frozen=True)
class Array:
    of: Shape
    length: int


@dataclass(frozen=True)
class Option:
    of: Shape


@dataclass(frozen=True)
class Map:
    key: Shape
    value: Shape


@dataclass(frozen=True)
class Tuple:
    items: tuple[Shape, ...]


@dataclass(frozen=True)
class Fields:
    """What a struct, or a variant, holds; the names are numbers if it has none."""

    items: tuple[tuple[str, Shape], ...]
    named: bool

    def attributes(self) -> list[str]:
        """What they are called in Python."""
        if self.named:
            return naming.all_fitting([name for name, _ in self.items])
        return [f"field_{name}" for name, _ in self.items]


@dataclass(frozen=True)
class Struct:
    name: str
    fields: Fields


@dataclass(frozen=True)
class Enum:
    name: str
    variants: tuple[tuple[str, Fields], ...]

    def is_plain(self) -> bool:
        """Do none of its variants hold anything?"""
        return not any(fields.items for _, fields in self.variants)


@dataclass(frozen=True)
class Result:
    ok: Shape
    error: Shape


@dataclass(frozen=True)
class Reference:
    interface: str


@dataclass(frozen=True)
class ReplyTo:
    of: Shape


@dataclass(frozen=True)
class StreamOf:
    of: Shape


@dataclass(frozen=True)
class Again:
    """A named type that has been begun already."""

    name: str


Shape = Union[
    Word, Sequence, Array, Option, Map, Tuple, Struct, Enum, Result, Reference, ReplyTo, StreamOf, Again
]

NOTHING = Fields((), named=False)

TOKEN = re.compile(r"\(\)|\w+(?:#\d+)?|[\[\](){}<>|,;:?@!*]")


class Parser:
    """Reads one shape; names that were begun are kept."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = TOKEN.findall(text)
        if "".join(self.tokens) != text:
            raise ShapeError(f"no shape: {text!r}")
        self.place = 0
        self.begun: set[str] = set()

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise ShapeError(f"{expected or 'more'} expected at token {self.place} of {self.text!r}")
        self.place += 1
        return token

    def takes(self, token: str) -> bool:
        """Takes this one, if it comes next."""
        found = self.peek() == token
        self.place += found
        return found

    def name(self) -> str:
        token = self.take()
        if not re.fullmatch(r"\w+(#\d+)?", token):
            raise ShapeError(f"a name expected in {self.text!r}, not {token!r}")
        return token

    def shape(self) -> Shape:
        shape = self.plain()
        while self.takes("?"):
            shape = Option(shape)
        return shape

    def plain(self) -> Shape:
        if self.peek() in WORDS:
            return Word(self.take())
        if self.peek() == "(":
            return Tuple(self.items())
        if self.takes("["):
            of = self.shape()
            length = int(self.name()) if self.takes(";") else None
            self.take("]")
            return Sequence(of) if length is None else Array(of, length)
        if self.takes("{"):
            key = self.shape()
            self.take(",")
            value = self.shape()
            self.take("}")
            return Map(key, value)
        if self.takes("@"):
            return Reference(self.name())
        if self.takes("?"):
            return Option(self.plain())
        if self.takes("!"):
            return ReplyTo(self.shape())
        if self.takes("*"):
            return StreamOf(self.shape())
        return self.named()

    def items(self) -> tuple[Shape, ...]:
        self.take("(")
        items = [self.shape()]
        while self.takes(","):
            items.append(self.shape())
        self.take(")")
        return tuple(items)

    def named(self) -> Shape:
        name = self.name()
        if name == "Result" and self.takes("<"):
            ok = self.shape()
            self.take("|")
            error = self.shape()
            self.take(">")
            return Result(ok, error)
        if self.takes("<"):
            self.begun.add(name)
            variants: list[tuple[str, Fields]] = []
            while not self.takes(">"):
                if variants:
                    self.take("|")
                variants.append((self.name(), self.fields()))
            return Enum(name, tuple(variants))
        if self.peek() not in ("{", "(", "()") and name in self.begun:
            return Again(name)
        self.begun.add(name)
        return Struct(name, self.fields())

    def fields(self) -> Fields:
        if self.peek() == "(":
            items = self.items()
            return Fields(tuple((str(n), item) for n, item in enumerate(items)), named=False)
        if self.takes("()") or not self.takes("{"):
            return NOTHING
        named: list[tuple[str, Shape]] = []
        while not self.takes("}"):
            if named:
                self.take(",")
            name = self.name()
            self.take(":")
            named.append((name, self.shape()))
        return Fields(tuple(named), named=True)


def parse(text: str) -> Shape:
    """Reads the shape of a type."""
    parser = Parser(text)
    shape = parser.shape()
    if parser.peek():
        raise ShapeError(f"more than a shape: {text!r}")
    return shape


@dataclass(frozen=True)
class Method:
    """What the shape of a method says."""

    shape: str
    interface: str
    name: str
    arguments: tuple[Shape, ...]
    # `None`: it is one-way.
    answer: Shape | None

    @property
    def number(self) -> int:
        return number(self.shape)


def parse_method(text: str) -> Method:
    """Reads `Interface.method(arguments)`, followed by `->` and the answer if it has one."""
    found = re.fullmatch(r"(\w+)\.(\w+)(\(.*?\))(?:->(.+))?", text, re.DOTALL)
    if not found:
        raise ShapeError(f"no method: {text!r}")
    interface, name, arguments, answer = found.groups()
    items = () if arguments == "()" else Parser(arguments).items()
    return Method(text, interface, name, items, parse(answer) if answer else None)


def number(shape: str) -> int:
    """FNV-1a, 32 bits: what stands for a method in a frame."""
    value = 0x811C9DC5
    for byte in shape.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value
