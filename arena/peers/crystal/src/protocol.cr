# The arena protocol: one command of words per line in, one line of JSON out.
require "json"
require "./sizes"

class Protocol
  @sample : Sample?

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
      json.field "caps", ["gc"]
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
      @sample = nil
      @sample = prep(args)
      ok(id)
    when "run"
      run(id, args)
    when "drop"
      @sample = nil
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

  private def prep(args)
    name = args["cell"]? || ""
    cell = @cells[name]? || raise Refusal.new("unsupported", "no cell #{name}")
    params = Params.new
    {% for key, name in {threads: "threads", seed: "seed", p: "p", n: "n", w: "w", P: "producers", A: "actors",
                         N: "messages", M: "requests", S: "leaves"} %}
      params.{{name.id}} = number(args, {{key.stringify}})
    {% end %}
    cell.call(params)
  end

  private def number(args, key)
    return 0_i64 unless text = args[key]?
    text.to_i64? || raise Refusal.new("limit", "#{key}=#{text} is not a 64-bit number")
  end

  private def run(id, args)
    sample = @sample || raise Refusal.new("bug", "run without prep")
    inner = args.has_key?("inner") ? number(args, "inner") : 1_i64
    Sizes.within("inner", inner, 1_i64 << 40)
    before = GC.prof_stats.gc_no
    time, counts = sample.call(inner)
    tell do |json|
      json.field "t", "sample"
      json.field "id", id
      json.field "ns", time.total_nanoseconds.to_i64
      json.field "inner", inner
      json.field "msgs", counts.msgs
      json.field "units", counts.units
      json.field "check", counts.check
      json.field "gc", [GC.prof_stats.gc_no - before]
    end
  end

  private def ok(id)
    tell do |json|
      json.field "t", "ok"
      json.field "id", id
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
