'use strict';
// The cells of async functions on one thread.

module.exports = {
  ...require('./pingpong'),
  ...require('./trees'),
  ...require('./counter'),
  ...require('./skynet'),
  ...require('./spawn'),
  ...require('./net'),
};
