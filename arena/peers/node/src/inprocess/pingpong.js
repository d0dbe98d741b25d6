'use strict';
const { Mailbox, spawn } = require('./mailbox');
const { within, exact, below, repeat } = require('../sizes');

const LARGEST = { p: 1e5, n: 1e9, w: 1e6 };

async function server(inbox) {
  let sent = 0;
  for (;;) {
    const ping = inbox.take() ?? (await inbox.wait());
    if (ping.reply === null) return { sent, sum: 0 };
    ping.reply.send(ping.seq);
    sent++;
  }
}

async function client(to, n, w) {
  const inbox = new Mailbox();
  let sent = 0;
  let sum = 0;
  while (sent < w && sent < n) to.send({ seq: sent++, reply: inbox });
  for (let answered = 0; answered < n; answered++) {
    sum += inbox.take() ?? (await inbox.wait());
    if (sent < n) to.send({ seq: sent++, reply: inbox });
  }
  to.send({ seq: 0, reply: null });
  return { sent, sum };
}

// A fresh promise for each answer; the request goes without waiting.
async function callServer(inbox) {
  let sent = 0;
  for (;;) {
    const { seq, reply } = inbox.take() ?? (await inbox.wait());
    if (reply === null) return { sent, sum: 0 };
    reply(seq);
    sent++;
  }
}

async function caller(to, n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += await new Promise((reply) => to.send({ seq: i, reply }));
  to.send({ seq: 0, reply: null });
  return { sent: n, sum };
}

async function pairs(p, serve, ask) {
  const ends = [];
  for (let i = 0; i < p; i++) {
    const inbox = new Mailbox();
    ends.push(spawn(() => serve(inbox)), spawn(() => ask(inbox)));
  }
  const total = { msgs: 0, units: 0, check: 0 };
  for (const { sent, sum } of await Promise.all(ends)) {
    total.msgs += sent;
    total.units++;
    total.check += sum;
  }
  return total;
}

function cell(window, scenario) {
  return ({ p, n, w = window }) => {
    within({ p, n, w }, LARGEST);
    exact(p * below(n), `p=${p} n=${n}`);
    return { run: repeat(() => scenario(p, n, w)) };
  };
}

const call = (p, n) => pairs(p, callServer, (to) => caller(to, n));
const tell = (p, n, w) => pairs(p, server, (to) => client(to, n, w));

module.exports = {
  'pingpong/tell': cell(1, tell),
  'pingpong/tell-w100': cell(100, tell),
  'pingpong/tell-w1000': cell(1000, tell),
  'pingpong/call': cell(1, call),
  'pingpong/call-send': cell(1, call),
};
