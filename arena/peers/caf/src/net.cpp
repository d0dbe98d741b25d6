// net/local: requests and responses of actors, no socket.
#include "arena.hpp"

#include <vector>

namespace arena {

namespace {

using caf::actor;
using caf::behavior;

class server : public caf::event_based_actor {
public:
  server(caf::actor_config& cfg, actor driver) : event_based_actor(cfg), driver_(std::move(driver)) {}

  behavior make_behavior() override {
    return {
      [this](int64_t number) {
        ++served_;
        return number;
      },
      [this](stop_atom) {
        send(driver_, served_, int64_t{0}, true);
        quit();
      },
    };
  }

private:
  actor driver_;
  int64_t served_ = -1; // the echo before the start
};

// Has one echo, says so, and asks M times on start. Reports (requests, sum, all were right).
class client : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, actor driver, actor server, int64_t m)
      : event_based_actor(cfg), driver_(std::move(driver)), server_(std::move(server)), m_(m) {}

  behavior make_behavior() override {
    request(server_, caf::infinite, int64_t{-1}).then([this](int64_t answer) {
      right_ = answer == -1;
      send(driver_, start_atom::value);
    });
    return {[this](start_atom) { ask(); }};
  }

private:
  void ask() {
    request(server_, caf::infinite, asked_).then([this](int64_t answer) {
      right_ = right_ && answer == asked_;
      sum_ += answer;
      if (++asked_ < m_)
        return ask();
      send(server_, stop_atom::value);
      send(driver_, asked_, sum_, right_);
      quit();
    });
  }

  actor driver_, server_;
  int64_t m_, asked_ = 0, sum_ = 0;
  bool right_ = true;
};

timed local(caf::actor_system& system, int64_t n, int64_t m) {
  caf::scoped_actor self{system};
  actor driver{self};
  std::vector<actor> clients;
  for (int64_t i = 0; i < n; ++i)
    clients.push_back(system.spawn<client>(driver, system.spawn<server, caf::lazy_init>(driver), m));
  for (int64_t i = 0; i < n; ++i)
    self->receive([](start_atom) {});
  timed result;
  auto right = true;
  stopwatch watch;
  for (auto& one : clients)
    self->send(one, start_atom::value);
  for (int64_t i = 0; i < 2 * n; ++i)
    self->receive([&](int64_t msgs, int64_t sum, bool all_right) {
      result.total += counts{msgs, 1, sum};
      right = right && all_right;
    });
  result.time = watch.stop();
  if (!right)
    throw refusal("bug", "an answer is not the request");
  return result;
}

} // namespace

cells net_cells() {
  return {
    {"net/local", [](caf::actor_system& system, const params& p) {
       within("N", p.messages, 1000000);
       within("M", p.requests, int64_t{1} << 31);
       return repeat_part([&system, n = p.messages, m = p.requests] { return local(system, n, m); });
     }},
  };
}

} // namespace arena
