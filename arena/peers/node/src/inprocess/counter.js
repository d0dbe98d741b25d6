'use strict';
const { Mailbox, spawn } = require('./mailbox');
const { within, exact, repeat } = require('../sizes');

const STEP = 100;

// An Add is a number, a GetAndReset the resolver of its answer, the end null.
async function counter(inbox) {
  let sum = 0;
  let taken = 0;
  for (;;) {
    const message = inbox.take() ?? (await inbox.wait());
    if (typeof message === 'number') {
      sum += message;
      taken++;
    } else if (message === END) return taken;
    else {
      message(sum);
      sum = 0;
    }
  }
}

const END = Symbol('end');

const ask = (inbox) => new Promise((reply) => inbox.send(reply));

async function produce(inbox, n) {
  for (let i = 0; i < n; i++) inbox.send(STEP);
}

async function scenario(P, n, producer, reply) {
  const inbox = new Mailbox();
  const actor = spawn(() => counter(inbox));
  const producers = Array.from({ length: P }, () => spawn(() => producer(inbox, n)));
  const replies = await Promise.all(producers);
  const check = await reply(inbox, replies);
  inbox.send(END);
  return { msgs: await actor, units: P + 1, check };
}

async function produceAndAsk(inbox, n) {
  await produce(inbox, n);
  return ask(inbox);
}

function cell(producer, reply) {
  return ({ P, n }) => {
    within({ P, n }, { P: 1e5, n: 1e8 });
    exact(100 * P * n, `P=${P} n=${n}`);
    return { run: repeat(() => scenario(P, n, producer, reply)) };
  };
}

module.exports = {
  'counter/send': cell(produce, ask),
  'counter/ask-each': cell(produceAndAsk, (_, replies) => replies.reduce((a, b) => a + b)),
};
