"""`python -m tidings_client.generate schema.json`: a typed module from interfaces.

The description is what a program in Rust prints: `tidings::remote::schema::<CounterMessage>()`.
"""

from __future__ import annotations

import ast
import json
import sys
from typing import Any

from . import naming
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


# What the module's own names may not be.
MODULE = frozenset(
    ["bool", "bytes", "classmethod", "dict", "float", "int", "list", "str", "tuple"]
    + [
        alias.name
        for node in ast.walk(ast.parse(HEAD.format(names="")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    ]
)
# What a method may not be called: references have it.
METHOD = frozenset(["start", *(name for name in dir(Reference) if not name.startswith("__"))])
ARGUMENT = frozenset(["self"])


class Module:
    """The text of a module, as it grows."""

    def __init__(self, interfaces: list[dict[str, Any]]) -> None:
        # Their methods, with the names of the arguments.
        self.interfaces = {
            interface["name"]: [self.method(described) for described in interface["methods"]]
            for interface in interfaces
        }
        # Definitions, by name: what they hold, with the types in them by name.
        self.known: dict[str, shapes.Struct | shapes.Enum] = {}
        for methods in self.interfaces.values():
            for method, _ in methods:
                self.remember(method.arguments)
                self.remember(method.answer)
        # What each is called here. Those of which others are made come first, and keep their names.
        self.names: list[str] = []
        self.references = {name: self.name(name) for name in self.interfaces}
        self.types = {name: self.name(name) for name in self.known}
        self.handlers = {name: self.name(name + "Handler") for name in self.interfaces}
        # What the codecs are told: the name of a struct or variant, and its class.
        self.classes: list[tuple[str, str]] = []

    def method(self, described: dict[str, Any]) -> tuple[shapes.Method, list[str]]:
        parsed = shapes.parse_method(described["shape"])
        if parsed.number != described["number"]:
            raise shapes.ShapeError(f"{described['shape']} has another number")
        known = described.get("arguments") or []
        count = len(parsed.arguments)
        named = [known[n] if n < len(known) else f"argument_{n}" for n in range(count)]
        return parsed, naming.all_fitting(named, ARGUMENT)

    def name(self, wanted: str) -> str:
        """A name that nothing else in the module has."""
        name = naming.fitting(wanted, MODULE.union(self.names))
        self.names.append(name)
        return name

    def text(self) -> str:
        interfaces, methods = [], []
        for name in self.interfaces:
            text, shape_of = self.interface(name)
            interfaces.append(text)
            methods.append((self.references[name], shape_of))
        types = [self.definition(shape) for shape in self.known.values()]
        tail = ["define(", "    {"]
        tail += [f"        {key!r}: {cls}," for key, cls in self.classes]
        tail += ["    },", "    {"]
        for cls, shape_of in methods:
            tail.append(f"        {cls}: {{")
            tail += [f"            {method!r}: {text!r}," for method, text in shape_of]
            tail.append("        },")
        tail += ["    },", ")"]
        names = ", ".join(repr(name) for name in sorted(self.names))
        parts = [HEAD.format(names=names), *types, *interfaces, "\n".join(tail)]
        return "\n\n".join(part.rstrip("\n") + "\n" for part in parts)

    def interface(self, name: str) -> tuple[str, list[tuple[str, str]]]:
        cls, protocol = self.references[name], self.handlers[name]
        methods = self.interfaces[name]
        handler, calls, shape_of = [], [], []
        owns = naming.all_fitting([method.name for method, _ in methods], METHOD)
        for own, (method, named) in zip(owns, methods):
            shape_of.append((own, method.shape))
            typed = [f"{arg}: {self.type(of)}" for arg, of in zip(named, method.arguments)]
            signature = ", ".join(["self", *typed])
            given = "".join(f", {arg}" for arg in named)
            if method.answer is None:
                handler.append(f"    def {own}({signature}) -> None: ...")
                calls.append(f"    def {own}({signature}) -> None:")
                calls.append(f"        self._tell({own!r}{given})\n")
            else:
                answer = self.type(method.answer)
                handler.append(f"    def {own}({signature}) -> {answer} | Future[{answer}]: ...")
                calls.append(f"    def {own}({signature}) -> Call[{answer}]:")
                calls.append(f"        return self._call({own!r}{given})\n")
        text = [f"class {protocol}(Protocol):"]
        text.append(f'    """What an actor of this side has, to be started as a `{cls}`."""\n')
        text += [line + "\n" for line in handler]
        text += ["", f"class {cls}(Reference):", f'    """A reference to a `{name}`."""\n']
        text += [f"    NAME = {name!r}", "    __slots__ = ()\n", *calls]
        text += ["    @classmethod", f"    def start(cls, handler: {protocol}) -> {cls}:"]
        text += ['        """Starts an actor of this side: a thread that handles what is sent."""']
        text.append("        return cls._start(handler)")
        return "\n".join(text), shape_of

    def type(self, shape: shapes.Shape) -> str:
        """The annotation of a type."""
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
                return self.references.get(interface, "Any")
            case shapes.ReplyTo(of):
                return f"Reply[{self.type(of)}]"
            case shapes.StreamOf(of):
                return f"Streaming[{self.type(of)}]"
            case shapes.Again(name) | shapes.Struct(name) | shapes.Enum(name):
                return self.types[name]

    def remember(self, part: Any) -> None:
        """Looks for the named types in a part of a shape, and keeps their definitions."""
        if isinstance(part, (shapes.Struct, shapes.Enum)):
            plain = by_name(part)
            known = self.known.setdefault(part.name, plain)
            if known != plain:
                raise shapes.ShapeError(f"there are two types {part.name}: {known} and {plain}")
        for inner in parts_of(part):
            self.remember(inner)

    def definition(self, shape: shapes.Struct | shapes.Enum) -> str:
        name = self.types[shape.name]
        if isinstance(shape, shapes.Struct):
            return self.dataclass(shape.name, name, shape.fields)
        if shape.is_plain():
            self.classes.append((shape.name, name))
            variants = naming.all_fitting([variant for variant, _ in shape.variants], naming.ENUM)
            members = [f"    {variant} = {n}" for n, variant in enumerate(variants)]
            return "\n".join([f"class {name}(enum.Enum):", *(members or ["    pass"])])
        classes = [self.name(shape.name + variant) for variant, _ in shape.variants]
        texts = [
            self.dataclass(f"{shape.name}.{variant}", cls, fields)
            for cls, (variant, fields) in zip(classes, shape.variants)
        ]
        return "\n\n\n".join([*texts, f'{name}: TypeAlias = "{" | ".join(classes)}"'])

    def dataclass(self, key: str, name: str, fields: shapes.Fields) -> str:
        self.classes.append((key, name))
        typed = zip(fields.attributes(), fields.items)
        lines = [f"    {attribute}: {self.type(of)}" for attribute, (_, of) in typed]
        return "\n".join(["@dataclass(frozen=True)", f"class {name}:", *(lines or ["    pass"])])


def parts_of(shape: Any) -> tuple[Any, ...]:
    """What a shape, or a part of one, is made of."""
    if isinstance(shape, tuple):
        return shape
    return tuple(getattr(shape, attribute) for attribute in getattr(shape, "__match_args__", ()))


def by_name(shape: Any, *, top: bool = True) -> Any:
    """The shape, with the named types in it by their names."""
    if isinstance(shape, (shapes.Struct, shapes.Enum)) and not top:
        return shapes.Again(shape.name)
    parts = [by_name(part, top=False) for part in parts_of(shape)]
    if isinstance(shape, tuple):
        return tuple(parts)
    return type(shape)(*parts) if hasattr(shape, "__match_args__") else shape


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
