'use strict';
// A producer's channel is its way into the counter. Ports keep the order of one sender only, so a producer's end comes
// behind its Adds, and the counter has taken all of them when the driver asks.

const { receive } = require('./mailbox');

const STEP = 100;

// Adds are positive; the others are answered on the port they came by.
const END = 0;
const GET = -1;

function producer({ n, ask }, [counter]) {
  return new Promise((resolve) => {
    counter.on('message', (sum) => {
      counter.close();
      resolve({ sent: n, sum });
    });
    for (let i = 0; i < n; i++) counter.postMessage(STEP);
    counter.postMessage(ask ? GET : END);
  });
}

function counter(_, ports) {
  return new Promise((resolve) => {
    let sum = 0;
    let taken = 0;
    let open = ports.length;
    for (const port of ports) {
      receive(port, (message) => {
        if (message > 0) {
          sum += message;
          taken++;
        } else if (message === GET) {
          port.postMessage(sum);
          sum = 0;
        } else port.postMessage(0);
      });
      port.on('close', () => {
        if (--open === 0) resolve({ taken });
      });
    }
  });
}

module.exports = { producer, counter, GET };
