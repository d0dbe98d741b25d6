# counter with two channels, Add and GetAndReset, between which the counter chooses.
require "./counter"

module Selecting
  extend self

  alias Reply = Counter::Reply

  PATIENT = 100.milliseconds

  # What a producer says when its timeout fired.
  TIMED_OUT = -1_i64

  # select tries its branches in the order written, so Adds that wait in a buffer are taken before a question.
  def actor(add : Channel(Int64), get : Channel(Reply))
    sum = 0_i64
    loop do
      select
      when value = add.receive
        sum += value
      when reply = get.receive?
        return unless reply
        sum += drain(add)
        reply.send sum
        sum = 0_i64
      end
    end
  end

  def drain(add : Channel(Int64)) : Int64
    sum = 0_i64
    loop do
      select
      when value = add.receive
        sum += value
      else
        return sum
      end
    end
  end

  def plain(add : Channel(Int64), n : Int64) : Int64
    sent = 0_i64
    n.times do
      add.send Counter::STEP
      sent += 1
    end
    sent
  end

  def timed(add : Channel(Int64), n : Int64) : Int64
    sent = 0_i64
    n.times do
      select
      when add.send(Counter::STEP)
        sent += 1
      when timeout(PATIENT)
        return TIMED_OUT
      end
    end
    sent
  end

  def run(producers : Int64, n : Int64, room : Int32, &producer : Channel(Int64), Int64 -> Int64) : Counts
    add, get = Channel(Int64).new(room), Channel(Reply).new(room)
    spawn actor(add, get)
    ends = Channel(Int64).new(producers.to_i)
    producers.times do
      spawn { ends.send producer.call(add, n) }
    end
    sent, fired = 0_i64, false
    producers.times do
      one = ends.receive
      one == TIMED_OUT ? (fired = true) : (sent += one)
    end
    reply = Reply.new
    get.send reply
    sum = reply.receive
    get.close
    raise Refusal.new("bug", "a timeout of 100 ms fired") if fired
    Counts.new(sent, producers + 1, sum)
  end

  def cells
    {
      "counter/select"                   => selecting(0) { |add, n| timed(add, n) },
      "counter/select-no-timer"          => selecting(0) { |add, n| plain(add, n) },
      "counter/select-buffered"          => selecting(1024) { |add, n| timed(add, n) },
      "counter/select-buffered-no-timer" => selecting(1024) { |add, n| plain(add, n) },
    }
  end

  private def selecting(room : Int32, &producer : Channel(Int64), Int64 -> Int64) : Cell
    Counter.cell { |producers, n| run(producers, n, room, &producer) }
  end
end
