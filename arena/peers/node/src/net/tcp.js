'use strict';
// Sockets: frames of a known size, servers that listen, and the transport with a connection per client.

const net = require('node:net');
const { Refusal } = require('../sizes');

const HOST = '127.0.0.1';
// A thousand clients connect at once.
const BACKLOG = 4096;

const HIGH = 2 ** 32;

// Numbers have 64 bits on the wire and 53 here.
function putNumber(buffer, at, number) {
  buffer.writeInt32BE(Math.floor(number / HIGH), at);
  buffer.writeUInt32BE(number >>> 0, at + 4);
}

const getNumber = (buffer, at) => buffer.readInt32BE(at) * HIGH + buffer.readUInt32BE(at + 4);

// Calls `handle(buffer, at)` for each frame of `size` bytes, its length included, however TCP cuts them.
function frames(socket, size, handle) {
  let rest = null;
  socket.on('data', (chunk) => {
    const data = rest === null ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (; at + size <= data.length; at += size) {
      const length = data.readUInt32BE(at);
      if (length !== size - 4) {
        socket.destroy(new Error(`a frame of ${length} bytes`));
        return;
      }
      handle(data, at);
    }
    rest = at < data.length ? data.subarray(at) : null;
  });
}

// Listens, and calls `serve(socket)` for each connection.
class Server {
  #server;
  #sockets = new Set();

  static async listen(serve) {
    const server = new Server();
    server.#server = net.createServer({ noDelay: true }, (socket) => {
      server.#sockets.add(socket);
      socket.on('close', () => server.#sockets.delete(socket));
      socket.on('error', (error) => console.error(`server: ${error.message}`));
      serve(socket);
    });
    await new Promise((resolve, reject) => {
      server.#server.once('error', reject);
      server.#server.listen({ host: HOST, port: 0, backlog: BACKLOG }, resolve);
    });
    return server;
  }

  get addr() {
    return `${HOST}:${this.#server.address().port}`;
  }

  close() {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    return closed;
  }
}

// Connects; `gone(error)` is told when the connection has ended, for whatever reason.
function dial(addr, gone) {
  const [host, port] = addr.split(':');
  return new Promise((resolve, reject) => {
    let error = new Refusal('bug', 'the connection ended');
    const socket = net.connect({ host, port: Number(port), noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.on('error', (cause) => {
      error = cause;
      reject(cause);
    });
    socket.on('close', () => gone(error));
  });
}

// Where one client waits for one answer.
class Waiting {
  #answer = null;
  #fail = null;

  wait() {
    return new Promise((answer, fail) => {
      this.#answer = answer;
      this.#fail = fail;
    });
  }

  answer(number) {
    this.#answer(number);
  }

  fail(error) {
    this.#fail?.(error);
  }
}

const ECHO_BYTES = 12;

// The client's end of a connection of its own.
class Connection {
  #socket;
  #waiting = new Waiting();
  // Used again: the request before has been read when its answer is here.
  #frame = Buffer.alloc(ECHO_BYTES);

  static async to(addr) {
    const connection = new Connection();
    const socket = await dial(addr, (error) => connection.#waiting.fail(error));
    connection.#socket = socket;
    connection.#frame.writeUInt32BE(ECHO_BYTES - 4);
    frames(socket, ECHO_BYTES, (data, at) => connection.#waiting.answer(getNumber(data, at + 4)));
    return connection;
  }

  echo(number) {
    putNumber(this.#frame, 4, number);
    const answer = this.#waiting.wait();
    this.#socket.write(this.#frame);
    return answer;
  }

  close() {
    this.#socket.destroy();
  }
}

const each = {
  serve: () => (socket) => {
    frames(socket, ECHO_BYTES, (data, at) => socket.write(data.subarray(at, at + ECHO_BYTES)));
  },
  connect: async (addr, pairs, ready) => {
    const connect = async () => {
      const connection = await Connection.to(addr);
      await ready(connection);
      return connection;
    };
    const ends = await Promise.all(Array.from({ length: pairs }, connect));
    return { ends, close: () => ends.forEach((end) => end.close()) };
  },
};

module.exports = { Server, Waiting, dial, frames, getNumber, putNumber, each };
