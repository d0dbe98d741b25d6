'use strict';
// chain and fan: parents, children, and messages to oneself.

const { Mailbox, spawn } = require('./mailbox');
const { within, exact, below, repeat } = require('../sizes');

const PING = 0;
const PONG = 1;
const START = 2;
const STOP = 3;

// Ping carries the number of its receiver, Pong the depth.
async function chainActor(actors, inbox, parent) {
  for (;;) {
    const { kind, value } = inbox.take() ?? (await inbox.wait());
    if (kind === PONG) {
      parent.send({ kind: PONG, value: value + 1 });
      return;
    }
    if (value < actors) makeChild(actors, inbox).send({ kind: PING, value: value + 1 });
    else inbox.send({ kind: PONG, value: 0 });
  }
}

function makeChild(actors, parent) {
  const child = new Mailbox();
  spawn(() => chainActor(actors, child, parent));
  return child;
}

async function chainRoot(actors, inbox) {
  for (;;) {
    const { kind, value } = inbox.take() ?? (await inbox.wait());
    if (kind === PONG) return value;
    makeChild(actors, inbox).send({ kind: PING, value: 1 });
  }
}

async function chain(actors) {
  const root = new Mailbox();
  const done = spawn(() => chainRoot(actors, root));
  root.send({ kind: PING, value: 0 });
  const depth = await done;
  return { msgs: 2 * depth + 2, units: depth + 1, check: depth };
}

async function fanParent(n, inbox) {
  let taken = 0;
  let sum = 0;
  let ended;
  for (;;) {
    const { kind, index } = inbox.take() ?? (await inbox.wait());
    taken++;
    if (kind === PONG) {
      sum += index;
      if (index === n - 1) inbox.send({ kind: STOP, index: 0 });
    } else if (kind === START) {
      const child = new Mailbox();
      ended = spawn(() => fanChild(n, child, inbox));
      for (let i = 0; i < n; i++) child.send({ kind: PING, index: i });
    } else return { taken: taken + (await ended), sum };
  }
}

async function fanChild(n, inbox, parent) {
  let taken = 0;
  for (;;) {
    const { kind, index } = inbox.take() ?? (await inbox.wait());
    taken++;
    if (kind === STOP) return taken;
    parent.send({ kind: PONG, index });
    if (index === n - 1) inbox.send({ kind: STOP, index: 0 });
  }
}

async function fan(n) {
  const parent = new Mailbox();
  const done = spawn(() => fanParent(n, parent));
  parent.send({ kind: START, index: 0 });
  const { taken, sum } = await done;
  return { msgs: taken, units: 2, check: sum };
}

module.exports = {
  'chain/struct': ({ A }) => {
    within({ A }, { A: 5e6 });
    return { run: repeat(() => chain(A)) };
  },
  'fan/struct': ({ N }) => {
    within({ N }, { N: 5e7 });
    exact(below(N), `N=${N}`);
    return { run: repeat(() => fan(N)) };
  },
};
