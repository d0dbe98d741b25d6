// spawn: an actor that starts n actors, and one that starts an actor and waits for its result, n times.
#include "driver.hpp"

#include <atomic>

namespace arena {

namespace {

using caf::actor;
using caf::behavior;

// What the tasks share: they count, and whoever brings the counter to n says so.
struct tally {
  int64_t n;
  actor driver;
  std::atomic<int64_t> counter{0};
};

using tally_ptr = std::shared_ptr<tally>;

// A function without a behavior is run once.
void task(caf::event_based_actor* self, const tally_ptr& all) {
  auto n = all->n;
  if (all->counter.fetch_add(1) + 1 == n)
    self->send(all->driver, n, n, n);
}

// Starts a part, then lets the tasks run, so that their memory is used again. Its worker puts it behind them only if its
// turn ends with the message: see messages_per_turn.
class starter : public caf::event_based_actor {
public:
  starter(caf::actor_config& cfg, tally_ptr all) : event_based_actor(cfg), all_(std::move(all)) {}

  behavior make_behavior() override {
    send(this, start_atom::value);
    return {[this](start_atom) {
      for (int i = 0; i < part && started_ < all_->n; ++i, ++started_)
        spawn(task, all_);
      if (started_ < all_->n)
        send(this, start_atom::value);
      else
        quit();
    }};
  }

private:
  static constexpr int part = 64;

  tally_ptr all_;
  int64_t started_ = 0;
};

class detached : public driver {
public:
  using driver::driver;

private:
  void begin() override {
    missing_ = 1;
    auto all = std::make_shared<tally>();
    all->n = p_.n;
    all->driver = self();
    spawn<starter>(all);
  }
};

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
      send(driver_, sum_, started_, sum_);
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

class joined : public driver {
public:
  using driver::driver;

private:
  void begin() override {
    missing_ = 1;
    spawn<joiner>(p_.n, self());
  }
};

template <class Driver>
cell with() {
  return [](caf::actor_system& system, const params& p) {
    within("n", p.n, 100000000);
    return driven<Driver>(system, p);
  };
}

} // namespace

int64_t messages_per_turn(const std::string& cell) {
  return cell == "spawn/detached" ? 1 : 0;
}

cells spawn_cells() {
  return {{"spawn/detached", with<detached>()}, {"spawn/joined", with<joined>()}};
}

} // namespace arena
