package peer

import java.util.concurrent.atomic.AtomicLong
import kotlin.concurrent.thread
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.ObsoleteCoroutinesApi
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.channels.actor
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

internal const val STEP = 100L

private sealed interface CounterMessage {
    class Add(val value: Long) : CounterMessage

    class GetAndReset(val reply: CompletableDeferred<Long>) : CounterMessage
}

private suspend fun count(inbox: ReceiveChannel<CounterMessage>) {
    var sum = 0L
    for (message in inbox) {
        when (message) {
            is CounterMessage.Add -> sum += message.value
            is CounterMessage.GetAndReset -> {
                message.reply.complete(sum)
                sum = 0
            }
        }
    }
}

private fun CoroutineScope.counter(room: Int): SendChannel<CounterMessage> {
    val inbox = Channel<CounterMessage>(room)
    launch { count(inbox) }
    return inbox
}

private suspend fun ask(counter: SendChannel<CounterMessage>): Long {
    val reply = CompletableDeferred<Long>()
    counter.send(CounterMessage.GetAndReset(reply))
    return reply.await()
}

/** Starts the producers, waits for all, and gives back what each returned. */
internal suspend fun CoroutineScope.produce(producers: Long, producer: suspend () -> Long): List<Long> =
    List(producers.toInt()) { async { producer() } }.awaitAll()

private suspend fun add(counter: SendChannel<CounterMessage>, n: Long): Long {
    var sent = 0L
    while (sent < n) {
        counter.send(CounterMessage.Add(STEP))
        sent++
    }
    return sent
}

internal fun counterCell(scenario: suspend CoroutineScope.(producers: Long, n: Long) -> Counts) = Cell { words ->
    val producers = words.size("P", 1_000_000)
    val n = words.size("n", 1L shl 31)
    timed { scenario(producers, n) }
}

/** One question after all producers have ended. */
private fun once(room: Int) = counterCell { producers, n ->
    val counter = counter(room)
    val sent = produce(producers) { add(counter, n) }
    val sum = ask(counter)
    counter.close()
    Counts(sent.sum(), sent.size + 1L, sum)
}

/** Every producer asks for itself; the answers are added. */
private fun each(counter: CoroutineScope.() -> SendChannel<CounterMessage>) = counterCell { producers, n ->
    val inbox = counter()
    val sum = AtomicLong()
    val sent = produce(producers) {
        val sent = add(inbox, n)
        sum.addAndGet(ask(inbox))
        sent
    }
    inbox.close()
    Counts(sent.sum(), sent.size + 1L, sum.get())
}

/** The producers are threads of the operating system. */
private val threads = counterCell { producers, n ->
    val counter = counter(Channel.UNLIMITED)
    val sent = AtomicLong()
    val list = List(producers.toInt()) {
        thread {
            for (i in 0 until n) counter.trySend(CounterMessage.Add(STEP)).getOrThrow()
            sent.addAndGet(n)
        }
    }
    for (producer in list) producer.join()
    val sum = ask(counter)
    counter.close()
    Counts(sent.get(), list.size + 1L, sum)
}

/** No messages: the lock of the library around the sum. */
private val mutex = counterCell { producers, n ->
    val lock = Mutex()
    var sum = 0L
    val sent = produce(producers) {
        for (i in 0 until n) lock.withLock { sum += STEP }
        n
    }
    Counts(sent.sum(), sent.size + 1L, lock.withLock { sum })
}

/** The published "plane actor" and "scratch": rendezvous, GetAndReset once per producer. */
@OptIn(ObsoleteCoroutinesApi::class)
private val originalActor = each { actor { count(channel) } }

private class Scratch(scope: CoroutineScope) {
    val mailbox = Channel<CounterMessage>()

    init {
        scope.async { count(mailbox) }
    }
}

internal fun counterCells() = mapOf(
    "counter/send" to once(Channel.UNLIMITED),
    "counter/bounded-1024" to once(1024),
    "counter/give" to once(Channel.RENDEZVOUS),
    "counter/ask-each" to each { counter(Channel.UNLIMITED) },
    "counter/threads" to threads,
    "counter/mutex" to mutex,
    "counter/original:actor" to originalActor,
    "counter/original:scratch" to each { Scratch(this).mailbox },
)
