// counter: producers that are actors, or threads.
#include "driver.hpp"

#include <thread>
#include <vector>

namespace arena {

namespace {

using caf::actor;
using caf::behavior;
using caf::get_atom;

constexpr int64_t step = 100;

// An Add is a number, GetAndReset a request whose answer is the sum.
class counter : public caf::event_based_actor {
public:
  explicit counter(caf::actor_config& cfg) : event_based_actor(cfg) {}

  behavior make_behavior() override {
    return {
      [this](int64_t amount) { sum_ += amount; },
      [this](get_atom) {
        auto sum = sum_;
        sum_ = 0;
        return sum;
      },
      [this](stop_atom) { quit(); },
    };
  }

private:
  int64_t sum_ = 0;
};

// Reports its Adds and its answer to the driver; the answer is 0 if it does not ask.
class producer : public caf::event_based_actor {
public:
  producer(caf::actor_config& cfg, actor driver, actor counter, int64_t n, bool asks)
      : event_based_actor(cfg), driver_(std::move(driver)), counter_(std::move(counter)), n_(n), asks_(asks) {}

  // Sends a part, then lets others of its worker run: the counter's mailbox has no bound.
  behavior make_behavior() override {
    send(this, start_atom::value);
    return {[this](start_atom) {
      for (int i = 0; i < part && sent_ < n_; ++i, ++sent_)
        caf::anon_send(counter_, step);
      if (sent_ < n_)
        send(this, start_atom::value);
      else
        end();
    }};
  }

private:
  static constexpr int part = 1000;

  void end() {
    if (!asks_) {
      send(driver_, sent_, int64_t{1}, int64_t{0});
      quit();
      return;
    }
    request(counter_, caf::infinite, get_atom::value).then([this](int64_t sum) {
      send(driver_, sent_, int64_t{1}, sum);
      quit();
    });
  }

  actor driver_, counter_;
  int64_t n_, sent_ = 0;
  bool asks_;
};

int64_t ask(caf::scoped_actor& self, const actor& counter) {
  int64_t result = 0;
  self->request(counter, caf::infinite, get_atom::value)
    .receive([&](int64_t sum) { result = sum; },
             [](caf::error&) { throw refusal("bug", "the counter did not answer"); });
  return result;
}

template <bool EachAsks>
class by_actors : public driver {
public:
  using driver::driver;

private:
  void begin() override {
    missing_ = p_.producers;
    counter_ = spawn<counter, caf::lazy_init>();
    total_.units += 1;
    for (int64_t i = 0; i < p_.producers; ++i)
      spawn<producer>(self(), counter_, p_.n, EachAsks);
  }

  void end() override {
    if (EachAsks)
      return done();
    request(counter_, caf::infinite, get_atom::value).then([this](int64_t sum) {
      total_.check += sum;
      done();
    });
  }

  void done() {
    send(counter_, stop_atom::value);
    next();
  }

  actor counter_;
};

counts by_threads(caf::actor_system& system, const params& p) {
  caf::scoped_actor self{system};
  auto to = system.spawn<counter, caf::lazy_init>();
  std::vector<int64_t> sent(static_cast<std::size_t>(p.producers));
  std::vector<std::thread> threads;
  for (auto& mine : sent)
    threads.emplace_back([&mine, &to, n = p.n] {
      int64_t i = 0;
      for (; i < n; ++i)
        caf::anon_send(to, step);
      mine = i;
    });
  counts total{0, p.producers + 1, 0};
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    total.msgs += sent[i];
  }
  total.check = ask(self, to);
  self->send(to, stop_atom::value);
  return total;
}

void check(const params& p) {
  within("P", p.producers, 10000);
  within("n", p.n, int64_t{1} << 31);
}

template <class Driver>
cell with() {
  return [](caf::actor_system& system, const params& p) {
    check(p);
    return driven<Driver>(system, p);
  };
}

} // namespace

cells counter_cells() {
  return {
    {"counter/send", with<by_actors<false>>()},
    {"counter/ask-each", with<by_actors<true>>()},
    {"counter/threads", [](caf::actor_system& system, const params& p) {
       check(p);
       return repeat([&system, p] { return by_threads(system, p); });
     }},
  };
}

} // namespace arena
