%% A gen_server that answers each call with what was asked and counts its answers.
-module(arena_echo).
-behaviour(gen_server).

-export([start/1, call/2, reset/1, stop/1]).
-export([init/1, handle_call/3, handle_cast/2]).

start(Driver) ->
    {ok, Server} = gen_server:start(?MODULE, Driver, []),
    Server.

%% Without the default timeout of 5 s, which would arm a timer for each call that waits.
call(Server, Request) -> gen_server:call(Server, Request, infinity).

%% It counts from 0 again.
reset(Server) -> gen_server:cast(Server, reset).

%% It tells the driver how many calls it answered and ends.
stop(Server) -> gen_server:cast(Server, stop).

init(Driver) -> {ok, {Driver, 0}}.

handle_call(Request, _From, {Driver, Sent}) -> {reply, Request, {Driver, Sent + 1}}.

handle_cast(reset, {Driver, _}) -> {noreply, {Driver, 0}};
handle_cast(stop, {Driver, Sent} = State) ->
    Driver ! {done, Sent, 0},
    {stop, normal, State}.
