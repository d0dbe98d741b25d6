'use strict';
// Requests on a schedule. Timers of the event loop are of whole milliseconds, so a worker sleeps and wakes this thread.

const { once } = require('node:events');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { Mailbox, spawn } = require('../inprocess/mailbox');
const { within, exact, below } = require('../sizes');
const { Histogram } = require('./histogram');
const { dueAt } = require('./schedule');

const LAST = -1;

async function client(end, verified, inbox, start, rate, seen) {
  let answered = 0;
  let sum = 0;
  for (;;) {
    const k = inbox.take() ?? (await inbox.wait());
    if (k === LAST) return { answered, sum };
    const sent = process.hrtime.bigint();
    sum += await verified(end, k);
    const now = process.hrtime.bigint();
    seen.due.add(Number(now - start) - dueAt(k, rate));
    seen.sent.add(Number(now - sent));
    answered++;
  }
}

// The thread that knows when something is due.
async function pacer() {
  const worker = new Worker(path.join(__dirname, 'schedule.js'));
  await once(worker, 'online');
  return worker;
}

// Hands out what is due whenever the worker says that something is.
function handOut(worker, inboxes, start, rate, requests) {
  const asked = new Int32Array(new SharedArrayBuffer(4));
  let k = 0;
  worker.on('message', () => {
    Atomics.store(asked, 0, 0);
    const now = Number(process.hrtime.bigint() - start);
    for (; k < requests && dueAt(k, rate) <= now; k++) inboxes[k % inboxes.length].send(k);
    if (k === requests) for (const inbox of inboxes) inbox.send(LAST);
  });
  worker.postMessage({ start, rate, requests, asked });
}

async function paced(ends, verified, rate, secs) {
  within({ rate, secs }, { rate: 1e8, secs: 1e4 });
  const requests = rate * secs;
  exact(below(requests), `rate=${rate} secs=${secs}`);
  const seen = { due: new Histogram(), sent: new Histogram() };
  const inboxes = ends.map(() => new Mailbox());
  const worker = await pacer();
  const ended = once(worker, 'exit');
  const start = process.hrtime.bigint();
  const clients = ends.map((end, i) => spawn(() => client(end, verified, inboxes[i], start, rate, seen)));
  handOut(worker, inboxes, start, rate, requests);
  const total = { msgs: 0, units: 0, check: 0 };
  for (const { answered, sum } of await Promise.all(clients)) {
    total.msgs += 2 * answered;
    total.units += 2;
    total.check += sum;
  }
  const ns = process.hrtime.bigint() - start;
  await ended;
  return { ns, ...total, hist: seen.due.list(), hist_service: seen.sent.list() };
}

module.exports = { paced };
