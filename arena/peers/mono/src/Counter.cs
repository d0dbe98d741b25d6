// counter: an agent of TPL Dataflow, with an unbounded queue or with room for 1,024.
using System;
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

    // An ActionBlock is an agent with an unbounded queue; Post does not wait.
    static Counts Posted(long producers, long n)
    {
        var state = new State();
        var agent = new ActionBlock<Message>((Action<Message>)state.Take);
        Action<Message> post = message => agent.Post(message);
        var producing = Enumerable.Range(0, (int)producers).Select(_ => Task.Run(() => Produce(n, post))).ToArray();
        var sent = producing.Sum(task => task.Result);
        var sum = Ask(post);
        agent.Complete();
        return new Counts(sent, producers + 1, sum);
    }

    // The same agent with room for 1,024: a producer that finds it full awaits its place.
    static Counts Bounded(long producers, long n)
    {
        var state = new State();
        var agent = new ActionBlock<Message>(
            (Action<Message>)state.Take, new ExecutionDataflowBlockOptions { BoundedCapacity = 1024 });
        Func<Task<long>> producer = async () =>
        {
            long sent = 0;
            for (; sent < n; sent++)
            {
                var message = new Message { Add = Step };
                if (!agent.Post(message)) await agent.SendAsync(message).ConfigureAwait(false);
            }
            return sent;
        };
        var producing = Enumerable.Range(0, (int)producers).Select(_ => Task.Run(producer)).ToArray();
        var total = producing.Sum(task => task.Result);
        var sum = Ask(message => agent.SendAsync(message).Wait());
        agent.Complete();
        return new Counts(total, producers + 1, sum);
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
        { "counter/bounded-1024", With(Bounded) },
        { "counter/send", With(Posted) },
    };
}
