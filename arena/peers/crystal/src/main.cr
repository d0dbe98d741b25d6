# The Crystal peer of the arena: `peer-crystal --arena 1 --system crystal|crystal-in-turn`.
require "./protocol"
require "./pingpong"
require "./chain"
require "./fan"
require "./counter"
require "./select"
require "./skynet"
require "./spawn"
require "./net"
require "./each_own"
require "./shared"

SYSTEMS = {
  "crystal" => [
    Pingpong.cells, Chain.cells, Fan.cells, Counter.cells, Selecting.cells, Skynet.cells, Spawned.cells, Local.cells,
    Links.cells,
  ].reduce { |all, more| all.merge(more) },
  "crystal-in-turn" => Skynet.cells_in_turn,
}

def argument(name)
  at = ARGV.index(name)
  at && ARGV[at + 1]?
end

name = argument("--system") || "crystal"
cells = SYSTEMS[name]?
if argument("--arena") != "1" || !cells
  STDERR.puts "peer-crystal speaks to the arena: --arena 1 --system #{SYSTEMS.keys.join('|')}"
  exit 2
end
Protocol.new(name, cells).serve
