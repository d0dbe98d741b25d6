"""@ID@ as a peer of the tidings arena. The protocol is in arena/PROTOCOL.md, the workloads in arena/WORKLOADS.md."""

import json
import os
import platform
import queue
import sys
import threading
import time


def counter_send(size):
    """P producers send n additions each to one counter, which has an unbounded mailbox."""
    producers, n = size["P"], size["n"]

    def once():
        mailbox, reply = queue.SimpleQueue(), queue.SimpleQueue()

        def count():
            received = total = 0
            while True:
                message = mailbox.get()
                if message is reply:  # get and reset
                    reply.put((received, total))
                    return
                received += 1
                total += message

        def produce():
            for _ in range(n):
                mailbox.put(100)

        counter = threading.Thread(target=count)
        senders = [threading.Thread(target=produce) for _ in range(producers)]
        for thread in [counter, *senders]:
            thread.start()
        for thread in senders:
            thread.join()
        mailbox.put(reply)
        received, total = reply.get()
        counter.join()
        return received, producers + 1, total

    return once


# workload/variant: a function of the sizes. It does what is not timed and gives back one repetition of the scenario,
# which gives back messages, units and the check value. Add your cells here and to peer.toml.
CELLS = {"counter/send": counter_send}


class Refused(Exception):
    """What this peer cannot do."""


def say(t, **fields):
    print(json.dumps({"arena": 1, "t": t, **fields}, separators=(",", ":")), flush=True)


def clock_step():
    """The smallest step of the clock, in nanoseconds."""
    steps, last = [], time.perf_counter_ns()
    while len(steps) < 100:
        now = time.perf_counter_ns()
        if now > last:
            steps.append(now - last)
        last = now
    return min(steps)


def prepare(words):
    name = words.get("cell")
    if name not in CELLS:
        raise Refused(f"no cell {name}")
    sizes = {key: int(value) for key, value in words.items() if key not in ("cell", "id")}
    return CELLS[name](sizes)


def sample(once, words):
    inner = int(words["inner"])
    messages = units = check = 0
    begin = time.perf_counter_ns()
    for _ in range(inner):
        m, u, c = once()
        messages, units, check = messages + m, units + u, check + c
    ns = time.perf_counter_ns() - begin
    return {"ns": ns, "inner": inner, "msgs": messages, "units": units, "check": check}


def answer(command, words, current):
    """Answers one command; gives back what is prepared afterwards."""
    id = int(words.get("id", "0"))
    if command == "prep":
        current = prepare(words)
        say("ok", id=id)
    elif command == "run":
        if current is None:
            raise Refused("run without prep")
        say("sample", id=id, **sample(current, words))
    elif command == "drop":
        current = None
        say("ok", id=id)
    elif command == "ping":
        say("ok", id=id)
    else:
        raise Refused(f"no command {command}")
    return current


def main():
    system = sys.argv[sys.argv.index("--system") + 1]
    say(
        "hello",
        system=system,
        peer="@ID@",
        version=platform.python_version(),
        runtime=f"{platform.python_implementation()} {platform.python_version()}",
        flags="",
        threads=1,  # one at a time holds the interpreter's lock
        pid=os.getpid(),
        clock_ns=clock_step(),
        caps=[],
        cells=list(CELLS),
    )
    current = None
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "quit":
            return
        words = dict(word.split("=", 1) for word in rest)
        try:
            current = answer(command, words, current)
        except Refused as refusal:
            say("err", id=int(words.get("id", "0")), kind="unsupported", msg=str(refusal))


main()
