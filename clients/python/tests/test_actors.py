"""Actors of this side: whatever their handlers do, they have one end, and it is told."""

import sys
import unittest
from concurrent.futures import Future
from functools import partial

from counter import LinkTest, Tally, g, pair

import tidings_client as t
from tidings_client import errors

LONG = 20


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("it has no text")


def raises(why):
    def handler(*_):
        raise why

    return handler


class Actors(LinkTest):
    def ends(self, get, end):
        """An actor with this handler ends so, here and for a peer."""
        for is_here in (True, False):
            with self.subTest(is_here=is_here):
                tally = Tally()
                tally.get = get
                here = g.Counter.start(tally)
                _, client = pair({"counter": here})
                one = here if is_here else client.get(g.Counter, "counter")
                down, waiting = one.down(), one.get()
                with self.assertRaises(t.Ended) as raised:
                    waiting.result(LONG)
                self.assertEqual(raised.exception.end, end)
                self.assertEqual(down.result(LONG), end)
                with self.assertRaises(t.NotExecuted):
                    one.get().result(LONG)

    def test_a_handler_that_is_a_coroutine_is_refused_before_it_is_sent_anything(self):
        class Loops(Tally):
            async def add(self, n):
                self.sum += n

        with self.assertRaises(TypeError):
            g.Counter.start(Loops())

    def test_a_handler_that_ends_its_thread_ends_the_actor(self):
        self.ends(lambda: sys.exit(3), errors.Panicked("SystemExit: 3"))
        self.ends(raises(GeneratorExit()), errors.Panicked("GeneratorExit: "))

    def test_an_exception_may_have_a_text_that_cannot_be_sent(self):
        self.ends(raises(ValueError("\ud800!")), errors.Panicked("ValueError: ?!"))
        self.ends(raises(Unspeakable()), errors.Panicked("Unspeakable: a Unspeakable"))
        long = errors.Panicked("ValueError: " + 1012 * "x")
        self.ends(raises(ValueError(2000 * "x")), long)

    def test_who_raises_as_it_hears_of_a_call_ends_neither_the_actor_nor_the_link(self):
        tally = Tally()
        here = g.Counter.start(tally)
        _, client = pair({"counter": here})
        for one in (here, client.get(g.Counter, "counter")):
            opened = Future()
            tally.get = partial(opened.result, LONG)
            first, second, down = one.get(), one.get(), one.down()
            first.add_done_callback(lambda _: sys.exit(1))
            down.add_done_callback(lambda _: sys.exit(2))
            opened.set_result(5)
            self.assertEqual((first.result(LONG), second.result(LONG)), (5, 5))
        here.stop()
        self.assertEqual(one.down().result(LONG), errors.Stopped())

    def test_an_answer_that_cannot_be_written_is_refused_and_the_actor_lives(self):
        class Odd:
            def __index__(self):
                raise RuntimeError("there is no number")

        tally = Tally()
        here = g.Counter.start(tally)
        _, client = pair({"counter": here})
        there = client.get(g.Counter, "counter")
        tally.get = Odd
        with self.assertRaises(errors.RefusedCall) as raised:
            there.get().result(LONG)
        self.assertIn("there is no number", raised.exception.text)
        with self.assertRaises(errors.Malformed):
            there.add(Odd())
        later = Future()
        tally.get = lambda: later
        waiting = there.get()
        later.set_exception(Unspeakable("\ud800"))
        with self.assertRaises(errors.RefusedCall):
            waiting.result(LONG)
        tally.get = lambda: 7
        self.assertEqual(there.get().result(LONG), 7)

    def test_a_method_that_cannot_be_looked_up_ends_the_actor(self):
        class Broken:
            @property
            def get(self):
                raise RuntimeError("there is no such thing")

        here = g.Counter.start(Broken())
        with self.assertRaises(t.Ended):
            here.get().result(LONG)
        self.assertEqual(here.down().result(LONG), errors.Panicked("RuntimeError: there is no such thing"))

    def test_an_error_of_the_users_own_is_short_enough_to_be_sent(self):
        tally = Tally()
        tally.get = lambda: failed
        failed = Future()
        failed.set_exception(errors.Ended(errors.Linked(3000 * "a", 3000 * "\N{SNOWMAN}")))
        here = g.Counter.start(tally)
        _, client = pair({"counter": here})
        there = client.get(g.Counter, "counter")
        with self.assertRaises(t.Ended) as raised:
            there.get().result(LONG)
        self.assertEqual(raised.exception.end, errors.Linked(1024 * "a", 341 * "\N{SNOWMAN}"))


if __name__ == "__main__":
    unittest.main()
