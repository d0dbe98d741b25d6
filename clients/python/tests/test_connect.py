"""Connecting: addresses, whom a certificate is for, and coming back."""

import contextlib
import os
import socket
import ssl
import sys
import tempfile
import threading
import unittest
from unittest import mock

from counter import LinkTest

import tidings_client as t
from tidings_client import errors, stream

LONG = 20


class Connecting(LinkTest):
    def test_names_that_go_into_no_greeting_are_refused_before_anybody_is_asked(self):
        for names in ({"node": "n" * 4_000}, {"node": "n" * 3_000, "cluster": "\xe9" * 500}):
            with self.assertRaises(ValueError):
                t.connect_until_up("unix:/nowhere/at-all.sock", **names)

    def test_who_waits_until_it_is_up_does_not_wait_for_what_does_not_pass(self):
        alert = errors.LinkDown("io", "tlsv13 alert certificate required")
        alert.__cause__ = ssl.SSLError(1, "tlsv13 alert certificate required")
        never = [
            alert,
            ssl.SSLError(1, "tlsv1 alert unknown ca"),
            ssl.SSLCertVerificationError(1, "expired"),
            errors.LinkDown("protocol", "it does not begin with a greeting"),
            errors.LinkDown("frame-too-large"),
            errors.LinkDown("refused-by-peer", "", errors.OtherCluster("other")),
        ]
        passes = [
            ConnectionRefusedError(),
            TimeoutError(),
            ssl.SSLEOFError(8, "it broke off"),
            errors.LinkDown("closed"),
            errors.LinkDown("handshake"),
            errors.LinkDown("refused-by-peer", "", errors.TooManyLinks()),
        ]
        for why in never:
            # The module: by its name 3.10 finds the function.
            module = sys.modules["tidings_client.connect"]
            with mock.patch.object(module, "connect", side_effect=[*passes, why]) as tried:
                with self.assertRaises(type(why)) as raised:
                    t.connect_until_up("tls://127.0.0.1:7", first=0)
                self.assertIs(raised.exception, why)
                self.assertEqual(tried.call_count, len(passes) + 1)

    def test_who_loses_link_after_link_comes_back_ever_later_and_who_ends_them_does_not(self):
        module = sys.modules["tidings_client.connect"]
        limits = []

        def serves(times, ends):
            """Lets somebody in so often, and ends each link by that."""
            here = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(here.close)
            address = f"tcp://127.0.0.1:{here.getsockname()[1]}"
            limits.clear()
            for _ in range(times):
                came = []
                coming = threading.Thread(target=lambda: came.append(t.over(here.accept()[0])))
                coming.start()
                ours = t.connect_until_up(address, first=1, longest=5)
                coming.join(LONG)
                ends(ours, came[0])
                for link in (ours, came[0]):
                    link.down()
                # Nothing is told by who ends what has ended.
                ours.close()
            return list(limits)

        def random(_, limit):
            limits.append(limit)
            return 0.0

        with mock.patch.object(module.random, "uniform", random):
            self.assertEqual(serves(6, lambda ours, theirs: theirs.close()), [1, 2, 4, 5, 5])
            self.assertEqual(serves(3, lambda ours, theirs: ours.drain(LONG)), [])
            self.assertEqual(serves(3, lambda ours, theirs: ours.close()), [])
            with mock.patch.object(module, "LASTED", 0):
                self.assertEqual(serves(3, lambda ours, theirs: theirs.close()), [1, 1])

    def test_who_breaks_off_while_he_waits_for_the_greeting_leaves_no_link(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(LONG)
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            # As Ctrl-C does.
            breaks = mock.patch.object(t.Link, "up", side_effect=KeyboardInterrupt)
            with breaks, self.assertRaises(KeyboardInterrupt):
                t.connect(address, limits=t.Limits(handshake=1000))
            came, _ = server.accept()
            with came:
                came.settimeout(LONG)
                # What he has said, and then the end: he takes it back if that has not arrived.
                with contextlib.suppress(ConnectionResetError):
                    while came.recv(4096):
                        pass

    def test_an_identity_is_never_left_unused_and_a_port_is_one(self):
        unused = ssl.create_default_context()
        for wrong, tls in (("tcp://127.0.0.1:1", unused), ("tcp://127.0.0.1:65536", None)):
            with self.assertRaises(ValueError):
                t.connect(wrong, tls=tls)

    def test_the_path_of_a_socket_may_stand_behind_two_slashes(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            path = f"{folder}/here.sock"
            server.bind(path)
            server.listen()
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(folder)
            for address in (f"unix:{path}", f"unix://{path}", "unix:here.sock", "unix://here.sock"):
                sock, names = stream.dial(address, None, None, LONG, insecure=False)
                sock.close()
                self.assertIsNone(names)
            with self.assertRaises(ValueError):
                stream.dial("unix://", None, None, LONG, insecure=False)

    def test_a_node_is_called_as_dns_has_it_in_its_certificate(self):
        kinds = ("DNS", "IP Address", "email", "URI")
        certificate = {"subjectAltName": tuple((kind, f"a {kind}") for kind in kinds)}
        self.assertEqual(stream.names_of(certificate), ["a DNS"])
        self.assertEqual(stream.names_of({}), [])

    def test_who_finds_the_queue_of_a_listener_full_waits_for_his_place_in_it(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            path = f"{folder}/here.sock"
            server.bind(path)
            server.listen(0)
            came = []
            dial = lambda: came.append(stream.dial(f"unix:{path}", None, None, LONG, insecure=False)[0])
            accept = lambda _: came.append(server.accept()[0])
            with mock.patch.object(stream.time, "sleep", side_effect=accept) as waits:
                while not waits.called:
                    dial()
            for sock in came:
                sock.close()
            # And no longer than it may take.
            late = mock.patch.object(stream.time, "monotonic", side_effect=[0, LONG + 1])
            full = mock.patch.object(stream.socket.socket, "connect", side_effect=BlockingIOError)
            with late, full, self.assertRaises(TimeoutError):
                dial()


if __name__ == "__main__":
    unittest.main()
