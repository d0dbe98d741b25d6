%% net/local: N clients make M calls each to a gen_server of their own; each answer is compared.
-module(arena_net).

-export([cells/0]).

cells() -> [{<<"net/local">>, fun cell/1}].

cell(Args) ->
    [N, M] = arena_cell:sizes([{<<"N">>, 500000}, {<<"M">>, 1 bsl 31}], Args),
    fun(Inner) -> repeat(Inner, N, M, {0, {0, 0, 0}}) end.

%% Only what follows the echo of every client is timed.
repeat(0, _, _, Total) -> Total;
repeat(Left, N, M, {Ns, Counts}) ->
    Driver = self(),
    Clients = [spawn(fun() -> client(Driver, M) end) || _ <- lists:seq(1, N)],
    _ = [ready(Client) || Client <- Clients],
    {Took, Did} = arena_cell:timed(fun() ->
        _ = [Client ! go || Client <- Clients],
        arena_cell:collect(2 * N)
    end),
    repeat(Left - 1, N, M, {Ns + Took, arena_cell:add(Counts, Did)}).

ready(Client) ->
    receive
        {ready, Client} -> ok;
        {wrong, _, _} = Wrong -> arena_cell:wrong(Wrong)
    end.

client(Driver, M) ->
    Server = arena_echo:start(Driver),
    case calls(Server, 0, 1, 0) of
        {done, 1, 0} -> Driver ! {ready, self()};
        Wrong -> Driver ! Wrong
    end,
    arena_echo:reset(Server),
    receive go -> ok end,
    Driver ! calls(Server, 0, M, 0),
    arena_echo:stop(Server).

calls(_, M, M, Sum) -> {done, M, Sum};
calls(Server, Number, M, Sum) ->
    case arena_echo:call(Server, Number) of
        Number -> calls(Server, Number + 1, M, Sum + Number);
        Answer -> {wrong, Number, Answer}
    end.
