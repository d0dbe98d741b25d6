# skynet: every node is a fiber, an inner node waits on a channel of its own.
require "./sizes"

module Skynet
  extend self

  CHILDREN = 10

  # What the nodes of one tree share.
  class Tree
    property nodes = 0_i64
    # Leaves that do not exist yet, and where those that do wait (skynet/alive).
    property missing : Int64
    getter gate = Channel(Nil).new

    def initialize(@missing)
    end
  end

  def node(tree : Tree, parent : Channel(Int64), number : Int64, size : Int64)
    tree.nodes += 1
    return parent.send(number) if size == 1
    replies = Channel(Int64).new(CHILDREN)
    part = size // CHILDREN
    CHILDREN.times { |i| spawn node(tree, replies, number + part * i, part) }
    parent.send gather(replies)
  end

  # The same, one child at a time: at most one fiber per level is alive, and its stack is used again at once.
  def node_in_turn(tree : Tree, parent : Channel(Int64), number : Int64, size : Int64)
    tree.nodes += 1
    return parent.send(number) if size == 1
    replies = Channel(Int64).new
    part = size // CHILDREN
    sum = 0_i64
    CHILDREN.times do |i|
      spawn node_in_turn(tree, replies, number + part * i, part)
      sum += replies.receive
    end
    parent.send sum
  end

  # As node, but a leaf answers only when all leaves exist.
  def node_alive(tree : Tree, parent : Channel(Int64), number : Int64, size : Int64)
    tree.nodes += 1
    if size == 1
      tree.missing -= 1
      tree.missing == 0 ? tree.gate.close : tree.gate.receive?
      return parent.send(number)
    end
    replies = Channel(Int64).new(CHILDREN)
    part = size // CHILDREN
    CHILDREN.times { |i| spawn node_alive(tree, replies, number + part * i, part) }
    parent.send gather(replies)
  end

  def gather(replies : Channel(Int64)) : Int64
    sum = 0_i64
    CHILDREN.times { sum += replies.receive }
    sum
  end

  def floor(number : Int64, size : Int64) : Int64
    return number if size == 1
    part = size // CHILDREN
    sum = 0_i64
    CHILDREN.times { |i| sum += floor(number + part * i, part) }
    sum
  end

  def nodes_of(size : Int64) : Int64
    (size * 10 - 1) // 9
  end

  def power_of_ten(size : Int64)
    Sizes.within("S", size, 100_000_000)
    while size % 10 == 0
      size //= 10
    end
    raise Refusal.new("limit", "S must be a power of 10") if size != 1
  end

  # `alive` tells how many fibers live at once in a tree of so many leaves.
  def cell(alive : Int64 -> Int64, &root : Tree, Channel(Int64), Int64 -> Nil) : Cell
    Cell.new do |params|
      size = params.leaves
      power_of_ten(size)
      Sizes.fibers(alive.call(size), "S=#{size}")
      Sizes.repeat do
        tree, result = Tree.new(size), Channel(Int64).new
        spawn root.call(tree, result, size)
        check = result.receive
        Counts.new(tree.nodes, tree.nodes, check)
      end
    end
  end

  # The queue of ready fibers is first in, first out: all leaves exist before the first of them runs.
  ALL = ->(size : Int64) { nodes_of(size) }

  def cells
    {
      "skynet/tree-ch" => cell(ALL) { |tree, result, size| node(tree, result, 0, size) },
      "skynet/alive"   => cell(ALL) { |tree, result, size| node_alive(tree, result, 0, size) },
      "skynet/floor"   => Cell.new do |params|
        size = params.leaves
        power_of_ten(size)
        Sizes.repeat { Counts.new(nodes_of(size), 0, floor(0, size)) }
      end,
    }
  end

  def cells_in_turn
    {"skynet/tree-ch" => cell(->(_size : Int64) { 64_i64 }) { |tree, result, size| node_in_turn(tree, result, 0, size) }}
  end
end
