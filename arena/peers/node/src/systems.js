'use strict';
// The systems of this peer. Each is made when it is asked for, so that a process loads only what it measures.
// A cell is a function of the parameters; it refuses bad sizes, makes what is not timed, and returns
// { run(inner) -> Promise<{ ns, msgs, units, check }>, told, paced(rate, secs), drop() }, the last three if it has them: `told` is what
// the answer to prep holds beside.

const asked = Number(process.env.ARENA_THREADS) || 2;

const systems = {
  node: () => ({
    version: process.versions.node,
    threads: asked,
    flags: 'worker_threads, MessagePort',
    caps: [],
    cells: { ...require('./messageport/cells'), ...require('./native').cells },
  }),
  'node-async': () => ({
    version: process.versions.node,
    threads: 1,
    flags: 'async functions, mailbox of the peer',
    caps: ['gc', 'hist'],
    cells: { ...require('./inprocess/cells'), ...require('./net/cells') },
  }),
  bluebird: () => ({
    version: require('bluebird/package.json').version,
    threads: 1,
    flags: 'bluebird',
    caps: ['gc'],
    cells: require('./bluebird').cells,
  }),
};

module.exports = { systems };
