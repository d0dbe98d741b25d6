# chain: every actor is a fiber with a channel; one place is enough, the last child's Pong to itself must not wait.
require "./sizes"

module Chain
  extend self

  # Ping carries the number of its receiver, Pong the depth.
  record Ping, number : Int64
  record Pong, depth : Int64

  alias Mailbox = Channel(Ping | Pong)

  def node(actors : Int64, inbox : Mailbox, parent : Mailbox)
    loop do
      case message = inbox.receive
      in Ping
        if message.number < actors
          child(actors, inbox).send Ping.new(message.number + 1)
        else
          inbox.send Pong.new(0)
        end
      in Pong
        parent.send Pong.new(message.depth + 1)
        return
      end
    end
  end

  def child(actors : Int64, parent : Mailbox) : Mailbox
    inbox = Mailbox.new(1)
    spawn node(actors, inbox, parent)
    inbox
  end

  def root(actors : Int64, inbox : Mailbox, done : Channel(Int64))
    loop do
      case message = inbox.receive
      in Ping
        child(actors, inbox).send Ping.new(message.number + 1)
      in Pong
        done.send message.depth
        return
      end
    end
  end

  def cells
    {
      "chain/struct" => Cell.new do |params|
        actors = params.actors
        Sizes.within("A", actors, 5_000_000)
        Sizes.fibers(actors + 1, "A=#{actors}")
        Sizes.repeat do
          inbox, done = Mailbox.new(1), Channel(Int64).new
          spawn root(actors, inbox, done)
          inbox.send Ping.new(0)
          depth = done.receive
          Counts.new(depth * 2 + 2, depth + 1, depth)
        end
      end,
    }
  end
end
