package peer

import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.PrintStream
import kotlin.system.exitProcess

/** The Kotlin peer of the arena: `MainKt --arena 1 --system kotlin`. */
fun main(args: Array<String>) {
    val out = PrintStream(FileOutputStream(FileDescriptor.out), false, "UTF-8")
    System.setOut(System.err) // whatever a library prints goes to the log
    val given = args.toList().chunked(2).associate { it.first() to it.last() }
    if (given["--arena"] != "1" || given["--system"] != "kotlin") {
        System.err.println("this peer speaks to the arena: --arena 1 --system kotlin")
        exitProcess(2)
    }
    Protocol(System.`in`.bufferedReader(), out, allCells()).serve()
    exitProcess(0)
}
