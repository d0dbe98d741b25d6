// pingpong: a pair of event-based actors. A ping carries the address its answer goes to.
#include "driver.hpp"

namespace arena {

namespace {

using caf::actor;
using caf::behavior;

// Both sides report to the driver when they end.
class server : public caf::event_based_actor {
public:
  server(caf::actor_config& cfg, actor driver) : event_based_actor(cfg), driver_(std::move(driver)) {}

  behavior make_behavior() override {
    return {
      [this](int64_t seq, const actor& reply) {
        ++sent_;
        caf::anon_send(reply, seq);
      },
      [this](stop_atom) {
        send(driver_, sent_, int64_t{1}, int64_t{0});
        quit();
      },
    };
  }

private:
  actor driver_;
  int64_t sent_ = 0;
};

class client : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, actor driver, actor server, int64_t n, int64_t w)
      : event_based_actor(cfg), driver_(std::move(driver)), server_(std::move(server)), n_(n), w_(w) {}

  behavior make_behavior() override {
    actor self{this};
    while (sent_ < w_ && sent_ < n_)
      caf::anon_send(server_, sent_++, self);
    return {
      [this](int64_t seq) {
        sum_ += seq;
        if (sent_ < n_)
          caf::anon_send(server_, sent_++, actor{this});
        if (++answered_ == n_) {
          send(server_, stop_atom::value);
          send(driver_, sent_, int64_t{1}, sum_);
          quit();
        }
      },
    };
  }

private:
  actor driver_, server_;
  int64_t n_, w_, sent_ = 0, answered_ = 0, sum_ = 0;
};

// A request awaits its own response: what is fresh is the id of the request and the handler of its answer.
class call_server : public caf::event_based_actor {
public:
  call_server(caf::actor_config& cfg, actor driver) : event_based_actor(cfg), driver_(std::move(driver)) {}

  behavior make_behavior() override {
    return {
      [this](int64_t seq) {
        ++sent_;
        return seq;
      },
      [this](stop_atom) {
        send(driver_, sent_, int64_t{1}, int64_t{0});
        quit();
      },
    };
  }

private:
  actor driver_;
  int64_t sent_ = 0;
};

class caller : public caf::event_based_actor {
public:
  caller(caf::actor_config& cfg, actor driver, actor server, int64_t n, int64_t)
      : event_based_actor(cfg), driver_(std::move(driver)), server_(std::move(server)), n_(n) {}

  behavior make_behavior() override {
    ask();
    return {[](stop_atom) {}}; // an actor without a behavior would end here
  }

private:
  void ask() {
    request(server_, caf::infinite, sent_++).then([this](int64_t seq) {
      sum_ += seq;
      if (sent_ < n_)
        return ask();
      send(server_, stop_atom::value);
      send(driver_, sent_, int64_t{1}, sum_);
      quit();
    });
  }

  actor driver_, server_;
  int64_t n_, sent_ = 0, sum_ = 0;
};

template <class Server, class Client>
class pairs : public driver {
public:
  using driver::driver;

private:
  void begin() override {
    missing_ = 2 * p_.p;
    for (int64_t i = 0; i < p_.p; ++i)
      spawn<Client>(self(), spawn<Server, caf::lazy_init>(self()), p_.n, p_.w);
  }
};

template <class Server, class Client>
cell with(int64_t window) {
  return [=](caf::actor_system& system, params p) {
    if (p.w == 0)
      p.w = window;
    within("p", p.p, 1000000);
    within("n", p.n, int64_t{1} << 31);
    within("w", p.w, 1000000);
    return driven<pairs<Server, Client>>(system, p);
  };
}

} // namespace

cells pingpong_cells() {
  return {
    {"pingpong/tell", with<server, client>(1)},
    {"pingpong/tell-w100", with<server, client>(100)},
    {"pingpong/tell-w1000", with<server, client>(1000)},
    {"pingpong/call", with<call_server, caller>(1)},
    {"pingpong/call-send", with<call_server, caller>(1)},
  };
}

} // namespace arena
