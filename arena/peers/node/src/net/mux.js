'use strict';
// All pairs over one connection: the event of its data routes, the end of a turn writes what waits, and at the server every
// pair is a task with a mailbox of its own.

const { Mailbox, spawn } = require('../inprocess/mailbox');
const { Waiting, dial, frames, getNumber, putNumber } = require('./tcp');

const FRAME_BYTES = 16;
const BUFFER_BYTES = FRAME_BYTES * 4096;
const END = null;

// Joins the frames of one turn into one write.
class Writer {
  #socket;
  #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #used = 0;
  #free = [];
  #flush = () => this.#write();

  constructor(socket) {
    this.#socket = socket;
  }

  send(pair, number) {
    // A tick that is asked for by a promise's job runs when all such jobs are done.
    if (this.#used === 0) process.nextTick(this.#flush);
    const at = this.#used;
    this.#buffer.writeUInt32BE(FRAME_BYTES - 4, at);
    this.#buffer.writeUInt32BE(pair, at + 4);
    putNumber(this.#buffer, at + 8, number);
    this.#used += FRAME_BYTES;
    if (this.#used === BUFFER_BYTES) this.#write();
  }

  #write() {
    if (this.#used === 0) return;
    const full = this.#buffer;
    this.#socket.write(full.subarray(0, this.#used), () => this.#free.push(full));
    this.#buffer = this.#free.pop() ?? Buffer.allocUnsafe(BUFFER_BYTES);
    this.#used = 0;
  }
}

// Calls `pairs[pair](number)` for each frame.
function route(socket, pairs) {
  frames(socket, FRAME_BYTES, (data, at) => {
    const pair = data.readUInt32BE(at + 4);
    if (pair < pairs.length) pairs[pair](getNumber(data, at + 8));
    else socket.destroy(new Error(`pair ${pair} of ${pairs.length}`));
  });
}

async function serve(inbox, writer, pair) {
  for (;;) {
    const number = inbox.take() ?? (await inbox.wait());
    if (number === END) return;
    writer.send(pair, number);
  }
}

const mux = {
  serve: (pairs) => (socket) => {
    const writer = new Writer(socket);
    const inboxes = Array.from({ length: pairs }, () => new Mailbox());
    inboxes.forEach((inbox, pair) => spawn(() => serve(inbox, writer, pair)));
    route(socket, inboxes.map((inbox) => (number) => inbox.send(number)));
    socket.on('close', () => inboxes.forEach((inbox) => inbox.send(END)));
  },
  connect: async (addr, pairs, ready) => {
    const waiting = Array.from({ length: pairs }, () => new Waiting());
    const socket = await dial(addr, (error) => waiting.forEach((one) => one.fail(error)));
    const writer = new Writer(socket);
    route(socket, waiting.map((one) => (number) => one.answer(number)));
    const ends = waiting.map((one, pair) => ({
      echo: (number) => {
        const answer = one.wait();
        writer.send(pair, number);
        return answer;
      },
    }));
    await Promise.all(ends.map((end) => ready(end)));
    return { ends, close: () => socket.destroy() };
  },
};

module.exports = { mux };
