%% pingpong: p pairs, n round trips each, w requests in flight. A pair is two processes; the server
%% knows no client, it answers where the request says (but for tell-fixed).
-module(arena_pingpong).

-export([cells/0]).

cells() ->
    [{<<"pingpong/tell">>, cell(1, fun tell/3)},
     {<<"pingpong/tell-w100">>, cell(100, fun tell/3)},
     {<<"pingpong/tell-w1000">>, cell(1000, fun tell/3)},
     {<<"pingpong/tell-fixed">>, cell(1, fun fixed/3)},
     {<<"pingpong/call">>, cell(1, fun call/3)},
     {<<"pingpong/call-send">>, cell(1, fun call_send/3)}].

%% A pair is started by a function of the driver, the server's end, n and w.
cell(Window, Start) ->
    fun(Args) ->
        [P, N, W] = arena_cell:sizes([{<<"p">>, 500000}, {<<"n">>, 1 bsl 31}, {<<"w">>, 1000000}],
                                     maps:merge(#{<<"w">> => Window}, Args)),
        arena_cell:repeat(fun() -> start(P, Start, self(), N, W), arena_cell:collect(2 * P) end)
    end.

start(0, _, _, _, _) -> ok;
start(P, Start, Driver, N, W) ->
    Start(Driver, N, W),
    start(P - 1, Start, Driver, N, W).

%% tell: one message each way, the request carries the address of the answer.

tell(Driver, N, W) ->
    Room = arena_cell:room(W),
    Server = spawn_opt(fun() -> server(Driver, 0) end, Room),
    spawn_opt(fun() -> client(Driver, Server, N, W) end, Room).

server(Driver, Sent) ->
    receive
        {ping, From, Seq} ->
            From ! {pong, Seq},
            server(Driver, Sent + 1);
        stop ->
            Driver ! {done, Sent, 0}
    end.

client(Driver, Server, N, W) ->
    Opened = open(Server, self(), 0, min(N, W)),
    {Sent, Sum} = refill(Server, self(), N, Opened, 0),
    Total = drain(Opened, Sum),
    Server ! stop,
    Driver ! {done, Sent, Total}.

open(_, _, W, W) -> W;
open(Server, Self, Seq, W) ->
    Server ! {ping, Self, Seq},
    open(Server, Self, Seq + 1, W).

%% A request for each answer, until all are sent.
refill(_, _, N, N, Sum) -> {N, Sum};
refill(Server, Self, N, Sent, Sum) ->
    receive
        {pong, Seq} ->
            Server ! {ping, Self, Sent},
            refill(Server, Self, N, Sent + 1, Sum + Seq)
    end.

drain(0, Sum) -> Sum;
drain(Left, Sum) ->
    receive
        {pong, Seq} -> drain(Left - 1, Sum + Seq)
    end.

%% fixed: the two processes know each other, the message is the number alone.

fixed(Driver, N, _) ->
    Server = spawn(fun() -> receive {client, Client} -> fixed_server(Driver, Client, 0) end end),
    Client = spawn(fun() -> fixed_client(Driver, Server, N, 0, 0) end),
    Server ! {client, Client}.

fixed_server(Driver, Client, Sent) ->
    receive
        Seq when is_integer(Seq) ->
            Client ! Seq,
            fixed_server(Driver, Client, Sent + 1);
        stop ->
            Driver ! {done, Sent, 0}
    end.

fixed_client(Driver, Server, N, N, Sum) ->
    Server ! stop,
    Driver ! {done, N, Sum};
fixed_client(Driver, Server, N, Sent, Sum) ->
    Server ! Sent,
    receive
        Seq -> fixed_client(Driver, Server, N, Sent + 1, Sum + Seq)
    end.

%% call: gen_server:call, which makes a fresh monitor with an alias as the address of each answer.

call(Driver, N, _) ->
    Server = arena_echo:start(Driver),
    spawn(fun() -> called(Driver, Server, N, calls(Server, N, 0, 0)) end).

calls(_, N, N, Sum) -> Sum;
calls(Server, N, Seq, Sum) -> calls(Server, N, Seq + 1, Sum + arena_echo:call(Server, Seq)).

%% call-send: the same in two steps, the request first and then the wait for its answer.

call_send(Driver, N, _) ->
    Server = arena_echo:start(Driver),
    spawn(fun() -> called(Driver, Server, N, requests(Server, N, 0, 0)) end).

requests(_, N, N, Sum) -> Sum;
requests(Server, N, Seq, Sum) ->
    Request = gen_server:send_request(Server, Seq),
    {reply, Answer} = gen_server:receive_response(Request, infinity),
    requests(Server, N, Seq + 1, Sum + Answer).

called(Driver, Server, N, Sum) ->
    arena_echo:stop(Server),
    Driver ! {done, N, Sum}.
