"""`python -m tidings_client.generate schema.json`: a typed module from interfaces.

The description is what a program in Rust prints: `tidings::remote::schema::<CounterMessage>()`.
"""

from __future__ import annotations

import ast
import json
import sys
from typing import Any, TypeAlias

from . import naming
from . import shape as shapes
from .actor import Reference
from .codec import is_wrapped

TYPES = {
    "()": "None",
    "bool": "builtins.bool",
    "str": "builtins.str",
    "char": "builtins.str",
    "f32": "builtins.float",
    "f64": "builtins.float",
}

HEAD = '''"""Made by tidings_client.generate: do not edit."""

from __future__ import annotations

import builtins
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
# What a method may not be called: references have it, or their classes use it.
METHOD = frozenset(["builtins", "start", *(name for name in dir(Reference) if not name.startswith("__"))])
ARGUMENT = frozenset(["self"])


Named: TypeAlias = "shapes.Struct | shapes.Enum"
NAMED = (shapes.Struct, shapes.Enum, shapes.Again)


class Type:
    """A struct or an enum: the first that was found of those that are the same, in its scope."""

    def __init__(self, shape: Named, scope: Scope, wanted: str) -> None:
        self.shape = shape
        self.scope = scope
        self.wanted = wanted
        # What it is called here, and its variants.
        self.name = ""
        self.variants: list[str] = []

    def classes(self, name: str) -> list[tuple[str, str]]:
        """What a codec is told where it has this name: that of the struct, or a variant, and the class."""
        if not self.variants:
            return [(name, self.name)]
        assert isinstance(self.shape, shapes.Enum)
        variants = zip(self.shape.variants, self.variants)
        return [(f"{name}.{variant}", cls) for (variant, _), cls in variants]


class Scope:
    """One shape: a name is that of one type wherever it stands in it, and perhaps of another elsewhere."""

    def __init__(self, part: Any) -> None:
        self.definitions: dict[str, Named] = {}
        self.find(part)
        self.types: dict[str, Type] = {}

    def find(self, part: Any) -> None:
        if isinstance(part, (shapes.Struct, shapes.Enum)):
            self.definitions[part.name] = part
        for inner in parts_of(part):
            self.find(inner)


class Module:
    """The text of a module, as it grows."""

    def __init__(self, interfaces: list[dict[str, Any]]) -> None:
        # Their methods, with the names of the arguments.
        self.interfaces = {
            interface["name"]: [self.method(described) for described in interface["methods"]]
            for interface in interfaces
        }
        self.types: list[Type] = []
        # Of the arguments and of the answer of each method, by its shape.
        self.scopes = {
            method.shape: (self.scope(method.arguments), self.scope(method.answer))
            for methods in self.interfaces.values()
            for method, _ in methods
        }
        # What each is called here. Those of which others are made come first, and keep their names.
        self.names: list[str] = []
        self.references = {name: self.name(name) for name in self.interfaces}
        for known in self.types:
            known.name = self.name(known.wanted)
        self.handlers = {name: self.name(name + "Handler") for name in self.interfaces}

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

    def scope(self, part: Any) -> Scope:
        """The named types in a part of a shape, each as the first that was found of it."""
        scope = Scope(part)
        for name, shape in scope.definitions.items():
            namesakes = [known for known in self.types if base(known.shape.name) == base(name)]
            known = next((one for one in namesakes if same(shape, scope, one.shape, one.scope, set())), None)
            if known is None:
                wanted = f"{base(name)}#{len(namesakes) + 1}" if namesakes else name
                known = Type(shape, scope, naming.unmarked(wanted))
                self.types.append(known)
            scope.types[name] = known
        return scope

    def text(self) -> str:
        types = [self.definition(known) for known in self.types]
        interfaces = [self.interface(name) for name in self.interfaces]
        classes = self.classes()
        tail = ["define(", "    {", *(f"        {key!r}: {cls}," for key, cls in classes.items())]
        tail += ["    },", "    {"]
        for name, methods in self.interfaces.items():
            tail.append(f"        {self.references[name]}: {{")
            owns = self.owns(name)
            tail += [f"            {own!r}: {method.shape!r}," for own, (method, _) in zip(owns, methods)]
            tail.append("        },")
        tail.append("    },")
        apart = self.apart(classes)
        if apart:
            tail.append("    {")
            tail += [f"        {shape!r}: ({', '.join(both)})," for shape, both in apart.items()]
            tail.append("    },")
        tail.append(")")
        names = ", ".join(repr(name) for name in sorted(self.names))
        parts = [HEAD.format(names=names), *types, *interfaces, "\n".join(tail)]
        return "\n\n".join(part.rstrip("\n") + "\n" for part in parts)

    def classes(self) -> dict[str, str]:
        """What the codecs are told of each name, but where it is another type's."""
        found: dict[str, str] = {}
        for known in self.types:
            for key, cls in known.classes(known.shape.name):
                found.setdefault(key, cls)
        return found

    def apart(self, classes: dict[str, str]) -> dict[str, list[str]]:
        """What they are told where it is another type's, by the method."""
        found = {}
        for shape, scopes in self.scopes.items():
            others = [
                {
                    key: cls
                    for name, known in scope.types.items()
                    for key, cls in known.classes(name)
                    if classes.get(key) != cls
                }
                for scope in scopes
            ]
            if any(others):
                found[shape] = [
                    "{" + ", ".join(f"{key!r}: {cls}" for key, cls in other.items()) + "}" for other in others
                ]
        return found

    def owns(self, name: str) -> list[str]:
        """What the methods of an interface are called."""
        return naming.all_fitting([method.name for method, _ in self.interfaces[name]], METHOD)

    def interface(self, name: str) -> str:
        cls, protocol = self.references[name], self.handlers[name]
        methods = self.interfaces[name]
        handler, calls = [], []
        for own, (method, named) in zip(self.owns(name), methods):
            given_to, gives = self.scopes[method.shape]
            typed = [f"{arg}: {self.type(of, given_to)}" for arg, of in zip(named, method.arguments)]
            signature = ", ".join(["self", *typed])
            given = "".join(f", {arg}" for arg in named)
            if method.answer is None:
                handler.append(f"    def {own}({signature}) -> None: ...")
                calls.append(f"    def {own}({signature}) -> None:")
                calls.append(f"        self._tell({own!r}{given})\n")
            else:
                answer = self.type(method.answer, gives)
                handler.append(f"    def {own}({signature}) -> {answer} | Future[{answer}]: ...")
                calls.append(f"    def {own}({signature}) -> Call[{answer}]:")
                calls.append(f"        return self._call({own!r}{given})\n")
        text = [f"class {protocol}(Protocol):"]
        text.append(f'    """What an actor of this side has, to be started as a `{cls}`."""\n')
        text += [line + "\n" for line in handler]
        text += ["", f"class {cls}(Reference):", f'    """A reference to a `{name}`."""\n']
        text += [f"    NAME = {name!r}", "    __slots__ = ()\n", *calls]
        text += ["    @builtins.classmethod", f"    def start(cls, handler: {protocol}) -> {cls}:"]
        text += ['        """Starts an actor of this side: a thread that handles what is sent."""']
        text.append("        return cls._start(handler)")
        return "\n".join(text)

    def type(self, shape: shapes.Shape, scope: Scope) -> str:
        """The annotation of a type. Python's own are asked for by their module: what has them may have a
        field or a method of that name."""
        match shape:
            case shapes.Word(name):
                return TYPES.get(name, "builtins.int")
            case shapes.Sequence(shapes.Word("u8")) | shapes.Array(shapes.Word("u8"), _):
                return "builtins.bytes"
            case shapes.Sequence(of) | shapes.Array(of, _):
                return f"builtins.list[{self.type(of, scope)}]"
            case shapes.Option(of) if is_wrapped(of):
                return f"Some[{self.type(of, scope)}] | None"
            case shapes.Option(of):
                return f"{self.type(of, scope)} | None"
            case shapes.Map(key, value):
                return f"builtins.dict[{self.key(key, scope)}, {self.type(value, scope)}]"
            case shapes.Tuple(items):
                return f"builtins.tuple[{', '.join(self.type(item, scope) for item in items)}]"
            case shapes.Result(ok, error):
                return f"Ok[{self.type(ok, scope)}] | Err[{self.type(error, scope)}]"
            case shapes.Reference(interface):
                return self.references.get(interface, "Any")
            case shapes.ReplyTo(of):
                return f"Reply[{self.type(of, scope)}]"
            case shapes.StreamOf(of):
                return f"Streaming[{self.type(of, scope)}]"
            case shapes.Again(name) | shapes.Struct(name) | shapes.Enum(name):
                return scope.types[name].name

    def key(self, shape: shapes.Shape, scope: Scope) -> str:
        """The annotation of the key of a map: a list is none."""
        match shape:
            case shapes.Sequence(of) | shapes.Array(of, _) if of != shapes.Word("u8"):
                return f"builtins.tuple[{self.type(of, scope)}, ...]"
        return self.type(shape, scope)

    def definition(self, known: Type) -> str:
        shape, name, scope = known.shape, known.name, known.scope
        if isinstance(shape, shapes.Struct):
            return self.dataclass(name, shape.fields, scope)
        if shape.is_plain():
            variants = naming.all_fitting([variant for variant, _ in shape.variants], naming.ENUM)
            members = [f"    {variant} = {n}" for n, variant in enumerate(variants)]
            return "\n".join([f"class {name}(enum.Enum):", *(members or ["    pass"])])
        known.variants = [self.name(known.wanted + variant) for variant, _ in shape.variants]
        fields = [fields for _, fields in shape.variants]
        texts = [self.dataclass(cls, of, scope) for cls, of in zip(known.variants, fields)]
        return "\n\n\n".join([*texts, f'{name}: TypeAlias = "{" | ".join(known.variants)}"'])

    def dataclass(self, name: str, fields: shapes.Fields, scope: Scope) -> str:
        typed = zip(fields.attributes(), fields.items)
        lines = [f"    {attribute}: {self.type(of, scope)}" for attribute, (_, of) in typed]
        return "\n".join(["@dataclass(frozen=True)", f"class {name}:", *(lines or ["    pass"])])


def parts_of(shape: Any) -> tuple[Any, ...]:
    """What a shape, or a part of one, is made of."""
    if isinstance(shape, tuple):
        return shape
    return tuple(getattr(shape, attribute) for attribute in getattr(shape, "__match_args__", ()))


def base(name: str) -> str:
    """Without the mark that tells it from others of its name in a shape."""
    return name.partition("#")[0]


def same(one: Any, here: Scope, other: Any, there: Scope, seen: set[tuple[str, str]]) -> bool:
    """Are these parts of two shapes the same? What has a name is what that stands for in its shape."""
    if isinstance(one, NAMED) and isinstance(other, NAMED):
        if base(one.name) != base(other.name) or (one.name, other.name) in seen:
            return base(one.name) == base(other.name)
        seen.add((one.name, other.name))
        one, other = here.definitions[one.name], there.definitions[other.name]
        return type(one) is type(other) and same(parts_of(one)[1:], here, parts_of(other)[1:], there, seen)
    parts, others = parts_of(one), parts_of(other)
    if type(one) is not type(other) or len(parts) != len(others):
        return False
    if not parts:
        return bool(one == other)
    return all(same(part, here, part_of, there, seen) for part, part_of in zip(parts, others))


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
