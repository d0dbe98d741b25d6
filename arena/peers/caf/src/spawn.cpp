// spawn: an actor that starts n actors, and one that starts an actor and waits for its result, n times.
#include "arena.hpp"

#include <atomic>

namespace arena {

namespace {

using caf::actor;
using caf::behavior;

struct tally {
  int64_t n;
  actor driver;
  std::atomic<int64_t> counter{0};
};

// A function without a behavior is run once; whoever brings the counter to n says so.
void task(caf::event_based_actor* self, tally* all) {
  auto n = all->n;
  if (all->counter.fetch_add(1) + 1 < n)
    return;
  auto driver = all->driver; // the tally may end with the message
  self->send(driver, n);
}

void starter(caf::event_based_actor* self, tally* all) {
  auto n = all->n;
  for (int64_t i = 0; i < n; ++i)
    self->spawn(task, all);
}

counts detached(caf::actor_system& system, int64_t n) {
  caf::scoped_actor self{system};
  tally all{n, actor{self}};
  system.spawn(starter, &all);
  int64_t ran = 0;
  self->receive([&](int64_t count) { ran = count; });
  return {ran, ran, ran};
}

void one(caf::event_based_actor* self, const actor& parent) {
  self->send(parent, int64_t{1});
}

class joiner : public caf::event_based_actor {
public:
  joiner(caf::actor_config& cfg, int64_t n, actor driver) : event_based_actor(cfg), n_(n), driver_(std::move(driver)) {}

  behavior make_behavior() override {
    next();
    return {[this](int64_t result) {
      sum_ += result;
      if (started_ < n_)
        return next();
      send(driver_, started_, sum_);
      quit();
    }};
  }

private:
  void next() {
    ++started_;
    spawn(one, actor{this});
  }

  int64_t n_, started_ = 0, sum_ = 0;
  actor driver_;
};

counts joined(caf::actor_system& system, int64_t n) {
  caf::scoped_actor self{system};
  system.spawn<joiner>(n, actor{self});
  counts result;
  self->receive([&](int64_t started, int64_t sum) { result = counts{sum, started, sum}; });
  return result;
}

cell with(counts (*scenario)(caf::actor_system&, int64_t)) {
  return [=](caf::actor_system& system, const params& p) {
    within("n", p.n, 100000000);
    return repeat([&system, scenario, n = p.n] { return scenario(system, n); });
  };
}

} // namespace

cells spawn_cells() {
  return {{"spawn/detached", with(detached)}, {"spawn/joined", with(joined)}};
}

} // namespace arena
