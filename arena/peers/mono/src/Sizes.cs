// Sizes, what is counted, and how samples are timed.
using System;
using System.Diagnostics;
using System.Threading.Tasks;

// An answer of kind "limit", "unsupported" or "bug".
sealed class Refusal : Exception
{
    public readonly string Kind;
    public Refusal(string kind, string message) : base(message) { Kind = kind; }
}

// The numbers of a prep command; one that was not sent is 0.
sealed class Params
{
    public long Threads, PairCount, N, Window, Producers, Leaves;
}

// What one repetition, or the sum of several, really did.
struct Counts
{
    public long Msgs, Units, Check;

    public Counts(long msgs, long units, long check) { Msgs = msgs; Units = units; Check = check; }

    public static Counts operator +(Counts a, Counts b)
    {
        return new Counts(a.Msgs + b.Msgs, a.Units + b.Units, a.Check + b.Check);
    }
}

struct Timed
{
    public long Ns;
    public Counts Counts;
}

delegate Timed Sample(long inner);
// A cell checks its parameters and makes everything that is not timed.
delegate Sample Cell(Params p);

static class Sizes
{
    public static void Within(string name, long value, long largest)
    {
        if (value < 1 || value > largest) throw new Refusal("limit", name + "=" + value + ": this peer takes 1 to " + largest);
    }

    public static void PowerOfTen(long size, long largest)
    {
        Within("S", size, largest);
        while (size % 10 == 0) size /= 10;
        if (size != 1) throw new Refusal("limit", "S must be a power of 10");
    }

    public static Sample Repeat(Func<Counts> scenario)
    {
        return inner =>
        {
            var total = new Counts();
            var start = Stopwatch.GetTimestamp();
            for (long i = 0; i < inner; i++) total += scenario();
            return new Timed { Ns = Nanoseconds(Stopwatch.GetTimestamp() - start), Counts = total };
        };
    }

    public static long Nanoseconds(long ticks)
    {
        return (long)(ticks * (1e9 / Stopwatch.Frequency));
    }
}
