package peer

import java.util.concurrent.atomic.AtomicLong
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.async
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield

/** After so many starts the starter lets the others run, so that less is alive at once. */
private const val BURST = 64L

/** Nobody joins: the coroutines have no parent, and the one that brings the counter to n says so. */
@OptIn(DelicateCoroutinesApi::class)
private suspend fun detached(n: Long): Counts {
    val counter = AtomicLong()
    val done = CompletableDeferred<Long>()
    GlobalScope.launch {
        for (i in 1..n) {
            GlobalScope.launch {
                val now = counter.incrementAndGet()
                if (now == n) done.complete(now)
            }
            if (i % BURST == 0L) yield()
        }
    }
    val ran = done.await()
    return Counts(ran, ran, ran)
}

internal fun spawnCells() = mapOf(
    "spawn/detached" to Cell { words ->
        val n = words.size("n", 1L shl 31)
        timed { detached(n) }
    },
    "spawn/joined" to Cell { words ->
        val n = words.size("n", 1L shl 31)
        timed {
            var started = 0L
            var sum = 0L
            while (started < n) {
                started++
                sum += async { 1L }.await()
            }
            Counts(sum, started, sum)
        }
    },
)
