package peer

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.onTimeout
import kotlinx.coroutines.selects.select

private const val PATIENCE_MS = 100L

/**
 * Chooses between Add and GetAndReset. With a buffer, Adds sent before the question may still wait in it, so it takes those
 * first. It ends when `get` is closed.
 */
private suspend fun count(add: ReceiveChannel<Long>, get: ReceiveChannel<CompletableDeferred<Long>>) {
    var sum = 0L
    var open = true
    while (open) {
        select<Unit> {
            add.onReceive { sum += it }
            get.onReceiveCatching { question ->
                val reply = question.getOrNull()
                while (reply != null) sum += add.tryReceive().getOrNull() ?: break
                reply?.complete(sum)
                sum = 0
                open = reply != null
            }
        }
    }
}

private suspend fun send(add: SendChannel<Long>, n: Long): Long {
    var sent = 0L
    while (sent < n) {
        add.send(STEP)
        sent++
    }
    return sent
}

@OptIn(ExperimentalCoroutinesApi::class)
private suspend fun sendWithin(add: SendChannel<Long>, n: Long): Long {
    var sent = 0L
    while (sent < n) {
        select<Unit> {
            add.onSend(STEP) { sent++ }
            onTimeout(PATIENCE_MS) { bug("a timeout of $PATIENCE_MS ms fired") }
        }
    }
    return sent
}

private fun selecting(room: Int, producer: suspend (add: SendChannel<Long>, n: Long) -> Long) = counterCell { producers, n ->
    val add = Channel<Long>(room)
    val get = Channel<CompletableDeferred<Long>>(room)
    launch { count(add, get) }
    val sent = produce(producers) { producer(add, n) }
    val reply = CompletableDeferred<Long>()
    get.send(reply)
    val sum = reply.await()
    get.close()
    Counts(sent.sum(), sent.size + 1L, sum)
}

internal fun selectCells() = mapOf(
    "counter/select" to selecting(Channel.RENDEZVOUS, ::sendWithin),
    "counter/select-no-timer" to selecting(Channel.RENDEZVOUS, ::send),
    "counter/select-buffered" to selecting(1024, ::sendWithin),
    "counter/select-buffered-no-timer" to selecting(1024, ::send),
)
