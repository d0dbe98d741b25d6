// fan: a parent and a child. A number is a Ping to the child and a Pong to the parent.
#include "driver.hpp"

namespace arena {

namespace {

using caf::actor;
using caf::behavior;

class child : public caf::event_based_actor {
public:
  child(caf::actor_config& cfg, int64_t n, actor parent, actor driver)
      : event_based_actor(cfg), n_(n), parent_(std::move(parent)), driver_(std::move(driver)) {}

  behavior make_behavior() override {
    return {
      [this](int64_t index) {
        ++taken_;
        send(parent_, index);
        if (index == n_ - 1)
          send(this, stop_atom::value);
      },
      [this](stop_atom) {
        send(driver_, taken_ + 1, int64_t{1}, int64_t{0});
        quit();
      },
    };
  }

private:
  int64_t n_, taken_ = 0;
  actor parent_, driver_;
};

class parent : public caf::event_based_actor {
public:
  parent(caf::actor_config& cfg, int64_t n, actor driver) : event_based_actor(cfg), n_(n), driver_(std::move(driver)) {}

  behavior make_behavior() override {
    return {
      [this](int64_t index) {
        ++taken_;
        sum_ += index;
        if (index == n_ - 1)
          send(this, stop_atom::value);
      },
      [this](start_atom) {
        ++taken_;
        auto made = spawn<child, caf::lazy_init>(n_, actor{this}, driver_);
        for (int64_t i = 0; i < n_; ++i)
          send(made, i);
      },
      [this](stop_atom) {
        send(driver_, taken_ + 1, int64_t{1}, sum_);
        quit();
      },
    };
  }

private:
  int64_t n_, taken_ = 0, sum_ = 0;
  actor driver_;
};

class fan : public driver {
public:
  using driver::driver;

private:
  void begin() override {
    missing_ = 2;
    send(spawn<parent, caf::lazy_init>(p_.messages, self()), start_atom::value);
  }
};

} // namespace

cells fan_cells() {
  return {
    {"fan/struct", [](caf::actor_system& system, const params& p) {
       within("N", p.messages, 100000000);
       return driven<fan>(system, p);
     }},
  };
}

} // namespace arena
