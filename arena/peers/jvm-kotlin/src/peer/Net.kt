package peer

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** Carries its number and a fresh cell for the one answer. */
private class Request(val number: Long, val reply: CompletableDeferred<Long>)

private suspend fun echo(server: SendChannel<Request>, number: Long): Long {
    val reply = CompletableDeferred<Long>()
    server.send(Request(number, reply))
    val answer = reply.await()
    if (answer != number) bug("asked $number, the answer is $answer")
    return answer
}

private fun CoroutineScope.server(requests: Channel<Request>, side: Side) = launch {
    var sent = -1L // the echo before the start
    for (request in requests) {
        request.reply.complete(request.number)
        sent++
    }
    side.sent = sent
}

private fun CoroutineScope.client(server: Channel<Request>, m: Long, side: Side, ready: SendChannel<Unit>, start: Job) = launch {
    echo(server, -1)
    ready.send(Unit)
    start.join()
    var asked = 0L
    var sum = 0L
    while (asked < m) {
        sum += echo(server, asked)
        asked++
    }
    server.close()
    side.sent = asked
    side.sum = sum
}

/** Makes the pairs, lets each client have one verified echo, and times only the rest. */
private suspend fun local(n: Long, m: Long): Result {
    val sides = ArrayList<Side>()
    var begun = 0L
    coroutineScope {
        val ready = Channel<Unit>(Channel.UNLIMITED)
        val start = Job()
        for (i in 0 until n) {
            val requests = Channel<Request>(Channel.UNLIMITED)
            server(requests, Side().also(sides::add))
            client(requests, m, Side().also(sides::add), ready, start)
        }
        for (i in 0 until n) ready.receive()
        begun = System.nanoTime()
        start.complete()
    }
    return Result(System.nanoTime() - begun, Counts(sides.sumOf { it.sent }, sides.size.toLong(), sides.sumOf { it.sum }))
}

internal fun netCells() = mapOf(
    "net/local" to Cell { words ->
        val n = words.size("N", 1_000_000)
        val m = words.size("M", 1L shl 31)
        Sample { inner ->
            runBlocking(Dispatchers.Default) {
                var ns = 0L
                var counts = Counts(0, 0, 0)
                for (i in 0 until inner) {
                    val result = local(n, m)
                    ns += result.ns
                    counts += result.counts
                }
                Result(ns, counts)
            }
        }
    },
)
