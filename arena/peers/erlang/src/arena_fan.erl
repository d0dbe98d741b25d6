%% fan: a parent sends N Pings at once, its child answers each. Terms are dynamically typed, so
%% `obj` and `struct` are the same program. All N messages may wait at once (arena_cell:room).
-module(arena_fan).

-export([cells/0]).

cells() -> [{<<"fan/struct">>, fun fan/1}, {<<"fan/obj">>, fun fan/1}].

fan(Args) ->
    [N] = arena_cell:sizes([{<<"N">>, 20000000}], Args),
    arena_cell:repeat(fun() ->
        Driver = self(),
        Parent = spawn_opt(fun() -> parent(Driver, N, 0, 0) end, arena_cell:room(N)),
        Parent ! start,
        arena_cell:collect(2)
    end).

%% Both count the messages they take.
parent(Driver, N, Taken, Sum) ->
    receive
        {pong, Index} when Index =:= N - 1 ->
            self() ! stop,
            parent(Driver, N, Taken + 1, Sum + Index);
        {pong, Index} ->
            parent(Driver, N, Taken + 1, Sum + Index);
        start ->
            Self = self(),
            Child = spawn_opt(fun() -> child(Driver, Self, N, 0) end, arena_cell:room(N)),
            pings(Child, 0, N),
            parent(Driver, N, Taken + 1, Sum);
        stop ->
            Driver ! {done, Taken + 1, Sum}
    end.

pings(_, N, N) -> ok;
pings(Child, Index, N) ->
    Child ! {ping, Index},
    pings(Child, Index + 1, N).

child(Driver, Parent, N, Taken) ->
    receive
        {ping, Index} ->
            Parent ! {pong, Index},
            _ = Index =:= N - 1 andalso (self() ! stop),
            child(Driver, Parent, N, Taken + 1);
        stop ->
            Driver ! {done, Taken + 1, 0}
    end.
