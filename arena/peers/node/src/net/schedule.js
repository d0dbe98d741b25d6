'use strict';
// When requests are due; as a worker, the thread that sleeps until then and wakes the one that makes them.

const { isMainThread, parentPort } = require('node:worker_threads');

const SECOND = 1e9;

// Request k is due at k/rate seconds after the start, here in ns.
function dueAt(k, rate) {
  return Math.floor(k / rate) * SECOND + Math.floor(((k % rate) * SECOND) / rate);
}

function wake({ start, rate, requests, asked }) {
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  const sleep = (ns) => Atomics.wait(nobody, 0, 0, ns / 1e6);
  for (let k = 0; k < requests; ) {
    const now = Number(process.hrtime.bigint() - start);
    if (now < dueAt(k, rate)) {
      sleep(dueAt(k, rate) - now);
      continue;
    }
    while (k < requests && dueAt(k, rate) <= now) k++;
    // One message is enough until it is taken: the other thread looks at the clock itself.
    if (Atomics.exchange(asked, 0, 1) === 0) parentPort.postMessage(null);
  }
}

if (isMainThread) module.exports = { dueAt };
else parentPort.once('message', wake);
