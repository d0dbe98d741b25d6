# All pairs over one connection: a frame is the pair and the number. At each end a fiber reads and hands every frame
# to its pair's channel, and one writes what the others have left.
require "./links"

class Shared < Links::Transport
  BODY_BYTES = 12

  # What waits to be written. Fibers of one thread may leave their frames in one buffer; the writer is woken by the
  # first and takes with it what the fibers that ran before it have added.
  class Outbox
    @filling = IO::Memory.new
    @sending = IO::Memory.new
    @awake = false
    @wake = Channel(Nil).new(1)
    @frame : Bytes = Tcp.frame(BODY_BYTES)

    def put(pair : Int32, number : Int64)
      Tcp.put(pair, @frame, 4)
      Tcp.put(number, @frame, 8)
      @filling.write(@frame)
      return if @awake
      @awake = true
      @wake.send nil
    end

    # Runs in a fiber of its own until close.
    def write_to(socket : TCPSocket)
      while true
        @wake.receive
        @awake = false
        @filling, @sending = @sending, @filling
        socket.write(@sending.to_slice)
        @sending.clear
      end
    rescue Channel::ClosedError
    rescue error : IO::Error
      STDERR.puts "peer-crystal: #{error.message}" unless socket.closed?
    end

    def close
      @wake.close
    end
  end

  # Each pair's server is a fiber with a channel of its own.
  def serve(socket : TCPSocket, n : Int64)
    outbox = Outbox.new
    pairs = Array.new(n) { |pair| spawn_server(pair.to_i, outbox) }
    spawn outbox.write_to(socket)
    deliver(socket, pairs)
    outbox.close
  end

  private def spawn_server(pair, outbox) : Channel(Int64)
    requests = Channel(Int64).new(1)
    spawn do
      while true
        outbox.put(pair, requests.receive)
      end
    rescue Channel::ClosedError
    end
    requests
  end

  def connect(port : Int32, n : Int64) : {Array(Links::Echo), Proc(Nil)}
    socket = Tcp.dial(port)
    outbox = Outbox.new
    pairs = Array.new(n) { Channel(Int64).new(1) }
    spawn outbox.write_to(socket)
    spawn do
      deliver(socket, pairs)
    rescue error : IO::Error | Refusal
      STDERR.puts "peer-crystal: #{error.message}" unless socket.closed?
    end
    {pairs.map_with_index { |answers, pair| echo(pair, answers, outbox) }, -> { outbox.close; socket.close }}
  end

  private def echo(pair, answers, outbox) : Links::Echo
    Links::Echo.new do |number|
      outbox.put(pair, number)
      begin
        answers.receive
      rescue Channel::ClosedError
        Tcp.lost
      end
    end
  end

  # Until the other end closes; then every pair is told.
  private def deliver(socket, pairs)
    frame = Tcp.frame(BODY_BYTES)
    while Tcp.read?(socket, frame)
      pair = IO::ByteFormat::BigEndian.decode(Int32, frame + 4)
      answers = pairs[pair]? || raise Refusal.new("bug", "pair #{pair} of #{pairs.size}")
      answers.send Tcp.number(frame, 8)
    end
  ensure
    pairs.each &.close
  end
end
