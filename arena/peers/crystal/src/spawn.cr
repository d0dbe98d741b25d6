# spawn: a fiber that starts n fibers, and one that starts a fiber and waits for its result, n times.
require "./sizes"

module Spawned
  extend self

  # After so many starts the starter lets the others run, so that their stacks are used again while they are warm.
  BURST = 64

  def detached(n : Int64) : Counts
    counter = 0_i64
    done = Channel(Nil).new
    spawn do
      n.times do |i|
        spawn do
          counter += 1
          done.close if counter == n
        end
        Fiber.yield if i % BURST == BURST - 1
      end
    end
    done.receive?
    Counts.new(counter, counter, counter)
  end

  def joined(n : Int64) : Counts
    result = Channel(Int64).new
    sum, started = 0_i64, 0_i64
    n.times do
      started += 1
      spawn { result.send 1 }
      sum += result.receive
    end
    Counts.new(sum, started, sum)
  end

  def cell(&scenario : Int64 -> Counts) : Cell
    Cell.new do |params|
      Sizes.within("n", params.n, 1_000_000_000)
      Sizes.repeat { scenario.call(params.n) }
    end
  end

  def cells
    {
      "spawn/detached" => cell { |n| detached(n) },
      "spawn/joined"   => cell { |n| joined(n) },
    }
  end
end
