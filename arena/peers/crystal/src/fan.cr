# fan: the parent sends all its Pings without waiting, so its child's channel holds them all, or a helper fiber sends them.
require "./sizes"

module Fan
  extend self

  enum Kind
    Start
    Ping
    Pong
    Stop
  end

  record Message, index : Int64, kind : Kind

  alias Mailbox = Channel(Message)

  # The most places of a channel; above it a helper fiber sends the Pings, for the parent may not wait.
  PLACES = 16_384_i64

  def mailbox(n : Int64) : Mailbox
    Mailbox.new(n < PLACES ? n.to_i + 1 : 1024)
  end

  def parent(n : Int64, inbox : Mailbox, done : Channel(Counts))
    taken, sum = 0_i64, 0_i64
    loop do
      message = inbox.receive
      taken += 1
      case message.kind
      in .start?
        child = mailbox(n)
        spawn child(n, child, inbox, done)
        if n < PLACES
          pings(n, child)
        else
          spawn pings(n, child)
        end
      in .pong?
        sum += message.index
        inbox.send Message.new(0, Kind::Stop) if message.index == n - 1
      in .stop?
        break
      in .ping?
        raise "a Ping came to the parent"
      end
    end
    done.send Counts.new(taken, 1, sum)
  end

  def pings(n : Int64, child : Mailbox)
    n.times { |i| child.send Message.new(i, Kind::Ping) }
  end

  def child(n : Int64, inbox : Mailbox, parent : Mailbox, done : Channel(Counts))
    taken = 0_i64
    loop do
      message = inbox.receive
      taken += 1
      break if message.kind.stop?
      parent.send Message.new(message.index, Kind::Pong)
      inbox.send Message.new(0, Kind::Stop) if message.index == n - 1
    end
    done.send Counts.new(taken, 1, 0)
  end

  def cells
    {
      "fan/struct" => Cell.new do |params|
        n = params.messages
        Sizes.within("N", n, 1_000_000_000)
        Sizes.repeat do
          inbox, done = mailbox(n), Channel(Counts).new
          spawn parent(n, inbox, done)
          inbox.send Message.new(0, Kind::Start)
          done.receive + done.receive
        end
      end,
    }
  end
end
