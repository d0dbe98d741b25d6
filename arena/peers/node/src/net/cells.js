'use strict';
// The cells over TCP: who serves, who asks, and what is timed. Connections last from prep to drop.

const { spawn } = require('../inprocess/mailbox');
const { Refusal, within, exact, below, repeatPart } = require('../sizes');
const { Server, each } = require('./tcp');
const { mux } = require('./mux');
const { paced } = require('./paced');

async function verified(end, number) {
  const answer = await end.echo(number);
  if (answer !== number) throw new Refusal('bug', `asked ${number}, the answer is ${answer}`);
  return answer;
}

async function client(end, M, start) {
  await start;
  let sum = 0;
  for (let i = 0; i < M; i++) sum += await verified(end, i);
  return sum;
}

async function once(ends, M) {
  let go;
  const start = new Promise((resolve) => {
    go = resolve;
  });
  const clients = ends.map((end) => spawn(() => client(end, M, start)));
  const begin = process.hrtime.bigint();
  go();
  let check = 0;
  for (const sum of await Promise.all(clients)) check += sum;
  const ns = process.hrtime.bigint() - begin;
  return { ns, msgs: 2 * ends.length * M, units: 2 * ends.length, check };
}

async function served(transport, N) {
  const server = await Server.listen(transport.serve(N));
  return {
    told: { addr: server.addr },
    run: async () => {
      throw new Refusal('bug', 'a server runs nothing');
    },
    drop: () => server.close(),
  };
}

async function connected(transport, addr, N, M) {
  const begin = process.hrtime.bigint();
  const { ends, close } = await transport.connect(addr, N, (end) => verified(end, -1));
  return {
    told: { ready_ns: process.hrtime.bigint() - begin },
    run: repeatPart(() => once(ends, M)),
    paced: (rate, secs) => paced(ends, verified, rate, secs),
    drop: close,
  };
}

function sizes({ N, M }) {
  within({ N, M }, { N: 1e5, M: 1e9 });
  exact(N * below(M), `N=${N} M=${M}`);
}

function twoProcesses(transport) {
  return async (params) => {
    sizes(params);
    const { N, M, role, addr } = params;
    if (role === 'server') return served(transport, N);
    if (role === 'client') return connected(transport, addr, N, M);
    throw new Refusal('limit', `role=${role}: must be server or client`);
  };
}

async function oneProcess(params) {
  sizes(params);
  const { N, M } = params;
  const server = await served(each, N);
  const clients = await connected(each, server.told.addr, N, M);
  const drop = async () => {
    clients.drop();
    await server.drop();
  };
  return { ...clients, drop };
}

module.exports = {
  'net/echo': twoProcesses(each),
  'net/echo-mux': twoProcesses(mux),
  'net/echo-oneproc': oneProcess,
  'net/paced': twoProcesses(each),
};
