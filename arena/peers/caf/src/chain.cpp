// chain: every actor makes the next one. An actor is not run before its first message (lazy_init).
#include "driver.hpp"

namespace arena {

namespace {

using caf::actor;
using caf::behavior;

using ping_atom = caf::atom_constant<caf::atom("ping")>;
using pong_atom = caf::atom_constant<caf::atom("pong")>;

class chain_node : public caf::event_based_actor {
public:
  chain_node(caf::actor_config& cfg, int64_t actors, actor parent)
      : event_based_actor(cfg), actors_(actors), parent_(std::move(parent)) {}

  // Ping carries the number of its receiver, Pong the depth.
  behavior make_behavior() override {
    return {
      [this](ping_atom, int64_t number) {
        if (number < actors_)
          send(spawn<chain_node, caf::lazy_init>(actors_, actor{this}), ping_atom::value, number + 1);
        else
          send(this, pong_atom::value, int64_t{0});
      },
      [this](pong_atom, int64_t depth) {
        send(parent_, pong_atom::value, depth + 1);
        quit();
      },
    };
  }

private:
  int64_t actors_;
  actor parent_;
};

class root : public caf::event_based_actor {
public:
  root(caf::actor_config& cfg, int64_t actors, actor driver)
      : event_based_actor(cfg), actors_(actors), driver_(std::move(driver)) {}

  behavior make_behavior() override {
    return {
      [this](ping_atom, int64_t number) {
        send(spawn<chain_node, caf::lazy_init>(actors_, actor{this}), ping_atom::value, number + 1);
      },
      [this](pong_atom, int64_t depth) {
        send(driver_, 2 * depth + 2, depth + 1, depth);
        quit();
      },
    };
  }

private:
  int64_t actors_;
  actor driver_;
};

class chain : public driver {
public:
  using driver::driver;

private:
  void begin() override {
    missing_ = 1;
    send(spawn<root, caf::lazy_init>(p_.actors, self()), ping_atom::value, int64_t{0});
  }
};

} // namespace

cells chain_cells() {
  return {
    {"chain/struct", [](caf::actor_system& system, const params& p) {
       within("A", p.actors, 5000000);
       return driven<chain>(system, p);
     }},
  };
}

} // namespace arena
