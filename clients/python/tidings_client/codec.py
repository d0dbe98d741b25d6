"""Values as bytes, in postcard's format, after their shapes.

A hostile body costs no more than its size: nesting and elements without a size are bounded.

| shape | value |
|---|---|
| `()`, option | `None` |
| numbers, `bool`, `str`, `char` | `int`, `float`, `bool`, `str` |
| `[u8]`, `[u8;N]` | `bytes` |
| sequence, array, map, tuple | `list` (in the key of a map `tuple`), as that, `dict`, `tuple` |
| struct | its class, called with its fields |
| enum | the class of the variant; a member of an `enum.Enum` if none holds anything |
| result | `Ok`, `Err` |
| option of an option, or of `()` | `Some`, or `None` |
| reference, reply, stream | the link's |
"""

from __future__ import annotations

import dataclasses
import enum
import struct
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from . import naming
from . import shape as shapes
from .errors import Malformed, TidingsError, described

T = TypeVar("T")

DEPTH = 64
# Elements beyond the number of bytes: those that take no byte.
FREE_ELEMENTS = 1024


@dataclasses.dataclass(frozen=True)
class Ok(Generic[T]):
    """A result that is good."""

    value: T


@dataclasses.dataclass(frozen=True)
class Err(Generic[T]):
    """A result that is an error: the handler's own, which is no failure of the call."""

    error: T


@dataclasses.dataclass(frozen=True)
class Some(Generic[T]):
    """An option that is there, where `None` could be its value too."""

    value: T


class Port(Protocol):
    """What a link knows of references and replies."""

    def send_reference(self, reference: Any, interface: str) -> int: ...
    def send_reply(self, reply: Any, of: Codec) -> int: ...
    def send_stream(self, stream: Any, items: Codec) -> int: ...
    def take_reference(self, place: int, cls: Any) -> Any: ...
    def take_reply(self, place: int, of: Codec) -> Any: ...
    def take_stream(self, place: int, items: Codec) -> Any: ...


class NoPort:
    """Outside of a message there are no references."""

    def _none(self, *_: Any) -> Any:
        raise Malformed("a reference outside of a message")

    send_reference = send_reply = send_stream = _none
    take_reference = take_reply = take_stream = _none


class Reader:
    """Bytes that are read."""

    def __init__(self, data: bytes | memoryview, port: Port | None = None) -> None:
        self.data = bytes(data)
        self.place = 0
        self.port: Port = port or NoPort()
        self.depth = DEPTH
        self.elements = len(self.data) + FREE_ELEMENTS
        # No string may be longer.
        self.longest_text = len(self.data)

    def take(self, count: int) -> bytes:
        end = self.place + count
        if end > len(self.data):
            raise Malformed("it ends too early")
        taken = self.data[self.place : end]
        self.place = end
        return taken

    def varint(self, bits: int) -> int:
        value = shift = 0
        while True:
            if self.place >= len(self.data):
                raise Malformed("it ends too early")
            byte = self.data[self.place]
            self.place += 1
            value |= (byte & 0x7F) << shift
            if shift >= bits or value >> bits:
                raise Malformed("a number is too large")
            if byte < 0x80:
                return value
            shift += 7

    def text(self) -> str:
        length = self.varint(64)
        if length > self.longest_text:
            raise Malformed("a string is too long")
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise Malformed("a string is not UTF-8") from None

    def rest(self) -> bytes:
        return self.take(len(self.data) - self.place)


def write_varint(value: int, out: bytearray) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


Encode = Callable[[Any, bytearray, Port], None]
Decode = Callable[[Reader], Any]
Pair = tuple[Encode, Decode]


