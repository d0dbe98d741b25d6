// The Mono peer of the arena: `mono peer-mono.exe --arena 1 --system mono`.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;

static class Program
{
    static int Main(string[] args)
    {
        if (Argument(args, "--arena") != "1" || (Argument(args, "--system") ?? "mono") != "mono")
        {
            Console.Error.WriteLine("peer-mono speaks to the arena: --arena 1 --system mono");
            return 2;
        }
        var cells = new Dictionary<string, Cell>();
        foreach (var part in new[] { Skynet.Cells, Counter.Cells, Pingpong.Cells, Spawn.Cells })
            foreach (var cell in part) cells.Add(cell.Key, cell.Value);
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { NewLine = "\n", AutoFlush = true };
        new Protocol(Console.In, output, cells).Serve();
        return 0;
    }

    static string Argument(string[] args, string name)
    {
        var at = Array.IndexOf(args, name);
        return at >= 0 && at + 1 < args.Length ? args[at + 1] : null;
    }
}
