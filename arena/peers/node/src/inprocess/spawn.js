'use strict';
const { spawn } = require('./mailbox');
const { within, repeat } = require('../sizes');

function detached(n) {
  return new Promise((resolve) => {
    let counter = 0;
    const task = async () => {
      if (++counter === n) resolve({ msgs: counter, units: counter, check: counter });
    };
    spawn(() => {
      for (let i = 0; i < n; i++) spawn(task);
    });
  });
}

async function joined(n) {
  let sum = 0;
  let started = 0;
  for (; started < n; started++) sum += await spawn(async () => 1);
  return { msgs: sum, units: started, check: sum };
}

function cell(scenario) {
  return ({ n }) => {
    within({ n }, { n: 1e8 });
    return { run: repeat(() => scenario(n)) };
  };
}

module.exports = { 'spawn/detached': cell(detached), 'spawn/joined': cell(joined) };
