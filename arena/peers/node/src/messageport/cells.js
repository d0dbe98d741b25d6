'use strict';
// The cells of worker_threads and MessagePort.

const { MessageChannel } = require('node:worker_threads');
const { Threads } = require('./threads');
const { within, exact, below, repeat } = require('../sizes');
const { GET } = require('./counter');

const LARGEST = { p: 1e5, n: 1e9, w: 1e6, N: 1e9, P: 1e5, threads: 256 };

// A cell whose `scenario(threads, params)` is timed as a whole; the threads are not.
function cell(check, scenario) {
  return async (params) => {
    check(params);
    within({ threads: params.threads }, LARGEST);
    const threads = await Threads.of(params.threads);
    return { run: repeat(() => scenario(threads, params)), drop: () => threads.end() };
  };
}

// Client and server of a pair are on two threads if there are two; the clients are spread over all.
async function pingpong(threads, { p, n, w }) {
  const ends = [];
  for (let i = 0; i < p; i++) {
    const { port1, port2 } = new MessageChannel();
    const here = i % threads.count;
    const there = (i + 1) % threads.count;
    ends.push(threads.start(there, 'server', { address: i }, [port2]));
    ends.push(threads.start(here, 'client', { n, w, address: i }, [port1]));
  }
  const total = { msgs: 0, units: 0, check: 0 };
  for (const { sent, sum } of await Promise.all(ends)) {
    total.msgs += sent;
    total.units++;
    total.check += sum;
  }
  return total;
}

function pingpongCell(window) {
  return cell(
    ({ p, n, w = window }) => {
      within({ p, n, w }, LARGEST);
      exact(p * below(n), `p=${p} n=${n}`);
    },
    (threads, params) => pingpong(threads, { w: window, ...params }),
  );
}

async function fan(threads, { N: n }) {
  const makeChild = (port) => threads.start(threads.count - 1, 'fanChild', { n }, [port]);
  const { port1: start, port2: inbox } = new MessageChannel();
  const parent = threads.start(0, 'fanParent', { n, makeChild }, [inbox]);
  start.postMessage('start');
  const { taken, sum } = await parent;
  return { msgs: taken, units: 2, check: sum };
}

// The counter is on this thread, the producers on the others if there are others.
async function counter(threads, { P, n }) {
  const channels = Array.from({ length: P }, () => new MessageChannel());
  const asker = new MessageChannel();
  const actor = threads.start(0, 'counter', {}, [...channels.map(({ port1 }) => port1), asker.port1]);
  const others = Math.max(threads.count - 1, 1);
  const producers = channels.map(({ port2 }, i) => {
    const thread = threads.count === 1 ? 0 : 1 + (i % others);
    return threads.start(thread, 'producer', { n, ask: false }, [port2]);
  });
  await Promise.all(producers);
  const reply = new Promise((resolve) => asker.port2.on('message', resolve));
  asker.port2.postMessage(GET);
  const check = await reply;
  asker.port2.close();
  const { taken } = await actor;
  return { msgs: taken, units: P + 1, check };
}

// Every producer asks itself; the answers are added.
async function askEach(threads, { P, n }) {
  const channels = Array.from({ length: P }, () => new MessageChannel());
  const actor = threads.start(0, 'counter', {}, channels.map(({ port1 }) => port1));
  const others = Math.max(threads.count - 1, 1);
  const ends = await Promise.all(
    channels.map(({ port2 }, i) => {
      const thread = threads.count === 1 ? 0 : 1 + (i % others);
      return threads.start(thread, 'producer', { n, ask: true }, [port2]);
    }),
  );
  const { taken } = await actor;
  let check = 0;
  for (const { sum } of ends) check += sum;
  return { msgs: taken, units: P + 1, check };
}

const counterSizes = ({ P, n }) => {
  within({ P, n }, LARGEST);
  exact(100 * P * n, `P=${P} n=${n}`);
};

const fanSizes = ({ N }) => {
  within({ N }, LARGEST);
  exact(below(N), `N=${N}`);
};

module.exports = {
  'pingpong/tell': pingpongCell(1),
  'pingpong/tell-w100': pingpongCell(100),
  'pingpong/tell-w1000': pingpongCell(1000),
  'fan/struct': cell(fanSizes, fan),
  'counter/send': cell(counterSizes, counter),
  'counter/ask-each': cell(counterSizes, askEach),
};
