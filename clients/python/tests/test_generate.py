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
    "Job.list(Types{str:str,bytes:[u8],int:{[u8],bool},dict:{[u16],u8}})->[str]": [],
    "Job.classmethod()->(f32,u8)": [],
    "Job.builtins()->u8": [],
    "Job.__hide(Json{__typename:str,__init__:u8})->u8": ["__json"],
    "Job.\N{MICRO SIGN}s(u8)->u8": ["\N{MICRO SIGN}"],
    "Reply.define()->@Job": [],
}

# Types of one name: another where they stand in another shape, or by another's name.
APART = {
    "Shop.users(Page{items:[str],next:Page?})->Page{items:[u16]}": ["after"],
    "Shop.both(Page{items:[u16]},Page#2{items:[str],next:Page#2?})->(Box{page:Page{items:[u16]}},Page)": [],
    "Shop.box(Box{page:Page{items:[str],next:Page?}})->Event<Page|Sold(u8)>": [],
    "Shop.event(Event<Sold(str)>)->Event<Page|Sold(u8)>": [],
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

    def list(self, types):
        self.taken.append(types)
        return [types.str]

    def classmethod(self):
        return 0.5, 1

    def builtins_(self):
        return 4

    def __hide___(self, json):
        self.taken.append((json.__typename___, json.__init___))
        return 5

    def μs(self, μ):
        return μ

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
        self.assertEqual(there.list(g.Types("x", b"y", {b"z": True}, {(1,): 2})).result(LONG), ["x"])
        self.assertEqual(there.classmethod().result(LONG), (0.5, 1))
        self.assertEqual(there.builtins_().result(LONG), 4)
        self.assertEqual([field.name for field in dataclasses.fields(g.Call_)], ["from__", "from_"])
        # What Python would make private, or read as another.
        self.assertEqual(there.__hide___(__json___=g.Json("a", __init___=1)).result(LONG), 5)
        self.assertEqual(there.μs(μ=7).result(LONG), 7)
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
                g.Types("x", b"y", {b"z": True}, {(1,): 2}),
                ("a", 1),
            ],
        )

    def test_types_of_one_name_are_told_apart_and_each_is_one_wherever_it_stands(self):
        g = load(generate.generate(described(APART)), "apart")
        types = {"Page", "Page_2", "Box", "Box_2", "EventPage", "EventSold", "Event_2Sold"}
        self.assertEqual(types.difference(g.__all__), set())
        texts, numbers = g.Page(["a"], g.Page([], None)), g.Page_2([1])

        class Shop:
            def users(self, after):
                return g.Page_2([len(after.items)])

            def both(self, one, other):
                return g.Box(one), g.Page_2([len(other.items)])

            def box(self, box):
                return g.EventSold(len(box.page.items))

            def event(self, event):
                return g.EventPage() if event == g.Event_2Sold("a") else None

        _, client = pair({"shop": g.Shop.start(Shop())})
        there = client.get(g.Shop, "shop")
        self.assertEqual(there.users(texts).result(LONG), numbers)
        self.assertEqual(there.both(numbers, texts).result(LONG), (g.Box(numbers), numbers))
        self.assertEqual(there.box(g.Box_2(texts)).result(LONG), g.EventSold(1))
        self.assertEqual(there.event(g.Event_2Sold("a")).result(LONG), g.EventPage())
        with self.assertRaises(t.CallFailed):
            there.users(numbers)

    def test_an_enum_without_variants_is_one(self):
        g = load(generate.generate(described(NAMES)), "names")
        self.assertTrue(issubclass(g.Never, enum.Enum))
        self.assertEqual(list(g.Never), [])
        self.assertIs(g.Some_, g.Some_)
        self.assertIs(g.Ok, t.Ok)


if __name__ == "__main__":
    unittest.main()
