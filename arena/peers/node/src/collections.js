'use strict';
// Counts the garbage collections of this thread: [minor, major].

const { PerformanceObserver, constants } = require('node:perf_hooks');

function watchCollections() {
  let minor = 0;
  let major = 0;
  const count = (entries) => {
    for (const { detail } of entries) {
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) minor++;
      else if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major++;
    }
  };
  const observer = new PerformanceObserver((list) => count(list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  return {
    // Entries are queued in the turn after the collection, hence the turns.
    async take() {
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      count(observer.takeRecords());
      const seen = [minor, major];
      minor = 0;
      major = 0;
      return seen;
    },
  };
}

module.exports = { watchCollections };
