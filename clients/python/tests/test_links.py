"""Two ends in one process, both in Python: what links promise."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import warnings
from concurrent.futures import Future
from functools import partial

import patience
from counter import Ear, LinkTest, Tally, counter, g, pair

import tidings_client as t
from tidings_client import errors
from tidings_client.session import Ledger, Purse

LONG = 20
eventually = partial(patience.eventually, LONG)


class Links(LinkTest):
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

    def test_there_is_no_name_that_goes_into_no_frame_and_the_link_stays(self):
        _, _, _, client, there = counter()
        for length in (30_000, 1 << 16):
            with self.assertRaises(errors.NoSuchName) as raised:
                client.get(g.Counter, "x" * length)
            self.assertEqual(raised.exception.name, "x" * length)
            with self.assertRaises(errors.NoSuchName):
                client.get(g.Counter, "counter", bytes(length))
        self.assertEqual(there.get().result(LONG), 0)

    def test_what_a_link_calls_back_is_told_that_it_cannot_wait_for_it(self):
        tally, _, _, client, there = counter()
        answer, raised = Future(), Future()
        tally.hang = lambda: answer

        def called(_):
            waits = [lambda: client.get(g.Counter, "counter"), client.drain, client.down]
            found = []
            for wait in waits:
                try:
                    wait()
                except RuntimeError as why:
                    found.append(str(why))
            raised.set_result(len(found))

        there.hang().add_done_callback(called)
        answer.set_result(7)
        self.assertEqual(raised.result(LONG), 3)
        self.assertEqual(there.get().result(LONG), 0)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_process_that_is_forked_off_has_no_link_and_no_actor_and_does_not_wait_for_them(self):
        tally, here, server, client, there = counter()
        hangs = there.hang()
        self.assertTrue(eventually(lambda: tally.hung))
        # As if another thread were at work.
        held, go_on = threading.Event(), threading.Event()

        def work():
            with client._hub.lock:
                held.set()
                go_on.wait(LONG)

        threading.Thread(target=work).start()
        held.wait(LONG)

        def child():
            for one in (here, there):
                with self.assertRaises(t.NotExecuted):
                    call = one.get()
                    call.result(LONG)
            self.assertIn("forked off", str(client.down()))
            self.assertIsInstance(hangs.exception(LONG), t.Ended)
            self.assertTrue(client.drain(LONG))
            with self.assertRaises(t.LinkDown):
                client.get(g.Counter, "counter")
            self.assertEqual((here.down().result(LONG), server.exit.kind), (errors.Killed(), "dropped"))

        with warnings.catch_warnings():
            # That there are threads.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process == 0:
            try:
                signal.alarm(2 * LONG)
                child()
                os._exit(0)
            finally:
                os._exit(1)
        go_on.set()
        self.assertEqual(os.waitpid(process, 0)[1], 0)
        self.assertFalse(hangs.done())
        there.add(1)
        self.assertEqual(there.get().result(LONG), 1)

    def test_an_actor_that_takes_what_it_is_sent_is_not_stopped_by_those_that_take_nothing(self):
        window, link = (8, 80), (32, 320)
        purse, ledger = Purse(window, link, 100), Ledger(window, link)

        def send(target):
            may = purse.may_send(target)
            if may:
                ledger.check(target)
                purse.spend(target, 10)
                for one, grant in ledger.spend(target, 10):
                    purse.add(one, grant)
            return may

        def quickly():
            self.assertTrue(send(9))
            for one, grant in ledger.taken(9, 10):
                purse.add(one, grant)

        quickly()
        for stuck in range(5):
            while send(stuck):
                pass
            for _ in range(40):
                quickly()
        # Three quarters, and one message for each of the others.
        self.assertEqual(ledger.link, [26, 260])

    def test_a_body_that_is_too_large_is_refused_here_and_the_link_stays(self):
        _, _, _, client, there = counter()
        with self.assertRaises(errors.RefusedCall) as raised:
            there.echo(bytes(1 << 21))
        self.assertIs(raised.exception.executed, False)
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

    def test_streams_travel_both_ways_and_say_why_they_break_off(self):
        tally, _, _, _, there = counter()
        self.assertEqual(list(there.count(200).result(LONG)), list(range(200)))
        tally.left = Future()
        self.assertEqual(there.total(t.Streaming(range(101))).result(LONG), 5050)
        taken = []
        with self.assertRaises(t.Ended) as raised:
            for n in there.count(1000).result(LONG):
                taken.append(n)
        self.assertEqual(taken, list(range(500)))
        self.assertIn("too much", str(raised.exception.end))
        # Who fills one that is dropped hears of it, and has been asked for no more than was taken.
        tally.left = Future()
        numbers = there.count(400).result(LONG)
        self.assertEqual([next(iter(numbers)) for _ in range(3)], [0, 1, 2])
        del numbers
        gc.collect()
        self.assertLessEqual(tally.left.result(LONG), 4)

    def test_a_message_is_handled_as_a_part_of_its_senders_trace(self):
        tally, here, _, _, there = counter()
        trace = t.Trace.parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        for one in (here, there):
            one.traced(trace).within(LONG).hang()
            one.hang()
            self.assertTrue(eventually(lambda: len(tally.hung) == 2))
            self.assertEqual([request.trace for request in tally.hung], [trace, None])
            tally.hung.clear()
            one.traced(trace).add(1)
            one.add(1)
            one.get().result(LONG)
            self.assertEqual(tally.parts, [trace, None])
            tally.parts.clear()
        self.assertEqual(str(trace), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        for wrong in ("", str(trace)[:-1], str(trace) + "-x", "ff" + str(trace)[2:], str(trace).upper()):
            with self.assertRaises(ValueError):
                t.Trace.parse(wrong)
        with self.assertRaises(ValueError):
            t.Trace.parse("00-" + "0" * 32 + "-b7ad6b7169203331-01")

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
            there.within(1).hang().result(LONG)
        call = there.hang()
        self.assertTrue(eventually(lambda: len(tally.hung) == 2))
        self.assertTrue(call.cancel())
        self.assertTrue(eventually(lambda: all(request.gone for request in tally.hung)))
        self.assertEqual(server.stats()["nacks_in"], 2)
        # Their numbers are free again.
        self.assertTrue(eventually(lambda: not client._hub.calls))

    def test_a_request_that_comes_too_late_is_not_given_to_its_actor(self):
        tally, _, server, _, there = counter()
        gate = threading.Event()
        tally.get = gate.wait
        there.get()
        late = there.within(0.01).hang()
        with self.assertRaises(t.Timeout):
            late.result(LONG)
        # The server counts from when the request has come.
        self.assertTrue(eventually(lambda: server.stats()["calls_in"] == 2))
        time.sleep(0.2)
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
            with self.assertRaises(errors.NoSuchName) as raised:
                client.get(g.Counter, name, token)
            self.assertEqual(str(raised.exception), f"nothing is exported as '{name}'")
        with self.assertRaises(errors.OtherInterface) as raised:
            client.get(g.Listener, "secret", b"key")
        self.assertEqual(raised.exception.name, "secret")
        self.assertEqual(str(raised.exception), "'secret' is exported as another interface, 'Counter'")
        self.assertEqual(client.get(g.Counter, "secret", b"key").get().result(LONG), 0)
        self.assertEqual(server.stats()["refused_names"], 4)

    def test_every_error_says_what_it_is(self):
        kinds = {**errors.FAILURES, **errors.UNBOUND, **errors.REFUSALS}.values()
        for kind in kinds:
            with self.subTest(kind.__name__):
                self.assertGreater(len(str(kind(*range(len(kind.__match_args__))))), 0)
        self.assertEqual(str(errors.Full()), "There was no place for it. Not executed.")
        self.assertIn("Counter", str(errors.OtherInterface("Counter")))

    def test_a_method_that_changed_is_refused(self):
        class Changed(t.Reference):
            NAME = "Counter"

        t.define({}, {Changed: {"get": "Counter.get()->i32"}})
        _, _, _, client, _ = counter()
        with self.assertRaises(errors.OtherSchema) as raised:
            client.get(Changed, "counter")
        self.assertEqual(str(raised.exception), "method 'get' of 'counter' has another shape there")
        t.define({}, {Changed: {"new": "Counter.new()->i32"}})
        with self.assertRaises(errors.NoSuchMethod) as raised:
            client.get(Changed, "counter")._call("new").result(LONG)
        self.assertEqual(str(raised.exception), "the actor has no method 'new', or one of another shape")

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

    @unittest.skipUnless(hasattr(signal, "SIGSTOP"), "processes are stopped otherwise here")
    def test_who_stood_still_takes_it_for_no_silence_of_the_peers(self):
        program = """if True:
            from counter import counter, t
            _, _, _, _, there = counter(limits=t.Limits(idle=0.1, silence=0.5))
            while True:
                print(there.get().result(), flush=True)
                input()
        """
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        found = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        with subprocess.Popen([sys.executable, "-c", program], env=found, **pipes) as child:
            for _ in range(3):
                self.assertEqual(child.stdout.readline(), "0\n")
                # For so long.
                child.send_signal(signal.SIGSTOP)
                time.sleep(1.5)
                child.send_signal(signal.SIGCONT)
                child.stdin.write("\n")
                child.stdin.flush()
            child.kill()

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

    def test_a_link_whose_calls_take_too_long_at_the_end_of_its_context_is_closed(self):
        tally, _, _, client, there = counter(limits=t.Limits(handshake=1))
        with client:
            call = there.hang()
            self.assertTrue(eventually(lambda: tally.hung))
        self.assertEqual(client.down().kind, "dropped")
        with self.assertRaises(t.Ended):
            call.result(LONG)

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

    def test_a_reference_that_comes_home_is_the_same_and_one_that_has_ended_is_known(self):
        tally, here, _, _, there = counter()
        tally.this = here
        listener = g.Listener.start(Ear())
        there.join(listener).result(LONG)
        home = there.last().result(LONG)
        self.assertEqual((home, hash(home)), (listener, hash(listener)))
        self.assertIn("Listener", repr(home) + repr(there))
        listener.stop()
        listener.down().result(LONG)
        tally.join = lambda other: tally.listeners.append(other) or here
        there.join(listener).result(LONG)
        # It may have gone out before its end was known, or after.
        end = tally.listeners[-1].down().result(LONG)
        self.assertIn(end, (errors.Stopped(), errors.NoSuchActor()))
        with self.assertRaises(t.NotExecuted):
            tally.listeners[-1].heard(g.EventOpened())
        with self.assertRaises(TypeError):
            there.stop()

    def test_a_reply_is_passed_on_to_another_node(self):
        tally, _, _, _, there = counter()
        second = Tally()
        _, client = pair({"second": g.Counter.start(second)})
        far = client.get(g.Counter, "second")
        tally.later = lambda asks: far.later([g.Ask(ask.n + 1, ask.reply) for ask in asks])
        pairs = [t.Reply.pair() for _ in range(2)]
        there.later([g.Ask(n, reply) for n, (reply, _) in enumerate(pairs)])
        self.assertEqual(pairs[1][1].result(LONG), 20)
        with self.assertRaises(t.NoReply):
            pairs[0][1].result(LONG)

    def test_too_many_actors_and_too_many_in_one_message_are_refused_and_the_link_stays(self):
        here = [g.Counter.start(Tally()) for _ in range(3)]
        names = dict(zip("abc", here))
        server, client = pair(names, limits=t.Limits(exports=2))
        found = [client.get(g.Counter, name) for name in "ab"]
        with self.assertRaises(errors.TooMany):
            client.get(g.Counter, "c")
        replies = [t.Reply.pair()[0] for _ in range(1100)]
        with self.assertRaises(errors.Malformed):
            found[0].later([g.Ask(0, reply) for reply in replies])
        with self.assertRaises(errors.Malformed):
            found[0].later([g.Ask(0, "no reply")])
        with self.assertRaises(errors.Malformed):
            found[0].join(found[1])
        found.pop()
        gc.collect()
        self.assertTrue(eventually(lambda: len(server._hub.exports) == 1))
        self.assertEqual(client.get(g.Counter, "c").get().result(LONG), 0)
        self.assertEqual(client._hub.session.calls.used, set())

    def test_an_answer_that_is_too_large_is_refused(self):
        tally = Tally()
        a, b = socket.socketpair()
        server = t.over(a, exports={"counter": g.Counter.start(tally)})
        client = t.over(b, limits=t.Limits(message=500))
        self.addCleanup(server.close)
        self.addCleanup(client.close)
        there = client.get(g.Counter, "counter")
        with self.assertRaises(errors.RefusedCall):
            there.echo(bytes(900)).result(LONG)
        tally.get = lambda: "no number"
        with self.assertRaises(errors.RefusedCall):
            there.get().result(LONG)
        self.assertEqual(there.echo(b"x").result(LONG), b"x")

    def test_an_actor_of_this_side_is_called_with_the_same_limits(self):
        tally = Tally()
        gate = threading.Event()
        tally.add = lambda _: gate.wait()
        here = g.Counter.start(tally)
        here.add(1)
        with self.assertRaises(t.Timeout):
            here.within(0.01).hang().result(LONG)
        waiting = here.get()
        for _ in range(1022):
            here.add(1)
        with self.assertRaises(errors.Full):
            here.within(0.01).get()
        here.stop()
        last = here.fails
        gate.set()
        self.assertEqual(waiting.result(LONG), 0)
        self.assertEqual(here.down().result(LONG), errors.Stopped())
        # Its time had passed when it was taken.
        self.assertEqual(tally.hung, [])
        with self.assertRaises(t.NotExecuted):
            last().result(LONG)

    def test_a_handler_that_lacks_a_method_says_so_and_lives(self):
        here = g.Counter.start(object())
        with self.assertRaises(errors.NoSuchMethod) as raised:
            here.get().result(LONG)
        self.assertIn("'get'", str(raised.exception))
        with self.assertRaises(errors.NoSuchMethod):
            here.hang().result(LONG)

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


if __name__ == "__main__":
    unittest.main()
