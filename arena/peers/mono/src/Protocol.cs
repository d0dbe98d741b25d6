// The arena protocol: one command of words per line in, one line of JSON out.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Threading;

sealed class Protocol
{
    readonly TextReader input;
    readonly TextWriter output;
    readonly Dictionary<string, Cell> cells;
    Sample sample;

    public Protocol(TextReader input, TextWriter output, Dictionary<string, Cell> cells)
    {
        this.input = input;
        this.output = output;
        this.cells = cells;
    }

    public void Serve()
    {
        Hello();
        string line;
        while ((line = input.ReadLine()) != null)
        {
            var words = line.Split(' ');
            if (words[0] == "quit") return;
            var args = new Dictionary<string, string>();
            foreach (var word in words)
            {
                var at = word.IndexOf('=');
                if (at > 0) args[word.Substring(0, at)] = word.Substring(at + 1);
            }
            Answer(words[0], args);
        }
    }

    void Answer(string command, Dictionary<string, string> args)
    {
        long id = 0;
        try
        {
            id = Number(args, "id");
            switch (command)
            {
                case "prep":
                    sample = null;
                    sample = Prep(args);
                    Ok(id);
                    break;
                case "run":
                    Run(id, args);
                    break;
                case "drop":
                    sample = null;
                    GC.Collect();
                    Ok(id);
                    break;
                case "ping":
                    Ok(id);
                    break;
                default:
                    throw new Refusal("unsupported", "unknown command " + command);
            }
        }
        catch (Exception caught)
        {
            var error = caught is AggregateException ? ((AggregateException)caught).GetBaseException() : caught;
            var refusal = error as Refusal;
            var kind = refusal != null ? refusal.Kind : error is OutOfMemoryException ? "oom" : "bug";
            if (refusal == null) Console.Error.WriteLine(error);
            output.WriteLine("{\"arena\":1,\"t\":\"err\",\"id\":" + id + ",\"kind\":\"" + kind + "\",\"msg\":" + Quoted(error.Message) + "}");
        }
    }

    Sample Prep(Dictionary<string, string> args)
    {
        string name;
        Cell cell;
        if (!args.TryGetValue("cell", out name) || !cells.TryGetValue(name, out cell))
            throw new Refusal("unsupported", "no cell " + name);
        var p = new Params
        {
            Threads = Number(args, "threads"),
            PairCount = Number(args, "p"),
            N = Number(args, "n"),
            Window = Number(args, "w"),
            Producers = Number(args, "P"),
            Leaves = Number(args, "S"),
        };
        UseThreads(p.Threads);
        return cell(p);
    }

    // The pool takes no maximum below the number of processors.
    static void UseThreads(long threads)
    {
        if (threads == 0) return;
        Sizes.Within("threads", threads, 1024);
        var most = (int)Math.Max(threads, Environment.ProcessorCount);
        ThreadPool.SetMinThreads(1, 1);
        if (!ThreadPool.SetMaxThreads(most, most)) throw new Refusal("limit", "threads=" + threads + ": the thread pool refuses");
        ThreadPool.SetMinThreads((int)threads, (int)threads);
    }

    static int PoolThreads()
    {
        int workers, ports;
        ThreadPool.GetMinThreads(out workers, out ports);
        return workers;
    }

    void Run(long id, Dictionary<string, string> args)
    {
        if (sample == null) throw new Refusal("bug", "run without prep");
        var inner = args.ContainsKey("inner") ? Number(args, "inner") : 1;
        Sizes.Within("inner", inner, 1L << 40);
        var before = Collections();
        var timed = sample(inner);
        var after = Collections();
        for (var i = 0; i < after.Length; i++) after[i] -= before[i];
        output.WriteLine("{\"arena\":1,\"t\":\"sample\",\"id\":" + id + ",\"ns\":" + timed.Ns + ",\"inner\":" + inner
            + ",\"msgs\":" + timed.Counts.Msgs + ",\"units\":" + timed.Counts.Units + ",\"check\":" + timed.Counts.Check
            + ",\"gc\":[" + string.Join(",", after) + "]}");
    }

    static int[] Collections()
    {
        return Enumerable.Range(0, GC.MaxGeneration + 1).Select(GC.CollectionCount).ToArray();
    }

    void Ok(long id)
    {
        output.WriteLine("{\"arena\":1,\"t\":\"ok\",\"id\":" + id + "}");
    }

    void Hello()
    {
        var threads = Environment.GetEnvironmentVariable("ARENA_THREADS");
        if (threads != null) UseThreads(long.Parse(threads));
        var version = Version();
        output.WriteLine("{\"arena\":1,\"t\":\"hello\",\"system\":\"mono\",\"peer\":\"mono\",\"version\":" + Quoted(version.Split(' ')[0])
            + ",\"runtime\":" + Quoted("mono " + version) + ",\"flags\":" + Quoted(Flags())
            + ",\"threads\":" + PoolThreads() + ",\"pid\":" + Process.GetCurrentProcess().Id + ",\"clock_ns\":" + ClockStep()
            + ",\"caps\":[\"gc\"],\"cells\":["
            + string.Join(",", cells.Keys.OrderBy(name => name, StringComparer.Ordinal).Select(Quoted)) + "]}");
    }

    static string Version()
    {
        var runtime = Type.GetType("Mono.Runtime");
        var name = runtime == null ? null : runtime.GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static);
        return name == null ? Environment.Version.ToString() : (string)name.Invoke(null, null);
    }

    static string Flags()
    {
        var words = new List<string> { "mcs -optimize+" };
        foreach (var name in new[] { "MONO_GC_PARAMS", "MONO_ENV_OPTIONS" })
        {
            var value = Environment.GetEnvironmentVariable(name);
            if (!string.IsNullOrEmpty(value)) words.Add(name + "=" + value);
        }
        return string.Join(" ", words);
    }

    // The smallest step of the clock that was seen.
    static long ClockStep()
    {
        var smallest = long.MaxValue;
        for (var i = 0; i < 2000; i++)
        {
            long start = Stopwatch.GetTimestamp(), now;
            do now = Stopwatch.GetTimestamp(); while (now == start);
            smallest = Math.Min(smallest, now - start);
        }
        return Sizes.Nanoseconds(smallest);
    }

    static long Number(Dictionary<string, string> args, string key)
    {
        string word;
        long value;
        if (!args.TryGetValue(key, out word)) return 0;
        if (!long.TryParse(word, out value)) throw new Refusal("limit", key + "=" + word + " is not a 64-bit number");
        return value;
    }

    static string Quoted(string text)
    {
        var quoted = new StringBuilder("\"");
        foreach (var c in text)
        {
            if (c == '"' || c == '\\') quoted.Append('\\').Append(c);
            else if (c < ' ') quoted.AppendFormat("\\u{0:x4}", (int)c);
            else quoted.Append(c);
        }
        return quoted.Append('"').ToString();
    }
}
