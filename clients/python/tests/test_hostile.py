"""A peer that speaks by hand: what it may not do, and what it reads."""

import socket
import threading
import unittest
from functools import partial

import patience
from counter import Tally, g

import tidings_client as t
from tidings_client import errors, frames
from tidings_client.session import Session

LONG = 20
eventually = partial(patience.eventually, LONG)


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
        hello = ["versions", "node", "incarnation", "cluster", "codec"]
        usual = [(2, 2), "mallory", 1, "", "postcard"]
        said = [change.get(name, value) for name, value in zip(hello, usual)]
        limits = t.Limits()
        sizes = [limits.message, limits.calls, limits.window, limits.link_window]
        hello = frames.frame(frames.HELLO, (frames.MAGIC, *said, *sizes, 10_000_000))
        return hello + frames.frame(frames.PONG, (0, 1))

    def test_each_broken_rule_has_its_reason(self):
        def frame(kind, rest):
            return (1 + len(rest)).to_bytes(4, "little") + bytes([kind]) + rest

        traces = [frames.Traced(t.Trace(bytes(16), bytes(8), 0))] * 2
        big = frames.frame(frames.TELL, (0, b"xxxx", []), bytes(100_000))
        tell = frames.frame(frames.TELL, (0, b"xxxx", []), b"")
        first = big[: 4 + int.from_bytes(big[:4], "little")]
        hang = g.Counter.METHODS["hang"].number
        call = frames.frame(frames.CALL, (1, 0, hang, 0, []), b"")
        bind = frames.frame(frames.BIND, (1, "counter", b"", "Counter", []))
        cases = [
            (b"GET / HTTP/1.1\r\n\r\n", False, "protocol", {}),
            (b"+OK ready\r\n", False, "frame-too-large", {}),
            (frame(frames.PONG, b""), False, "protocol", {}),
            (b"\xff\xff\xff\xff", True, "frame-too-large", {}),
            (bytes(4), True, "protocol", {}),
            (frame(99, b""), True, "protocol", {}),
            (frame(frames.CALL, b"\x01"), True, "protocol", {}),
            (frames.frame(frames.ANSWER, (0, t.Ok([]))), True, "protocol", {}),
            (frames.frame(frames.REST, frames.TELL, b"x"), True, "protocol", {}),
            (frames.frame(frames.CREDIT, (0, (1, 1))), True, "protocol", {}),
            (frames.frame(frames.RELEASE, (7, 1)), True, "protocol", {}),
            (bind + frames.frame(frames.RELEASE, (0, 0)), True, "protocol", {}),
            (frames.frame(frames.BYE, None) + tell, True, "protocol", {}),
            (frames.frame(frames.TELL, (0, b"xxxx", traces), b""), True, "protocol", {}),
            (frames.frame(frames.BOUND, (7, t.Ok(1))), True, "protocol", {}),
            (big, True, "message-too-large", {"message": 90_000}),
            (tell * 9, True, "credit", {"window": (8, 1000), "link_window": (8, 1000)}),
            (frames.frame(frames.PONG, (0, 1)) * 11, True, "flood", {"control": 10}),
            (frames.frame(frames.NACK, 7) * 11, True, "flood", {"control": 10}),
            (frames.frame(frames.DOWN, (7, errors.Stopped())) * 22, True, "flood", {"control": 10}),
            (frames.frame(frames.BIND, (1, "key", b"", "Counter", [])) * 11, True, "flood", {"control": 10}),
            (frames.frame(frames.CREDIT, (0, (0, 0))), True, "protocol", {}),
            (frame(frames.PING | frames.MORE, b""), True, "protocol", {}),
            (frame(frames.PING, b"\x00\x07"), True, "protocol", {}),
            (frame(frames.BYE, b"\x07"), True, "protocol", {}),
            (self.greet(), True, "protocol", {}),
            (first + first, True, "protocol", {}),
            (first + frame(frames.REST, bytes([frames.TELL])), True, "protocol", {}),
            (frames.frame(frames.REFUSED, errors.TooManyLinks()), False, "refused-by-peer", {}),
            (frames.frame(frames.REFUSED, errors.TooManyLinks()), True, "refused-by-peer", {}),
            (self.greet(versions=(7, 9)), False, "refused", {}),
            (self.greet(codec="json"), False, "refused", {}),
            (bind + call * 2, True, "protocol", {}),
        ]
        for data, greeted, kind, limits in cases:
            with self.subTest(kind, data=data[:20]):
                link = self.victim(**limits)
                self.theirs.sendall((self.greet() if greeted else b"") + data)
                self.assertEqual(link.down().kind, kind)

    def test_what_goes_with_what_was_sent_is_no_flood(self):
        link = self.victim(control=10)
        many = range(50)
        says = [
            *(frames.frame(frames.CALL, (n, 0, b"xxxx", 0, []), b"") for n in many),
            *(frames.frame(frames.TELL, (0, b"xxxx", [frames.Mine(n)]), b"") for n in many),
            *(frames.frame(frames.BIND, (n, "counter", b"", "Counter", [])) for n in many),
            *(frames.frame(frames.NACK, n) for n in many),
            *2 * [frames.frame(frames.DOWN, (n, errors.Stopped())) for n in many],
            *(frames.frame(frames.RELEASE, (0, 1)) for n in many),
        ]
        self.theirs.sendall(self.greet() + b"".join(says))
        self.assertTrue(eventually(lambda: link.stats().get("nacks_in") == 50))
        self.assertEqual((link.exit, link.stats()["tells_in"]), (None, 50))

    def test_a_peer_that_goes_before_all_is_answered_has_not_drained(self):
        for answered, kind in ((False, "closed"), (True, "drained")):
            link = self.victim()
            method = g.Counter.METHODS["get" if answered else "hang"].number
            bind = frames.frame(frames.BIND, (1, "counter", b"", "Counter", []))
            call = frames.frame(frames.CALL, (1, 0, method, 0, []))
            self.theirs.sendall(self.greet() + bind + call)
            kinds = [frame.kind for frame in self.frames_of(2 + answered)]
            self.assertEqual(answered, frames.ANSWER in kinds)
            self.assertFalse(link.drain(0.05))
            self.theirs.sendall(frames.frame(frames.BYE, None))
            self.theirs.shutdown(socket.SHUT_WR)
            self.assertEqual(link.down().kind, kind)

    def test_texts_of_errors_and_what_a_message_carries_are_limited(self):
        def too_long(error):
            # Ours are cut as they are made.
            object.__setattr__(error, "text", 1025 * "x")
            return error

        end = too_long(errors.Panicked(""))
        crowd = [frames.Gone()] * 1026
        refused = frames.frame(frames.REFUSED, too_long(errors.OtherCluster("")))
        for kind, header in (
            (frames.ANSWER, (0, t.Err(too_long(errors.RefusedCall(""))))),
            (frames.ANSWER, (0, t.Err(errors.Ended(end)))),
            (frames.ANSWER, (0, t.Ok(crowd))),
            (frames.CALL, (0, 0, b"xxxx", 0, crowd)),
            (frames.TELL, (0, b"xxxx", crowd)),
            (frames.DOWN, (0, end)),
            (frames.BOUND, (1, t.Err(too_long(errors.OtherInterface(""))))),
        ):
            with self.subTest(kind=kind):
                link = self.victim()
                self.theirs.sendall(self.greet() + frames.frame(kind, header))
                why = link.down()
                self.assertEqual((why.kind, why.text[:21]), ("protocol", "a header is malformed"))
        link = self.victim()
        self.theirs.sendall(refused)
        self.assertEqual(link.down().kind, "protocol")
        # So much is allowed.
        link = self.victim()
        end, most = errors.Panicked(1024 * "x"), crowd[2:]
        traced = [*most, frames.Traced(t.Trace(bytes(16), bytes(8)))]
        down, tell = (0, end), (0, b"xxxx", traced)
        self.theirs.sendall(self.greet() + frames.frame(frames.DOWN, down) + frames.frame(frames.TELL, tell))
        self.assertTrue(eventually(lambda: link.stats().get("tells_in") == 1))
        self.assertIsNone(link.exit)

    def over_tcp(self, **limits):
        """A victim whose peer has greeted, and what that has of it."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours = socket.create_connection(listener.getsockname())
            theirs, _ = listener.accept()
        theirs.settimeout(LONG)
        link = t.over(ours, limits=t.Limits(**limits))
        self.addCleanup(theirs.close)
        self.addCleanup(link.close)
        theirs.sendall(self.greet())
        link.up()
        return link, theirs

    def test_who_gives_a_link_up_takes_back_what_has_not_been_sent(self):
        def until_the_end(theirs):
            while theirs.recv(4096):
                pass

        link, theirs = self.over_tcp()
        link.close()
        self.assertEqual(link.down().kind, "dropped")
        with self.assertRaises(ConnectionResetError):
            until_the_end(theirs)
        link, theirs = self.over_tcp(silence=0.1)
        self.assertEqual(link.down().kind, "silent")
        with self.assertRaises(ConnectionResetError):
            until_the_end(theirs)
        # Who ends it in order has said all.
        link, theirs = self.over_tcp()
        theirs.sendall(frames.frame(frames.BYE, None))
        self.assertTrue(link.drain(LONG))
        until_the_end(theirs)

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
        # Each hears what the other is.
        self.assertEqual(str(why.refusal), "other")
        data = bytearray()
        while more := self.theirs.recv(4096):
            data += more
        length, _ = frames.parse(data, frames.LONGEST)
        _, refused = frames.parse(data[length:], frames.LONGEST)
        self.assertIsInstance(refused.header, errors.OtherCluster)
        self.assertEqual(refused.header.text, "")

    def test_who_speaks_another_protocol_is_told_by_how_it_begins(self):
        for begins, what in [
            (b"HTTP/1.1 400 Bad Request\r\n", "HTTP"),
            (b"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH"),
            (b"\x15\x03\x01\0\x02\x02\x46", "TLS"),
        ]:
            link = self.victim()
            self.theirs.sendall(begins)
            self.assertEqual(link.down().text, f"it speaks {what}")

    def frames_of(self, count):
        """The next frames that the link writes, but for its word to a greeting and what it asks."""
        data, found = bytearray(), []
        while len(found) < count:
            while (parsed := frames.parse(data, frames.LONGEST)) is None:
                data += self.theirs.recv(4096)
            del data[: parsed[0]]
            frame = parsed[1]
            if frame.kind != frames.PING and (frame.kind != frames.PONG or frame.header[0] > 0):
                found.append(frame)
        return found

    def test_nothing_is_begun_before_the_peer_has_said_its_clock_nor_what_it_has_given_up(self):
        self.victim()
        get = g.Counter.METHODS["get"].number
        hello = self.greet()
        hello = hello[: 4 + int.from_bytes(hello[:4], "little")]
        self.theirs.sendall(hello + frames.frame(frames.BIND, (1, "counter", b"", "Counter", [])))
        for number, until in ((1, 0), (2, 5_000_000), (3, 50_000_000)):
            self.theirs.sendall(frames.frame(frames.CALL, (number, 0, get, until, [])))
        self.theirs.sendall(frames.frame(frames.PING, 7))
        kinds = {frame.kind for frame in self.frames_of(3)}
        self.assertEqual(kinds, {frames.HELLO, frames.BOUND, frames.PONG})
        self.theirs.sendall(frames.frame(frames.PONG, (0, 10_000_000)))
        answers = {frame.header[0]: frame.header[1] for frame in self.frames_of(3)}
        self.assertEqual(type(answers[2].error), errors.Timeout)
        self.assertEqual([type(answers[number]) for number in (1, 3)], [t.Ok, t.Ok])

    def test_what_a_message_carries_that_cannot_be_read_is_accounted_for(self):
        link = self.victim()
        later = g.Counter.METHODS["later"].number
        carried = [frames.Mine(5), frames.ReplyFor(3, 0), frames.Gone()]
        self.theirs.sendall(self.greet())
        self.theirs.sendall(frames.frame(frames.BIND, (1, "counter", b"", "Counter", [])))
        self.theirs.sendall(frames.frame(frames.TELL, (0, later, carried), b"\xff"))
        self.theirs.sendall(frames.frame(frames.PING, 5))
        seen = {frame.kind: frame.header for frame in self.frames_of(5)}
        self.assertEqual(seen[frames.RELEASE], (5, 1))
        number, outcome = seen[frames.ANSWER]
        self.assertEqual(number, 3)
        self.assertEqual(outcome.error.end, errors.NoSuchActor())
        self.assertIn(frames.PONG, seen)
        self.assertEqual(link.stats()["Malformed"], 1)

    def test_a_request_for_what_is_not_there_has_its_error(self):
        self.victim()
        add, get = g.Counter.METHODS["add"].number, g.Counter.METHODS["get"].number
        self.theirs.sendall(self.greet())
        self.theirs.sendall(frames.frame(frames.BIND, (1, "counter", b"", "Counter", [])))
        for number, (target, method) in enumerate([(7, get), (0, b"none"), (0, add)]):
            self.theirs.sendall(frames.frame(frames.CALL, (number, target, method, 0, [])))
        # One that has an answer, and is not called.
        self.theirs.sendall(frames.frame(frames.TELL, (0, get, [])))
        self.theirs.sendall(frames.frame(frames.CALL, (4, 0, get, 0, [])))
        answers = [frame for frame in self.frames_of(6) if frame.kind == frames.ANSWER]
        found = [type(getattr(a.header[1], "error", None)) for a in answers]
        nothing = type(None)
        self.assertEqual(found, [errors.NotExecuted, errors.NoSuchMethod, errors.RefusedCall, nothing])

    def test_a_reference_that_comes_home_is_of_the_interface_that_is_expected(self):
        link = self.victim()
        join, get = g.Counter.METHODS["join"].number, g.Counter.METHODS["get"].number
        self.theirs.sendall(self.greet())
        self.theirs.sendall(frames.frame(frames.BIND, (1, "counter", b"", "Counter", [])))
        # A counter, where a listener is due.
        self.theirs.sendall(frames.frame(frames.CALL, (1, 0, join, 0, [frames.Yours(0)]), b"\0"))
        self.theirs.sendall(frames.frame(frames.CALL, (2, 0, get, 0, [])))
        answers = {frame.header[0]: frame.header[1] for frame in self.frames_of(4)[2:]}
        self.assertIsInstance(answers[1].error, errors.Malformed)
        self.assertIsInstance(answers[2], t.Ok)
        self.assertEqual(link.stats()["Malformed"], 1)

    def test_a_number_is_not_used_again_while_word_of_its_last_caller_may_be_overtaken(self):
        session = Session("victim", "", t.Limits(), 0.0)
        session.receive(self.greet(), 0.0)
        number = session.calls.take()
        session.call(number, 0, b"xxxx", None, [], bytearray())
        session.output()
        session.nack(number)
        answer = frames.frame(frames.ANSWER, (number, t.Ok([])))
        session.receive(answer, 0.0)
        self.assertNotEqual(session.calls.take(), number)
        with self.assertRaises(t.LinkDown):
            session.receive(answer, 0.0)
        session.output()
        self.assertEqual(session.calls.take(), number)

    def test_what_is_urgent_comes_between_the_parts_of_a_message(self):
        session = Session("victim", "", t.Limits(), 0.0)
        session.receive(self.greet(), 0.0)
        session.output()
        session.tell(0, b"xxxx", [], bytearray(300_000))
        out = bytearray(session.output())
        session.answer(0, t.Ok([]), b"")
        while more := session.output():
            out += more
        kinds = []
        while out:
            length, frame = frames.parse(out, frames.LONGEST)
            del out[:length]
            kinds.append(frame.kind)
        self.assertEqual(kinds[0], frames.TELL)
        self.assertLess(kinds.index(frames.ANSWER), 4)
        self.assertEqual(kinds.count(frames.REST), 9)

    def test_who_gives_no_credit_back_for_one_actor_after_the_other_is_sent_nothing_more(self):
        session = Session("victim", "", t.Limits(exports=5), 0.0)
        session.receive(self.greet(), 0.0)
        for target in range(10):
            self.assertTrue(session.may_send(target))
            session.tell(target, b"xxxx", [], bytearray())
        self.assertFalse(session.may_send(10))
        session.receive(frames.frame(frames.CREDIT, (3, (1, 0))), 0.0)
        self.assertTrue(session.may_send(10))

    def test_a_peer_that_does_not_read_is_not_read_and_when_it_reads_it_has_all(self):
        link = self.victim(control=1 << 30, outgoing=1, silence=10 * LONG, stall=10 * LONG)
        self.theirs.sendall(self.greet())
        link.up()
        pings = 10_000 * [frames.frame(frames.PING, 7)]
        said, enough = [], threading.Event()

        def says():
            while not enough.is_set():
                self.theirs.sendall(b"".join(pings))
                said.append(len(pings))

        talker = threading.Thread(target=says)
        talker.start()
        self.assertTrue(eventually(link._session.is_full))
        enough.set()
        data, pongs = bytearray(), 0
        while talker.is_alive() or pongs < sum(said):
            data += self.theirs.recv(1 << 16)
            while parsed := frames.parse(data, frames.LONGEST):
                del data[: parsed[0]]
                pongs += parsed[1].kind == frames.PONG and parsed[1].header[0] == 7
        self.assertEqual(pongs, sum(said))
        self.assertIsNone(link.exit)

    def test_it_is_no_silence_of_the_peers_that_it_is_not_read(self):
        session = Session("victim", "", t.Limits(control=1 << 30), 0.0)
        session.receive(self.greet(), 0.0)
        while not session.is_full():
            session.receive(1_000 * frames.frame(frames.PING, 7), 0.0)
        session.tick(60.0)
        while session.output():
            pass
        self.assertFalse(session.is_full())
        session.tick(74.0)
        with self.assertRaises(t.LinkDown):
            session.tick(75.0)

    def test_silence_and_a_handshake_that_does_not_come_end_the_link(self):
        link = self.victim(handshake=0.05)
        with self.assertRaises(t.LinkDown):
            link.up()
        self.assertEqual(link.down().kind, "handshake")
        link = self.victim(idle=0.05, silence=0.2)
        self.theirs.sendall(self.greet())
        self.assertEqual(link.down().kind, "silent")
        # When it has greeted, and then after each time without a word.
        self.assertGreaterEqual(link.stats()["pings"], 3)

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
