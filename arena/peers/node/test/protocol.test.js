'use strict';
// Runs every cell of every system at odd sizes through the protocol: `node --test` in the peer's folder.
// bluebird is tested if it is installed (`npm ci`).

const test = require('node:test');
const assert = require('node:assert');
const path = require('node:path');
const readline = require('node:readline');
const { spawn } = require('node:child_process');

const MAIN = path.join(__dirname, '..', 'src', 'main.js');

class Peer {
  constructor(system) {
    this.process = spawn(process.execPath, ['--expose-gc', MAIN, '--arena', '1', '--system', system]);
    this.process.stderr.pipe(process.stderr);
    this.lines = readline.createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
  }

  async read() {
    const { value } = await this.lines.next();
    assert.ok(value.startsWith('{"arena"'), value);
    return JSON.parse(value);
  }

  ask(command) {
    this.process.stdin.write(`${command}\n`);
    return this.read();
  }
}

const SIZES = {
  pingpong: 'p=3 n=997',
  net: 'N=7 M=31',
  chain: 'A=103',
  fan: 'N=997',
  counter: 'P=3 n=997',
  skynet: 'S=1000',
  spawn: 'n=997',
};

const EXPECTED = {
  pingpong: { msgs: 5982, units: 6, check: 3 * 496506 },
  net: { msgs: 434, units: 14, check: 7 * 465 },
  chain: { msgs: 208, units: 104, check: 103 },
  fan: { msgs: 1997, units: 2, check: 496506 },
  counter: { msgs: 2991, units: 4, check: 299100 },
  skynet: { msgs: 1111, units: 1111, check: 499500 },
  spawn: { msgs: 997, units: 997, check: 997 },
};

async function runsItsCells(system) {
  const peer = new Peer(system);
  const hello = await peer.read();
  assert.equal(hello.system, system);
  let id = 0;
  for (const cell of hello.cells.filter((name) => !TWO_PROCESSES.includes(name))) {
    const workload = cell.split('/')[0];
    for (const threads of [1, 2, 3]) {
      const ok = await peer.ask(`prep id=${++id} cell=${cell} threads=${threads} seed=7 ${SIZES[workload]}`);
      assert.deepEqual([ok.t, ok.id], ['ok', id], `${cell} ${ok.msg}`);
      for (const inner of [1, 3]) {
        const sample = await peer.ask(`run id=${++id} inner=${inner}`);
        assert.equal(sample.t, 'sample', `${cell} ${sample.msg}`);
        assert.ok(sample.ns > 0);
        for (const [key, once] of Object.entries(EXPECTED[workload])) {
          if (key === 'units' && cell.includes('original:')) continue;
          assert.equal(sample[key], inner * once, `${cell} ${key}`);
        }
      }
      if (threads !== 2) assert.equal((await peer.ask(`drop id=${++id}`)).t, 'ok');
    }
  }
  assert.equal((await peer.ask(`prep id=${++id} cell=skynet/none threads=1`)).kind, 'unsupported');
  assert.equal((await peer.ask(`dance id=${++id}`)).kind, 'unsupported');
  peer.process.stdin.write('quit\n');
  assert.equal(await peer.ended, 0);
}

function installed(name) {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

const TWO_PROCESSES = ['net/echo', 'net/echo-mux', 'net/paced'];

test('cells with two processes', async () => {
  for (const cell of TWO_PROCESSES) {
    const [server, client] = [new Peer('node-async'), new Peer('node-async')];
    await Promise.all([server.read(), client.read()]);
    const prep = `cell=${cell} threads=1 seed=7 ${SIZES.net}`;
    const { addr } = await server.ask(`prep id=1 ${prep} role=server`);
    assert.match(addr, /^127\.0\.0\.1:\d+$/);
    assert.ok((await client.ask(`prep id=1 ${prep} role=client addr=${addr}`)).ready_ns > 0);
    for (const inner of [1, 3]) {
      const sample = await client.ask(`run id=2 inner=${inner}`);
      for (const [key, once] of Object.entries(EXPECTED.net)) assert.equal(sample[key], inner * once, `${cell} ${key}`);
    }
    if (cell === 'net/paced') {
      const { msgs, units, check, hist, hist_service } = await client.ask('run id=3 inner=1 hist=1 rate=501 secs=1');
      assert.deepEqual({ msgs, units, check }, { msgs: 1002, units: 14, check: 125250 });
      for (const list of [hist, hist_service]) assert.equal(list.reduce((sum, [, count]) => sum + count, 0), 501);
    }
    // A server that ends while replies are due is an error.
    const [sample] = await Promise.all([client.ask('run id=4 inner=100000'), server.ask('drop id=2')]);
    assert.equal(sample.kind, 'bug');
    for (const peer of [client, server]) {
      peer.process.stdin.write('quit\n');
      assert.equal(await peer.ended, 0);
    }
  }
});

for (const system of ['node', 'node-async', 'bluebird']) {
  const skip = system === 'bluebird' && !installed('bluebird');
  test(`cells of ${system}`, { skip }, () => runsItsCells(system));
}

test('refuses what it cannot run, and ends with its input', async () => {
  const peer = new Peer('node-async');
  await peer.read();
  assert.equal((await peer.ask('run id=1 inner=1')).kind, 'bug');
  assert.equal((await peer.ask('prep id=2 cell=skynet/tasks threads=1 S=1234')).kind, 'limit');
  assert.equal((await peer.ask('prep id=3 cell=fan/struct threads=1 N=0')).kind, 'limit');
  assert.equal((await peer.ask('prep id=4 cell=counter/send threads=1 P=1 n=x')).kind, 'limit');
  assert.equal((await peer.ask('ping id=5')).t, 'ok');
  peer.process.stdin.end();
  assert.equal(await peer.ended, 0);
});
