# net/paced: requests on a fixed schedule, request k by client k mod N. The driver sleeps until requests are due and
# hands them out.
require "./timer"

module Paced
  extend self

  # From the time it was due, and from just before it was written.
  record Latency, due : Time::Span, sent : Time::Span
  record Share, counts : Counts, seen : Array(Latency), last : Time::Span

  def run(ends : Array(Links::Echo), rate : Int64, secs : Int64) : Paces
    requests, n = rate * secs, ends.size
    each = (requests // n + 1).to_i
    queues = ends.map { Channel(Int64).new(each) } # the driver never waits for room
    timer = ExactTimer.new
    start = Time.monotonic
    spawn hand_out(timer, queues, start, rate, requests)
    shares = Links.together(ends) { |echo, client| serve(echo, queues[client], start, rate) }
    timer.close
    Paces.new(
      shares.max_of(&.last) - start,
      shares.map(&.counts).reduce { |total, one| total + one },
      histogram(shares, &.due), histogram(shares, &.sent),
    )
  end

  private def hand_out(timer, queues, start, rate, requests)
    k = 0_i64
    while k < requests
      late = Time.monotonic - start - due_at(k, rate)
      if late >= Time::Span.zero
        queues[k % queues.size].send k
        k += 1
      else
        timer.sleep(-late)
      end
    end
    queues.each &.close
  end

  private def due_at(k, rate) : Time::Span
    Time::Span.new(seconds: k // rate, nanoseconds: k % rate * 1_000_000_000 // rate)
  end

  # What one client does.
  private def serve(echo, queue, start, rate) : Share
    answered, sum, last = 0_i64, 0_i64, start
    seen = [] of Latency
    while k = queue.receive?
      sent = Time.monotonic
      sum += Links.verified(echo, k)
      last = Time.monotonic
      seen << Latency.new(last - start - due_at(k, rate), last - sent)
      answered += 1
    end
    Share.new(Counts.new(answered * 2, 2, sum), seen, last)
  end

  # 32 buckets for each power of two from 64 on; those that have any, with their counts.
  private def histogram(shares, &) : Array({Int32, Int64})
    counts = Array.new(58 * 32 + 32, 0_i64)
    shares.each do |share|
      share.seen.each { |latency| counts[bucket((yield latency).total_nanoseconds.to_i64)] += 1 }
    end
    list = [] of {Int32, Int64}
    counts.each_with_index { |count, bucket| list << {bucket, count} if count > 0 }
    list
  end

  private def bucket(value : Int64) : Int32
    e = 63 - (value | 63).leading_zeros_count.to_i
    (e - 5) * 32 + (value >> (e - 5)).to_i
  end
end
