%% Every cell at odd sizes against the formulas of WORKLOADS.md, in two processes where it has two,
%% and the answers of the protocol.
%%   erlc -o OUT src/*.erl test/*.erl && erl -noshell -pa OUT -eval 'arena_test:main()'
-module(arena_test).

-export([main/0]).

main() ->
    Failures = lists:append([cells(), refusals(), protocol(), links(), broken()]),
    [io:format(standard_error, "~tp~n", [Failure]) || Failure <- Failures],
    io:format("~b failures~n", [length(Failures)]),
    erlang:halt(min(1, length(Failures))).

cells() ->
    [{Name, Args, Inner, Got, Want} || {Name, Cell} <- arena_cell:all(), Args <- odd(workload(Name)), Inner <- [1, 3],
        begin
            {Ns, Got} = (Cell(Args))(Inner),
            Want = scaled(Inner, expected(workload(Name), Args, Name)),
            Got =/= Want orelse Ns =< 0
        end].

workload(Name) -> hd(binary:split(Name, <<"/">>)).

scaled(K, {Msgs, Units, Check}) -> {K * Msgs, K * Units, K * Check}.

odd(<<"pingpong">>) ->
    [#{<<"p">> => P, <<"n">> => N, <<"w">> => W} || {P, N, W} <- [{3, 997, 1}, {1, 1, 1}, {2, 7, 3}, {5, 7, 7}, {2, 50, 1000}]];
odd(<<"chain">>) -> [#{<<"A">> => A} || A <- [1, 2, 7, 103]];
odd(<<"fan">>) -> [#{<<"N">> => N} || N <- [1, 2, 997, 5003]];
odd(<<"counter">>) -> [#{<<"P">> => P, <<"n">> => N} || {P, N} <- [{3, 997}, {1, 1}, {11, 3001}]];
odd(<<"skynet">>) -> [#{<<"S">> => S} || S <- [1, 10, 1000]];
odd(<<"spawn">>) -> [#{<<"n">> => N} || N <- [1, 997]];
odd(<<"growth">>) -> [#{<<"k">> => K, <<"n">> => N} || {K, N} <- [{8, 1}, {64, 997}, {512, 1500}]];
odd(<<"quality">>) -> [#{<<"p">> => 2, <<"n">> => N} || N <- [1, 3]];
odd(<<"net">>) -> [#{<<"N">> => N, <<"M">> => M} || {N, M} <- [{7, 31}, {1, 1}]].

expected(<<"pingpong">>, #{<<"p">> := P, <<"n">> := N}, _) -> {2 * P * N, 2 * P, P * below(N)};
expected(<<"chain">>, #{<<"A">> := A}, _) -> {2 * A + 2, A + 1, A};
expected(<<"fan">>, #{<<"N">> := N}, _) -> {2 * N + 3, 2, below(N)};
expected(<<"counter">>, #{<<"P">> := P, <<"n">> := N}, _) -> {P * N, P + 1, 100 * P * N};
expected(<<"skynet">>, #{<<"S">> := S}, <<"skynet/floor">>) -> {(10 * S - 1) div 9, 0, below(S)};
expected(<<"skynet">>, #{<<"S">> := S}, _) -> {(10 * S - 1) div 9, (10 * S - 1) div 9, below(S)};
expected(<<"spawn">>, #{<<"n">> := N}, _) -> {N, N, N};
expected(<<"growth">>, #{<<"n">> := N}, _) -> {N, N, N};
expected(<<"quality">>, #{<<"n">> := N}, <<"quality/hog-spawn">>) -> {N, N + 1, N};
expected(<<"quality">>, #{<<"p">> := P, <<"n">> := N}, <<"quality/pairs">>) -> {2 * P * N, 2 * P, P * N};
expected(<<"quality">>, #{<<"p">> := P, <<"n">> := N}, <<"quality/idle">>) -> {N, P, P};
expected(<<"quality">>, #{<<"p">> := P, <<"n">> := N}, _) -> {N, P, N};
expected(<<"net">>, #{<<"N">> := N, <<"M">> := M}, _) -> {2 * N * M, 2 * N, N * below(M)}.

below(N) -> N * (N - 1) div 2.

%% Sizes out of range are refused.
refusals() ->
    Keys = [<<"p">>, <<"n">>, <<"w">>, <<"A">>, <<"N">>, <<"P">>, <<"S">>, <<"M">>, <<"k">>],
    [{Name, V, Answer} || {Name, Cell} <- arena_cell:all(), V <- [0, -1, 1 bsl 62, <<"1e3">>],
        begin
            Answer = try Cell(maps:from_list([{Key, V} || Key <- Keys])) catch throw:{Kind, _} -> Kind end,
            Answer =/= limit
        end].

protocol() ->
    Script =
        [{"ping id=1", "{\"arena\":1,\"t\":\"ok\",\"id\":1}"},
         {"run id=2 inner=1", "\"t\":\"err\",\"id\":2,\"kind\":\"bug\""},
         {"prep id=3 cell=nope/\"x\"", "\"kind\":\"unsupported\",\"msg\":\"no cell <<\\\"nope"},
         {"prep id=4 cell=spawn/joined threads=1 n=0", "\"kind\":\"limit\""},
         {"prep id=5 cell=spawn/joined n=99999999999999999999", "\"kind\":\"limit\""},
         {"prep id=6 cell=skynet/tree S=20", "\"kind\":\"limit\""},
         {"run id=7", "\"kind\":\"bug\""},
         {"prep id=8 cell=spawn/joined threads=1 n=5 seed=1 unknown=x odd", "{\"arena\":1,\"t\":\"ok\",\"id\":8}"},
         {"run id=9 inner=3", "\"inner\":3,\"msgs\":15,\"units\":15,\"check\":15,\"gc\":["},
         {"run id=10 inner=0", "\"kind\":\"limit\""},
         {"prep id=11 cell=spawn/joined threads=100000 n=5", "\"kind\":\"limit\""},
         {"drop id=12", "{\"arena\":1,\"t\":\"ok\",\"id\":12}"},
         {"run id=13", "\"kind\":\"bug\""},
         {"dance id=14", "\"id\":14,\"kind\":\"unsupported\""},
         {"", "\"kind\":\"unsupported\""}],
    {Failures, _} = lists:mapfoldl(fun({Command, Wanted}, Current) ->
        {Line, Next} = arena_peer:answer(list_to_binary([Command, $\n]), Current),
        {[{Command, iolist_to_binary(Line)} || string:find(iolist_to_binary(Line), Wanted) =:= nomatch], Next}
    end, none, Script),
    [not_quit || arena_peer:answer(<<"quit\n">>, none) =/= quit] ++ lists:append(Failures).

%% Two processes of this peer, which change their roles in between.
links() ->
    {First, Second} = {peer(), peer()},
    Failures = [Failure || Cell <- ["net/echo", "net/echo-mux", "net/paced"],
                           {Server, Client} <- [{First, Second}, {Second, First}],
                           Failure <- link(Cell, Server, Client)],
    Alone = wanted(First, [{"prep id=1 cell=net/echo-oneproc N=7 M=31", "\"ready_ns\":"} | samples()]),
    _ = [port_close(Peer) || Peer <- [First, Second]],
    Failures ++ Alone.

link(Cell, Server, Client) ->
    Prep = "prep id=1 cell=" ++ Cell ++ " N=7 M=31 role=",
    [_, Address] = string:split(ask(Server, Prep ++ "server"), "\"addr\":\""),
    [Addr, _] = string:split(Address, "\""),
    wanted(Client, [{Prep ++ "client addr=" ++ Addr, "\"ready_ns\":"} | samples()] ++ schedule(Cell)) ++
        wanted(Client, [{"drop id=9", "\"ok\""}]) ++
        wanted(Server, [{"run id=2", "\"kind\":\"bug\""}, {"drop id=9", "\"ok\""}]).

samples() ->
    [{"run id=2 inner=1", "\"inner\":1,\"msgs\":434,\"units\":14,\"check\":3255"},
     {"run id=3 inner=3", "\"inner\":3,\"msgs\":1302,\"units\":42,\"check\":9765"}].

schedule("net/paced") ->
    [{"run id=4 hist=1 rate=101 secs=1", "\"msgs\":202,\"units\":14,\"check\":5050"},
     {"run id=5 hist=1 rate=0 secs=1", "\"kind\":\"limit\""}];
schedule(_) ->
    [].

%% A server that ends is an error of the client, and no hang.
broken() ->
    lists:append([broken(Cell) || Cell <- ["net/echo", "net/echo-mux"]]).

broken(Cell) ->
    {Server, Client} = {peer(), peer()},
    Prep = "prep id=1 cell=" ++ Cell ++ " N=3 M=1000000 role=",
    [_, Address] = string:split(ask(Server, Prep ++ "server"), "\"addr\":\""),
    [Addr, _] = string:split(Address, "\""),
    _ = ask(Client, Prep ++ "client addr=" ++ Addr),
    tell(Client, "run id=2"),
    port_close(Server),
    Answer = answer(Client),
    port_close(Client),
    [{Cell, Answer} || string:find(Answer, "\"kind\":\"bug\"") =:= nomatch].

wanted(Peer, Script) ->
    [{Command, Answer} || {Command, Wanted} <- Script, Answer <- [ask(Peer, Command)],
                          string:find(Answer, Wanted) =:= nomatch].

peer() ->
    Args = ["-noshell", "-pa", filename:dirname(code:which(arena_peer)), "-epmd_module", "arena_epmd",
            "-s", "arena_peer", "-extra", "--arena", "1", "--system", "erlang"],
    Peer = open_port({spawn_executable, os:find_executable("erl")}, [{args, Args}, {line, 1 bsl 16}]),
    _ = answer(Peer),
    Peer.

ask(Peer, Command) ->
    tell(Peer, Command),
    answer(Peer).

tell(Peer, Command) -> port_command(Peer, [Command, $\n]).

answer(Peer) ->
    receive {Peer, {data, {eol, Line}}} -> Line end.
