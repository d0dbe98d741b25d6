'use strict';
// What a thread can be told to run. A role is a function of its arguments and ports that returns a promise of its counts.

const { client, server } = require('./pingpong');
const { fanParent, fanChild } = require('./fan');
const { producer, counter } = require('./counter');

const roles = { hello: () => true, client, server, fanParent, fanChild, producer, counter };

async function start(role, args, ports) {
  return roles[role](args, ports);
}

module.exports = { start };
