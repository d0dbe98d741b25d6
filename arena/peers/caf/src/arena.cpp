// Sizes, timing, and the count of allocations.
#include "arena.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace arena {

void within(const char* name, int64_t value, int64_t largest) {
  if (value < 1 || value > largest)
    throw refusal("limit", std::string(name) + "=" + std::to_string(value) + ": this peer takes 1 to "
                             + std::to_string(largest));
}

sample repeat(std::function<counts()> scenario) {
  return [scenario](int64_t inner) {
    timed result;
    stopwatch watch;
    for (int64_t i = 0; i < inner; ++i)
      result.total += scenario();
    result.time = watch.stop();
    return result;
  };
}

sample repeat_part(std::function<timed()> scenario) {
  return [scenario](int64_t inner) {
    timed result;
    for (int64_t i = 0; i < inner; ++i) {
      auto one = scenario();
      result.time += one.time;
      result.total += one.total;
    }
    return result;
  };
}

namespace {

std::atomic<bool> asked{false};
std::atomic<bool> counting{false};
std::atomic<uint64_t> all_bytes{0};
std::atomic<uint64_t> all_count{0};

void* allocate(std::size_t size, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) {
    all_bytes.fetch_add(size, std::memory_order_relaxed);
    all_count.fetch_add(1, std::memory_order_relaxed);
  }
  auto room = size == 0 ? 1 : size;
  auto rounded = alignment == 0 ? room : (room + alignment - 1) & ~(alignment - 1);
  auto* place = alignment == 0 ? std::malloc(room) : std::aligned_alloc(alignment, rounded);
  if (place == nullptr)
    throw std::bad_alloc();
  return place;
}

} // namespace

void allocations::start() {
  all_bytes = 0;
  all_count = 0;
  asked = true;
}

void allocations::stop(uint64_t& bytes, uint64_t& count) {
  asked = false;
  bytes = all_bytes;
  count = all_count;
}

stopwatch::stopwatch() {
  counting = asked.load();
  began_ = steady::now();
}

stopwatch::~stopwatch() {
  counting = false;
}

std::chrono::nanoseconds stopwatch::stop() {
  auto elapsed = steady::now() - began_;
  counting = false;
  return elapsed;
}

} // namespace arena

// The forms of the library that are not replaced here call these.
void* operator new(std::size_t size) {
  return arena::allocate(size, 0);
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  return arena::allocate(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* place) noexcept {
  std::free(place);
}

void operator delete(void* place, std::size_t) noexcept {
  std::free(place);
}

void operator delete(void* place, std::align_val_t) noexcept {
  std::free(place);
}

void operator delete(void* place, std::size_t, std::align_val_t) noexcept {
  std::free(place);
}
