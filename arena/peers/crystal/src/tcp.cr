# TCP on the loopback device, and frames: the length of what follows in 4 bytes, then it; integers are big-endian.
require "socket"
require "./sizes"

# Accepts, and runs a fiber for each connection.
class Acceptor
  @connections = [] of TCPSocket

  def initialize(&handler : TCPSocket -> _)
    @server = TCPServer.new("127.0.0.1", 0, backlog: 4096)
    spawn do
      while socket = @server.accept?
        socket.tcp_nodelay = true
        @connections << socket
        serve(socket, handler)
      end
    end
  end

  # In a method of its own: the loop's variable would be shared by all fibers.
  private def serve(socket, handler)
    spawn do
      handler.call(socket)
    rescue error : IO::Error | Refusal
      STDERR.puts "peer-crystal: #{error.message}" unless socket.closed?
    ensure
      socket.close
    end
  end

  def port : Int32
    @server.local_address.port
  end

  def close
    @server.close
    @connections.each &.close
  end
end

module Tcp
  extend self

  def dial(port : Int32) : TCPSocket
    socket = TCPSocket.new("127.0.0.1", port)
    socket.tcp_nodelay = true
    socket
  end

  # A frame for a body of so many bytes.
  def frame(body : Int32) : Bytes
    bytes = Bytes.new(4 + body)
    put(body, bytes, 0)
    bytes
  end

  def put(number : Int32 | Int64, bytes : Bytes, at : Int32)
    IO::ByteFormat::BigEndian.encode(number, bytes + at)
  end

  # Reads a whole frame of that length; false at the end of the connection.
  def read?(socket : TCPSocket, frame : Bytes) : Bool
    return false unless socket.read_fully?(frame)
    length = IO::ByteFormat::BigEndian.decode(Int32, frame)
    raise Refusal.new("bug", "a frame of #{length} bytes, must have #{frame.size - 4}") if length != frame.size - 4
    true
  end

  def number(frame : Bytes, at : Int32) : Int64
    IO::ByteFormat::BigEndian.decode(Int64, frame + at)
  end

  def lost
    raise Refusal.new("bug", "the connection is gone")
  end
end
