'use strict';
// Sizes that are refused, and how samples are timed and summed.

class Refusal extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

// A number of this language is exact up to 2^53: one repetition adds up at most so much. Sums over repetitions are BigInts.
const EXACT = Number.MAX_SAFE_INTEGER;

function within(sizes, largest) {
  for (const [key, value] of Object.entries(sizes)) {
    const most = largest[key];
    if (!(value >= 1 && value <= most)) throw new Refusal('limit', `${key}=${value}: this peer takes 1 to ${most}`);
  }
}

function exact(check, what) {
  if (check > EXACT) throw new Refusal('limit', `${what}: the sum leaves the 53 bits of a number`);
}

const below = (n) => (n * (n - 1)) / 2;

function powerOfTen(size) {
  within({ S: size }, { S: 1e8 });
  let s = size;
  while (s % 10 === 0) s /= 10;
  if (s !== 1) throw new Refusal('limit', 'S must be a power of 10');
}

// Times `scenario`, which does all its work in the timed region.
function repeat(scenario) {
  return async (inner) => {
    const total = { ns: 0n, msgs: 0n, units: 0n, check: 0n };
    const start = process.hrtime.bigint();
    for (let i = 0; i < inner; i++) {
      const { msgs, units, check } = await scenario();
      total.msgs += BigInt(msgs);
      total.units += BigInt(units);
      total.check += BigInt(check);
    }
    total.ns = process.hrtime.bigint() - start;
    return total;
  };
}

// Times a scenario that says itself how long its timed part took.
function repeatPart(scenario) {
  return async (inner) => {
    const total = { ns: 0n, msgs: 0n, units: 0n, check: 0n };
    for (let i = 0; i < inner; i++) {
      const { ns, msgs, units, check } = await scenario();
      total.ns += ns;
      total.msgs += BigInt(msgs);
      total.units += BigInt(units);
      total.check += BigInt(check);
    }
    return total;
  };
}

module.exports = { Refusal, within, exact, below, powerOfTen, repeat, repeatPart };
