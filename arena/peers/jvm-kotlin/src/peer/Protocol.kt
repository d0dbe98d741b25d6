package peer

import java.io.BufferedReader
import java.io.PrintStream
import java.lang.management.ManagementFactory

/** The peer's side of PROTOCOL.md: one command of words per line in, one line of JSON out. */
internal class Protocol(
    private val input: BufferedReader,
    private val out: PrintStream,
    private val cells: Map<String, Cell>,
) {
    private var current: Sample? = null

    /** Answers commands until quit or the end of the input. */
    fun serve() {
        hello()
        for (line in input.lineSequence()) {
            val words = Words(line)
            if (words.command == "quit") break
            say(
                try {
                    answer(words)
                } catch (e: Refusal) {
                    error(words, e.kind, e.message)
                } catch (e: OutOfMemoryError) {
                    current = null
                    error(words, "oom", e.toString())
                } catch (e: Throwable) {
                    e.printStackTrace()
                    error(words, "bug", e.toString())
                },
            )
        }
    }

    private fun answer(words: Words): String {
        val id = words.number("id", 0)
        when (words.command) {
            "prep" -> {
                drop()
                val cell = cells[words["cell"]] ?: throw Refusal("unsupported", "no cell ${words["cell"]}")
                val prepared = cell.prepare(words)
                current = prepared
                return """"t":"ok","id":$id${prepared.told()}"""
            }
            "run" -> return sample(id, words)
            "drop" -> {
                drop()
                System.gc()
            }
            "ping" -> Unit
            else -> throw Refusal("unsupported", "unknown command ${words.command}")
        }
        return """"t":"ok","id":$id"""
    }

    private fun drop() {
        val last = current
        current = null
        last?.close()
    }

    private fun sample(id: Long, words: Words): String {
        val cell = current ?: throw Refusal("bug", "run without prep")
        val inner = words.size("inner", 1L shl 40)
        val before = collections()
        val result = if (words["hist"] == "1") cell.paced(words.number("rate", 0), words.number("secs", 0)) else cell.run(inner)
        return line(id, inner, result, before)
    }

    private fun line(id: Long, inner: Long, result: Result, before: List<Long>): String {
        val gc = collections().zip(before) { after, earlier -> after - earlier }.joinToString(",")
        val counts = result.counts
        return """"t":"sample","id":$id,"ns":${result.ns},"inner":$inner,"msgs":${counts.msgs},""" +
            """"units":${counts.units},"check":${counts.check},"gc":[$gc]${result.more}"""
    }

    private fun hello() {
        line(0, 0, Result(0, Counts(0, 0, 0)), collections()) // loads what a sample needs after its timed part
        val names = cells.keys.sorted().joinToString(",") { quote(it) }
        val flags = ManagementFactory.getRuntimeMXBean().inputArguments.joinToString(" ")
        val runtime = "Kotlin ${KotlinVersion.CURRENT}, ${System.getProperty("java.vm.name")} ${Runtime.version()}"
        say(
            """"t":"hello","system":"kotlin","peer":"jvm-kotlin","version":${quote(coroutinesVersion())},""" +
                """"runtime":${quote(runtime)},"flags":${quote(flags)},"threads":$workers,""" +
                """"pid":${ProcessHandle.current().pid()},"clock_ns":${clockStep()},"caps":["gc","hist"],"cells":[$names]""",
        )
    }

    private fun error(words: Words, kind: String, message: String?): String {
        val id = words["id"].toLongOrNull()?.coerceAtLeast(0) ?: 0
        return """"t":"err","id":$id,"kind":"$kind","msg":${quote(message.orEmpty())}"""
    }

    private fun say(fields: String) {
        out.print("{\"arena\":1,$fields}\n")
        out.flush()
    }
}

/** The worker threads of Dispatchers.Default, as peer.toml sets them. */
internal val workers =
    Integer.getInteger("kotlinx.coroutines.scheduler.core.pool.size", Runtime.getRuntime().availableProcessors())

/** The version of the library on the class path: that is in its file of that name. */
private fun coroutinesVersion(): String {
    val file = Protocol::class.java.getResource("/META-INF/kotlinx_coroutines_core.version")
    return file?.readText()?.trim() ?: "unknown"
}

/** Collections so far, the young generation first. */
private fun collections() = ManagementFactory.getGarbageCollectorMXBeans()
    .sortedBy { !it.name.contains(Regex("Scavenge|Young|Copy")) }
    .map { it.collectionCount }

/** The smallest step of the clock that is not zero. */
private fun clockStep(): Long = (1..20_000).minOf {
    val begin = System.nanoTime()
    var end = System.nanoTime()
    while (end == begin) end = System.nanoTime()
    end - begin
}

private fun quote(text: String) = buildString {
    append('"')
    for (c in text.take(2000)) {
        when {
            c == '"' || c == '\\' -> append('\\').append(c)
            c < ' ' -> append("\\u%04x".format(c.code))
            else -> append(c)
        }
    }
    append('"')
}
