%% spawn: n processes, each adds one.
-module(arena_spawn).

-export([cells/0]).

cells() ->
    [{<<"spawn/detached">>, cell(2000000, fun detached/1)}, {<<"spawn/joined">>, cell(1 bsl 31, fun joined/1)}].

cell(Most, Scenario) ->
    fun(Args) ->
        [N] = arena_cell:sizes([{<<"n">>, Most}], Args),
        arena_cell:repeat(fun() -> Scenario(N) end)
    end.

%% Nobody joins; the process that brings the counter to n says so.
detached(N) ->
    Driver = self(),
    Counter = atomics:new(1, []),
    Task = fun() ->
        case atomics:add_get(Counter, 1, 1) of
            N -> Driver ! {all, N};
            _ -> ok
        end
    end,
    spawn(fun() -> start(N, Task) end),
    receive
        {all, Ran} -> {Ran, Ran, Ran}
    end.

start(0, _) -> ok;
start(Left, Task) ->
    spawn(Task),
    start(Left - 1, Task).

%% Start one, await its result, n times.
joined(N) -> joined(N, self(), 0, 0).

joined(N, _, N, Sum) -> {Sum, N, Sum};
joined(N, Self, Started, Sum) ->
    Task = spawn(fun() -> Self ! {self(), 1} end),
    receive
        {Task, Result} -> joined(N, Self, Started + 1, Sum + Result)
    end.
