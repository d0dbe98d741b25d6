'use strict';
// A worker thread: runs the roles it is told to and answers with their results.

const { parentPort } = require('node:worker_threads');
const { start } = require('./roles');

parentPort.on('message', ({ id, role, args, ports }) => {
  start(role, args, ports).then(
    (result) => parentPort.postMessage({ id, result }),
    (error) => parentPort.postMessage({ id, error: String(error.message) }),
  );
});
