"""The published vectors, which the code in Rust is held to as well."""

import dataclasses
import enum
import json
import pathlib
import socket
import unittest

import tidings_client as t
from tidings_client import codec, errors, frames, shape

PATH = pathlib.Path(__file__).parents[3] / "crates" / "tidings-link" / "vectors.json"
VECTORS = json.loads(PATH.read_text(encoding="utf-8"))
FIELDS = {
    frames.HELLO: "magic versions node incarnation cluster codec message calls window link_window patience",
    frames.CALL: "id target method until carried",
    frames.TELL: "target method carried",
    frames.ANSWER: "id outcome",
    frames.CREDIT: "target grant",
    frames.DOWN: "target end",
    frames.RELEASE: "target count",
    frames.PONG: "at clock",
    frames.BIND: "id name token interface methods",
    frames.BOUND: "id outcome",
}
VARIANTS = {cls: name.partition(".")[2] for name, cls in frames.CLASSES.items() if "." in name}


def plain(value, top=None):
    """A value as JSON has it."""
    if isinstance(value, (codec.Ok, codec.Err)):
        (inner,) = (getattr(value, field) for field in value.__match_args__)
        return {type(value).__name__: plain(inner)}
    if isinstance(value, codec.Some):
        # JSON has one null for both.
        return plain(value.value)
    if isinstance(value, enum.Enum):
        return value.name
    if type(value) in VARIANTS:
        parts = [plain(getattr(value, field)) for field in value.__match_args__]
        name = VARIANTS[type(value)]
        return name if not parts else {name: parts[0] if len(parts) == 1 else parts}
    if dataclasses.is_dataclass(value):
        names = value.__match_args__
        parts = [plain(getattr(value, field)) for field in names]
        if value.__class__.__qualname__ in ("Leaf", "Node", "Named"):
            # Variants of the vectors' own enum.
            if not names:
                return "Leaf"
            inner = parts if names[0].startswith("field_") else dict(zip(names, parts))
            return {value.__class__.__qualname__: inner}
        return dict(zip(names, parts))
    if isinstance(value, (bytes, list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def header_of(kind, header):
    """A header as JSON has it: with the names of its fields."""
    if kind not in FIELDS:
        return plain(header)
    named = dict(zip(FIELDS[kind].split(), (plain(field) for field in header)))
    for grant in ("window", "link_window", "grant"):
        if grant in named:
            named[grant] = dict(zip(("messages", "bytes"), named[grant]))
    return named


class Vectors(unittest.TestCase):
    def test_the_numbers_of_methods_are_those_of_their_shapes(self):
        for vector in VECTORS["methods"]:
            method = shape.parse_method(vector["shape"])
            self.assertEqual(f"{method.number:08x}", vector["number"])

    def test_values_of_every_shape_are_read_and_written_as_the_vectors_are(self):
        for vector in VECTORS["bodies"]:
            with self.subTest(vector["shape"]):
                one = codec.Codec(vector["shape"])
                value = one.decode(bytes.fromhex(vector["bytes"]))
                self.assertEqual(plain(value), vector["value"])
                self.assertEqual(one.encode(value).hex(), vector["bytes"])

    def test_bytes_that_are_no_value_are_refused(self):
        for vector in VECTORS["malformed"]:
            with self.subTest(vector["why"]), self.assertRaises(errors.Malformed):
                codec.Codec(vector["shape"]).decode(bytes.fromhex(vector["bytes"]))

    def test_frames_are_read_and_written_as_the_vectors_are(self):
        for vector in VECTORS["frames"]:
            with self.subTest(vector["name"]):
                rest = bytearray.fromhex(vector["bytes"])
                length, first = frames.parse(rest, frames.LONGEST)
                del rest[:length]
                body, more = first.body, first.more
                while more:
                    length, part = frames.parse(rest, frames.LONGEST)
                    self.assertEqual((part.kind, part.header), (frames.REST, first.kind))
                    body, more = body + part.body, part.more
                    del rest[:length]
                self.assertEqual(rest, b"")
                self.assertEqual(first.kind, vector["kind"])
                self.assertEqual(header_of(first.kind, first.header), vector["header"])
                self.assertEqual(body.hex(), vector["body"])
                again = frames.frame(first.kind, first.header, body)
                self.assertEqual(again.hex(), vector["bytes"])

    def test_what_breaks_the_rules_ends_a_link(self):
        greeting = ("hello", "pong, to the greeting")
        greets = "".join(vector["bytes"] for vector in VECTORS["frames"] if vector["name"] in greeting)
        for vector in VECTORS["broken"]:
            with self.subTest(vector["why"]):
                here, there = socket.socketpair()
                self.addCleanup(there.close)
                link = t.over(here, node="bob", cluster="test")
                self.addCleanup(link.close)
                if vector["greeted"]:
                    there.sendall(bytes.fromhex(greets))
                there.sendall(bytes.fromhex(vector["bytes"]))
                self.assertIn(link.down().kind, ("protocol", "frame-too-large"))

    def test_there_is_a_vector_of_every_kind_and_of_every_error(self):
        kinds = {vector["kind"] for vector in VECTORS["frames"]} | {frames.REST}
        self.assertEqual(kinds, set(frames.HEADERS))
        text = json.dumps([vector["header"] for vector in VECTORS["frames"]])
        for name in VARIANTS.values():
            self.assertIn(f'"{name}"', text)


if __name__ == "__main__":
    unittest.main()
