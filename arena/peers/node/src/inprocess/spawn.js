'use strict';
const { spawn } = require('./mailbox');
const { within, repeat } = require('../sizes');

// After so many starts the starter lets the tasks run: what they leave behind dies young.
const BURST = 64;

function detached(n) {
  return new Promise((resolve) => {
    let counter = 0;
    const task = async () => {
      if (++counter === n) resolve({ msgs: counter, units: counter, check: counter });
    };
    spawn(async () => {
      for (let i = 1; i <= n; i++) {
        spawn(task);
        if (i % BURST === 0) await null;
      }
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
