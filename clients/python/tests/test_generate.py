"""Modules that are generated from interfaces whose names Python, or the module, needs itself."""

import dataclasses
import enum
import unittest

from counter import LinkTest, described, load, pair

import tidings_client as t
from tidings_client import generate

LONG = 20

# With the names that a generated module has for itself, and those that Python keeps.
NAMES = {
    "Job.start(u8)->u8": ["from"],
    "Job.start_()": [],
    "Job.stop()->u8": [],
    "Job.within()->u8": [],
    "Job.class(u8,u8,u8)->u8": ["self", "from", "from_"],
    "Job.news(Event<Kind(EventKind<None|True|mro>)|None|Call(Call{from:u8,from_:u8})>)->EventKind<None|True|mro>": [],
    "Job.unit(Unit(),Empty{},Never<>?)->Unit()": [],
    "Job.take(Reference{n:u8},Some<Any|Ok(u8)>,int(str))->Reference{n:u8}": [],
    "Job.none(None,dataclass{enum:list(u8)})->@Reply": [],
    "Job.handled(JobHandler,Reply{job:@Job})->(Kind<Tea|Cake>,Kind)": [],
    "Reply.define()->@Job": [],
}


class Handler:
    def __init__(self, module):
        self.g = module
        self.taken = []

    def start_(self):
        self.taken.append("one-way")

    def start__(self, from_):
        return from_

    def stop_(self):
        return 2

    def within_(self):
        return 3

    def class_(self, self_, from__, from_):
        return self_ + 10 * from__ + 100 * from_

    def news(self, event):
        self.taken.append(event)
        return event.field_0 if isinstance(event, self.g.EventKind_) else self.g.EventKind.mro_

    def unit(self, unit, empty, never):
        self.taken.append((unit, empty, never))
        return unit

    def take(self, reference, some, text):
        self.taken.append((reference, some, text))
        return reference

    def none(self, none, data):
        self.taken.append((none, data))
        return self.g.Reply_.start(self)

    def handled(self, job, reply):
        self.taken.append((job, reply))
        return self.g.Kind.Cake, self.g.Kind.Tea

    def define(self):
        return self.job


class Generated(LinkTest):
    def test_names_that_python_or_the_module_needs_are_given_others_and_each_is_given_once(self):
        g = load(generate.generate(described(NAMES)), "names")
        self.assertEqual(len(set(g.__all__)), len(g.__all__))
        handler = Handler(g)
        handler.job = g.Job.start(handler)
        _, client = pair({"job": handler.job})
        there = client.get(g.Job, "job")
        there.start_()
        self.assertEqual(there.start__(1).result(LONG), 1)
        self.assertEqual(there.stop_().result(LONG), 2)
        self.assertEqual(there.within_().result(LONG), 3)
        self.assertEqual(there.class_(1, 2, 1).result(LONG), 121)
        self.assertEqual(there.class_(self_=1, from__=2, from_=1).result(LONG), 121)
        self.assertEqual(there.news(g.EventKind_(g.EventKind.None_)).result(LONG), g.EventKind.None_)
        self.assertEqual(there.news(g.EventCall(g.Call_(1, 2))).result(LONG), g.EventKind.mro_)
        self.assertEqual(there.unit(g.Unit(), g.Empty(), None).result(LONG), g.Unit())
        some = g.SomeOk(7)
        self.assertEqual(there.take(g.Reference_(5), some, g.int_("x")).result(LONG), g.Reference_(5))
        other = there.none(g.None_(), g.dataclass_(g.list_(9))).result(LONG)
        self.assertEqual(other.define().result(LONG), there)
        kinds = there.handled(g.JobHandler(), g.Reply__(there)).result(LONG)
        self.assertEqual(kinds, (g.Kind.Cake, g.Kind.Tea))
        self.assertEqual([field.name for field in dataclasses.fields(g.Call_)], ["from__", "from_"])
        self.assertEqual(
            handler.taken,
            [
                "one-way",
                g.EventKind_(g.EventKind.None_),
                g.EventCall(g.Call_(1, 2)),
                (g.Unit(), g.Empty(), None),
                (g.Reference_(5), some, g.int_("x")),
                (g.None_(), g.dataclass_(g.list_(9))),
                (g.JobHandler(), g.Reply__(handler.job)),
            ],
        )

    def test_an_enum_without_variants_is_one(self):
        g = load(generate.generate(described(NAMES)), "names")
        self.assertTrue(issubclass(g.Never, enum.Enum))
        self.assertEqual(list(g.Never), [])
        self.assertIs(g.Some_, g.Some_)
        self.assertIs(g.Ok, t.Ok)


if __name__ == "__main__":
    unittest.main()
