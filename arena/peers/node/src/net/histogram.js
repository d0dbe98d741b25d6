'use strict';
// Latencies in buckets: exact below 64 ns, then 32 for each power of two.

const BUCKETS = 59 * 32;

function highestBit(v) {
  return v < 2 ** 32 ? 31 - Math.clz32(v) : 63 - Math.clz32(v / 2 ** 32);
}

class Histogram {
  #counts = new Float64Array(BUCKETS);

  add(ns) {
    const v = Math.max(ns, 0);
    const shift = highestBit(Math.max(v, 63)) - 5;
    this.#counts[shift * 32 + Math.floor(v / 2 ** shift)]++;
  }

  list() {
    const list = [];
    this.#counts.forEach((count, bucket) => {
      if (count > 0) list.push([bucket, count]);
    });
    return list;
  }
}

module.exports = { Histogram };
