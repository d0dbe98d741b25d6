%% skynet: a tree with S leaves, ten children a node. Every node is a process with its own mailbox.
-module(arena_skynet).

-export([cells/0]).

-define(CHILDREN, 10).

cells() ->
    [{<<"skynet/tree">>, cell(fun tree/2)},
     {<<"skynet/alive">>, cell(fun alive/2)},
     {<<"skynet/floor">>, fun recursion/1}].

%% An untimed pass counts the processes; in the timed ones nobody counts.
cell(Scenario) ->
    fun(Args) ->
        Leaves = leaves(Args),
        Born = counters:new(1, [write_concurrency]),
        _ = Scenario(Leaves, fun() -> counters:add(Born, 1, 1) end),
        Nodes = counters:get(Born, 1),
        arena_cell:repeat(fun() -> {Nodes, Nodes, Scenario(Leaves, none)} end)
    end.

leaves(Args) ->
    [Leaves] = arena_cell:sizes([{<<"S">>, 1000000}], Args),
    case is_power(Leaves) of
        true -> Leaves;
        false -> throw({limit, "S must be a power of 10"})
    end.

is_power(1) -> true;
is_power(N) -> N rem ?CHILDREN =:= 0 andalso is_power(N div ?CHILDREN).

born(none) -> ok;
born(Count) -> Count().

tree(Leaves, Born) ->
    Driver = self(),
    spawn(fun() -> node(Driver, 0, Leaves, Born) end),
    receive
        Sum -> Sum
    end.

node(Parent, Number, 1, Born) ->
    born(Born),
    Parent ! Number;
node(Parent, Number, Size, Born) ->
    born(Born),
    children(?CHILDREN, self(), Number, Size div ?CHILDREN, Born),
    Parent ! sum(?CHILDREN, 0).

children(0, _, _, _, _) -> ok;
children(Left, Self, Number, Size, Born) ->
    spawn(fun() -> node(Self, Number, Size, Born) end),
    children(Left - 1, Self, Number + Size, Size, Born).

sum(0, Sum) -> Sum;
sum(Left, Sum) ->
    receive
        Number -> sum(Left - 1, Sum + Number)
    end.

%% alive: a leaf answers only when all leaves exist. They wait for word from one process, which is
%% no unit of the tree.
alive(Leaves, Born) ->
    Driver = self(),
    Barrier = spawn_opt(fun() -> barrier(Leaves, []) end, [{message_queue_data, off_heap}]),
    spawn(fun() -> living(Driver, 0, Leaves, Barrier, Born) end),
    receive
        Sum -> Sum
    end.

barrier(0, Waiting) -> lists:foreach(fun(Leaf) -> Leaf ! go end, Waiting);
barrier(Missing, Waiting) ->
    receive
        {here, Leaf} -> barrier(Missing - 1, [Leaf | Waiting])
    end.

living(Parent, Number, 1, Barrier, Born) ->
    born(Born),
    Barrier ! {here, self()},
    receive
        go -> Parent ! Number
    end;
living(Parent, Number, Size, Barrier, Born) ->
    born(Born),
    living_children(?CHILDREN, self(), Number, Size div ?CHILDREN, Barrier, Born),
    Parent ! sum(?CHILDREN, 0).

living_children(0, _, _, _, _, _) -> ok;
living_children(Left, Self, Number, Size, Barrier, Born) ->
    spawn(fun() -> living(Self, Number, Size, Barrier, Born) end),
    living_children(Left - 1, Self, Number + Size, Size, Barrier, Born).

%% floor: recursion, no processes.
recursion(Args) ->
    Leaves = leaves(Args),
    Nodes = (?CHILDREN * Leaves - 1) div (?CHILDREN - 1),
    arena_cell:repeat(fun() -> {Nodes, 0, plain(0, Leaves)} end).

plain(Number, 1) -> Number;
plain(Number, Size) -> plain_children(?CHILDREN, Number, Size div ?CHILDREN, 0).

plain_children(0, _, _, Sum) -> Sum;
plain_children(Left, Number, Part, Sum) ->
    plain_children(Left - 1, Number + Part, Part, Sum + plain(Number, Part)).
