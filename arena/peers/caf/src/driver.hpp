// The driver of a cell is an actor too: it starts a repetition, adds up what its actors report, and starts the next. The
// main thread, which takes the time, is woken once per sample, not once per repetition.
#pragma once

#include "arena.hpp"

namespace arena {

// A report is (messages sent or taken, units, check value) of one actor or of the whole repetition.
class driver : public caf::event_based_actor {
public:
  driver(caf::actor_config& cfg, caf::actor main, int64_t inner, params p)
      : event_based_actor(cfg), p_(p), main_(std::move(main)), inner_(inner) {}

  caf::behavior make_behavior() override {
    begin();
    return {[this](int64_t msgs, int64_t units, int64_t check) {
      total_ += counts{msgs, units, check};
      if (--missing_ == 0)
        end();
    }};
  }

protected:
  // Starts a repetition, and says in missing_ how many reports it gives.
  virtual void begin() = 0;

  // All reports are there.
  virtual void end() {
    next();
  }

  void next() {
    if (--inner_ > 0)
      return begin();
    send(main_, total_.msgs, total_.units, total_.check);
    quit();
  }

  caf::actor self() {
    return caf::actor{this};
  }

  params p_;
  int64_t missing_ = 0;
  counts total_;

private:
  caf::actor main_;
  int64_t inner_;
};

// A sample of a cell whose work is all in the timed region.
template <class Driver>
sample driven(caf::actor_system& system, const params& p) {
  return [&system, p](int64_t inner) {
    caf::scoped_actor self{system};
    timed result;
    stopwatch watch;
    system.spawn<Driver>(caf::actor{self}, inner, p);
    self->receive([&](int64_t msgs, int64_t units, int64_t check) { result.total = counts{msgs, units, check}; });
    result.time = watch.stop();
    return result;
  };
}

} // namespace arena
