// counter: an agent of TPL Dataflow, and the producers and consumer of a BlockingCollection.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using System.Threading.Tasks.Dataflow;

static class Counter
{
    const long Step = 100;

    // Add, or GetAndReset if it carries where the answer goes.
    struct Message
    {
        public long Add;
        public TaskCompletionSource<long> Reply;
    }

    sealed class State
    {
        long sum;

        public void Take(Message message)
        {
            if (message.Reply == null)
            {
                sum += message.Add;
                return;
            }
            message.Reply.SetResult(sum);
            sum = 0;
        }
    }

    static long Produce(long n, Action<Message> send)
    {
        long sent = 0;
        for (; sent < n; sent++) send(new Message { Add = Step });
        return sent;
    }

    static long Ask(Action<Message> send)
    {
        var reply = new TaskCompletionSource<long>();
        send(new Message { Reply = reply });
        return reply.Task.Result;
    }

    static Task<long>[] Start(long producers, Func<long> producer, TaskCreationOptions how)
    {
        return Enumerable.Range(0, (int)producers)
            .Select(_ => Task.Factory.StartNew(producer, how))
            .ToArray();
    }

    // Producers and consumer block, so each has a thread of its own.
    static Counts Blocking(long producers, long n)
    {
        using (var queue = new BlockingCollection<Message>(1024))
        {
            var state = new State();
            var consumer = Task.Factory.StartNew(() =>
            {
                foreach (var message in queue.GetConsumingEnumerable()) state.Take(message);
            }, TaskCreationOptions.LongRunning);
            var sent = Start(producers, () => Produce(n, queue.Add), TaskCreationOptions.LongRunning).Sum(task => task.Result);
            var sum = Ask(queue.Add);
            queue.CompleteAdding();
            consumer.Wait();
            return new Counts(sent, producers + 1, sum);
        }
    }

    // An ActionBlock is an agent with an unbounded queue; Post does not wait.
    static Counts Posted(long producers, long n)
    {
        var state = new State();
        var agent = new ActionBlock<Message>((Action<Message>)state.Take);
        Action<Message> post = message => agent.Post(message);
        var sent = Start(producers, () => Produce(n, post), TaskCreationOptions.None).Sum(task => task.Result);
        var sum = Ask(post);
        agent.Complete();
        return new Counts(sent, producers + 1, sum);
    }

    static Cell With(Func<long, long, Counts> scenario)
    {
        return p =>
        {
            Sizes.Within("P", p.Producers, 1000);
            Sizes.Within("n", p.N, 1L << 31);
            return Sizes.Repeat(() => scenario(p.Producers, p.N));
        };
    }

    public static readonly Dictionary<string, Cell> Cells = new Dictionary<string, Cell>
    {
        { "counter/bounded-1024", With(Blocking) },
        { "counter/send", With(Posted) },
    };
}
