# counter with one channel: an Add is a number, GetAndReset the channel for its answer.
require "./sizes"

module Counter
  extend self

  STEP = 100_i64
  ROOM =    1024

  alias Reply = Channel(Int64)
  alias Mailbox = Channel(Int64 | Reply)

  def actor(inbox : Mailbox)
    sum = 0_i64
    while message = inbox.receive?
      case message
      in Int64
        sum += message
      in Reply
        message.send sum
        sum = 0_i64
      end
    end
  end

  # Starts the producers and adds up what they report.
  def produce(producers : Int64, &producer : -> {Int64, Int64}) : {Int64, Int64}
    ends = Channel({Int64, Int64}).new(producers.to_i)
    producers.times do
      spawn { ends.send producer.call }
    end
    sent, sum = 0_i64, 0_i64
    producers.times do
      one_sent, one_sum = ends.receive
      sent += one_sent
      sum += one_sum
    end
    {sent, sum}
  end

  def add(inbox : Mailbox, n : Int64) : Int64
    sent = 0_i64
    n.times do
      inbox.send STEP
      sent += 1
    end
    sent
  end

  def ask(inbox : Mailbox) : Int64
    reply = Reply.new
    inbox.send reply
    reply.receive
  end

  def once(producers : Int64, n : Int64, room : Int32) : Counts
    inbox = Mailbox.new(room)
    spawn actor(inbox)
    sent, _ = produce(producers) { {add(inbox, n), 0_i64} }
    sum = ask(inbox)
    inbox.close
    Counts.new(sent, producers + 1, sum)
  end

  # Every producer asks for itself, the answers are added.
  def each(producers : Int64, n : Int64, room : Int32) : Counts
    inbox = Mailbox.new(room)
    spawn actor(inbox)
    sent, sum = produce(producers) { {add(inbox, n), ask(inbox)} }
    inbox.close
    Counts.new(sent, producers + 1, sum)
  end

  def cell(&scenario : Int64, Int64 -> Counts) : Cell
    Cell.new do |params|
      producers, n = params.producers, params.n
      Sizes.within("P", producers, 10_000)
      Sizes.within("n", n, 1_i64 << 31)
      Sizes.fibers(producers + 1, "P=#{producers}")
      Sizes.repeat { scenario.call(producers, n) }
    end
  end

  def cells
    {
      "counter/send"         => cell { |producers, n| once(producers, n, ROOM) },
      "counter/bounded-1024" => cell { |producers, n| once(producers, n, 1024) },
      "counter/give"         => cell { |producers, n| once(producers, n, 0) },
      "counter/ask-each"     => cell { |producers, n| each(producers, n, ROOM) },
    }
  end
end
