package peer

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select

/** Carries its number and the address the answer goes to. */
private class Ping(val number: Long, val reply: SendChannel<Long>)

/** Carries its number and the cell for the one answer. */
private class Question(val number: Long, val reply: CompletableDeferred<Long>)

/** What one side of a pair did. */
internal class Side {
    var sent = 0L
    var sum = 0L
}

/** One channel into each side, with room for the window, or none at all for a rendezvous. */
private fun CoroutineScope.tell(client: Side, server: Side, n: Long, window: Long, room: Int) {
    val requests = Channel<Ping>(room)
    val replies = Channel<Long>(room)
    launch {
        var sent = 0L
        for (ping in requests) {
            ping.reply.send(ping.number)
            sent++
        }
        server.sent = sent
    }
    launch {
        var sent = 0L
        var sum = 0L
        while (sent < window && sent < n) requests.send(Ping(sent++, replies))
        for (answered in 0 until n) {
            sum += replies.receive()
            if (sent < n) requests.send(Ping(sent++, replies))
        }
        requests.close()
        client.sent = sent
        client.sum = sum
    }
}

/** Two channels per pair that both know; the message is the number alone. */
private fun CoroutineScope.fixed(client: Side, server: Side, n: Long, room: Int) {
    val requests = Channel<Long>(room)
    val replies = Channel<Long>(room)
    launch {
        var sent = 0L
        for (number in requests) {
            replies.send(number)
            sent++
        }
        server.sent = sent
    }
    launch {
        var sum = 0L
        for (number in 0 until n) {
            requests.send(number)
            sum += replies.receive()
        }
        requests.close()
        client.sent = n
        client.sum = sum
    }
}

/** A fresh CompletableDeferred per call. */
private fun CoroutineScope.call(client: Side, server: Side, n: Long, room: Int) {
    val requests = Channel<Question>(room)
    launch {
        var sent = 0L
        for (question in requests) {
            question.reply.complete(question.number)
            sent++
        }
        server.sent = sent
    }
    launch {
        var sum = 0L
        for (number in 0 until n) {
            val reply = CompletableDeferred<Long>()
            requests.send(Question(number, reply))
            sum += reply.await()
        }
        requests.close()
        client.sent = n
        client.sum = sum
    }
}

/** Every operation of [fixed] stands in a choice beside a receive on a channel nobody sends on. */
private fun CoroutineScope.choice(client: Side, server: Side, n: Long) {
    val requests = Channel<Long>()
    val replies = Channel<Long>()
    launch {
        val never = Channel<Long>()
        var sent = 0L
        while (true) {
            val request = select<Long?> {
                requests.onReceiveCatching { it.getOrNull() }
                never.onReceive { null }
            } ?: break
            select<Unit> {
                replies.onSend(request) { sent++ }
                never.onReceive { bug("somebody sent") }
            }
        }
        server.sent = sent
    }
    launch {
        val never = Channel<Long>()
        var sum = 0L
        for (number in 0 until n) {
            select<Unit> {
                requests.onSend(number) {}
                never.onReceive { bug("somebody sent") }
            }
            sum += select<Long> {
                replies.onReceive { it }
                never.onReceive { bug("somebody sent") }
            }
        }
        requests.close()
        client.sent = n
        client.sum = sum
    }
}

/** Starts p pairs at once, waits for both sides of each and adds what they did. */
private suspend fun pairs(p: Long, start: CoroutineScope.(client: Side, server: Side) -> Unit): Counts {
    val sides = ArrayList<Side>()
    coroutineScope {
        for (i in 0 until p) {
            val client = Side().also(sides::add)
            val server = Side().also(sides::add)
            start(client, server)
        }
    }
    return Counts(sides.sumOf { it.sent }, sides.size.toLong(), sides.sumOf { it.sum })
}

private fun cell(start: CoroutineScope.(client: Side, server: Side, n: Long, window: Long) -> Unit) = Cell { words ->
    val p = words.size("p", 1_000_000)
    val n = words.size("n", 1L shl 31)
    val window = words.number("w", 1).coerceIn(1, 1_000_000)
    timed { pairs(p) { client, server -> start(client, server, n, window) } }
}

internal fun pingpongCells(): Map<String, Cell> {
    val tell = cell { client, server, n, window -> tell(client, server, n, window, Channel.UNLIMITED) }
    return mapOf(
        "pingpong/tell" to tell,
        "pingpong/tell-w100" to tell,
        "pingpong/tell-w1000" to tell,
        "pingpong/tell-bounded" to cell { client, server, n, _ -> tell(client, server, n, 1, 1) },
        "pingpong/give" to cell { client, server, n, _ -> tell(client, server, n, 1, Channel.RENDEZVOUS) },
        "pingpong/tell-fixed" to cell { client, server, n, _ -> fixed(client, server, n, Channel.UNLIMITED) },
        "pingpong/give-fixed" to cell { client, server, n, _ -> fixed(client, server, n, Channel.RENDEZVOUS) },
        "pingpong/call" to cell { client, server, n, _ -> call(client, server, n, Channel.RENDEZVOUS) },
        "pingpong/call-send" to cell { client, server, n, _ -> call(client, server, n, Channel.UNLIMITED) },
        "pingpong/choice" to cell { client, server, n, _ -> choice(client, server, n) },
    )
}
