'use strict';
const { Mailbox, spawn } = require('./mailbox');
const { powerOfTen, below, exact, repeat } = require('../sizes');

const CHILDREN = 10;

async function gather(inbox) {
  let sum = 0;
  for (let i = 0; i < CHILDREN; i++) sum += inbox.take() ?? (await inbox.wait());
  return sum;
}

// Every node is a task; an inner one waits on a mailbox of its own.
async function node(tree, parent, number, size) {
  tree.nodes++;
  if (size === 1) {
    parent.send(number);
    return;
  }
  const inbox = new Mailbox();
  const part = size / CHILDREN;
  for (let i = 0; i < CHILDREN; i++) spawn(() => node(tree, inbox, number + i * part, part));
  parent.send(await gather(inbox));
}

// As node, but a leaf answers only when all leaves exist.
async function aliveNode(tree, parent, number, size) {
  tree.nodes++;
  if (size === 1) {
    if (--tree.missing === 0) tree.open();
    else await tree.gate;
    parent.send(number);
    return;
  }
  const inbox = new Mailbox();
  const part = size / CHILDREN;
  for (let i = 0; i < CHILDREN; i++) spawn(() => aliveNode(tree, inbox, number + i * part, part));
  parent.send(await gather(inbox));
}

// Every node is a task, the parent awaits its children's results.
async function taskNode(tree, number, size) {
  tree.nodes++;
  if (size === 1) return number;
  const part = size / CHILDREN;
  const tasks = new Array(CHILDREN);
  for (let i = 0; i < CHILDREN; i++) tasks[i] = spawn(() => taskNode(tree, number + i * part, part));
  let sum = 0;
  for (const result of await Promise.all(tasks)) sum += result;
  return sum;
}

async function rooted(tree, root, S) {
  const result = new Mailbox();
  spawn(() => root(tree, result, 0, S));
  return result.take() ?? result.wait();
}

function alive(tree, S) {
  tree.missing = S;
  tree.gate = new Promise((open) => {
    tree.open = open;
  });
  return rooted(tree, aliveNode, S);
}

function cell(scenario) {
  return ({ S }) => {
    powerOfTen(S);
    exact(below(S), `S=${S}`);
    return {
      run: repeat(async () => {
        const tree = { nodes: 0, missing: 0, gate: null, open: null };
        const check = await scenario(tree, S);
        return { msgs: tree.nodes, units: tree.nodes, check };
      }),
    };
  };
}

module.exports = {
  'skynet/tree-ch': cell((tree, S) => rooted(tree, node, S)),
  'skynet/alive': cell(alive),
  'skynet/tasks': cell((tree, S) => spawn(() => taskNode(tree, 0, S))),
};
