'use strict';
// The threads of a cell: this one, which is thread 0, and workers for the others. `start` runs a role on one of them
// and gives a promise of its result; ports among the arguments move with it.

const { Worker } = require('node:worker_threads');
const path = require('node:path');
const { start: startHere } = require('./roles');

class Threads {
  #workers = [];
  #waiting = new Map();
  #next = 0;

  static async of(count) {
    const threads = new Threads();
    for (let i = 1; i < count; i++) threads.#workers.push(threads.#worker());
    await Promise.all(threads.#workers.map((_, i) => threads.start(i + 1, 'hello', {}, [])));
    return threads;
  }

  get count() {
    return this.#workers.length + 1;
  }

  #worker() {
    const worker = new Worker(path.join(__dirname, 'worker.js'));
    worker.on('message', ({ id, result, error }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    });
    worker.on('error', (error) => {
      for (const { reject } of this.#waiting.values()) reject(error);
    });
    return worker;
  }

  start(thread, role, args, ports) {
    if (thread === 0) return startHere(role, args, ports);
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      this.#workers[thread - 1].postMessage({ id, role, args, ports }, ports);
    });
  }

  async end() {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

module.exports = { Threads };
