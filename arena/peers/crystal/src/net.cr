# net/local: requests over channels, each with a fresh channel for the one answer.
require "./sizes"

module Local
  extend self

  ROOM = 16

  record Request, number : Int64, reply : Channel(Int64)
  # What a client or a server did; a client whose answer was wrong says so.
  record Ending, msgs : Int64, sum : Int64, wrong : String?

  def echo(server : Channel(Request), number : Int64) : Int64
    reply = Channel(Int64).new
    server.send Request.new(number, reply)
    answer = reply.receive
    raise Refusal.new("bug", "asked #{number}, the answer is #{answer}") if answer != number
    answer
  end

  def serve(requests : Channel(Request), endings : Channel(Ending))
    served = -1_i64 # the echo before the start
    while request = requests.receive?
      request.reply.send request.number
      served += 1
    end
    endings.send Ending.new(served, 0, nil)
  end

  def ask(server, m : Int64, ready, start, endings)
    echo(server, -1)
    ready.send nil
    start.receive?
    asked, sum = 0_i64, 0_i64
    m.times do |i|
      sum += echo(server, i)
      asked += 1
    end
    endings.send Ending.new(asked, sum, nil)
  rescue wrong : Refusal
    ready.send nil unless asked
    endings.send Ending.new(0, 0, wrong.message)
  ensure
    server.close
  end

  def run(n : Int64, m : Int64) : {Time::Span, Counts}
    ready, start = Channel(Nil).new, Channel(Nil).new
    endings = Channel(Ending).new(n.to_i * 2)
    n.times do
      requests = Channel(Request).new(ROOM)
      spawn serve(requests, endings)
      spawn ask(requests, m, ready, start, endings)
    end
    n.times { ready.receive }
    begin_at = Time.monotonic
    start.close
    total, wrong = Counts.zero, nil
    (n * 2).times do
      ending = endings.receive
      total += Counts.new(ending.msgs, 1, ending.sum)
      wrong ||= ending.wrong
    end
    time = Time.monotonic - begin_at
    raise Refusal.new("bug", wrong) if wrong
    {time, total}
  end

  def cells
    {
      "net/local" => Cell.new do |params|
        Sizes.within("N", params.messages, 10_000)
        Sizes.within("M", params.requests, 1_i64 << 31)
        Sizes.fibers(params.messages * 2, "N=#{params.messages}")
        Sizes.repeat_part { run(params.messages, params.requests) }
      end,
    }
  end
end
