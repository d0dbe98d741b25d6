package peer

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking

/** What one repetition, or the sum of several, really did. */
internal class Counts(val msgs: Long, val units: Long, val check: Long) {
    operator fun plus(other: Counts) = Counts(msgs + other.msgs, units + other.units, check + other.check)
}

/** [more] is what the answer holds beside: fields of JSON, each after a comma. */
internal class Result(val ns: Long, val counts: Counts, val more: String = "")

/** Checks the sizes of a prep command and makes everything that is not timed. */
internal fun interface Cell {
    fun prepare(words: Words): Sample
}

/** Does a scenario `inner` times. */
internal fun interface Sample {
    fun run(inner: Long): Result

    /** Requests on a schedule, with histograms of their latencies. */
    fun paced(rate: Long, secs: Long): Result = throw Refusal("unsupported", "no schedule in this cell")

    /** What the answer to prep holds beside: fields of JSON, each after a comma. */
    fun told() = ""

    fun close() = Unit
}

/**
 * Times a scenario that has no part outside the timed region. A coroutine does the repetitions, so that only the last has to
 * wake the main thread; each repetition is over when all coroutines it started have ended.
 */
internal fun timed(scenario: suspend CoroutineScope.() -> Counts) = Sample { inner ->
    val begun = System.nanoTime()
    val total = runBlocking(Dispatchers.Default) {
        var total = Counts(0, 0, 0)
        for (i in 0 until inner) total += coroutineScope(scenario)
        total
    }
    Result(System.nanoTime() - begun, total)
}

internal fun allCells(): Map<String, Cell> =
    pingpongCells() + chainCells() + fanCells() + counterCells() + selectCells() + skynetCells() + spawnCells() + netCells() +
        echoCells()
