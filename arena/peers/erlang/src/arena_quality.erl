%% quality: how long a process is late while another computes.
-module(arena_quality).

-export([cells/0]).

cells() ->
    [{<<"quality/hog-spawn">>, cell(fun hog_spawn/1)},
     {<<"quality/hog-wake">>, cell(fun(N) -> hog(N, false) end)},
     {<<"quality/hog-timer">>, cell(fun(N) -> hog(N, true) end)}].

cell(Scenario) ->
    fun(Args) ->
        [N] = arena_cell:sizes([{<<"n">>, 1000000}], Args),
        arena_cell:repeat(fun() -> Scenario(N) end)
    end.

%% Computes, and does not stop, until the other has run, or for 100 ms. The flag counts the rounds.
compute(Flag, Round) -> compute(Flag, Round, erlang:monotonic_time(millisecond) + 100).

compute(Flag, Round, End) ->
    case atomics:get(Flag, 1) >= Round orelse erlang:monotonic_time(millisecond) >= End of
        true -> ok;
        false -> compute(Flag, Round, End)
    end.

%% It has started the other just before.
hog_spawn(N) ->
    Driver = self(),
    Flag = atomics:new(1, []),
    spawn(fun() -> Driver ! {ran, spawning(N, Flag, 0)} end),
    receive {ran, Ran} -> {Ran, Ran + 1, Ran} end.

spawning(N, _, N) -> N;
spawning(N, Flag, Ran) ->
    Self = self(),
    spawn(fun() -> atomics:add(Flag, 1, 1), Self ! 1 end),
    compute(Flag, Ran + 1),
    receive One -> spawning(N, Flag, Ran + One) end.

%% It has sent the other something just before; Armed: and has heard that its timer runs.
hog(N, Armed) ->
    Driver = self(),
    Flag = atomics:new(1, []),
    Other = spawn(fun() -> other(Driver, Flag, Armed, 0) end),
    spawn(fun() -> asking(Other, N, Flag, Armed, 0) end),
    receive {ran, Ran} -> {Ran, 2, Ran} end.

asking(Other, N, _, _, N) -> Other ! stop;
asking(Other, N, Flag, Armed, Asked) ->
    Other ! {self(), ask},
    Armed andalso receive armed -> ok end,
    compute(Flag, Asked + 1),
    receive ran -> asking(Other, N, Flag, Armed, Asked + 1) end.

other(Driver, Flag, Armed, Ran) ->
    receive
        {From, ask} ->
            Armed andalso nap(From),
            atomics:add(Flag, 1, 1),
            From ! ran,
            other(Driver, Flag, Armed, Ran + 1);
        stop -> Driver ! {ran, Ran}
    end.

nap(From) ->
    Timer = erlang:start_timer(1, self(), nap),
    From ! armed,
    receive {timeout, Timer, nap} -> ok end.
