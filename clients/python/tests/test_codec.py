"""Values of shapes that the vectors do not have, and values that are none."""

import unittest

from tidings_client import codec, errors, shape


def round_trip(text, data, classes=None):
    """What these bytes are, if they are written as they were read."""
    one = codec.Codec(text, classes)
    value = one.decode(data)
    assert one.encode(value) == data, one.encode(value)
    return value


class Codecs(unittest.TestCase):
    def test_an_enum_that_holds_nothing_may_stand_in_a_shape_again(self):
        first, second = round_trip("(Kind<Tea|Cake>,Kind)", b"\x01\x00")
        self.assertEqual((first.name, second.name, type(first)), ("Cake", "Tea", type(second)))
        method = shape.parse_method("Shop.sell([Kind<Tea|Cake>],Kind?,{Kind,u8})->Kind<Tea|Cake>")
        round_trip(shape.Tuple(method.arguments), b"\x01\x00\x01\x01\x01\x00\x07")

    def test_a_duration_may_stand_in_a_shape_again(self):
        first, second = round_trip("(Duration{secs:u64,nanos:u32},Duration)", b"\x02\xf4\x03\x03\x00")
        self.assertEqual((first.secs, first.nanos, second), (2, 500, type(first)(3, 0)))

    def test_a_struct_or_variant_of_no_fields_may_have_brackets(self):
        for text, data in (
            ("Unit()", b""),
            ("(Unit(),Unit)", b""),
            ("Kind<Tea()|Cake{}|Cup>", b"\x01"),
            ("Event<Opened()|Sold(u8)>", b"\x00"),
        ):
            with self.subTest(text):
                round_trip(text, data)
        self.assertEqual(len(shape.parse_method("Shop.put(Unit(),u8)").arguments), 2)

    def test_an_enum_without_variants_has_no_value(self):
        one = codec.Codec("Never<>?")
        self.assertIsNone(one.decode(b"\x00"))
        with self.assertRaises(errors.Malformed):
            one.decode(b"\x01\x00")

    def test_fields_and_variants_may_have_names_that_python_keeps(self):
        value = round_trip("Trip{from:u8,to:u8}", b"\x01\x02")
        self.assertEqual(value.from_, 1)
        kind = round_trip("Kind<None|True|mro>", b"\x02")
        self.assertEqual([one.name for one in type(kind)], ["None_", "True_", "mro_"])

    def test_depth_is_that_of_one_value_in_another_and_not_of_the_names_that_stand_again(self):
        # How many bytes of 1 go how deep: a struct takes none.
        deepest = {"List<End|More(List)>": 64, "Tree<End|More(Tree?)>": 64, "Chain{next:Chain?}": 31}
        for text, most in deepest.items():
            with self.subTest(text):
                round_trip(text, b"\x01" * most + b"\x00")
                with self.assertRaises(errors.Malformed):
                    codec.Codec(text).decode(b"\x01" * (most + 1) + b"\x00")

    def test_keys_that_hold_lists_hold_tuples(self):
        self.assertEqual(round_trip("{[u16],u8}", b"\x01\x02\x01\x02\x07"), {(1, 2): 7})
        shaped = "{(Path{parts:[str],to:[u16;2]}?,u8),[u16]}"
        value = round_trip(shaped, b"\x01\x01\x01\x01a\x01\x02\x05\x01\x07")
        ((key, number), numbers) = next(iter(value.items()))
        self.assertEqual((key.parts, key.to, number, numbers), (("a",), (1, 2), 5, [7]))
        with self.assertRaises(errors.Malformed):
            codec.Codec("{{u8,u8},u8}").decode(b"\x01\x00\x00")

    def test_whatever_a_value_raises_it_cannot_be_written(self):
        class Odd:
            def __len__(self):
                raise RuntimeError("it has no length")

            def __repr__(self):
                raise RuntimeError("nor a text")

        with self.assertRaises(errors.Malformed) as raised:
            codec.Codec("[u16]").encode(Odd())
        self.assertIn("RuntimeError", raised.exception.text)

    def test_whatever_a_class_raises_the_bytes_cannot_be_read(self):
        class Never:
            __match_args__ = ("n",)

            def __init__(self, n):
                raise RuntimeError("there is none")

        with self.assertRaises(errors.Malformed):
            codec.Codec("Never{n:u8}", {"Never": Never}).decode(b"\x01")


if __name__ == "__main__":
    unittest.main()
