# net between two processes: what prep makes for a role, and how the clients run on it.
require "./paced"
require "./tcp"

module Links
  extend self

  # A client's end of a pair: the answer to a number.
  alias Echo = Int64 -> Int64

  # What a kind of connection does: at the server with each it accepts; at the client it gives N ends of pairs and
  # a way to close them.
  abstract class Transport
    abstract def serve(socket : TCPSocket, n : Int64)
    abstract def connect(port : Int32, n : Int64) : {Array(Echo), Proc(Nil)}
  end

  def two_processes(transport : Transport) : Cell
    Cell.new do |params|
      check(params, 1)
      case params.role
      when "server" then server(transport, params)
      when "client" then clients(transport, params, port_of(params.addr))
      else               raise Refusal.new("limit", "role=#{params.role}: must be server or client")
      end
    end
  end

  def one_process(transport : Transport) : Cell
    Cell.new do |params|
      check(params, 2)
      acceptor = Acceptor.new { |socket| transport.serve(socket, params.messages) }
      clients(transport, params, acceptor.port, acceptor)
    end
  end

  private def check(params, fibers_per_pair)
    Sizes.within("N", params.messages, 10_000)
    Sizes.within("M", params.requests, 1_i64 << 31)
    Sizes.fibers(params.messages * fibers_per_pair, "N=#{params.messages}")
  end

  private def port_of(addr : String) : Int32
    addr.lchop("127.0.0.1:").to_i? || raise Refusal.new("limit", "addr=#{addr}: must be 127.0.0.1 and a port")
  end

  private def server(transport, params) : Prepared
    acceptor = Acceptor.new { |socket| transport.serve(socket, params.messages) }
    nothing = Sample.new { raise Refusal.new("bug", "a server runs nothing") }
    Prepared.new(nothing, addr: "127.0.0.1:#{acceptor.port}", closer: -> { acceptor.close })
  end

  private def clients(transport, params, port, acceptor : Acceptor? = nil) : Prepared
    begin_at = Time.monotonic
    ends, disconnect = transport.connect(port, params.messages)
    closer = -> { disconnect.call; acceptor.try(&.close); nil }
    begin
      together(ends) { |echo| verified(echo, -1) }
    rescue error
      closer.call
      raise error
    end
    ready = Time.monotonic - begin_at
    Prepared.new(
      Sizes.sample_of_parts { once(ends, params.requests) },
      ready: ready.total_nanoseconds.to_i64,
      schedule: Schedule.new { |rate, secs| Paced.run(ends, rate, secs) },
      closer: closer,
    )
  end

  def verified(echo : Echo, number : Int64) : Int64
    answer = echo.call(number)
    raise Refusal.new("bug", "asked #{number}, the answer is #{answer}") if answer != number
    answer
  end

  # Runs a fiber for each end, by its number, and waits for what all give, or raises what one has raised. No fiber starts before the
  # caller waits.
  def together(ends : Array(Echo), &work : Echo, Int32 -> T) : Array(T) forall T
    outcomes = Channel(T | Exception).new(ends.size)
    ends.each_with_index do |echo, client|
      spawn do
        outcomes.send work.call(echo, client)
      rescue error
        outcomes.send error
      end
    end
    given = ends.map { outcomes.receive }
    given.map { |outcome| outcome.is_a?(Exception) ? raise outcome : outcome }
  end

  # A client has sent and received as many as were answered; the other unit is its server.
  private def once(ends, m) : {Time::Span, Counts}
    begin_at = Time.monotonic
    counted = together(ends) do |echo|
      answered, sum = 0_i64, 0_i64
      m.times do |i|
        sum += verified(echo, i)
        answered += 1
      end
      Counts.new(answered * 2, 2, sum)
    end
    time = Time.monotonic - begin_at
    {time, counted.reduce { |total, one| total + one }}
  end

  def cells
    {
      "net/echo"         => two_processes(EachOwn.new),
      "net/paced"        => two_processes(EachOwn.new),
      "net/echo-oneproc" => one_process(EachOwn.new),
      "net/echo-mux"     => two_processes(Shared.new),
    }
  end
end
