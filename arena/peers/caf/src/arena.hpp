// What the workloads share: sizes, counts, and how samples are timed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <caf/all.hpp>

namespace arena {

// An answer of kind "limit", "unsupported" or "bug".
struct refusal : std::runtime_error {
  refusal(std::string kind, const std::string& message) : std::runtime_error(message), kind(std::move(kind)) {}
  std::string kind;
};

// The numbers of a prep command; one that was not sent is 0.
struct params {
  int64_t threads = 0, p = 0, n = 0, w = 0, producers = 0, actors = 0, messages = 0, requests = 0, leaves = 0;
};

// What one repetition, or the sum of several, really did.
struct counts {
  int64_t msgs = 0, units = 0, check = 0;

  counts& operator+=(const counts& other) {
    msgs += other.msgs;
    units += other.units;
    check += other.check;
    return *this;
  }
};

using steady = std::chrono::steady_clock;

struct timed {
  std::chrono::nanoseconds time{0};
  counts total;
};

// Does inner repetitions and says how long the timed parts took.
using sample = std::function<timed(int64_t inner)>;
// Checks its parameters and makes what is not timed; the system of actors is there already.
using cell = std::function<sample(caf::actor_system&, const params&)>;
using cells = std::map<std::string, cell>;

void within(const char* name, int64_t value, int64_t largest);

// Times a scenario that does all its work in the timed region.
sample repeat(std::function<counts()> scenario);

// Times a scenario that says itself how long its timed part took.
sample repeat_part(std::function<timed()> scenario);

// How often operator new was called and for how much, by all threads, in the timed parts of a sample that is asked for it.
struct allocations {
  static void start();
  static void stop(uint64_t& bytes, uint64_t& count);
};

// The clock of a timed part. Allocations are counted from its construction to stop, or until it goes.
class stopwatch {
public:
  stopwatch();
  ~stopwatch();
  std::chrono::nanoseconds stop();

private:
  steady::time_point began_;
};

cells pingpong_cells();
cells chain_cells();
cells fan_cells();
cells counter_cells();
cells skynet_cells();
cells spawn_cells();
cells net_cells();

// How many messages an actor may take in one turn in this cell; 0 for the framework's default, which has no limit.
int64_t messages_per_turn(const std::string& cell);

// Runs the protocol until quit or the end of the input.
void serve(const cells& all);

// The messages that need a name. A number alone is a ping, a pong or a result: an actor takes one of these.
using start_atom = caf::atom_constant<caf::atom("start")>;
using stop_atom = caf::atom_constant<caf::atom("stop")>;

} // namespace arena
