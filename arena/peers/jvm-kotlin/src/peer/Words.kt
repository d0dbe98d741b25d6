package peer

/** An answer of kind unsupported, limit or bug. */
internal class Refusal(val kind: String, message: String) : RuntimeException(message)

internal fun bug(message: String): Nothing = throw Refusal("bug", message)

/** A command of the harness: its name and key=value words. */
internal class Words(line: String) {
    private val words = line.trim().split(' ')
    private val values = words.filter { it.indexOf('=') > 0 }.associate { it.substringBefore('=') to it.substringAfter('=') }

    val command: String get() = words.first()

    /** The value of a key, empty if it was not sent. */
    operator fun get(key: String) = values[key].orEmpty()

    fun number(key: String, otherwise: Long): Long {
        val value = values[key] ?: return otherwise
        return value.toLongOrNull() ?: throw Refusal("limit", "$key=$value is not a 64-bit number")
    }

    /** A size from 1 to [max]; inner may be left out. */
    fun size(key: String, max: Long): Long {
        val value = number(key, if (key == "inner") 1 else 0)
        if (value !in 1..max) throw Refusal("limit", "$key=$value: this peer takes 1 to $max")
        return value
    }
}
