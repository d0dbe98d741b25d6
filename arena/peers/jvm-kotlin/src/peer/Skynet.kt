package peer

import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.LongAdder
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

private const val CHILDREN = 10

/** What the nodes of one repetition share; only the untimed pass of prep counts them. */
private class Tree(private val nodes: LongAdder?, leaves: Long) {
    private val missing = AtomicLong(leaves)
    private val gate = Job()

    fun born() {
        nodes?.increment()
    }

    /** Waits until all leaves are here. */
    suspend fun barrier() {
        if (missing.decrementAndGet() == 0L) gate.complete() else gate.join()
    }
}

/** A coroutine that waits for its children on a channel of its own. */
private fun CoroutineScope.node(tree: Tree, parent: SendChannel<Long>, number: Long, size: Long, barrier: Boolean): Job = launch {
    tree.born()
    if (size == 1L) {
        if (barrier) tree.barrier()
        parent.send(number)
    } else {
        val replies = Channel<Long>(CHILDREN)
        val part = size / CHILDREN
        for (i in 0 until CHILDREN) node(tree, replies, number + i * part, part, barrier)
        var sum = 0L
        repeat(CHILDREN) { sum += replies.receive() }
        parent.send(sum)
    }
}

private suspend fun channels(tree: Tree, size: Long, barrier: Boolean): Long = coroutineScope {
    val result = Channel<Long>(1)
    node(tree, result, 0, size, barrier)
    result.receive()
}

/** A coroutine whose parent awaits its result. */
private fun CoroutineScope.task(tree: Tree, number: Long, size: Long) = async { sum(tree, number, size) }

private suspend fun CoroutineScope.sum(tree: Tree, number: Long, size: Long): Long {
    tree.born()
    if (size == 1L) return number
    val part = size / CHILDREN
    var sum = 0L
    for (child in List(CHILDREN) { task(tree, number + it * part, part) }) sum += child.await()
    return sum
}

private fun floor(number: Long, size: Long): Long {
    if (size == 1L) return number
    val part = size / CHILDREN
    return (0 until CHILDREN).sumOf { floor(number + it * part, part) }
}

private fun leaves(words: Words): Long {
    val size = words.size("S", 100_000_000)
    var rest = size
    while (rest % CHILDREN == 0L) rest /= CHILDREN
    if (rest != 1L) throw Refusal("limit", "S must be a power of 10")
    return size
}

private fun cell(scenario: suspend (tree: Tree, size: Long) -> Long) = Cell { words ->
    val size = leaves(words)
    val counting = LongAdder()
    runBlocking(Dispatchers.Default) { scenario(Tree(counting, size), size) }
    val nodes = counting.sum()
    timed { Counts(nodes, nodes, scenario(Tree(null, size), size)) }
}

internal fun skynetCells() = mapOf(
    "skynet/tree-ch" to cell { tree, size -> channels(tree, size, barrier = false) },
    "skynet/alive" to cell { tree, size -> channels(tree, size, barrier = true) },
    "skynet/tasks" to cell { tree, size -> coroutineScope { task(tree, 0, size).await() } },
    "skynet/floor" to Cell { words ->
        val size = leaves(words)
        timed { Counts((10 * size - 1) / 9, 0, floor(0, size)) }
    },
)
