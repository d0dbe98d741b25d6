package peer

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch

private sealed interface FanMessage {
    object Start : FanMessage

    class Ping(val index: Long) : FanMessage

    class Pong(val index: Long) : FanMessage

    object Stop : FanMessage
}

/** What the two tasks took from their channels, and the sum of the indices. */
private class Ends {
    var parent = 0L
    var child = 0L
    var sum = 0L
}

private fun CoroutineScope.child(n: Long, parent: SendChannel<FanMessage>, ends: Ends): SendChannel<FanMessage> {
    val self = Channel<FanMessage>(Channel.UNLIMITED)
    launch {
        var taken = 0L
        for (message in self) {
            taken++
            if (message is FanMessage.Ping) {
                parent.send(FanMessage.Pong(message.index))
                if (message.index == n - 1) self.send(FanMessage.Stop)
            } else {
                break
            }
        }
        ends.child = taken
    }
    return self
}

private fun CoroutineScope.parent(n: Long, ends: Ends): SendChannel<FanMessage> {
    val self = Channel<FanMessage>(Channel.UNLIMITED)
    launch {
        var taken = 0L
        var sum = 0L
        for (message in self) {
            taken++
            when (message) {
                is FanMessage.Start -> {
                    val child = child(n, self, ends)
                    for (i in 0 until n) child.send(FanMessage.Ping(i))
                }
                is FanMessage.Pong -> {
                    sum += message.index
                    if (message.index == n - 1) self.send(FanMessage.Stop)
                }
                else -> break
            }
        }
        ends.parent = taken
        ends.sum = sum
    }
    return self
}

internal fun fanCells() = mapOf(
    "fan/struct" to Cell { words ->
        val n = words.size("N", 100_000_000)
        timed {
            val ends = Ends()
            coroutineScope { parent(n, ends).send(FanMessage.Start) }
            Counts(ends.parent + ends.child, 2, ends.sum)
        }
    },
)
