'use strict';
// A port joins two ends, so an actor has one for each that sends to it: here the driver, the other actor and itself.

const { MessageChannel } = require('node:worker_threads');
const { receive } = require('./mailbox');

const STOP = -1;

// Listens to its own channel; gives the function that sends there.
function toSelf(handle) {
  const { port1, port2 } = new MessageChannel();
  receive(port1, handle);
  return {
    post: (message) => port2.postMessage(message),
    close: () => port1.close(),
  };
}

// The driver's Start comes in on `start`; `makeChild` starts the child with its end of a channel.
function fanParent({ n, makeChild }, [start]) {
  return new Promise((resolve) => {
    let taken = 0;
    let sum = 0;
    receive(start, () => {
      taken++;
      start.close();
      const { port1: child, port2 } = new MessageChannel();
      const ended = makeChild(port2);
      const self = toSelf(() => {
        taken++;
        self.close();
        ended.then((end) => {
          child.close();
          resolve({ taken: taken + end.taken, sum });
        });
      });
      receive(child, (index) => {
        taken++;
        sum += index;
        if (index === n - 1) self.post(STOP);
      });
      for (let i = 0; i < n; i++) child.postMessage(i);
    });
  });
}

function fanChild({ n }, [parent]) {
  return new Promise((resolve) => {
    let taken = 0;
    const self = toSelf(() => {
      taken++;
      self.close();
      resolve({ taken, sum: 0 });
    });
    receive(parent, (index) => {
      taken++;
      parent.postMessage(index);
      if (index === n - 1) self.post(STOP);
    });
  });
}

module.exports = { fanParent, fanChild };