class Codec:
    """What writes and reads the values of one shape."""

    def __init__(self, shape: str | shapes.Shape, classes: Mapping[str, Any] | None = None) -> None:
        parsed = shapes.parse(shape) if isinstance(shape, str) else shape
        self._write, self._read = _Maker(classes or {}).pair(parsed)

    @classmethod
    def of(cls, pair: Pair) -> Codec:
        """Of a writer and a reader that there are."""
        codec = cls.__new__(cls)
        codec._write, codec._read = pair
        return codec

    def encode(self, value: Any, out: bytearray | None = None, port: Port | None = None) -> bytearray:
        """Appends the value; `Malformed` if it is none of this shape."""
        out = bytearray() if out is None else out
        try:
            self._write(value, out, port or NoPort())
        except TidingsError:
            raise
        except RecursionError:
            raise Malformed("values lie too deep") from None
        except Exception as why:
            # The user's own classes may raise anything.
            raise Malformed(f"{_shown(value)}: {described(why)}") from why
        return out

    def decode(self, data: bytes | memoryview, port: Port | None = None) -> Any:
        """The value that takes all of the bytes; `Malformed` if they are none."""
        reader = Reader(data, port)
        value = self.read(reader)
        if reader.place < len(reader.data):
            raise Malformed("bytes are left")
        return value

    def read(self, reader: Reader) -> Any:
        """The value at the beginning of the bytes."""
        try:
            return self._read(reader)
        except TidingsError:
            raise
        except Exception as why:
            raise Malformed(described(why)) from why


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.200}"
    except Exception:
        return f"a {type(value).__name__}"


class _Maker:
    """Puts writers and readers together. Those of named types wait for their definition."""

    def __init__(self, classes: Mapping[str, Any]) -> None:
        self.classes = classes
        self.named: dict[str, Pair] = {}

    def pair(self, shape: shapes.Shape) -> Pair:
        match shape:
            case shapes.Word(name):
                return _word(name)
            case shapes.Sequence(shapes.Word("u8")):
                return _write_bytes, lambda r: r.take(r.varint(64))
            case shapes.Sequence(of):
                return _sequence(self.pair(of))
            case shapes.Array(shapes.Word("u8"), length):
                return _bytes_of(length)
            case shapes.Array(of, length):
                return _array(self.pair(of), length)
            case shapes.Option(of):
                return _option(self.pair(of), wrapped=is_wrapped(of))
            case shapes.Map(key, value):
                return _map(self.pair(key), self.pair(value))
            case shapes.Tuple(items):
                return _tuple([self.pair(item) for item in items])
            case shapes.Result(ok, error):
                return _variants(
                    [(Ok, [self.pair(ok)], ["value"]), (Err, [self.pair(error)], ["error"])], "Result"
                )
            case shapes.Struct(name, fields):
                cls = self.find(name, fields)
                return self.later(name, lambda: _struct(cls, self.fields(fields), names(cls, fields)))
            case shapes.Enum(name) if shape.is_plain():
                return self.later(name, lambda: _plain(self.plain(shape)))
            case shapes.Enum(name, variants):
                return self.later(name, lambda: self.union(name, variants))
            case shapes.Again(name):
                return self.again(name)
            case shapes.Reference(interface):
                cls = self.classes.get("@" + interface)
                return (
                    lambda v, out, port: write_varint(port.send_reference(v, interface), out),
                    lambda r: r.port.take_reference(r.varint(32), cls or interface),
                )
            case shapes.ReplyTo(of):
                codec = Codec.of(self.pair(of))
                return (
                    lambda v, out, port: write_varint(port.send_reply(v, codec), out),
                    lambda r: r.port.take_reply(r.varint(32), codec),
                )
            case shapes.StreamOf(of):
                next_items = Codec.of(_sequence(self.pair(of)))
                return (
                    lambda v, out, port: write_varint(port.send_stream(v, next_items), out),
                    lambda r: r.port.take_stream(r.varint(32), next_items),
                )

    def fields(self, fields: shapes.Fields) -> list[Pair]:
        return [self.pair(of) for _, of in fields.items]

    def find(self, name: str, fields: shapes.Fields) -> Any:
        return self.classes.get(name) or make_class(name, fields)

    def plain(self, shape: shapes.Enum) -> type[enum.Enum]:
        known: type[enum.Enum] | None = self.classes.get(shape.name)
        if known is not None:
            return known
        members = naming.all_fitting([variant for variant, _ in shape.variants], naming.ENUM)
        made: Any = enum.Enum(shape.name, [(member, n) for n, member in enumerate(members)])  # type: ignore[misc]
        return made

    def union(self, name: str, variants: tuple[tuple[str, shapes.Fields], ...]) -> Pair:
        found = [(self.find(f"{name}.{variant}", fields), fields) for variant, fields in variants]
        return _variants([(cls, self.fields(f), names(cls, f)) for cls, f in found], name)

    def again(self, name: str) -> Pair:
        return (
            lambda v, out, port: self.named[name][0](v, out, port),
            lambda r: self.named[name][1](r),
        )

    def later(self, name: str, make: Callable[[], Pair]) -> Pair:
        # What refers to it inside of itself finds it when it is used.
        before = self.named.get(name)
        self.named[name] = pair = make()
        if before is not None:
            raise shapes.ShapeError(f"two types have the name {name}")
        return pair


