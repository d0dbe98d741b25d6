# The arena protocol: one command of words per line in, one line of JSON out.
require "json"
require "./sizes"

class Protocol
  @prepared : Prepared?

  def initialize(@system : String, @cells : Hash(String, Cell))
  end

  def serve
    hello
    while line = STDIN.gets
      words = line.split(' ')
      args = arguments(words)
      return if words.first? == "quit"
      answer(words.first? || "", args)
    end
  end

  private def hello
    tell do |json|
      json.field "t", "hello"
      json.field "system", @system
      json.field "peer", "crystal"
      json.field "version", Crystal::VERSION
      json.field "runtime", "crystal #{Crystal::VERSION}, llvm #{Crystal::LLVM_VERSION}, bdwgc"
      json.field "flags", "--release --no-debug"
      json.field "threads", 1
      json.field "pid", Process.pid
      json.field "clock_ns", clock_step
      json.field "caps", ["gc", "hist"]
      json.field "cells", @cells.keys.sort
    end
  end

  # The smallest step of the clock that was seen.
  private def clock_step
    (1..2000).min_of do
      start = Time.monotonic
      now = start
      while now == start
        now = Time.monotonic
      end
      (now - start).total_nanoseconds.to_i64
    end
  end

  private def arguments(words)
    args = {} of String => String
    words.each do |word|
      key, equals, value = word.partition('=')
      args[key] = value unless equals.empty?
    end
    args
  end

  private def answer(command, args)
    id = args["id"]?.try(&.to_i64?) || 0_i64
    case command
    when "prep"
      drop
      prepared = @prepared = prep(args)
      ok(id, prepared)
    when "run"
      run(id, args)
    when "drop"
      drop
      GC.collect
      ok(id)
    when "ping"
      ok(id)
    else
      raise Refusal.new("unsupported", "unknown command #{command}")
    end
  rescue error
    tell do |json|
      json.field "t", "err"
      json.field "id", id || 0
      json.field "kind", error.is_a?(Refusal) ? error.kind : "bug"
      json.field "msg", error.message || error.class.name
    end
  end

  private def drop
    @prepared.try &.close
    @prepared = nil
  end

  private def prep(args) : Prepared
    name = args["cell"]? || ""
    cell = @cells[name]? || raise Refusal.new("unsupported", "no cell #{name}")
    params = Params.new
    {% for key, name in {threads: "threads", seed: "seed", p: "p", n: "n", w: "w", P: "producers", A: "actors",
                         N: "messages", M: "requests", S: "leaves"} %}
      params.{{name.id}} = number(args, {{key.stringify}})
    {% end %}
    params.role, params.addr = args["role"]? || "", args["addr"]? || ""
    cell.call(params)
  end

  private def number(args, key)
    return 0_i64 unless text = args[key]?
    text.to_i64? || raise Refusal.new("limit", "#{key}=#{text} is not a 64-bit number")
  end

  private def run(id, args)
    prepared = @prepared || raise Refusal.new("bug", "run without prep")
    return run_paced(id, args, prepared) if args["hist"]? == "1"
    inner = args.has_key?("inner") ? number(args, "inner") : 1_i64
    Sizes.within("inner", inner, 1_i64 << 40)
    before = GC.prof_stats.gc_no
    time, counts = prepared.sample.call(inner)
    tell { |json| sample(json, id, time, inner, counts, before) }
  end

  private def run_paced(id, args, prepared)
    schedule = prepared.schedule || raise Refusal.new("unsupported", "this cell has no schedule")
    rate, secs = number(args, "rate"), number(args, "secs")
    Sizes.within("rate", rate, 100_000_000)
    Sizes.within("secs", secs, 10_000)
    before = GC.prof_stats.gc_no
    paces = schedule.call(rate, secs)
    tell do |json|
      sample(json, id, paces.time, 1, paces.counts, before)
      json.field "hist", paces.due
      json.field "hist_service", paces.service
    end
  end

  private def sample(json, id, time, inner, counts, collections_before)
    json.field "t", "sample"
    json.field "id", id
    json.field "ns", time.total_nanoseconds.to_i64
    json.field "inner", inner
    json.field "msgs", counts.msgs
    json.field "units", counts.units
    json.field "check", counts.check
    json.field "gc", [GC.prof_stats.gc_no - collections_before]
  end

  private def ok(id, prepared : Prepared? = nil)
    tell do |json|
      json.field "t", "ok"
      json.field "id", id
      prepared.try &.addr.try { |addr| json.field "addr", addr }
      prepared.try &.ready.try { |ready| json.field "ready_ns", ready }
    end
  end

  private def tell
    line = JSON.build do |json|
      json.object do
        json.field "arena", 1
        yield json
      end
    end
    STDOUT.puts line
    STDOUT.flush
  end
end
