// skynet: the three programs published for .NET Framework, and a task per node with nothing left out.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using System.Threading.Tasks.Dataflow;

static class Skynet
{
    const int Children = 10;
    const long Largest = 10000000;

    // What the nodes of one tree share; they count themselves only in the untimed pass of prep.
    sealed class Tree
    {
        public bool Counting;
        public long Nodes;

        public void Born()
        {
            if (Counting) Interlocked.Increment(ref Nodes);
        }
    }

    static long Sync(Tree tree, long number, long size)
    {
        tree.Born();
        if (size == 1) return number;
        long part = size / Children, sum = 0;
        for (var i = 0; i < Children; i++) sum += Sync(tree, number + i * part, part);
        return sum;
    }

    // As published: Task.Run per node, a leaf gives a finished task, the sum is taken in a continuation.
    static Task<long> Async(Tree tree, long number, long size)
    {
        tree.Born();
        if (size == 1) return Task.FromResult(number);
        var part = size / Children;
        var replies = new List<Task<long>>();
        for (var i = 0; i < Children; i++)
        {
            var first = number + i * part;
            replies.Add(Task.Run(() => Async(tree, first, part)));
        }
        return Task.WhenAll(replies).ContinueWith(all => Sum(all.Result));
    }

    static long Sum(long[] values)
    {
        long sum = 0;
        foreach (var value in values) sum += value;
        return sum;
    }

    // As published: one recursion pushes the numbers of the leaves into batches, one block adds them up.
    static async Task<long> Dataflow(Tree tree, long size)
    {
        long sum = 0;
        var batches = new BatchBlock<long>(1024);
        var adder = new ActionBlock<long[]>(
            values => { sum += values.Sum(); },
            new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = 1, SingleProducerConstrained = true });
        batches.LinkTo(adder, new DataflowLinkOptions { PropagateCompletion = true });
        Push(tree, batches, 0, size);
        batches.Complete();
        await adder.Completion;
        return sum;
    }

    static void Push(Tree tree, ITargetBlock<long> target, long number, long size)
    {
        tree.Born();
        if (size == 1)
        {
            target.SendAsync(number);
            return;
        }
        var part = size / Children;
        for (var i = 0; i < Children; i++) Push(tree, target, number + i * part, part);
    }

    // Strict: every node is a task of the pool, and the parent awaits the results of its children.
    static Task<long> Node(Tree tree, long number, long size)
    {
        return size == 1 ? Task.Run(() => Leaf(tree, number)) : Task.Run(() => Inner(tree, number, size));
    }

    static long Leaf(Tree tree, long number)
    {
        tree.Born();
        return number;
    }

    static async Task<long> Inner(Tree tree, long number, long size)
    {
        tree.Born();
        var part = size / Children;
        var replies = new Task<long>[Children];
        for (var i = 0; i < Children; i++) replies[i] = Node(tree, number + i * part, part);
        return Sum(await Task.WhenAll(replies).ConfigureAwait(false));
    }

    static long Floor(long number, long size)
    {
        if (size == 1) return number;
        long part = size / Children, sum = 0;
        for (var i = 0; i < Children; i++) sum += Floor(number + i * part, part);
        return sum;
    }

    // `units` tells what was created, from the number of nodes.
    static Cell With(Func<Tree, long, long> scenario, Func<long, long> units)
    {
        return p =>
        {
            Sizes.PowerOfTen(p.Leaves, Largest);
            var pass = new Tree { Counting = true };
            scenario(pass, p.Leaves);
            return Sizes.Repeat(() => new Counts(pass.Nodes, units(pass.Nodes), scenario(new Tree(), p.Leaves)));
        };
    }

    public static readonly Dictionary<string, Cell> Cells = new Dictionary<string, Cell>
    {
        { "skynet/original:sync", With((tree, size) => Sync(tree, 0, size), nodes => 0) },
        { "skynet/original:async", With((tree, size) => Task.Run(() => Async(tree, 0, size)).Result, nodes => nodes) },
        { "skynet/original:tpl", With((tree, size) => Task.Run(() => Dataflow(tree, size)).Result, nodes => 2) },
        { "skynet/tasks", With((tree, size) => Node(tree, 0, size).Result, nodes => nodes) },
        { "skynet/floor", p =>
            {
                Sizes.PowerOfTen(p.Leaves, Largest);
                return Sizes.Repeat(() => new Counts((10 * p.Leaves - 1) / 9, 0, Floor(0, p.Leaves)));
            }
        },
    };
}
