'use strict';
// skynet as published for bluebird: `async` is a Promise.all per inner node over plain numbers, `sync` plain recursion.

const Bluebird = require('bluebird');
const { promiseCell, promiseTree } = require('./native');

const CHILDREN = 10;

function recursion(seen) {
  return function node(number, size) {
    if (seen) seen.nodes++;
    if (size === 1) return number;
    const part = size / CHILDREN;
    let total = 0;
    for (let i = 0; i < CHILDREN; i++) total += node(number + i * part, part);
    return total;
  };
}

const cells = {
  'skynet/original:async': promiseCell(
    (seen) => promiseTree((replies) => Bluebird.all(replies), seen),
    (seen) => seen.inner,
  ),
  'skynet/original:sync': promiseCell(recursion, () => 0),
};

module.exports = { cells };
