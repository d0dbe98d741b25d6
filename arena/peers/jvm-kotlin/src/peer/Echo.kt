package peer

import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentLinkedQueue
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runBlocking

/** How a server serves a connection, and how clients connect. */
internal interface Transport {
    val dispatcher: CoroutineDispatcher

    suspend fun serve(scope: CoroutineScope, socket: Socket)

    suspend fun connect(addr: String): Connections
}

/** The clients' ends of all pairs. */
internal interface Connections {
    suspend fun end(pair: Int): End

    fun close()
}

/** The client's end of a pair. */
internal fun interface End {
    suspend fun echo(number: Long): Long
}

private const val FRAME_BYTES = 12

/** A connection per client. A coroutine goes on in the thread that has its bytes: there is nothing to hand over. */
private object Each : Transport {
    override val dispatcher = Dispatchers.Unconfined

    override suspend fun serve(scope: CoroutineScope, socket: Socket) {
        val buffer = ByteBuffer.allocateDirect(FRAME_BYTES)
        while (socket.read(buffer)) {
            if (buffer.hasRemaining()) continue
            buffer.flip()
            socket.write(buffer)
            buffer.clear()
        }
        if (buffer.position() > 0) ended()
    }

    override suspend fun connect(addr: String) = object : Connections {
        private val sockets = ConcurrentLinkedQueue<Socket>()

        override suspend fun end(pair: Int): End {
            val socket = Socket.dial(addr).also(sockets::add)
            val buffer = ByteBuffer.allocateDirect(FRAME_BYTES)
            return End { number ->
                buffer.clear().putInt(FRAME_BYTES - 4).putLong(number).flip()
                socket.write(buffer)
                buffer.clear()
                while (buffer.hasRemaining()) if (!socket.read(buffer)) ended()
                if (buffer.getInt(0) != FRAME_BYTES - 4) bug("a frame of ${buffer.getInt(0)} bytes")
                buffer.getLong(4)
            }
        }

        override fun close() = sockets.forEach { it.close() }
    }
}

private fun pairs(words: Words) = words.size("N", 100_000).toInt()

private fun requests(words: Words) = words.size("M", 1L shl 31)

private fun served(server: Server) = object : Sample {
    override fun run(inner: Long) = bug("a server runs nothing")

    override fun told() = ",\"addr\":\"${server.addr}\""

    override fun close() = server.close()
}

private fun connected(transport: Transport, words: Words, addr: String): Sample {
    val clients = runBlocking(Dispatchers.Default) { Clients.connect(transport, addr, pairs(words)) }
    val requests = requests(words)
    return object : Sample {
        override fun run(inner: Long) = clients.run(inner, requests)

        override fun paced(rate: Long, secs: Long) = clients.paced(rate, secs)

        override fun told() = ",\"ready_ns\":${clients.ready}"

        override fun close() = clients.close()
    }
}

private fun server(transport: Transport) = Server(transport.dispatcher) { transport.serve(this, it) }

private fun twoProcesses(make: (Words) -> Transport) = Cell { words ->
    val transport = make(words)
    requests(words)
    when (words["role"]) {
        "server" -> served(server(transport))
        "client" -> connected(transport, words, words["addr"])
        else -> throw Refusal("limit", "role=${words["role"]}: must be server or client")
    }
}

private val oneProcess = Cell { words ->
    val server = server(Each)
    val clients = connected(Each, words, server.addr)
    object : Sample by clients {
        override fun close() {
            clients.close()
            server.close()
        }
    }
}

internal fun echoCells() = mapOf(
    "net/echo" to twoProcesses { pairs(it); Each },
    "net/echo-mux" to twoProcesses { Mux(pairs(it)) },
    "net/echo-oneproc" to oneProcess,
    "net/paced" to twoProcesses { pairs(it); Each },
)
