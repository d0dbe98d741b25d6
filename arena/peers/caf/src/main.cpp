// The peer of the C++ Actor Framework: `peer-caf --arena 1 --system caf`.
#include "arena.hpp"

#include <cstring>
#include <iostream>

namespace {

const char* argument(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0)
      return argv[i + 1];
  return "";
}

} // namespace

int main(int argc, char** argv) {
  if (std::strcmp(argument(argc, argv, "--arena"), "1") != 0 || std::strcmp(argument(argc, argv, "--system"), "caf") != 0) {
    std::cerr << "peer-caf speaks to the arena: --arena 1 --system caf" << std::endl;
    return 2;
  }
  arena::cells all;
  for (auto& part : {arena::pingpong_cells(), arena::chain_cells(), arena::fan_cells(), arena::counter_cells(),
                     arena::skynet_cells(), arena::spawn_cells(), arena::net_cells()})
    all.insert(part.begin(), part.end());
  arena::serve(all);
  return 0;
}
