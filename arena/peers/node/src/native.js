'use strict';
// skynet/original:native-promise: the published tree with the language's own promises. A leaf is a plain number,
// an inner node is one Promise.all and its continuation (class U4).

const { powerOfTen, below, exact, repeat } = require('./sizes');

const CHILDREN = 10;

function sum(values) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}

// `All` is the promise library's `all`; `seen` counts the nodes in the untimed pass of prep.
function promiseTree(all, seen) {
  return function node(number, size) {
    if (seen) seen.nodes++;
    if (size === 1) return number;
    if (seen) seen.inner++;
    const replies = new Array(CHILDREN);
    const part = size / CHILDREN;
    for (let i = 0; i < CHILDREN; i++) replies[i] = node(number + i * part, part);
    return all(replies).then(sum);
  };
}

// A cell that runs `make(seen)(0, S)`; `inner` promises are its units.
function promiseCell(make, unitsOf) {
  return async ({ S }) => {
    powerOfTen(S);
    exact(below(S), `S=${S}`);
    const seen = { nodes: 0, inner: 0 };
    await make(seen)(0, S);
    const root = make(null);
    return {
      run: repeat(async () => ({ msgs: seen.nodes, units: unitsOf(seen), check: await root(0, S) })),
    };
  };
}

const cells = {
  'skynet/original:native-promise': promiseCell(
    (seen) => promiseTree((replies) => Promise.all(replies), seen),
    (seen) => seen.inner,
  ),
};

module.exports = { cells, promiseCell, promiseTree, sum };