def is_wrapped(of: shapes.Shape) -> bool:
    """Is the value of such an option a `Some`, as `None` could be what it holds?"""
    return isinstance(of, shapes.Option) or of == shapes.Word("()")


def make_class(name: str, fields: shapes.Fields) -> type:
    """A class for a type that nobody has given one for."""
    last = naming.unmarked(name.rpartition(".")[2])
    attributes = [(field, Any) for field in fields.attributes()]
    return dataclasses.make_dataclass(last, attributes, frozen=True)


def names(cls: Any, fields: shapes.Fields) -> list[str]:
    """The attributes of a class that hold the fields, in their order."""
    found = list(cls.__match_args__)
    if len(found) != len(fields.items):
        raise shapes.ShapeError(f"{cls.__name__} has not the fields {fields.items}")
    return found


def _within(reader: Reader, read: Decode) -> Any:
    """What lies in another value: one level down. Whatever peers read is no deeper here than there."""
    reader.depth -= 1
    if reader.depth < 0:
        raise Malformed("values lie too deep")
    value = read(reader)
    reader.depth += 1
    return value


def _count(reader: Reader) -> int:
    count = reader.varint(64)
    reader.elements -= count
    if reader.elements < 0:
        raise Malformed("it has too many elements")
    return count


def _word(name: str) -> Pair:
    if name == "()":
        return _write_nothing, lambda _: None
    if name == "bool":
        return _write_bool, _read_bool
    if name == "str":
        return _write_text, lambda r: r.text()
    if name == "char":
        return _write_char, _read_char
    if name in ("f32", "f64"):
        form = struct.Struct("<f" if name == "f32" else "<d")
        return (
            lambda v, out, _: out.extend(form.pack(v)),
            lambda r: form.unpack(r.take(form.size))[0],
        )
    return _integer(name[0] == "i", int(name[1:]))


def _integer(signed: bool, bits: int) -> Pair:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def write(value: Any, out: bytearray, _: Port) -> None:
        value = value.__index__()
        if not low <= value <= high:
            raise ValueError(f"it is not between {low} and {high}")
        if bits == 8:
            out.append(value & 0xFF)
        else:
            # Zigzag: 0, -1, 1, -2, ...
            write_varint((value << 1 if value >= 0 else ~(value << 1)) if signed else value, out)

    def read(reader: Reader) -> int:
        if bits == 8:
            byte = reader.take(1)[0]
            return byte - 256 if signed and byte > 127 else byte
        value = reader.varint(bits)
        return value >> 1 ^ -(value & 1) if signed else value

    return write, read


def _write_nothing(value: Any, _out: bytearray, _port: Port) -> None:
    if value is not None:
        raise TypeError("it is not None")


def _write_bool(value: Any, out: bytearray, _: Port) -> None:
    if not isinstance(value, bool):
        raise TypeError("it is no bool")
    out.append(value)


def _read_bool(reader: Reader) -> bool:
    byte = reader.take(1)[0]
    if byte > 1:
        raise Malformed("a bool is 0 or 1")
    return byte == 1


def _write_bytes(value: Any, out: bytearray, _: Port) -> None:
    data = memoryview(value).cast("B")
    write_varint(len(data), out)
    out.extend(data)


def _write_text(value: Any, out: bytearray, port: Port) -> None:
    if not isinstance(value, str):
        raise TypeError("it is no str")
    _write_bytes(value.encode(), out, port)


def _write_char(value: Any, out: bytearray, port: Port) -> None:
    if len(value) != 1:
        raise ValueError("a char is one")
    _write_text(value, out, port)


def _read_char(reader: Reader) -> str:
    text = reader.text()
    if len(text) != 1:
        raise Malformed("a char is one")
    return text


