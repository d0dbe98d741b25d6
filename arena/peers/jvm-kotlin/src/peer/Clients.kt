package peer

import java.util.concurrent.locks.LockSupport
import kotlin.concurrent.thread
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking

private suspend fun verified(end: End, number: Long): Long {
    val answer = end.echo(number)
    if (answer != number) bug("asked $number, the answer is $answer")
    return answer
}

private fun List<Counts>.sum() = fold(Counts(0, 0, 0), Counts::plus)

/** Request k is due so many ns after the start. */
private fun due(k: Long, rate: Long) = k / rate * 1_000_000_000 + k % rate * 1_000_000_000 / rate

/** Connected clients, each a coroutine in every repetition. The connections last for all of them. */
internal class Clients private constructor(
    private val transport: Transport,
    private val connections: Connections,
    private val ends: List<End>,
    val ready: Long,
) {
    fun run(inner: Long, requests: Long): Result = runBlocking(Dispatchers.Default) {
        var total = Result(0, Counts(0, 0, 0))
        for (i in 0 until inner) {
            val once = once(requests)
            total = Result(total.ns + once.ns, total.counts + once.counts)
        }
        total
    }

    private suspend fun once(requests: Long): Result = coroutineScope {
        val start = CompletableDeferred<Unit>()
        val clients = ends.map { end ->
            async(transport.dispatcher) {
                start.await()
                var sum = 0L
                for (i in 0 until requests) sum += verified(end, i)
                Counts(2 * requests, 2, sum)
            }
        }
        val begun = System.nanoTime()
        start.complete(Unit)
        val counts = clients.awaitAll().sum()
        Result(System.nanoTime() - begun, counts)
    }

    /** Makes rate * secs requests; request k belongs to client k mod N and is due at k / rate. */
    fun paced(rate: Long, secs: Long): Result {
        if (rate !in 1..100_000_000 || secs !in 1..10_000) throw Refusal("limit", "rate=$rate secs=$secs")
        val requests = rate * secs
        val sinceDue = List(ends.size) { ArrayList<Long>() }
        val sinceSent = List(ends.size) { ArrayList<Long>() }
        val queues = List(ends.size) { Channel<Long>(Channel.UNLIMITED) }
        return runBlocking(Dispatchers.Default) {
            val start = System.nanoTime()
            val clients = ends.mapIndexed { client, end ->
                async(transport.dispatcher) {
                    var sum = 0L
                    for (k in queues[client]) {
                        val sent = System.nanoTime()
                        sum += verified(end, k)
                        val now = System.nanoTime()
                        sinceDue[client] += now - start - due(k, rate)
                        sinceSent[client] += now - sent
                    }
                    Counts(2L * sinceSent[client].size, 2, sum)
                }
            }
            // A thread of its own, which the kernel wakes in time: delay() is of whole milliseconds.
            val pacer = thread { handOut(queues, start, rate, requests) }
            val counts = clients.awaitAll().sum()
            val ns = System.nanoTime() - start
            pacer.join()
            Result(ns, counts, ",\"hist\":${histogram(sinceDue)},\"hist_service\":${histogram(sinceSent)}")
        }
    }

    /** Gives each client its requests as they fall due. */
    private fun handOut(queues: List<Channel<Long>>, start: Long, rate: Long, requests: Long) {
        var k = 0L
        while (k < requests) {
            val ahead = due(k, rate) - (System.nanoTime() - start)
            if (ahead > 0) LockSupport.parkNanos(ahead) else queues[(k % queues.size).toInt()].trySend(k++)
        }
        queues.forEach { it.close() }
    }

    fun close() = connections.close()

    companion object {
        /** Connects all at once; each has one echo. */
        suspend fun connect(transport: Transport, addr: String, pairs: Int): Clients = coroutineScope {
            val begun = System.nanoTime()
            val connections = transport.connect(addr)
            val ends = List(pairs) { pair ->
                async { connections.end(pair).also { verified(it, -1) } }
            }.awaitAll()
            Clients(transport, connections, ends, System.nanoTime() - begun)
        }
    }
}

/** The buckets that are not empty, as the protocol writes them: exact below 64 ns, then 32 for each power of two. */
private fun histogram(latencies: List<List<Long>>): String {
    val counts = LongArray(59 * 32)
    for (latency in latencies.flatten()) {
        val ns = latency.coerceAtLeast(0)
        val shift = 63 - (ns or 63).countLeadingZeroBits() - 5
        counts[shift * 32 + (ns shr shift).toInt()]++
    }
    return counts.withIndex().filter { it.value > 0 }.joinToString(",", "[", "]") { "[${it.index},${it.value}]" }
}
