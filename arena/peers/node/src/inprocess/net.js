'use strict';
const { Mailbox, spawn } = require('./mailbox');
const { Refusal, within, exact, below, repeatPart } = require('../sizes');

// A request carries its number and the resolver of a fresh promise.
async function server(inbox) {
  let served = -1; // the echo before the start
  for (;;) {
    const { number, reply } = inbox.take() ?? (await inbox.wait());
    if (reply === null) return served;
    reply(number);
    served++;
  }
}

async function echo(to, number) {
  const answer = await new Promise((reply) => to.send({ number, reply }));
  if (answer !== number) throw new Refusal('bug', `asked ${number}, the answer is ${answer}`);
  return answer;
}

async function client(to, M, ready, start) {
  await echo(to, -1);
  ready();
  await start;
  let sum = 0;
  for (let i = 0; i < M; i++) sum += await echo(to, i);
  to.send({ number: 0, reply: null });
  return { asked: M, sum };
}

async function local(N, M) {
  let go;
  const start = new Promise((resolve) => {
    go = resolve;
  });
  const servers = [];
  const clients = [];
  const ready = [];
  for (let i = 0; i < N; i++) {
    const inbox = new Mailbox();
    servers.push(spawn(() => server(inbox)));
    ready.push(new Promise((resolve) => clients.push(spawn(() => client(inbox, M, resolve, start)))));
  }
  // A client whose echo is wrong is never ready, but fails.
  await Promise.race([Promise.all(ready), Promise.all(clients)]);
  const begin = process.hrtime.bigint();
  go();
  const total = { ns: 0n, msgs: 0, units: 0, check: 0 };
  for (const { asked, sum } of await Promise.all(clients)) {
    total.msgs += asked;
    total.units++;
    total.check += sum;
  }
  for (const served of await Promise.all(servers)) {
    total.msgs += served;
    total.units++;
  }
  total.ns = process.hrtime.bigint() - begin;
  return total;
}

module.exports = {
  'net/local': ({ N, M }) => {
    within({ N, M }, { N: 1e6, M: 1e9 });
    exact(N * below(M), `N=${N} M=${M}`);
    return { run: repeatPart(() => local(N, M)) };
  },
};
