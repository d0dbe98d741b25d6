%% net between two processes. Whatever prep makes is linked to one process, the holder: its end is
%% the end of all, and the end of any of them is the holder's, with the reason. The clients stay
%% for all samples, since a socket belongs to a process.
-module(arena_link).

-export([cells/0, lost/1]).

-type echo() :: fun((integer()) -> integer()).

%% What a transport does. `listen` gives its port and what the holder does from then on; `connect`
%% gives one function for each client, which is called in the client and gives its end of the pair.
-callback listen(N :: pos_integer()) -> {inet:port_number(), fun(() -> no_return())}.
-callback connect(inet:port_number(), N :: pos_integer()) -> [fun(() -> echo())].
-callback close() -> ok.

cells() ->
    [{<<"net/echo">>, cell(arena_tcp, fun one_role/1)},
     {<<"net/paced">>, cell(arena_tcp, fun one_role/1)},
     {<<"net/echo-oneproc">>, cell(arena_tcp, fun(_) -> both end)},
     {<<"net/echo-mux">>, cell(arena_dist, fun one_role/1)}].

cell(Transport, Role) ->
    fun(Args) ->
        [N, M] = arena_cell:sizes([{<<"N">>, 30000}, {<<"M">>, 1 bsl 31}], Args),
        case Role(Args) of
            server ->
                {Server, Port} = listen(Transport, N),
                #{sample => fun(_) -> throw({bug, "a server runs nothing"}) end,
                  close => fun() -> close(Transport, Server) end,
                  fields => [{addr, {text, ["127.0.0.1:", integer_to_list(Port)]}}]};
            {client, Port} ->
                {Holder, Clients, Ready} = connect(Transport, Port, N),
                clients(Holder, Clients, M, Ready, fun() -> close(Transport, Holder) end);
            both ->
                {Server, Port} = listen(Transport, N),
                {Holder, Clients, Ready} = connect(Transport, Port, N),
                clients(Holder, Clients, M, Ready, fun() -> close(Transport, Holder), close(Transport, Server) end)
        end
    end.

one_role(#{<<"role">> := <<"server">>}) -> server;
one_role(#{<<"role">> := <<"client">>, <<"addr">> := <<"127.0.0.1:", Port/binary>>}) -> {client, binary_to_integer(Port)};
one_role(_) -> throw({limit, "role: must be server, or client with the address of one"}).

clients(Holder, Clients, M, Ready, Close) ->
    #{sample => fun(Inner) -> linked(Holder, fun() -> repeat(Inner, Clients, M, {0, {0, 0, 0}}) end) end,
      paced => fun(Rate, Secs) -> linked(Holder, fun() -> arena_paced:run(Clients, Rate, Secs) end) end,
      close => Close,
      fields => [{ready_ns, Ready}]}.

listen(Transport, N) -> hold(fun() -> Transport:listen(N) end).

connect(Transport, Port, N) ->
    {Ready, {Holder, Clients}} = arena_cell:timed(fun() ->
        hold(fun() -> {start(Transport:connect(Port, N)), fun idle/0} end)
    end),
    {Holder, Clients, Ready}.

%% Runs a function in a new holder; it gives what to answer and what the holder does next.
hold(Make) ->
    Prep = self(),
    Holder = spawn_link(fun() ->
        {Made, Next} = Make(),
        Prep ! {made, self(), Made},
        Next()
    end),
    receive
        {made, Holder, Made} ->
            unlink(Holder),
            {Holder, Made}
    end.

idle() -> receive after infinity -> ok end.

close(Transport, Holder) ->
    Ref = monitor(process, Holder),
    exit(Holder, shutdown),
    receive {'DOWN', Ref, process, Holder, _} -> ok end,
    Transport:close().

%% All clients, each of them connected and after its first echo.
start(Ends) ->
    Holder = self(),
    Clients = [spawn_link(fun() -> client(Holder, End()) end) || End <- Ends],
    _ = [receive {ready, Client} -> ok end || Client <- Clients],
    Clients.

client(Holder, Echo) ->
    _ = verified(Echo, -1),
    Holder ! {ready, self()},
    obey(Echo).

obey(Echo) ->
    receive
        {calls, Driver, M} ->
            Driver ! calls(Echo, 0, M, 0),
            obey(Echo);
        {paced, Driver, Share} ->
            Driver ! arena_paced:share(fun(Number) -> verified(Echo, Number) end, Share),
            obey(Echo);
        Lost ->
            lost(Lost)
    end.

calls(_, M, M, Sum) -> {done, M, Sum};
calls(Echo, Number, M, Sum) -> calls(Echo, Number + 1, M, Sum + verified(Echo, Number)).

verified(Echo, Number) ->
    case Echo(Number) of
        Number -> Number;
        Answer -> exit({bug, io_lib:format("asked ~p, the answer is ~p", [Number, Answer])})
    end.

%% How a process ends whose other end is not there any more.
-spec lost(term()) -> no_return().
lost(Reason) -> exit({bug, io_lib:format("the connection is gone: ~0tp", [Reason])}).

repeat(0, _, _, Total) -> Total;
repeat(Left, Clients, M, {Ns, Counts}) ->
    {Took, Did} = arena_cell:timed(fun() ->
        Start = {calls, self(), M},
        _ = [Client ! Start || Client <- Clients],
        collect(length(Clients), {0, 0, 0})
    end),
    repeat(Left - 1, Clients, M, {Ns + Took, arena_cell:add(Counts, Did)}).

%% A client has sent and received as many as were answered; the other unit is its server.
collect(0, Total) -> Total;
collect(Left, Total) ->
    receive
        {done, Answered, Sum} -> collect(Left - 1, arena_cell:add(Total, {2 * Answered, 2, Sum}))
    end.

%% While it runs the holder's end is the caller's.
linked(Holder, Fun) ->
    link(Holder),
    Result = Fun(),
    unlink(Holder),
    Result.
