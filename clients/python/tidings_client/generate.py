"""`python -m tidings_client.generate schema.json`: a typed module from interfaces.

The description is what the program in Rust prints: `interface::<CounterMessage>().json()`.
"""

from __future__ import annotations

import json
import keyword
import sys
from typing import Any

from . import shape as shapes
from .actor import Reference
from .codec import is_wrapped

TYPES = {"()": "None", "bool": "bool", "str": "str", "char": "str", "f32": "float", "f64": "float"}

HEAD = '''"""Made by tidings_client.generate: do not edit."""

from __future__ import annotations

import enum
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tidings_client import Call, Err, Ok, Reference, Reply, Some, Streaming, define

__all__ = [{names}]
'''


def word(name: str, taken: frozenset[str] = frozenset()) -> str:
    """A name as Python can have it."""
    return name + "_" if keyword.iskeyword(name) or name in taken else name


RESERVED = frozenset(name for name in dir(Reference) if not name.startswith("__"))


class Module:
    """The text of a module, as it grows."""

    def __init__(self, interfaces: list[dict[str, Any]]) -> None:
        self.interfaces = {interface["name"]: interface["methods"] for interface in interfaces}
        # Definitions, by name: what they hold, with the types in them by name.
        self.known: dict[str, shapes.Shape] = {}
        self.names: list[str] = []
        # What the codecs are told: the name of a struct or variant, and its class.
        self.classes: list[tuple[str, str]] = []

    def text(self) -> str:
        interfaces, methods = [], []
        for name, described in self.interfaces.items():
            text, shape_of = self.interface(name, described)
            interfaces.append(text)
            methods.append((name, shape_of))
        types = [self.definition(shape) for shape in self.known.values()]
        tail = ["define(", "    {"]
        tail += [f"        {key!r}: {cls}," for key, cls in self.classes]
        tail += ["    },", "    {"]
        for name, shape_of in methods:
            tail.append(f"        {name}: {{")
            tail += [f"            {method!r}: {text!r}," for method, text in shape_of]
            tail.append("        },")
        tail += ["    },", ")"]
        names = ", ".join(repr(name) for name in sorted(self.names))
        parts = [HEAD.format(names=names), *types, *interfaces, "\n".join(tail)]
        return "\n\n".join(part.rstrip("\n") + "\n" for part in parts)

    def interface(self, name: str, described: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        handler, calls, shape_of = [], [], []
        for method in described:
            parsed = shapes.parse_method(method["shape"])
            if parsed.number != method["number"]:
                raise shapes.ShapeError(f"{method['shape']} has another number")
            own = word(parsed.name, RESERVED)
            shape_of.append((own, method["shape"]))
            known = method.get("arguments") or []
            named = [
                word(known[n]) if n < len(known) else f"argument_{n}" for n in range(len(parsed.arguments))
            ]
            typed = [f"{arg}: {self.type(of)}" for arg, of in zip(named, parsed.arguments)]
            signature = ", ".join(["self", *typed])
            given = "".join(f", {arg}" for arg in named)
            if parsed.answer is None:
                handler.append(f"    def {own}({signature}) -> None: ...")
                calls.append(f"    def {own}({signature}) -> None:")
                calls.append(f"        self._tell({own!r}{given})\n")
            else:
                answer = self.type(parsed.answer)
                handler.append(f"    def {own}({signature}) -> {answer} | Future[{answer}]: ...")
                calls.append(f"    def {own}({signature}) -> Call[{answer}]:")
                calls.append(f"        return self._call({own!r}{given})\n")
        self.names += [name, name + "Handler"]
        text = [f"class {name}Handler(Protocol):"]
        text.append(f'    """What an actor of this side has, to be started as a `{name}`."""\n')
        text += [line + "\n" for line in handler]
        text += ["", f"class {name}(Reference):", f'    """A reference to a `{name}`."""\n']
        text += [f"    NAME = {name!r}", "    __slots__ = ()\n", *calls]
        text += ["    @classmethod", f"    def start(cls, handler: {name}Handler) -> {name}:"]
        text += ['        """Starts an actor of this side: a thread that handles what is sent."""']
        text.append("        return cls._start(handler)")
        return "\n".join(text), shape_of

    def type(self, shape: shapes.Shape) -> str:
        """The annotation of a type, whose definition is remembered."""
        match shape:
            case shapes.Word(name):
                return TYPES.get(name, "int")
            case shapes.Sequence(shapes.Word("u8")) | shapes.Array(shapes.Word("u8"), _):
                return "bytes"
            case shapes.Sequence(of) | shapes.Array(of, _):
                return f"list[{self.type(of)}]"
            case shapes.Option(of) if is_wrapped(of):
                return f"Some[{self.type(of)}] | None"
            case shapes.Option(of):
                return f"{self.type(of)} | None"
            case shapes.Map(key, value):
                return f"dict[{self.type(key)}, {self.type(value)}]"
            case shapes.Tuple(items):
                return f"tuple[{', '.join(self.type(item) for item in items)}]"
            case shapes.Result(ok, error):
                return f"Ok[{self.type(ok)}] | Err[{self.type(error)}]"
            case shapes.Reference(interface):
                return interface if interface in self.interfaces else "Any"
            case shapes.ReplyTo(of):
                return f"Reply[{self.type(of)}]"
            case shapes.StreamOf(of):
                return f"Streaming[{self.type(of)}]"
            case shapes.Again(name):
                return name
            case shapes.Struct(name) | shapes.Enum(name):
                self.remember(name, shape)
                return name

    def remember(self, name: str, shape: shapes.Struct | shapes.Enum) -> None:
        plain = by_name(shape)
        known = self.known.setdefault(name, plain)
        if known != plain:
            raise shapes.ShapeError(f"there are two types {name}: {known} and {plain}")
        if known is plain:
            groups = [shape.fields] if isinstance(shape, shapes.Struct) else [f for _, f in shape.variants]
            for fields in groups:
                for _, of in fields.items:
                    self.type(of)

    def definition(self, shape: shapes.Shape) -> str:
        if isinstance(shape, shapes.Struct):
            return self.dataclass(shape.name, shape.name, shape.fields)
        assert isinstance(shape, shapes.Enum)
        name = shape.name
        if shape.is_plain():
            self.names.append(name)
            self.classes.append((name, name))
            members = [f"    {word(v)} = {n}" for n, (v, _) in enumerate(shape.variants)]
            return "\n".join([f"class {name}(enum.Enum):", *members])
        variants = [(variant, name + variant, fields) for variant, fields in shape.variants]
        texts = [self.dataclass(f"{name}.{v}", cls, fields) for v, cls, fields in variants]
        self.names.append(name)
        union = " | ".join(cls for _, cls, _ in variants)
        return "\n\n\n".join([*texts, f'{name}: TypeAlias = "{union}"'])

    def dataclass(self, key: str, name: str, fields: shapes.Fields) -> str:
        self.names.append(name)
        self.classes.append((key, name))
        lines = [
            f"    {word(field) if fields.named else 'field_' + field}: {self.type(of)}"
            for field, of in fields.items
        ]
        return "\n".join(["@dataclass(frozen=True)", f"class {name}:", *(lines or ["    pass"])])


def by_name(shape: Any, *, top: bool = True) -> Any:
    """The shape, with the named types in it by their names."""
    if isinstance(shape, (shapes.Struct, shapes.Enum)) and not top:
        return shapes.Again(shape.name)
    if isinstance(shape, tuple):
        return tuple(by_name(one, top=False) for one in shape)
    if hasattr(shape, "__match_args__"):
        parts = [getattr(shape, attribute) for attribute in shape.__match_args__]
        return type(shape)(*(by_name(part, top=False) for part in parts))
    return shape


def generate(description: str) -> str:
    """The text of the module for a description in JSON."""
    return Module(json.loads(description)["interfaces"]).text()


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m tidings_client.generate schema.json [module.py]")
    with open(sys.argv[1], encoding="utf-8") as file:
        text = generate(file.read())
    if len(sys.argv) == 2:
        sys.stdout.write(text)
    else:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
