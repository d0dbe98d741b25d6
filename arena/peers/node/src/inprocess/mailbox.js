'use strict';
// An unbounded mailbox with one reader, and the start of a task. The language has async functions and no mailbox; this is
// the one that programs write themselves: two arrays, and the resolver of the reader that waits.

class Mailbox {
  #arrived = [];
  #taking = [];
  #next = 0;
  #wake = null;

  send(message) {
    const wake = this.#wake;
    if (wake === null) this.#arrived.push(message);
    else {
      this.#wake = null;
      wake(message);
    }
  }

  // The next message, undefined if there is none: `box.take() ?? (await box.wait())`.
  take() {
    if (this.#next < this.#taking.length) return this.#taking[this.#next++];
    if (this.#arrived.length === 0) return undefined;
    const empty = this.#taking;
    empty.length = 0;
    this.#taking = this.#arrived;
    this.#arrived = empty;
    this.#next = 1;
    return this.#taking[0];
  }

  // Only when `take` found nothing.
  wait() {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

const ready = Promise.resolve();

// Starts a task off the queue of jobs, not within the call of whoever starts it; gives the promise of its result.
function spawn(task) {
  return ready.then(task);
}

module.exports = { Mailbox, spawn };
