// spawn: tasks of the pool.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

static class Spawn
{
    static Counts Detached(long n)
    {
        long counter = 0;
        var done = new ManualResetEventSlim();
        {
            Action task = () =>
            {
                if (Interlocked.Increment(ref counter) == n) done.Set();
            };
            Task.Run(() =>
            {
                for (long i = 0; i < n; i++) Task.Run(task);
            });
            done.Wait();
        }
        return new Counts(counter, counter, counter);
    }

    static async Task<Counts> Joined(long n)
    {
        Func<long> task = () => 1;
        long sum = 0, started = 0;
        for (; started < n; started++) sum += await Task.Run(task).ConfigureAwait(false);
        return new Counts(sum, started, sum);
    }

    static Cell With(Func<long, Counts> scenario)
    {
        return p =>
        {
            Sizes.Within("n", p.N, 100000000);
            return Sizes.Repeat(() => scenario(p.N));
        };
    }

    public static readonly Dictionary<string, Cell> Cells = new Dictionary<string, Cell>
    {
        { "spawn/detached", With(Detached) },
        { "spawn/joined", With(n => Task.Run(() => Joined(n)).Result) },
    };
}
