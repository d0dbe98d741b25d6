%% Two nodes, which share one connection: the distribution of Erlang. A pair is a process on each,
%% a message goes to a process wherever it is. Nodes find each other without epmd (arena_epmd), so
%% any number of pairs of nodes may have these two names.
-module(arena_dist).
-behaviour(arena_link).

-export([listen/1, connect/2, close/0]).

-define(SERVER, 'arena_server@127.0.0.1').
-define(CLIENT, 'arena_client@127.0.0.1').

listen(N) ->
    start(?SERVER),
    Servers = [spawn_link(fun serve/0) || _ <- lists:seq(1, N)],
    register(?MODULE, self()),
    {arena_epmd:own_port(), fun() -> introduce(Servers) end}.

introduce(Servers) ->
    receive
        {servers, Client} ->
            Client ! {servers, Servers},
            introduce(Servers)
    end.

serve() ->
    receive
        {Client, Number} ->
            Client ! {self(), Number},
            serve()
    end.

connect(Port, _) ->
    start(?CLIENT),
    arena_epmd:server_is_at(Port),
    Ref = monitor(process, {?MODULE, ?SERVER}),
    {?MODULE, ?SERVER} ! {servers, self()},
    receive
        {servers, Servers} ->
            demonitor(Ref, [flush]),
            [fun() -> client(Server) end || Server <- Servers];
        {'DOWN', Ref, process, _, Reason} ->
            arena_link:lost(Reason)
    end.

%% The monitor tells when the server or its node is no more.
client(Server) ->
    Ref = monitor(process, Server),
    fun(Number) -> echo(Server, Ref, Number) end.

echo(Server, Ref, Number) ->
    Server ! {self(), Number},
    receive
        {Server, Answer} -> Answer;
        {'DOWN', Ref, process, Server, Reason} -> arena_link:lost(Reason)
    end.

%% On the loopback device alone; TCP_NODELAY is the default of distribution. Frozen nodes send no
%% ticks, so these are made rare.
start(Name) ->
    close(),
    ok = application:set_env(kernel, inet_dist_use_interface, {127, 0, 0, 1}),
    {ok, _} = net_kernel:start(Name, #{name_domain => longnames, hidden => true, net_ticktime => 100000}),
    ok.

close() ->
    _ = net_kernel:stop(),
    ok.
