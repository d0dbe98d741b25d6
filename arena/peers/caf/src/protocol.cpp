// The arena protocol: one command of words per line in, one line of JSON out.
#include "arena.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <sstream>
#include <thread>

namespace arena {

namespace {

using arguments = std::map<std::string, std::string>;

int64_t number(const arguments& args, const char* key) {
  auto found = args.find(key);
  if (found == args.end())
    return 0;
  try {
    std::size_t used = 0;
    auto value = std::stoll(found->second, &used);
    if (used == found->second.size())
      return value;
  } catch (const std::logic_error&) {
  }
  throw refusal("limit", std::string(key) + "=" + found->second + " is not a 64-bit number");
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (auto c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (static_cast<unsigned char>(c) < ' ')
      c = ' ';
    result += c;
  }
  return result + '"';
}

// The smallest step of the clock that was seen.
int64_t clock_step() {
  auto smallest = steady::duration::max();
  for (int i = 0; i < 2000; ++i) {
    auto start = steady::now();
    auto now = start;
    while (now == start)
      now = steady::now();
    smallest = std::min(smallest, now - start);
  }
  return std::chrono::nanoseconds(smallest).count();
}

// A system of actors with as many workers as asked; a cell lives and ends with it.
struct stage {
  stage(int64_t threads, int64_t messages_per_turn) {
    config.set("scheduler.max-threads", threads);
    if (messages_per_turn > 0)
      config.set("scheduler.max-throughput", messages_per_turn);
    system = std::make_unique<caf::actor_system>(config);
  }

  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
  sample run;
};

class peer {
public:
  explicit peer(const cells& all) : all_(all) {}

  void hello() {
    auto* asked = std::getenv("ARENA_THREADS");
    auto threads = asked != nullptr ? std::atoll(asked) : std::thread::hardware_concurrency();
    std::ostringstream out;
    out << R"({"arena":1,"t":"hello","system":"caf","peer":"caf","version":")" << CAF_MAJOR_VERSION << '.'
        << CAF_MINOR_VERSION << '.' << CAF_PATCH_VERSION << R"(","runtime":)"
        << quoted("CAF, g++ " __VERSION__) << R"(,"flags":"g++ -O2 -DNDEBUG; scheduler.max-threads as asked","threads":)"
        << threads << R"(,"pid":)" << getpid() << R"(,"clock_ns":)" << clock_step() << R"(,"caps":["alloc"],"cells":[)";
    auto comma = "";
    for (auto& one : all_) {
      out << comma << quoted(one.first);
      comma = ",";
    }
    out << "]}";
    say(out.str());
  }

  void answer(const std::string& command, const arguments& args) {
    int64_t id = 0;
    try {
      id = number(args, "id");
      if (command == "prep")
        prep(args);
      else if (command == "run")
        return run(id, args);
      else if (command == "drop")
        stage_.reset();
      else if (command != "ping")
        throw refusal("unsupported", "unknown command " + command);
      say("{\"arena\":1,\"t\":\"ok\",\"id\":" + std::to_string(id) + "}");
    } catch (const refusal& error) {
      fail(id, error.kind, error.what());
    } catch (const std::bad_alloc&) {
      fail(id, "oom", "out of memory");
    } catch (const std::exception& error) {
      fail(id, "bug", error.what());
    }
  }

private:
  void prep(const arguments& args) {
    stage_.reset();
    auto name = args.count("cell") != 0 ? args.at("cell") : "";
    auto found = all_.find(name);
    if (found == all_.end())
      throw refusal("unsupported", "no cell " + name);
    params p;
    p.threads = number(args, "threads");
    p.p = number(args, "p");
    p.n = number(args, "n");
    p.w = number(args, "w");
    p.producers = number(args, "P");
    p.actors = number(args, "A");
    p.messages = number(args, "N");
    p.requests = number(args, "M");
    p.leaves = number(args, "S");
    within("threads", p.threads, 1024);
    stage_ = std::make_unique<stage>(p.threads, messages_per_turn(name));
    stage_->run = found->second(*stage_->system, p);
  }

  void run(int64_t id, const arguments& args) {
    if (!stage_ || !stage_->run)
      throw refusal("bug", "run without prep");
    auto inner = args.count("inner") != 0 ? number(args, "inner") : 1;
    within("inner", inner, int64_t{1} << 40);
    auto counted = number(args, "alloc") == 1;
    if (counted)
      allocations::start();
    auto result = stage_->run(inner);
    uint64_t bytes = 0, count = 0;
    if (counted)
      allocations::stop(bytes, count);
    std::ostringstream out;
    out << R"({"arena":1,"t":"sample","id":)" << id << R"(,"ns":)" << result.time.count() << R"(,"inner":)" << inner
        << R"(,"msgs":)" << result.total.msgs << R"(,"units":)" << result.total.units << R"(,"check":)"
        << result.total.check;
    if (counted)
      out << R"(,"alloc_bytes":)" << bytes << R"(,"alloc_count":)" << count;
    out << '}';
    say(out.str());
  }

  static void fail(int64_t id, const std::string& kind, const std::string& message) {
    say("{\"arena\":1,\"t\":\"err\",\"id\":" + std::to_string(id) + ",\"kind\":" + quoted(kind) + ",\"msg\":" + quoted(message)
        + "}");
  }

  static void say(const std::string& line) {
    std::cout << line << std::endl;
  }

  const cells& all_;
  std::unique_ptr<stage> stage_;
};

} // namespace

void serve(const cells& all) {
  peer one(all);
  one.hello();
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command, word;
    words >> command;
    if (command == "quit")
      return;
    arguments args;
    while (words >> word) {
      auto at = word.find('=');
      if (at != std::string::npos)
        args[word.substr(0, at)] = word.substr(at + 1);
    }
    one.answer(command, args);
  }
}

} // namespace arena
