%% A connection for each client. `{packet, 4}` is the frame of WORKLOADS.md: a length of four bytes,
%% big-endian, and as much after it. A socket sends what it reads to its process as messages.
-module(arena_tcp).
-behaviour(arena_link).

-export([listen/1, connect/2, close/0]).

-define(LOOPBACK, {127, 0, 0, 1}).
-define(OPTIONS, [binary, {packet, 4}, {active, true}, {nodelay, true}]).

listen(_) ->
    {ok, Listener} = gen_tcp:listen(0, [{ip, ?LOOPBACK}, {backlog, 4096} | ?OPTIONS]),
    {ok, Port} = inet:port(Listener),
    {Port, fun() -> accepting(Listener) end}.

%% One process waits for the next client and serves it then.
accepting(Listener) ->
    Holder = self(),
    spawn_link(fun() ->
        {ok, Socket} = gen_tcp:accept(Listener),
        Holder ! accepted,
        serve(Socket)
    end),
    receive
        accepted -> accepting(Listener)
    end.

serve(Socket) ->
    receive
        {tcp, Socket, <<_:64>> = Number} ->
            ok = gen_tcp:send(Socket, Number),
            serve(Socket);
        {tcp_closed, Socket} ->
            ok
    end.

connect(Port, N) -> lists:duplicate(N, fun() -> client(Port) end).

client(Port) ->
    {ok, Socket} = gen_tcp:connect(?LOOPBACK, Port, ?OPTIONS),
    fun(Number) -> echo(Socket, Number) end.

echo(Socket, Number) ->
    case gen_tcp:send(Socket, <<Number:64>>) of
        ok -> ok;
        {error, Reason} -> arena_link:lost(Reason)
    end,
    receive
        {tcp, Socket, <<Answer:64/signed>>} -> Answer;
        {tcp_closed, Socket} -> arena_link:lost(closed);
        {tcp_error, Socket, Reason1} -> arena_link:lost(Reason1)
    end.

close() -> ok.
