# pingpong: each side is a fiber with a channel of its own.
require "./sizes"

module Pingpong
  extend self

  # The buffer of a mailbox that is never full at w=1.
  ROOM = 16

  # A ping carries its number and the address of the answer.
  record Ping, seq : Int64, reply : Channel(Int64)
  # What one fiber of a pair did.
  record Side, sent : Int64, sum : Int64

  alias Done = Channel(Side)

  # Answers until the client closes the channel. `receive?` would wrap every message to tell it from the end.
  def serve(requests, done : Done)
    sent = 0_i64
    begin
      while true
        yield requests.receive
        sent += 1
      end
    rescue Channel::ClosedError
      done.send Side.new(sent, 0)
    end
  end

  def tell(done : Done, n : Int64, w : Int64, room : Int32)
    requests, replies = Channel(Ping).new(room), Channel(Int64).new(room)
    spawn { serve(requests, done) { |ping| ping.reply.send ping.seq } }
    spawn do
      sent, sum = 0_i64, 0_i64
      while sent < w && sent < n
        requests.send Ping.new(sent, replies)
        sent += 1
      end
      n.times do
        sum += replies.receive
        if sent < n
          requests.send Ping.new(sent, replies)
          sent += 1
        end
      end
      requests.close
      done.send Side.new(sent, sum)
    end
  end

  # Two channels per pair, the message is the number alone.
  def fixed(done : Done, n : Int64, room : Int32)
    requests, replies = Channel(Int64).new(room), Channel(Int64).new(room)
    spawn { serve(requests, done) { |seq| replies.send seq } }
    spawn do
      sum = 0_i64
      n.times do |i|
        requests.send i
        sum += replies.receive
      end
      requests.close
      done.send Side.new(n, sum)
    end
  end

  # A fresh channel per answer. It needs no room: the client is waiting there by the time the server answers.
  def call(done : Done, n : Int64, room : Int32)
    requests = Channel(Ping).new(room)
    spawn { serve(requests, done) { |ping| ping.reply.send ping.seq } }
    spawn do
      sum = 0_i64
      n.times do |i|
        reply = Channel(Int64).new
        requests.send Ping.new(i, reply)
        sum += reply.receive
      end
      requests.close
      done.send Side.new(n, sum)
    end
  end

  # Every operation of fixed stands in a select beside a channel nobody sends on.
  def choice(done : Done, n : Int64)
    requests, replies = Channel(Int64).new, Channel(Int64).new
    never = {Channel(Int64).new, Channel(Int64).new}
    spawn do
      sent = 0_i64
      while sent < n
        seq = 0_i64
        select
        when seq = requests.receive
        when never[0].receive
          break
        end
        select
        when replies.send(seq)
          sent += 1
        when never[0].receive
          break
        end
      end
      done.send Side.new(sent, 0)
    end
    spawn do
      sent, sum = 0_i64, 0_i64
      while sent < n
        select
        when requests.send(sent)
          sent += 1
        when never[1].receive
          break
        end
        select
        when seq = replies.receive
          sum += seq
        when never[1].receive
          break
        end
      end
      done.send Side.new(sent, sum)
    end
  end

  # Starts all pairs, waits for both sides of each and adds what they did.
  def pairs(p : Int64) : Counts
    done = Done.new(p.to_i * 2)
    p.times { yield done }
    total = Counts.zero
    (p * 2).times do
      side = done.receive
      total += Counts.new(side.sent, 1, side.sum)
    end
    total
  end

  def cell(window : Int64, &start : Done, Params -> Nil) : Cell
    Cell.new do |params|
      params.w = window if params.w == 0
      Sizes.within("p", params.p, 10_000)
      Sizes.within("n", params.n, 1_i64 << 31)
      Sizes.within("w", params.w, 1_000_000)
      Sizes.fibers(params.p * 2, "p=#{params.p}")
      Sizes.repeat { pairs(params.p) { |done| start.call(done, params) } }
    end
  end

  def cells
    {
      "pingpong/tell"         => cell(1) { |done, params| tell(done, params.n, 1, ROOM) },
      "pingpong/tell-bounded" => cell(1) { |done, params| tell(done, params.n, 1, 1) },
      "pingpong/tell-w100"    => cell(100) { |done, params| tell(done, params.n, params.w, params.w.to_i) },
      "pingpong/tell-w1000"   => cell(1000) { |done, params| tell(done, params.n, params.w, params.w.to_i) },
      "pingpong/give"         => cell(1) { |done, params| tell(done, params.n, 1, 0) },
      "pingpong/tell-fixed"   => cell(1) { |done, params| fixed(done, params.n, ROOM) },
      "pingpong/give-fixed"   => cell(1) { |done, params| fixed(done, params.n, 0) },
      "pingpong/call"         => cell(1) { |done, params| call(done, params.n, 0) },
      "pingpong/call-send"    => cell(1) { |done, params| call(done, params.n, ROOM) },
      "pingpong/choice"       => cell(1) { |done, params| choice(done, params.n) },
    }
  end
end
