"""What the tests wait by."""

import threading


def eventually(seconds, holds):
    """Waits until it does, for so long. Each look gives the link's thread its turn."""
    turn = threading.Event()
    for _ in range(100 * seconds):
        if holds():
            return True
        turn.wait(0.01)
    return False
