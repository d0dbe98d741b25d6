package peer

import java.io.EOFException
import java.io.IOException
import java.net.InetSocketAddress
import java.net.StandardSocketOptions
import java.nio.ByteBuffer
import java.nio.channels.AsynchronousChannelGroup
import java.nio.channels.AsynchronousServerSocketChannel
import java.nio.channels.AsynchronousSocketChannel
import java.nio.channels.ClosedChannelException
import java.nio.channels.CompletionHandler
import java.util.concurrent.ConcurrentHashMap
import kotlin.coroutines.Continuation
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.coroutines.suspendCoroutine
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

// The sockets of the JDK that call back, as suspending functions.

/** Its threads wait for readiness and run the handlers: as many as the coroutines have. */
private val group = AsynchronousChannelGroup.withFixedThreadPool(workers) { task ->
    Thread(task, "sockets").apply { isDaemon = true }
}

private class Resuming<T> : CompletionHandler<T, Continuation<T>> {
    override fun completed(result: T, task: Continuation<T>) = task.resume(result)

    override fun failed(cause: Throwable, task: Continuation<T>) = task.resumeWithException(cause)
}

private val counts = Resuming<Int>()
private val channels = Resuming<AsynchronousSocketChannel>()

/** A connection; its buffers are the owner's. */
internal class Socket(private val channel: AsynchronousSocketChannel) {
    init {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true)
    }

    /** Reads more behind what the buffer holds; false if the other side has closed. */
    suspend fun read(into: ByteBuffer): Boolean = suspendCoroutine { channel.read(into, it, counts) } >= 0

    suspend fun write(from: ByteBuffer) {
        while (from.hasRemaining()) suspendCoroutine { channel.write(from, it, counts) }
    }

    fun close() = channel.close()

    companion object {
        suspend fun dial(addr: String): Socket {
            val (host, port) = addr.split(':')
            val channel = AsynchronousSocketChannel.open(group)
            suspendCoroutine { channel.connect(InetSocketAddress(host, port.toInt()), it, Resuming<Void?>()) }
            return Socket(channel)
        }
    }
}

/** A thousand clients connect at once; with the default of 50 many would have to try again. */
private const val BACKLOG = 4096

/** Accepts connections and runs a coroutine for each. */
internal class Server(dispatcher: CoroutineDispatcher, private val serve: suspend CoroutineScope.(Socket) -> Unit) {
    private val listener = AsynchronousServerSocketChannel.open(group).bind(InetSocketAddress("127.0.0.1", 0), BACKLOG)
    private val sockets: MutableSet<Socket> = ConcurrentHashMap.newKeySet()
    private val scope = CoroutineScope(dispatcher)

    val addr = "127.0.0.1:${(listener.localAddress as InetSocketAddress).port}"

    init {
        scope.launch { accept() }
    }

    private suspend fun accept() {
        while (true) {
            val channel = try {
                suspendCoroutine<AsynchronousSocketChannel> { listener.accept(it, channels) }
            } catch (_: ClosedChannelException) {
                return
            }
            val socket = Socket(channel).also(sockets::add)
            scope.launch { connection(socket) }
        }
    }

    private suspend fun connection(socket: Socket) {
        try {
            coroutineScope { serve(socket) }
        } catch (e: IOException) {
            if (listener.isOpen) System.err.println("server: $e")
        } finally {
            socket.close()
            sockets -= socket
        }
    }

    /** Ends what is still connected, and waits for its coroutines. */
    fun close() {
        listener.close()
        for (socket in sockets) socket.close()
        val job: Job = scope.coroutineContext.job
        runBlocking { job.children.forEach { it.join() } }
    }
}

/** Takes whole frames of [size] bytes, length included, out of the buffer and leaves it ready to read more. */
internal inline fun ByteBuffer.frames(size: Int, take: (ByteBuffer) -> Unit) {
    flip()
    while (remaining() >= size) {
        val length = getInt()
        if (length != size - 4) throw IOException("a frame of $length bytes")
        take(this)
    }
    compact()
}

internal fun ended(): Nothing = throw EOFException("the connection ended")
