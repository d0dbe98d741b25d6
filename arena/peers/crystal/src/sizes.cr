# Sizes, what is counted, and how samples are timed.

# An answer of kind "limit", "unsupported" or "bug".
class Refusal < Exception
  getter kind : String

  def initialize(@kind, message)
    super(message)
  end
end

# The numbers of a prep command; one that was not sent is 0.
class Params
  {% for name in %w(threads seed p n w producers actors messages requests leaves) %}
    property {{name.id}} = 0_i64
  {% end %}
  # Of cells with two processes.
  property role = "", addr = ""
end

# What one repetition, or the sum of several, really did.
record Counts, msgs : Int64, units : Int64, check : Int64 do
  def +(other : Counts)
    Counts.new(msgs + other.msgs, units + other.units, check + other.check)
  end

  def self.zero
    new(0_i64, 0_i64, 0_i64)
  end
end

# A sample does inner repetitions and says how long the timed parts took.
alias Sample = Int64 -> {Time::Span, Counts}
# How a schedule of requests went, with the histograms of the latencies from when they were due and when they were sent.
record Paces, time : Time::Span, counts : Counts, due : Array({Int32, Int64}), service : Array({Int32, Int64})
# So many requests a second for so many seconds.
alias Schedule = Int64, Int64 -> Paces

# What prep leaves; all but the sample belongs to cells over a connection.
class Prepared
  getter sample : Sample
  getter addr : String?
  getter ready : Int64?
  getter schedule : Schedule?

  def initialize(@sample, *, @addr = nil, @ready = nil, @schedule = nil, @closer : Proc(Nil)? = nil)
  end

  def close
    @closer.try &.call
  end
end

# A cell checks its parameters and makes everything that is not timed.
alias Cell = Params -> Prepared

module Sizes
  extend self

  def within(name, value, largest)
    return if 1 <= value <= largest
    raise Refusal.new("limit", "#{name}=#{value}: this peer takes 1 to #{largest}")
  end

  # A fiber's stack is two maps of the kernel's: the stack and its guard page. The rest of the process needs some too.
  MAPS_PER_FIBER =     2_i64
  MAPS_OF_OTHERS = 2_000_i64

  def fibers(alive : Int64, what)
    needed = MAPS_PER_FIBER * alive + MAPS_OF_OTHERS
    allowed = File.read("/proc/sys/vm/max_map_count").to_i64
    return if needed <= allowed
    raise Refusal.new("limit", "#{what}: #{alive} fibers at once need #{needed} memory maps, the kernel allows #{allowed}; " \
                               "fix: sysctl -w vm.max_map_count=#{needed}")
  rescue File::Error
    # Not Linux: nothing is known, so nothing is refused.
  end

  # Times a scenario that does all its work in the timed region.
  def repeat(&scenario : -> Counts) : Prepared
    Prepared.new(Sample.new do |inner|
      total = Counts.zero
      start = Time.monotonic
      inner.times { total += scenario.call }
      {Time.monotonic - start, total}
    end)
  end

  # Times a scenario that says itself how long its timed part took.
  def repeat_part(&scenario : -> {Time::Span, Counts}) : Prepared
    Prepared.new(sample_of_parts(&scenario))
  end

  def sample_of_parts(&scenario : -> {Time::Span, Counts}) : Sample
    Sample.new do |inner|
      time, total = Time::Span.zero, Counts.zero
      inner.times do
        span, counts = scenario.call
        time += span
        total += counts
      end
      {time, total}
    end
  end
end
