// skynet: every node is an actor; a number is the answer of a child.
#include "arena.hpp"

#include <atomic>
#include <vector>

namespace arena {

namespace {

using caf::actor;
using caf::behavior;

constexpr int64_t children = 10;

// Nodes, counted in the untimed pass of prep only.
struct census {
  bool counting = false;
  std::atomic<int64_t> nodes{0};

  void born() {
    if (counting)
      nodes.fetch_add(1, std::memory_order_relaxed);
  }
};

class node : public caf::event_based_actor {
public:
  node(caf::actor_config& cfg, census* all, actor parent, int64_t number, int64_t size)
      : event_based_actor(cfg), all_(all), parent_(std::move(parent)), number_(number), size_(size) {}

  // A leaf ends at once: an actor without a behavior has nothing left to do.
  behavior make_behavior() override {
    all_->born();
    if (size_ == 1) {
      caf::anon_send(parent_, number_);
      return {};
    }
    actor self{this};
    auto part = size_ / children;
    for (int64_t i = 0; i < children; ++i)
      spawn<node>(all_, self, number_ + i * part, part);
    return {[this](int64_t answer) {
      sum_ += answer;
      if (++answers_ == children) {
        caf::anon_send(parent_, sum_);
        quit();
      }
    }};
  }

private:
  census* all_;
  actor parent_;
  int64_t number_, size_, answers_ = 0, sum_ = 0;
};

// Where the leaves of `alive` wait: when all have come, all may go.
class gate : public caf::event_based_actor {
public:
  gate(caf::actor_config& cfg, int64_t leaves) : event_based_actor(cfg), leaves_(leaves) {}

  behavior make_behavior() override {
    waiting_.reserve(static_cast<std::size_t>(leaves_));
    return {[this](const actor& leaf) {
      waiting_.push_back(leaf);
      if (static_cast<int64_t>(waiting_.size()) < leaves_)
        return;
      for (auto& one : waiting_)
        caf::anon_send(one, start_atom::value);
      quit();
    }};
  }

private:
  int64_t leaves_;
  std::vector<actor> waiting_;
};

class alive_node : public caf::event_based_actor {
public:
  alive_node(caf::actor_config& cfg, census* all, actor gate, actor parent, int64_t number, int64_t size)
      : event_based_actor(cfg), all_(all), gate_(std::move(gate)), parent_(std::move(parent)), number_(number), size_(size) {}

  behavior make_behavior() override {
    all_->born();
    actor self{this};
    if (size_ == 1) {
      caf::anon_send(gate_, self);
      return {[this](start_atom) {
        caf::anon_send(parent_, number_);
        quit();
      }};
    }
    auto part = size_ / children;
    for (int64_t i = 0; i < children; ++i)
      spawn<alive_node>(all_, gate_, self, number_ + i * part, part);
    return {[this](int64_t answer) {
      sum_ += answer;
      if (++answers_ == children) {
        caf::anon_send(parent_, sum_);
        quit();
      }
    }};
  }

private:
  census* all_;
  actor gate_, parent_;
  int64_t number_, size_, answers_ = 0, sum_ = 0;
};

int64_t tree(caf::actor_system& system, census* all, int64_t size) {
  caf::scoped_actor self{system};
  system.spawn<node>(all, actor{self}, int64_t{0}, size);
  int64_t result = 0;
  self->receive([&](int64_t sum) { result = sum; });
  return result;
}

int64_t alive(caf::actor_system& system, census* all, int64_t size) {
  caf::scoped_actor self{system};
  auto barrier = system.spawn<gate>(size);
  system.spawn<alive_node>(all, barrier, actor{self}, int64_t{0}, size);
  int64_t result = 0;
  self->receive([&](int64_t sum) { result = sum; });
  return result;
}

int64_t recursion(int64_t number, int64_t size) {
  if (size == 1)
    return number;
  auto part = size / children;
  int64_t sum = 0;
  for (int64_t i = 0; i < children; ++i)
    sum += recursion(number + i * part, part);
  return sum;
}

void power_of_ten(int64_t size, int64_t largest) {
  within("S", size, largest);
  while (size % 10 == 0)
    size /= 10;
  if (size != 1)
    throw refusal("limit", "S must be a power of 10");
}

cell with(int64_t (*scenario)(caf::actor_system&, census*, int64_t)) {
  return [=](caf::actor_system& system, const params& p) {
    power_of_ten(p.leaves, 10000000);
    census pass;
    pass.counting = true;
    scenario(system, &pass, p.leaves);
    return repeat([&system, scenario, nodes = pass.nodes.load(), size = p.leaves] {
      census uncounted;
      return counts{nodes, nodes, scenario(system, &uncounted, size)};
    });
  };
}

} // namespace

cells skynet_cells() {
  return {
    {"skynet/tree", with(tree)},
    {"skynet/alive", with(alive)},
    {"skynet/floor", [](caf::actor_system&, const params& p) {
       power_of_ten(p.leaves, 1000000000);
       return repeat([size = p.leaves] { return counts{(10 * size - 1) / 9, 0, recursion(0, size)}; });
     }},
  };
}

} // namespace arena
