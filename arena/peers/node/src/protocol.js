'use strict';
// The arena protocol: one command of words per line in, one line of JSON out, one command at a time.

const { Refusal } = require('./sizes');
const { watchCollections } = require('./collections');

function tell(answer) {
  // BigInts hold the sums; JSON.stringify knows none.
  const text = JSON.stringify({ arena: 1, ...answer }, (_, v) => (typeof v === 'bigint' ? `#${v}#` : v));
  process.stdout.write(`${text.replace(/"#(-?\d+)#"/g, '$1')}\n`);
}

// The smallest step of the clock that was seen.
function clockStep() {
  let smallest = 1n << 40n;
  for (let i = 0; i < 2000; i++) {
    const start = process.hrtime.bigint();
    let now = start;
    while (now === start) now = process.hrtime.bigint();
    if (now - start < smallest) smallest = now - start;
  }
  return smallest;
}

function parse(line) {
  const [word, ...rest] = line.split(' ');
  const args = {};
  for (const pair of rest) {
    const at = pair.indexOf('=');
    if (at > 0) args[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return { word, args };
}

const SIZES = ['threads', 'seed', 'p', 'n', 'w', 'P', 'A', 'N', 'M', 'S', 'rate', 'secs'];

function parameters(args) {
  const params = { role: args.role, addr: args.addr };
  for (const key of SIZES) {
    if (args[key] === undefined) continue;
    const value = Number(args[key]);
    if (!/^-?\d+$/.test(args[key]) || (key !== 'seed' && !Number.isSafeInteger(value))) {
      throw new Refusal('limit', `${key}=${args[key]} is not a number this peer can hold`);
    }
    params[key] = value;
  }
  return params;
}

class Peer {
  #system;
  #cell = null;
  #collections;

  constructor(system) {
    this.#system = system;
    this.#collections = system.caps.includes('gc') ? watchCollections() : null;
  }

  async answer(word, args) {
    switch (word) {
      case 'prep':
        await this.#drop();
        this.#cell = await this.#make(args);
        return { t: 'ok', ...this.#cell.told };
      case 'run':
        return this.#run(args);
      case 'drop':
        await this.#drop();
        globalThis.gc?.();
        return { t: 'ok' };
      case 'ping':
        return { t: 'ok' };
      default:
        throw new Refusal('unsupported', `unknown command ${word}`);
    }
  }

  async #make(args) {
    const { cells } = this.#system;
    if (!Object.hasOwn(cells, args.cell ?? '')) throw new Refusal('unsupported', `no cell ${args.cell}`);
    return cells[args.cell](parameters(args));
  }

  async #run(args) {
    if (!this.#cell) throw new Refusal('bug', 'run without prep');
    const inner = Number(args.inner ?? 1);
    if (!Number.isSafeInteger(inner) || inner < 1) throw new Refusal('limit', `inner=${args.inner}`);
    await this.#collections?.take();
    const { ns, msgs, units, check, ...histograms } = await this.#sample(inner, args);
    const sample = { t: 'sample', ns, inner, msgs, units, check, ...histograms };
    if (this.#collections) sample.gc = await this.#collections.take();
    return sample;
  }

  #sample(inner, args) {
    if (args.hist !== '1') return this.#cell.run(inner);
    if (!this.#cell.paced) throw new Refusal('unsupported', 'no schedule in this cell');
    const { rate, secs } = parameters(args);
    return this.#cell.paced(rate, secs);
  }

  async #drop() {
    const cell = this.#cell;
    this.#cell = null;
    await cell?.drop?.();
  }
}

async function handle(peer, line) {
  const { word, args } = parse(line);
  if (word === 'quit') process.exit(0);
  const id = /^\d+$/.test(args.id ?? '') ? BigInt(args.id) : 0n;
  try {
    const { t, ...rest } = await peer.answer(word, args);
    tell({ t, id, ...rest });
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    tell({ t: 'err', id, kind: error.kind ?? 'bug', msg: String(error.message) });
  }
}

function serve(name, system) {
  const peer = new Peer(system);
  tell({
    t: 'hello',
    system: name,
    peer: 'node',
    version: system.version,
    runtime: `node ${process.versions.node}, v8 ${process.versions.v8}, ${process.platform}/${process.arch}`,
    flags: [system.flags, ...process.execArgv].join(' '),
    threads: system.threads,
    pid: process.pid,
    clock_ns: clockStep(),
    caps: system.caps,
    cells: Object.keys(system.cells).sort(),
  });
  let rest = '';
  let last = Promise.resolve();
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) last = last.then(() => handle(peer, line));
  });
  process.stdin.on('end', () => last.then(() => process.exit(0)));
}

module.exports = { serve };
