%% quality: how long a process is late while another computes; how fair pairs are served; what idling takes.
-module(arena_quality).

-export([cells/0]).

cells() ->
    [{<<"quality/hog-spawn">>, cell(fun(_, N) -> hog_spawn(N) end)},
     {<<"quality/hog-wake">>, cell(fun(_, N) -> hog(N, false) end)},
     {<<"quality/hog-timer">>, cell(fun(_, N) -> hog(N, true) end)},
     {<<"quality/pairs">>, cell(fun fair/2)},
     {<<"quality/idle">>, cell(fun idle/2)}].

cell(Scenario) ->
    fun(Args) ->
        [P, N] = arena_cell:sizes([{<<"p">>, 1000000}, {<<"n">>, 1000000}], Args),
        arena_cell:repeat(fun() -> Scenario(P, N) end)
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

%% Pairs of which none stops before the slowest has made N round trips.
fair(P, N) ->
    Driver = self(),
    Behind = atomics:new(1, []),
    atomics:put(Behind, 1, P),
    spread(P, fun() -> Driver ! {made, pairing(echo(), Behind, N, 0)} end),
    gather(P, N, {0, 0, 0}).

spread(0, _) -> ok;
spread(P, Start) -> spawn(Start), spread(P - 1, Start).

echo() -> spawn_link(fun echoing/0).

echoing() ->
    receive
        {From, ask} -> From ! 1, echoing();
        stop -> ok
    end.

pairing(Server, Behind, N, Made) ->
    case atomics:get(Behind, 1) > 0 of
        true ->
            Server ! {self(), ask},
            Now = receive One -> Made + One end,
            Now =:= N andalso atomics:sub(Behind, 1, 1),
            pairing(Server, Behind, N, Now);
        false -> Server ! stop, Made
    end.

gather(0, _, Counts) -> Counts;
gather(P, N, {Msgs, Units, Check}) ->
    receive
        {made, All} ->
            Made = min(All, N),
            gather(P - 1, N, {Msgs + 2 * Made, Units + 2, Check + Made})
    end.

%% Processes that wait for what does not come.
idle(P, N) ->
    Driver = self(),
    Waiting = [spawn(fun() -> receive stop -> Driver ! over end end) || _ <- lists:seq(1, P)],
    timer:sleep(N * 10),
    [Process ! stop || Process <- Waiting],
    Over = lists:sum([receive over -> 1 end || _ <- Waiting]),
    {N, Over, Over}.
