%% chain: the root makes child 1, child i makes child i+1, a Ping goes down and a Pong back up.
%% Terms are dynamically typed, so `obj` and `struct` are the same program.
-module(arena_chain).

-export([cells/0]).

cells() -> [{<<"chain/struct">>, fun chain/1}, {<<"chain/obj">>, fun chain/1}].

chain(Args) ->
    [Actors] = arena_cell:sizes([{<<"A">>, 1000000}], Args),
    arena_cell:repeat(fun() -> counts(run(Actors)) end).

%% From the depth that came back: one Ping and one Pong for each child that answered, the driver's
%% Ping and the last child's Pong to itself.
counts(Depth) -> {2 * Depth + 2, Depth + 1, Depth}.

run(Actors) ->
    Driver = self(),
    Root = spawn(fun() -> root(Driver, Actors) end),
    Root ! {ping, 0},
    receive
        {done, Depth} -> Depth
    end.

root(Driver, Actors) ->
    receive
        {ping, Number} ->
            child(Actors, Number + 1),
            root(Driver, Actors);
        {pong, Depth} ->
            Driver ! {done, Depth}
    end.

child(Actors, Number) ->
    Parent = self(),
    spawn(fun() -> node(Parent, Actors) end) ! {ping, Number}.

%% A Ping carries the number of its receiver, a Pong the depth below its sender, it included.
node(Parent, Actors) ->
    receive
        {ping, Number} when Number < Actors ->
            child(Actors, Number + 1),
            node(Parent, Actors);
        {ping, _} ->
            self() ! {pong, 0},
            node(Parent, Actors);
        {pong, Depth} ->
            Parent ! {pong, Depth + 1}
    end.
