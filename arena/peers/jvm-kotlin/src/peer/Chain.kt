package peer

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.launch

private sealed interface ChainMessage {
    class Ping(val number: Long) : ChainMessage

    class Pong(val depth: Long) : ChainMessage
}

/**
 * Makes a child with a channel of its own. One place is enough: the last child's Pong to itself must not wait. All children
 * belong to the scope of the repetition; a hundred thousand scopes within each other would end by recursion.
 */
private fun CoroutineScope.child(actors: Long, parent: SendChannel<ChainMessage>): SendChannel<ChainMessage> {
    val scope = this
    val self = Channel<ChainMessage>(1)
    launch {
        for (message in self) {
            when (message) {
                is ChainMessage.Ping ->
                    if (message.number < actors) {
                        scope.child(actors, self).send(ChainMessage.Ping(message.number + 1))
                    } else {
                        self.send(ChainMessage.Pong(0))
                    }
                is ChainMessage.Pong -> {
                    parent.send(ChainMessage.Pong(message.depth + 1))
                    break
                }
            }
        }
    }
    return self
}

private fun CoroutineScope.root(actors: Long, done: SendChannel<Long>): SendChannel<ChainMessage> {
    val scope = this
    val self = Channel<ChainMessage>(1)
    launch {
        for (message in self) {
            when (message) {
                is ChainMessage.Ping -> scope.child(actors, self).send(ChainMessage.Ping(1))
                is ChainMessage.Pong -> {
                    done.send(message.depth)
                    break
                }
            }
        }
    }
    return self
}

internal fun chainCells() = mapOf(
    "chain/struct" to Cell { words ->
        val actors = words.size("A", 5_000_000)
        timed {
            val done = Channel<Long>(1)
            root(actors, done).send(ChainMessage.Ping(0))
            val depth = done.receive()
            // A Ping and a Pong for each child that answered, the driver's Ping, the last child's Pong to itself.
            Counts(2 * depth + 2, depth + 1, depth)
        }
    },
)
