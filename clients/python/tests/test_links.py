"""Two ends in one process, both in Python: what links promise."""

import asyncio
import gc
import logging
import socket
import threading
import unittest

from counter import Ear, Tally, close_all, counter, g, pair

import tidings_client as t
from tidings_client import errors, frames
from tidings_client.session import Session

LONG = 20


def eventually(holds):
    """Waits until it does. Each look gives the link's thread its turn."""
    turn = threading.Event()
    for _ in range(100 * LONG):
        if holds():
            return True
        turn.wait(0.01)
    return False


class Links(unittest.TestCase):
    def setUp(self):
        self.addCleanup(close_all)
        # Handlers that fail are part of the tests.
        logging.getLogger("tidings_client").setLevel(logging.CRITICAL)

    def test_an_actor_elsewhere_is_called_by_the_same_reference(self):
        _, here, _, client, there = counter()
        for one in (here, there):
            one.add(-3)
        self.assertEqual(there.get().result(LONG), -6)
        self.assertEqual(client.up().node, "server")

    def test_messages_of_one_sender_keep_their_order_and_bodies_go_in_parts(self):
        _, _, _, _, there = counter()
        for n in range(3000):
            there.add(n)
        self.assertEqual(there.get().result(LONG), 3000 * 2999 // 2)
        large = bytes(range(256)) * 3000
        self.assertEqual(there.echo(large).result(LONG), large)

    def test_a_body_that_is_too_large_is_refused_here_and_the_link_stays(self):
        _, _, _, client, there = counter()
        with self.assertRaises(errors.RefusedCall):
            there.echo(bytes(1 << 21))
        self.assertEqual(there.get().result(LONG), 0)
        self.assertEqual(client.stats()["unsendable"], 1)
        with self.assertRaises(errors.Malformed):
            there.add("three")

    def test_an_observer_hears_and_a_reference_that_comes_home_is_the_actors_own(self):
        tally, here, _, _, there = counter()
        tally.this = here
        ear = Ear()
        again = there.join(g.Listener.start(ear)).result(LONG)
        self.assertEqual(ear.heard_first.result(LONG), g.EventSold("tea", 3))
        self.assertEqual(again, there)
        # A method whose name Python keeps for itself, and an enum whose variants hold nothing.
        self.assertEqual(tally.listeners[0].from_().result(LONG), g.Kind.Cake)

    def test_an_actor_lives_while_a_peer_refers_to_it_and_ends_when_it_does_not(self):
        tally, here, _, client, there = counter()
        tally.this = here
        listener = g.Listener.start(Ear())
        ended = listener.down()
        there.join(listener).result(LONG)
        del listener
        gc.collect()
        self.assertFalse(ended.done())
        tally.listeners.clear()
        self.assertEqual(ended.result(LONG), errors.Normal())
        self.assertTrue(eventually(lambda: not client._hub.exports))

    def test_replies_travel_and_are_answered_or_known_to_be_dropped(self):
        tally, _, server, _, there = counter()
        pairs = [t.Reply.pair() for _ in range(3)]
        there.later([g.Ask(n, reply) for n, (reply, _) in enumerate(pairs)])
        calls = [call for _, call in pairs]
        self.assertEqual(calls[2].result(LONG), 20)
        with self.assertRaises(t.NoReply):
            calls[1].result(LONG)
        self.assertFalse(calls[0].done())
        tally.asks.pop().reply.send(7)
        self.assertEqual(calls[0].result(LONG), 7)
        with self.assertRaises(ValueError):
            pairs[0][0].send(1)
        self.assertTrue(eventually(lambda: not server._hub.served))

    def test_a_call_that_is_given_up_or_too_late_is_known_to_its_handler(self):
        tally, _, server, client, there = counter()
        with self.assertRaises(t.Timeout):
            there.within(0.05).hang().result(LONG)
        call = there.hang()
        self.assertTrue(eventually(lambda: len(tally.hung) == 2))
        self.assertTrue(call.cancel())
        self.assertTrue(eventually(lambda: all(request.gone for request in tally.hung)))
        self.assertEqual(server.stats()["nacks_in"], 2)
        # Their numbers are free again.
        self.assertTrue(eventually(lambda: not client._hub.calls))

    def test_a_request_that_comes_too_late_is_not_given_to_its_actor(self):
        tally, _, _, _, there = counter()
        gate = threading.Event()
        tally.get = gate.wait
        there.get()
        late = there.within(0.01).hang()
        with self.assertRaises(t.Timeout):
            late.result(LONG)
        gate.set()
        there.echo(b"behind it").result(LONG)
        self.assertEqual(tally.hung, [])

    def test_an_exception_of_the_handler_is_the_actors_end_and_is_told_once(self):
        _, _, _, _, there = counter()
        down = there.down()
        end = errors.Panicked("ValueError: the counter breaks")
        with self.assertRaises(t.Ended) as raised:
            there.fails().result(LONG)
        self.assertEqual(raised.exception.end, end)
        self.assertEqual(down.result(LONG), end)
        with self.assertRaises(t.NotExecuted) as raised:
            there.get()
        self.assertIs(raised.exception.executed, False)
        self.assertEqual(there.down().result(LONG), end)

    def test_a_peer_reaches_only_what_was_exported(self):
        here = g.Counter.start(Tally())
        server, client = pair({"secret": t.Export(here, b"key")})
        for name, token in (("secret", b""), ("secret", b"kex"), ("other", b"key")):
            with self.assertRaises(errors.NoSuchName):
                client.get(g.Counter, name, token)
        with self.assertRaises(errors.OtherInterface):
            client.get(g.Listener, "secret", b"key")
        self.assertEqual(client.get(g.Counter, "secret", b"key").get().result(LONG), 0)
        self.assertEqual(server.stats()["refused_names"], 4)

    def test_a_method_that_changed_is_refused(self):
        class Changed(t.Reference):
            NAME = "Counter"

        t.define({}, {Changed: {"get": "Counter.get()->i32"}})
        _, _, _, client, _ = counter()
        with self.assertRaises(errors.OtherSchema):
            client.get(Changed, "counter")
        t.define({}, {Changed: {"new": "Counter.new()->i32"}})
        with self.assertRaises(errors.NoSuchMethod):
            client.get(Changed, "counter")._call("new").result(LONG)

    def test_the_end_of_a_link_ends_what_came_over_it(self):
        tally, _, server, client, there = counter()
        call, down = there.hang(), there.down()
        self.assertTrue(eventually(lambda: tally.hung))
        server.close()
        with self.assertRaises(t.Ended) as raised:
            call.result(LONG)
        self.assertIsNone(raised.exception.executed)
        self.assertIsInstance(down.result(LONG), errors.Disconnected)
        self.assertEqual(client.down().kind, "closed")
        with self.assertRaises(t.NotExecuted):
            there.get()
        with self.assertRaises(t.LinkDown):
            client.get(g.Counter, "counter")

    def test_a_drained_link_lets_its_calls_finish(self):
        tally, _, server, client, there = counter()
        gate = threading.Event()
        tally.get = lambda: gate.wait() and 5
        call = there.get()
        self.assertFalse(client.drain(0.05))
        with self.assertRaises(t.NotExecuted):
            there.add(1)
        gate.set()
        self.assertEqual(call.result(LONG), 5)
        self.assertEqual(client.down().kind, "drained")
        self.assertEqual(server.down().kind, "drained")

    def test_a_slow_actor_stops_those_who_send_to_it_and_nobody_else(self):
        limits = t.Limits(window=(4, 1000))
        tally = Tally()
        gate = threading.Event()
        tally.add = lambda _: gate.wait()
        slow, quick = g.Counter.start(tally), g.Counter.start(Tally())
        _, client = pair({"slow": slow, "quick": quick}, limits=limits)
        there = client.get(g.Counter, "slow")
        sent = []

        def send():
            for n in range(50):
                there.add(n)
                sent.append(n)

        sender = threading.Thread(target=send)
        sender.start()
        other = client.get(g.Counter, "quick")
        for _ in range(200):
            self.assertEqual(other.get().result(LONG), 0)
        # The one that is handled, and a window.
        self.assertLessEqual(len(sent), 5)
        gate.set()
        sender.join(LONG)
        self.assertEqual(len(sent), 50)

    def test_a_reference_of_one_link_is_passed_on_over_another(self):
        tally, here, _, _, there = counter()
        tally.this = here
        _, second = pair({"far": there})
        far = second.get(g.Counter, "far")
        far.add(4)
        self.assertEqual(far.get().result(LONG), 4)
        ear = Ear()
        far.join(g.Listener.start(ear))
        self.assertEqual(ear.heard_first.result(LONG), g.EventSold("tea", 3))
        down = far.down()
        here.stop()
        self.assertEqual(down.result(LONG), errors.Stopped())

    def test_a_call_can_be_awaited(self):
        _, _, _, _, there = counter()

        async def both():
            there.add(2)
            return await asyncio.gather(there.get(), there.get())

        self.assertEqual(asyncio.run(both()), [2, 2])

    def test_calls_leave_nothing_behind(self):
        tally, here, server, client, there = counter()
        tally.this = here
        for _ in range(300):
            there.within(LONG).echo(b"x").result(LONG)
            there.join(g.Listener.start(Ear())).result(LONG)
            there.hang().cancel()
        tally.listeners.clear()
        tally.hung.clear()
        gc.collect()

        def is_empty():
            tables = (server._hub.imports, server._hub.served, client._hub.exports, client._hub.calls)
            assert len(client._hub.deadlines) < 100
            return not any(tables) and len(server._hub.exports) == len(client._hub.imports) == 1

        self.assertTrue(eventually(is_empty))


class Hostile(unittest.TestCase):
    """A peer that breaks the rules ends its link, with the reason, and nothing else."""

    def victim(self, **limits):
        ours, self.theirs = socket.socketpair()
        self.theirs.settimeout(LONG)
        exports = {"counter": g.Counter.start(Tally())}
        link = t.over(ours, exports=exports, limits=t.Limits(**limits))
        self.addCleanup(self.theirs.close)
        self.addCleanup(link.close)
        return link

    def greet(self, **change):
        session = Session("mallory", change.get("cluster", ""), t.Limits(), 0.0)
        return session.output()

    def test_each_broken_rule_has_its_reason(self):
        def frame(kind, rest):
            return (1 + len(rest)).to_bytes(4, "little") + bytes([kind]) + rest

        big = frames.frame(frames.TELL, (0, b"xxxx", []), bytes(100_000))
        tell = frames.frame(frames.TELL, (0, b"xxxx", []), b"")
        hang = g.Counter.METHODS["hang"].number
        call = frames.frame(frames.CALL, (1, 0, hang, 0, []), b"")
        bind = frames.frame(frames.BIND, (1, "counter", b"", "Counter", []))
        cases = [
            (b"GET / HTTP/1.1\r\n\r\n", False, "frame-too-large", {}),
            (frame(frames.PONG, b""), False, "protocol", {}),
            (b"\xff\xff\xff\xff", True, "frame-too-large", {}),
            (bytes(4), True, "protocol", {}),
            (frame(99, b""), True, "protocol", {}),
            (frame(frames.CALL, b"\x01"), True, "protocol", {}),
            (frames.frame(frames.ANSWER, (0, t.Ok([]))), True, "protocol", {}),
            (frames.frame(frames.REST, frames.TELL, b"x"), True, "protocol", {}),
            (frames.frame(frames.CREDIT, (0, (1, 1))), True, "protocol", {}),
            (frames.frame(frames.RELEASE, (7, 1)), True, "protocol", {}),
            (frames.frame(frames.BOUND, (7, t.Ok(1))), True, "protocol", {}),
            (big, True, "message-too-large", {"message": 90_000}),
            (tell * 9, True, "credit", {"window": (8, 1000), "link_window": (8, 1000)}),
            (frames.frame(frames.PONG, None) * 11, True, "flood", {"control": 10}),
            (bind + call * 2, True, "protocol", {}),
        ]
        for data, greeted, kind, limits in cases:
            with self.subTest(kind, data=data[:20]):
                link = self.victim(**limits)
                self.theirs.sendall((self.greet() if greeted else b"") + data)
                self.assertEqual(link.down().kind, kind)

    def test_calls_beyond_the_limit_are_refused_before_they_are_decoded(self):
        link = self.victim(calls=1)
        self.theirs.sendall(self.greet())
        self.theirs.sendall(frames.frame(frames.CALL, (1, 0, b"xxxx", 0, []), b""))
        self.assertTrue(eventually(lambda: link.stats().get("overloaded") == 1))
        link.close()

    def test_who_is_not_to_be_spoken_with_hears_why(self):
        link = self.victim()
        self.theirs.sendall(self.greet(cluster="other"))
        why = link.down()
        self.assertEqual((why.kind, type(why.refusal)), ("refused", errors.OtherCluster))
        data = bytearray()
        while more := self.theirs.recv(4096):
            data += more
        length, _ = frames.parse(data, frames.LONGEST)
        _, refused = frames.parse(data[length:], frames.LONGEST)
        self.assertIsInstance(refused.header, errors.OtherCluster)

    def test_silence_and_a_handshake_that_does_not_come_end_the_link(self):
        link = self.victim(handshake=0.05)
        with self.assertRaises(t.LinkDown):
            link.up()
        self.assertEqual(link.down().kind, "handshake")
        link = self.victim(idle=0.05, silence=0.2)
        self.theirs.sendall(self.greet())
        self.assertEqual(link.down().kind, "silent")
        self.assertEqual(link.stats()["pings"], 1)

    def test_a_peer_that_does_not_read_is_given_up(self):
        link = self.victim(stall=0.1, silence=LONG)
        vast = (1 << 20, 1 << 31)
        session = Session("mallory", "", t.Limits(window=vast, link_window=vast), 0.0)
        self.theirs.sendall(session.output())
        found = []
        asker = threading.Thread(target=lambda: found.append(link.get(g.Counter, "any")))
        asker.start()
        # Its greeting and its question are read, and nothing more.
        data = bytearray()
        while frames.BIND not in kinds_of(data):
            data += self.theirs.recv(4096)
        self.theirs.sendall(frames.frame(frames.BOUND, (1, t.Ok(0))))
        asker.join(LONG)
        with self.assertRaises(t.CallFailed):
            for _ in range(100):
                found[0].echo(bytes(1 << 19))
        self.assertEqual(link.down().kind, "slow-peer")


def kinds_of(data):
    """The kinds of the frames that are whole."""
    kinds, rest = [], bytearray(data)
    while parsed := frames.parse(rest, frames.LONGEST):
        kinds.append(parsed[1].kind)
        del rest[: parsed[0]]
    return kinds


if __name__ == "__main__":
    unittest.main()
