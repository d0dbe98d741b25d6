# A connection for each client: a frame is the number alone.
require "./links"

class EachOwn < Links::Transport
  NUMBER_BYTES = 8

  def serve(socket : TCPSocket, n : Int64)
    frame = Tcp.frame(NUMBER_BYTES)
    while Tcp.read?(socket, frame)
      socket.write(frame)
    end
  end

  def connect(port : Int32, n : Int64) : {Array(Links::Echo), Proc(Nil)}
    sockets = Array.new(n) { Tcp.dial(port) }
    {sockets.map { |socket| echo(socket) }, -> { sockets.each &.close }}
  end

  private def echo(socket : TCPSocket) : Links::Echo
    frame = Tcp.frame(NUMBER_BYTES)
    Links::Echo.new do |number|
      Tcp.put(number, frame, 4)
      socket.write(frame)
      Tcp.lost unless Tcp.read?(socket, frame)
      Tcp.number(frame, 4)
    end
  end
end
