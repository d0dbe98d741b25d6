"""Against a node in Rust: `cargo test -p tidings-link --test it python` starts it, and this.

The module `shop` is generated from what that node says of its interfaces.
"""

import gc
import logging
import os
import pathlib
import ssl
import threading
import unittest
from concurrent.futures import Future
from functools import partial

import patience
import shop as g

import tidings_client as t
from tidings_client import errors

LONG = 30
eventually = partial(patience.eventually, LONG)
FOLDER = pathlib.Path(os.environ["TIDINGS_FOLDER"])

ITEM = g.Item("tea \N{SNOWMAN}", 3, ["hot", ""], g.Kind.Cake, b"\x00\x01\xfe\xff", t.Some("note"))
ALL = g.All(
    numbers=(255, 65535, 2**32 - 1, 2**64 - 1, 2**128 - 1, -128, -(2**15), 2**31 - 1),
    more=(-(2**63), -(2**127), 1.5, -0.1, True, "\N{SNOWMAN}"),
    map={
        "a": [g.NewsOpened(), g.NewsSold(ITEM, 4)],
        "b": [g.NewsBoth([g.NewsLeft("bob", g.Duration(2, 500))]), g.NewsBoth([])],
    },
    array=[-1, 0, 1],
    result=t.Ok(g.Item("", 0, [], g.Kind.Tea, bytes(4), t.Some(None))),
    nothing=None,
)


class Ear:
    """An actor of this side."""

    def __init__(self):
        self.first = Future()
        self.hung = Future()

    def heard(self, news):
        self.first.set_result(news)

    def ask(self, n):
        return n + 1

    def hang(self):
        self.hung.set_result(t.current())
        return Future()


