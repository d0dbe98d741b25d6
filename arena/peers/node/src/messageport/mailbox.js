'use strict';
// A MessagePort as a mailbox. One turn of the event loop hands over many messages: the first comes with the event, the
// rest are taken at once, which spares an event object and an end of turn for each.

const { receiveMessageOnPort } = require('node:worker_threads');

// At most so many in one turn: the port itself stops at its queue's length or 1,000.
const TURN = 1000;

function receive(port, handle) {
  port.on('message', (first) => {
    handle(first);
    for (let i = 1; i < TURN; i++) {
      const more = receiveMessageOnPort(port);
      if (more === undefined) return;
      handle(more.message);
    }
  });
}

module.exports = { receive };
