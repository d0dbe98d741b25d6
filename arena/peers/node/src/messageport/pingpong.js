'use strict';
// A pair is a channel, an end of which is the mailbox of the client and the other that of the server. A ping names the
// address for its answer; the server looks that up among the addresses its thread knows.

const { receive } = require('./mailbox');

const addresses = new Map();

function client({ n, w, address }, [port]) {
  return new Promise((resolve) => {
    let sent = 0;
    let answered = 0;
    let sum = 0;
    receive(port, (seq) => {
      sum += seq;
      answered++;
      if (sent < n) port.postMessage([sent++, address]);
      else if (answered === n) {
        port.close();
        resolve({ sent, sum });
      }
    });
    while (sent < w && sent < n) port.postMessage([sent++, address]);
  });
}

function server({ address }, [port]) {
  return new Promise((resolve) => {
    let sent = 0;
    addresses.set(address, port);
    receive(port, ([seq, reply]) => {
      addresses.get(reply).postMessage(seq);
      sent++;
    });
    port.on('close', () => {
      addresses.delete(address);
      resolve({ sent, sum: 0 });
    });
  });
}

module.exports = { client, server };