def _bytes_of(length: int) -> Pair:
    def write(value: Any, out: bytearray, _: Port) -> None:
        data = memoryview(value).cast("B")
        if len(data) != length:
            raise ValueError(f"it has not {length} bytes")
        out.extend(data)

    return write, lambda r: r.take(length)


def _sequence(of: Pair) -> Pair:
    write_one, read_one = of

    def write(value: Any, out: bytearray, port: Port) -> None:
        write_varint(len(value), out)
        for one in value:
            write_one(one, out, port)

    def read(reader: Reader) -> list[Any]:
        return [_within(reader, read_one) for _ in range(_count(reader))]

    return write, read


def _array(of: Pair, length: int) -> Pair:
    write_one, read_one = of

    def write(value: Any, out: bytearray, port: Port) -> None:
        if len(value) != length:
            raise ValueError(f"it has not {length} elements")
        for one in value:
            write_one(one, out, port)

    return write, lambda r: [_within(r, read_one) for _ in range(length)]


def _option(of: Pair, *, wrapped: bool) -> Pair:
    write_one, read_one = of

    def write(value: Any, out: bytearray, port: Port) -> None:
        out.append(value is not None)
        if value is not None:
            write_one(value.value if wrapped else value, out, port)

    def read(reader: Reader) -> Any:
        byte = reader.take(1)[0]
        if byte > 1:
            raise Malformed("an option is 0 or 1")
        if byte == 0:
            return None
        value = _within(reader, read_one)
        return Some(value) if wrapped else value

    return write, read


def _hashable(key: Any) -> Any:
    """A key, whose lists are tuples if it has any."""
    try:
        hash(key)
    except TypeError:
        if isinstance(key, (list, tuple)):
            return tuple(map(_hashable, key))
        if dataclasses.is_dataclass(key) and not isinstance(key, type):
            return type(key)(*(_hashable(getattr(key, field.name)) for field in dataclasses.fields(key)))
    return key


def _map(key: Pair, value: Pair) -> Pair:
    def write(values: Any, out: bytearray, port: Port) -> None:
        write_varint(len(values), out)
        for one, other in values.items():
            key[0](one, out, port)
            value[0](other, out, port)

    def read(reader: Reader) -> dict[Any, Any]:
        pairs = range(_count(reader))
        return {_hashable(_within(reader, key[1])): _within(reader, value[1]) for _ in pairs}

    return write, read


def _tuple(items: list[Pair]) -> Pair:
    def write(value: Any, out: bytearray, port: Port) -> None:
        if len(value) != len(items):
            raise ValueError(f"it has not {len(items)} parts")
        for (write_one, _), one in zip(items, value):
            write_one(one, out, port)

    return write, lambda r: tuple(_within(r, read_one) for _, read_one in items)


def _struct(cls: Any, fields: list[Pair], attributes: list[str]) -> Pair:
    writers = [(attribute, write) for attribute, (write, _) in zip(attributes, fields)]

    def write(value: Any, out: bytearray, port: Port) -> None:
        if not isinstance(value, cls):
            raise TypeError(f"it is no {cls.__name__}")
        for attribute, write_one in writers:
            write_one(getattr(value, attribute), out, port)

    return write, lambda r: cls(*[_within(r, read_one) for _, read_one in fields])


def _variants(variants: list[tuple[Any, list[Pair], list[str]]], name: str) -> Pair:
    structs = [_struct(*variant) for variant in variants]
    numbers = {cls: number for number, (cls, _, _) in enumerate(variants)}

    def write(value: Any, out: bytearray, port: Port) -> None:
        number = numbers.get(type(value))
        if number is None:
            raise TypeError(f"it is no {name}")
        write_varint(number, out)
        structs[number][0](value, out, port)

    def read(reader: Reader) -> Any:
        number = reader.varint(32)
        if number >= len(structs):
            raise Malformed(f"{name} has no variant {number}")
        return structs[number][1](reader)

    return write, read


def _plain(cls: type[enum.Enum]) -> Pair:
    members = list(cls)
    numbers = {member: number for number, member in enumerate(members)}

    def read(reader: Reader) -> enum.Enum:
        number = reader.varint(32)
        if number >= len(members):
            raise Malformed(f"{cls.__name__} has no variant {number}")
        return members[number]

    return lambda v, out, _: write_varint(numbers[v], out), read
