package peer

import java.io.IOException
import java.nio.ByteBuffer
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch

private const val FRAME_BYTES = 16
private const val BUFFER_BYTES = FRAME_BYTES * 4096

/** What one frame holds. */
private class Parcel(val pair: Int, val number: Long)

/**
 * All pairs over one connection: at each end a coroutine that reads and routes and one that writes what waits, and at the
 * server one with a channel of its own for every pair.
 */
internal class Mux(private val pairs: Int) : Transport {
    override val dispatcher = Dispatchers.Default

    private fun channels() = List(pairs) { Channel<Long>(Channel.UNLIMITED) }

    /** Joins what waits into one write. */
    private suspend fun write(socket: Socket, parcels: ReceiveChannel<Parcel>) {
        val buffer = ByteBuffer.allocateDirect(BUFFER_BYTES)
        for (first in parcels) {
            var next: Parcel? = first
            while (next != null) {
                buffer.putInt(FRAME_BYTES - 4).putInt(next.pair).putLong(next.number)
                next = if (buffer.hasRemaining()) parcels.tryReceive().getOrNull() else null
            }
            socket.write(buffer.flip())
            buffer.clear()
        }
    }

    /** Hands every number to its pair until the other side closes. */
    private suspend fun route(socket: Socket, to: List<Channel<Long>>) {
        val buffer = ByteBuffer.allocateDirect(BUFFER_BYTES)
        while (socket.read(buffer)) {
            buffer.frames(FRAME_BYTES) {
                val pair = it.getInt()
                if (pair !in to.indices) throw IOException("pair $pair of ${to.size}")
                to[pair].trySend(it.getLong())
            }
        }
        if (buffer.position() > 0) ended()
    }

    override suspend fun serve(scope: CoroutineScope, socket: Socket) {
        val answers = Channel<Parcel>(Channel.UNLIMITED)
        val requests = channels()
        scope.launch { write(socket, answers) }
        try {
            coroutineScope {
                requests.forEachIndexed { pair, numbers ->
                    launch { for (number in numbers) answers.send(Parcel(pair, number)) }
                }
                try {
                    route(socket, requests)
                } finally {
                    requests.forEach { it.close() }
                }
            }
        } finally {
            answers.close()
        }
    }

    override suspend fun connect(addr: String): Connections {
        val socket = Socket.dial(addr)
        val requests = Channel<Parcel>(Channel.UNLIMITED)
        val answers = channels()
        val scope = CoroutineScope(dispatcher)
        scope.launch { write(socket, requests) }
        scope.launch {
            try {
                route(socket, answers)
            } catch (e: IOException) {
                answers.forEach { it.close(e) }
            } finally {
                answers.forEach { it.close() }
            }
        }
        return object : Connections {
            override suspend fun end(pair: Int): End {
                val mine = answers[pair]
                return End { number ->
                    requests.send(Parcel(pair, number))
                    mine.receiveCatching().getOrNull() ?: ended()
                }
            }

            override fun close() {
                requests.close()
                socket.close()
            }
        }
    }
}
