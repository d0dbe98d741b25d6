"""What is given up leaves nothing behind, and one link does not wait for another."""

import gc
import threading
import traceback
import unittest
import weakref
from functools import partial

import patience
from counter import Ear, LinkTest, Tally, close_all, counter, g, pair

import tidings_client as t
from tidings_client import errors

LONG = 20
eventually = partial(patience.eventually, LONG)


def threads_of(name):
    return [thread for thread in threading.enumerate() if thread.name == f"tidings actor {name}"]


def watchers(reference):
    """How many wait for its end."""
    return len(reference._target.ending.watchers)


class Leaks(LinkTest):
    def passed_on(self):
        """A node that has a listener of one peer's, and a link to another."""
        tally, here, server, client, there = counter()
        tally.this = here
        second = Tally()
        second.join = lambda listener: second.listeners.append(listener) or second.this
        second.this = g.Counter.start(second)
        _, further = pair({"second": second.this})
        return tally, there, client, server, second, further.get(g.Counter, "second"), further

    def test_a_link_does_not_wait_for_the_lock_of_another(self):
        tally, there, _, server, _, far, _ = self.passed_on()
        there.join(g.Listener.start(Ear())).result(LONG)
        listener = tally.listeners.pop()
        sender = threading.Thread(target=lambda: far.join(listener), daemon=True)
        # As if it were at work, and about to pass on something of the other's.
        with server._hub.lock:
            sender.start()
            sender.join(LONG)
            self.assertFalse(sender.is_alive())

    def test_who_waits_for_an_end_no_more_is_not_kept(self):
        _, here, _, client, there = counter()
        before = watchers(here)
        for one in (here, there):
            one.down().cancel()
        self.assertEqual((watchers(here), watchers(there)), (before, 0))

    def test_an_end_that_is_raised_again_and_again_does_not_grow(self):
        _, _, _, client, _ = counter()
        client.close()
        client.down()
        lengths = set()
        for _ in range(3):
            try:
                client.get(g.Counter, "counter")
            except t.LinkDown as why:
                self.assertEqual(why.kind, "dropped")
                lengths.add(len(traceback.extract_tb(why.__traceback__)))
        self.assertEqual(len(lengths), 1)

    def test_references_that_were_passed_on_and_given_up_leave_nothing(self):
        tally, there, client, _, second, far, further = self.passed_on()
        for _ in range(5):
            there.join(g.Listener.start(Ear())).result(LONG)
            far.join(tally.listeners.pop()).result(LONG)
        self.assertEqual(len(threads_of("Forward")), 5)
        self.assertEqual(second.listeners[0].from_().result(LONG), g.Kind.Cake)
        second.listeners.clear()

        def is_empty():
            gc.collect()
            left = (threads_of("Forward"), threads_of("Ear"), client._hub.exports, further._hub.exports)
            return not any(left)

        self.assertTrue(eventually(is_empty))

    def test_a_reference_that_is_passed_on_again_and_again_is_watched_once(self):
        tally, there, _, _, second, far, further = self.passed_on()
        there.join(g.Listener.start(Ear())).result(LONG)
        listener = tally.listeners.pop()
        before = watchers(listener)
        for _ in range(5):
            far.join(listener).result(LONG)
            self.assertEqual(watchers(listener), before + 1)
            second.listeners.clear()
            self.assertTrue(eventually(lambda: not further._hub.exports and not threads_of("Forward")))
        self.assertTrue(eventually(lambda: watchers(listener) == before))

    def test_an_actor_that_has_ended_is_given_up_though_it_is_referred_to(self):
        tally, here, server, client, there = counter()
        tally.this = here
        listener = g.Listener.start(Ear())
        there.join(listener).result(LONG)
        listener.stop()
        theirs = tally.listeners[0]
        self.assertEqual(theirs.down().result(LONG), errors.Stopped())

        def is_empty():
            gc.collect()
            return not client._hub.exports and not server._hub.imports and not server._hub.ended

        self.assertTrue(eventually(is_empty))
        # It is known to be no more, also on its way home; and it is given up once.
        tally.join = lambda listener: tally.listeners.append(listener) or here
        home = there.last().result(LONG)
        self.assertEqual(home.down().result(LONG), errors.NoSuchActor())
        there.join(home).result(LONG)
        again = there.last().result(LONG)
        self.assertEqual(again.down().result(LONG), errors.NoSuchActor())
        del theirs
        tally.listeners.clear()
        gc.collect()
        self.assertEqual(there.get().result(LONG), 0)

    def test_an_actor_that_outlives_its_links_keeps_nothing_of_them(self):
        here = g.Counter.start(Tally())
        before = watchers(here)
        hubs = []
        for _ in range(5):
            server, client = pair({"counter": here})
            self.assertEqual(client.get(g.Counter, "counter").get().result(LONG), 0)
            hubs += [weakref.ref(server._hub), weakref.ref(client._hub)]
        # It was given up over the one, and lost with the others.
        self.assertTrue(eventually(lambda: watchers(here) == before))
        there = client.get(g.Counter, "counter")
        self.assertEqual(watchers(here), before + 1)
        close_all()
        self.assertEqual(watchers(here), before)
        del server, client, there

        def is_empty():
            gc.collect()
            return not any(hub() for hub in hubs)

        self.assertTrue(eventually(is_empty))
        self.assertEqual(here.get().result(LONG), 0)

    def test_a_message_that_cannot_be_sent_takes_nothing(self):
        _, _, _, client, there = counter()
        listener = g.Listener.start(Ear())
        exported = len(client._hub.exports)

        class Odd:
            def __len__(self):
                raise RuntimeError("it has no length")

        with self.assertRaises(errors.Malformed):
            there.later(Odd())
        with self.assertRaises(ValueError):
            there.traced(t.Trace(b"short", b"too")).join(listener)
        with self.assertRaises(errors.Malformed):
            client.get(g.Counter, "\ud800")
        hub = client._hub
        self.assertEqual((hub.calls, hub.session.calls.used, hub.binds), ({}, set(), {}))
        self.assertEqual(len(hub.exports), exported)
        self.assertEqual(hub.session._purse.targets, {})
        self.assertEqual(there.get().result(LONG), 0)

    def test_a_call_may_wait_for_ever(self):
        _, here, _, client, there = counter()
        for one in (here, there):
            for limit in (float("inf"), 1e300, 1e12):
                self.assertEqual(one.within(limit).get().result(LONG), 0)
            with self.assertRaises(ValueError):
                one.within(float("nan"))
        self.assertEqual(client._hub.session.calls.used, set())


if __name__ == "__main__":
    unittest.main()
