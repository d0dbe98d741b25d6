// pingpong: client and server are ActionBlocks, agents with an unbounded queue.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using System.Threading.Tasks.Dataflow;

static class Pingpong
{
    struct Ping
    {
        public long Seq;
        public ITargetBlock<long> Reply;
    }

    static Task<Counts>[] Pair(long n, long window)
    {
        long served = 0;
        var server = new ActionBlock<Ping>(ping =>
        {
            served++;
            ping.Reply.Post(ping.Seq);
        });
        long sent = 0, answered = 0, sum = 0;
        ActionBlock<long> client = null;
        client = new ActionBlock<long>(seq =>
        {
            if (seq < 0)
            {
                for (; sent < window && sent < n; sent++) server.Post(new Ping { Seq = sent, Reply = client });
                return;
            }
            sum += seq;
            answered++;
            if (sent < n) server.Post(new Ping { Seq = sent++, Reply = client });
            else if (answered == n)
            {
                client.Complete();
                server.Complete();
            }
        });
        client.Post(-1);
        return new[]
        {
            client.Completion.ContinueWith(_ => new Counts(sent, 1, sum)),
            server.Completion.ContinueWith(_ => new Counts(served, 1, 0)),
        };
    }

    static Counts Pairs(long pairs, long n, long window)
    {
        var ends = new List<Task<Counts>>();
        for (long i = 0; i < pairs; i++) ends.AddRange(Pair(n, window));
        return ends.Aggregate(new Counts(), (total, end) => total + end.Result);
    }

    static Cell With(long window)
    {
        return p =>
        {
            var w = p.Window == 0 ? window : p.Window;
            Sizes.Within("p", p.PairCount, 100000);
            Sizes.Within("n", p.N, 1L << 31);
            Sizes.Within("w", w, 1000000);
            return Sizes.Repeat(() => Pairs(p.PairCount, p.N, w));
        };
    }

    public static readonly Dictionary<string, Cell> Cells = new Dictionary<string, Cell>
    {
        { "pingpong/tell", With(1) },
        { "pingpong/tell-w100", With(100) },
        { "pingpong/tell-w1000", With(1000) },
    };
}
