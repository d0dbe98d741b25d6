%% growth: operations where k things are there: processes, timers.
-module(arena_growth).

-export([cells/0]).

cells() ->
    [{<<"growth/tasks">>, cell(fun tasks/2)}, {<<"growth/timers">>, cell(fun timers/2)}].

cell(Scenario) ->
    fun(Args) ->
        [K, N] = arena_cell:sizes([{<<"k">>, 2000000}, {<<"n">>, 1 bsl 31}], Args),
        arena_cell:repeat(fun() -> Scenario(K, N) end)
    end.

%% k at a time: each says that it is there; when all have, each is let go.
tasks(K, N) -> tasks(K, N, 0).

tasks(_, N, Ran) when Ran >= N -> {Ran, Ran, Ran};
tasks(K, N, Ran) ->
    Self = self(),
    Size = min(K, N - Ran),
    Task = fun() ->
        Self ! here,
        receive go -> Self ! passed end
    end,
    All = [spawn(Task) || _ <- lists:seq(1, Size)],
    hear(here, Size),
    [Pid ! go || Pid <- All],
    hear(passed, Size),
    tasks(K, N, Ran + Size).

hear(_, 0) -> ok;
hear(Word, Left) ->
    receive Word -> hear(Word, Left - 1) end.

%% k are armed at a time: the oldest is cancelled, and a new one armed.
timers(K, N) ->
    Cancelled = timers(K, N, 0, queue:new(), 0),
    {Cancelled, Cancelled, Cancelled}.

timers(_, N, N, Armed, Cancelled) -> lists:foldl(fun cancel/2, Cancelled, queue:to_list(Armed));
timers(K, N, I, Armed, Cancelled) when I >= K ->
    {{value, Oldest}, Rest} = queue:out(Armed),
    timers(K, N, I + 1, queue:in(arm(I), Rest), cancel(Oldest, Cancelled));
timers(K, N, I, Armed, Cancelled) ->
    timers(K, N, I + 1, queue:in(arm(I), Armed), Cancelled).

arm(I) -> erlang:start_timer(10000 + I * 7919 rem 60000, self(), fired).

cancel(Timer, Cancelled) ->
    case erlang:cancel_timer(Timer) of
        false -> throw({bug, "a timer of 10 s fired"});
        _ -> Cancelled + 1
    end.
