'use strict';
// The Node peer of the arena: `node main.js --arena 1 --system node|node-async|bluebird`.

const { serve } = require('./protocol');
const { systems } = require('./systems');

function argument(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const name = argument('--system') ?? 'node';
if (argument('--arena') !== '1' || !Object.hasOwn(systems, name)) {
  console.error(`peer-node speaks to the arena: --arena 1 --system ${Object.keys(systems).join('|')}`);
  process.exit(2);
}
serve(name, systems[name]());