class Live:
    """What holds over every kind of stream."""

    def connect(self, **options):
        link = t.connect(os.environ["TIDINGS_TCP"], node="python", **options)
        self.addCleanup(link.close)
        return link

    def setUp(self):
        logging.getLogger("tidings_client").setLevel(logging.CRITICAL)
        self.link = self.connect()
        self.shop = self.link.get(g.Shop, "shop")

    def test_calls_are_answered_in_the_order_of_their_sender(self):
        before = self.shop.sum().result(LONG)
        for n in range(2000):
            self.shop.add(n)
        self.assertEqual(self.shop.sum().result(LONG) - before, 2000 * 1999 // 2)
        self.assertEqual(self.link.up().node, "server")

    def test_values_of_every_shape_come_back_as_they_went(self):
        self.assertEqual(self.shop.all(ALL).result(LONG), ALL)
        failed = g.All(ALL.numbers, ALL.more, {}, ALL.array, t.Err("no"), None)
        self.assertEqual(self.shop.all(failed).result(LONG), failed)

    def test_types_may_stand_in_a_shape_again(self):
        times, kinds = (g.Duration(2, 500), g.Duration(3, 0)), (g.Kind.Tea, g.Kind.Cake)
        swapped = (times[::-1], kinds[::-1])
        self.assertEqual(self.shop.swap(kinds, *times).result(LONG), swapped)

    def test_large_bodies_go_in_parts_in_both_directions(self):
        data = bytes(range(256)) * 4000
        self.assertEqual(self.shop.bytes(data).result(LONG), data)
        with self.assertRaises(errors.RefusedCall):
            self.shop.bytes(bytes(1 << 20))
        with self.assertRaises(errors.RefusedCall):
            self.shop.large(1 << 20).result(LONG)
        self.assertEqual(len(self.shop.large(1000).result(LONG)), 1000)

    def test_a_handlers_error_is_an_answer(self):
        self.assertEqual(self.shop.check(True).result(LONG), t.Ok(1))
        self.assertEqual(self.shop.check(False).result(LONG), t.Err("no"))

    def test_an_observer_hears_is_known_again_and_is_called(self):
        branch = self.shop.branch().result(LONG)
        ear = Ear()
        listener = g.Ear.start(ear)
        self.assertEqual(branch.join(listener).result(LONG), branch)
        self.assertTrue(branch.is_here(listener).result(LONG))
        self.assertFalse(branch.is_here(g.Ear.start(Ear())).result(LONG))
        self.assertEqual(branch.announce(g.NewsSold(ITEM, 2)).result(LONG), 1)
        self.assertEqual(ear.first.result(LONG), g.NewsSold(ITEM, 2))
        self.assertEqual(branch.ask(listener, 5).result(LONG), 7)
        branch.leave(listener)
        self.assertFalse(branch.is_here(listener).result(LONG))

    def test_an_actor_here_lives_while_the_node_refers_to_it(self):
        branch = self.shop.branch().result(LONG)
        listener = g.Ear.start(Ear())
        ended = listener.down()
        branch.join(listener).result(LONG)
        del listener
        gc.collect()
        self.assertEqual(branch.announce(g.NewsOpened()).result(LONG), 1)
        self.assertFalse(ended.done())
        # The branch ends when nobody refers to it, and with it what it refers to.
        del branch
        gc.collect()
        self.assertEqual(ended.result(LONG), errors.Normal())

    def test_a_caller_that_gives_up_is_known_on_either_side(self):
        branch = self.shop.branch().result(LONG)
        with self.assertRaises(t.Timeout):
            branch.within(1).hang().result(LONG)
        call = branch.hang()
        call.cancel()
        self.assertTrue(eventually(lambda: branch.given_up().result(LONG) == 2))
        ear = Ear()
        self.assertTrue(branch.gives_up(g.Ear.start(ear)).result(LONG))
        request = ear.hung.result(LONG)
        self.assertTrue(eventually(lambda: request.gone))

    def test_streams_come_and_go_and_are_left(self):
        self.assertEqual(list(self.shop.count(1000).result(LONG)), list(range(1000)))
        self.assertEqual(self.shop.total(t.Streaming(range(1001))).result(LONG), t.Ok(500500))
        branch = self.shop.branch().result(LONG)
        numbers = branch.count(2**31).result(LONG)
        self.assertEqual([next(iter(numbers)) for _ in range(200)], list(range(200)))
        del numbers
        gc.collect()
        self.assertTrue(eventually(lambda: branch.left().result(LONG) == 1))

        def breaks():
            yield 1
            raise ValueError("there is no more")

        failed = self.shop.total(t.Streaming(breaks())).result(LONG)
        self.assertIn("there is no more", failed.error)

    def test_replies_travel(self):
        pairs = [t.Reply.pair() for _ in range(3)]
        self.shop.later([g.Ask(n, reply) for n, (reply, _) in enumerate(pairs)])
        self.assertEqual(pairs[2][1].result(LONG), 20)
        self.assertEqual(pairs[1][1].result(LONG), 10)
        with self.assertRaises(t.NoReply):
            pairs[0][1].result(LONG)

    def test_each_end_of_a_call_has_its_error(self):
        branch = self.shop.branch().result(LONG)
        down = branch.down()
        with self.assertRaises(t.NoReply):
            branch.drops().result(LONG)
        hangs = branch.hang()
        with self.assertRaises(t.Ended) as raised:
            branch.panics().result(LONG)
        self.assertEqual(raised.exception.end, errors.Panicked("the shop breaks"))
        with self.assertRaises(t.CallFailed) as raised:
            hangs.result(LONG)
        self.assertIsNone(raised.exception.executed)
        self.assertEqual(down.result(LONG), errors.Panicked("the shop breaks"))
        with self.assertRaises(t.NotExecuted):
            branch.sum()

    def test_a_name_is_given_to_who_may_have_it(self):
        with self.assertRaises(errors.NoSuchName):
            self.link.get(g.Shop, "nothing")
        with self.assertRaises(errors.NoSuchName):
            self.link.get(g.Shop, "back door", b"closed sesame")
        with self.assertRaises(errors.OtherInterface):
            self.link.get(g.Ear, "shop")
        back = self.link.get(g.Shop, "back door", b"open sesame")
        self.assertEqual(back.sum().result(LONG), 0)

        class Changed(t.Reference):
            NAME = "Shop"

        t.define({}, {Changed: {"sum": "Shop.sum()->u8"}})
        with self.assertRaises(errors.OtherSchema):
            self.link.get(Changed, "shop")
        t.define({}, {Changed: {"new": "Shop.new(u8)->u8"}})
        with self.assertRaises(errors.NoSuchMethod):
            self.link.get(Changed, "shop")._call("new", 1).result(LONG)

    def test_arguments_that_cannot_be_read_are_refused_and_the_link_stays(self):
        class Liar(t.Reference):
            NAME = "Shop"

        t.define({}, {Liar: {"check": "Shop.check(u8)->u8", "one": "Shop.sum()->i64"}})
        # The number of one method, the arguments of another.
        Liar.METHODS["check"].number = g.Shop.METHODS["check"].number
        Liar.METHODS = {"one": Liar.METHODS["one"], "check": Liar.METHODS["check"]}
        Liar.METHODS["check"].wire_name = "unknown"
        with self.assertRaises(errors.Malformed):
            self.link.get(Liar, "shop")._call("check", 7).result(LONG)
        self.shop.sum().result(LONG)

    def test_the_node_calls_what_is_exported_to_it(self):
        ear = Ear()
        link = self.connect(exports={"ear": g.Ear.start(ear)})
        self.assertEqual(ear.first.result(LONG), g.NewsOpened())
        self.assertTrue(link.drain(LONG))

    def test_a_link_is_drained_and_its_calls_are_finished(self):
        calls = [self.shop.sum() for _ in range(500)]
        self.assertTrue(self.link.drain(LONG))
        for call in calls:
            call.result(0)
        self.assertEqual(self.link.exit.kind, "drained")
        with self.assertRaises(t.NotExecuted):
            self.shop.sum()

    def test_what_was_sent_before_a_drain_is_handled_also_by_an_actor_that_is_slow(self):
        before = self.shop.sum().result(LONG)
        self.shop.nap(300)
        # More than its mailbox takes.
        for _ in range(800):
            self.shop.add(1)
        self.assertTrue(self.link.drain(LONG))
        shop = self.connect().get(g.Shop, "shop")
        self.assertTrue(eventually(lambda: shop.sum().result(LONG) == before + 800))

    def test_many_threads_share_a_link(self):
        branch = self.shop.branch().result(LONG)

        def work():
            for _ in range(200):
                branch.add(1)
                branch.sum().result(LONG)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        self.assertEqual(branch.sum().result(LONG), 1600)


class OverTcp(Live, unittest.TestCase):
    def test_calls_beyond_what_the_node_serves_wait_for_their_turn(self):
        link = t.connect(os.environ["TIDINGS_FEW"])
        self.addCleanup(link.close)
        shop = link.get(g.Shop, "shop")
        hung = [shop.hang() for _ in range(4)]
        with self.assertRaises(t.Timeout) as raised:
            shop.within(0.01).sum()
        self.assertIsNotNone(raised.exception)
        hung[0].cancel()
        self.assertIsInstance(shop.sum().result(LONG), int)

    def test_another_cluster_is_refused(self):
        with self.assertRaises(t.LinkDown) as raised:
            t.connect(os.environ["TIDINGS_TCP"], cluster="other")
        self.assertIsInstance(raised.exception.refusal, errors.OtherCluster)


class OverUnix(Live, unittest.TestCase):
    def connect(self, **options):
        link = t.connect(os.environ["TIDINGS_UNIX"], node="python", **options)
        self.addCleanup(link.close)
        return link


class OverTls(Live, unittest.TestCase):
    def connect(self, *, node="python", to="server", **options):
        files = (FOLDER / name for name in ("ca.pem", "python.pem", "python.key"))
        link = t.connect(
            os.environ["TIDINGS_TLS"],
            node=node,
            tls=t.tls(*map(str, files)),
            to=to,
            **options,
        )
        self.addCleanup(link.close)
        return link

    def test_a_node_that_is_not_who_its_certificate_says_is_refused(self):
        try:
            # The greeting may come before the refusal.
            why = self.connect(node="mallory").down()
        except t.LinkDown as refused:
            why = refused
        self.assertIsInstance(why.refusal, errors.OtherNode)

    def test_a_server_that_is_another_is_refused(self):
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connect(to="other")
        with self.assertRaises(t.Insecure):
            t.connect(os.environ["TIDINGS_TLS"])


if __name__ == "__main__":
    unittest.main()
