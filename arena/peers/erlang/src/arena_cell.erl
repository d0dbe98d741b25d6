%% What a cell is: its sizes are checked and everything that is not timed is made in prep, which
%% gives a function from `inner` to the time and the counts of that many repetitions. Cells over a
%% connection give a map with it, since they have more to tell, and something to close.
-module(arena_cell).

-export([all/0, names/0, prepare/2, sizes/2, timed/1, repeat/1, room/1, collect/1, wrong/1, add/2]).
-export_type([cell/0, sample/0, prepared/0, counts/0, args/0]).

-type counts() :: {Msgs :: integer(), Units :: integer(), Check :: integer()}.
-type args() :: #{binary() => integer() | binary()}.
-type sample() :: fun((Inner :: pos_integer()) -> {Ns :: integer(), counts()}).
-type paced() :: fun((Rate :: pos_integer(), Secs :: pos_integer()) -> {Ns :: integer(), counts(), list(), list()}).
-type prepared() :: #{sample := sample(), close := fun(() -> ok), fields := [{atom(), term()}], paced => paced()}.
-type cell() :: fun((args()) -> sample()).

%% Those without a connection.
-spec all() -> [{binary(), cell()}].
all() ->
    lists:append([M:cells() || M <- [arena_pingpong, arena_chain, arena_fan, arena_counter,
                                     arena_skynet, arena_spawn, arena_growth,
                                     arena_quality, arena_net]]).

-spec names() -> [binary()].
names() -> [Name || {Name, _} <- all() ++ arena_link:cells()].

-spec prepare(binary(), args()) -> prepared().
prepare(Name, Args) ->
    case lists:keyfind(Name, 1, all() ++ arena_link:cells()) of
        false -> throw({unsupported, ["no cell ", io_lib:format("~tp", [Name])]});
        {Name, Cell} -> whole(Cell(Args))
    end.

whole(Sample) when is_function(Sample) -> #{sample => Sample, close => fun() -> ok end, fields => []};
whole(Prepared) -> Prepared.

%% The values of some sizes, in order; one that is missing, below 1 or above its bound is a limit.
-spec sizes([{binary(), pos_integer()}], args()) -> [pos_integer()].
sizes(Bounds, Args) -> [size(Key, Max, Args) || {Key, Max} <- Bounds].

size(Key, Max, Args) ->
    case Args of
        #{Key := V} when is_integer(V), V >= 1, V =< Max -> V;
        #{Key := V} -> throw({limit, io_lib:format("~ts=~p: this peer takes 1 to ~b", [Key, V, Max])});
        #{} -> throw({limit, io_lib:format("~ts was not sent", [Key])})
    end.

%% Options of a process whose queue grows to so many messages: a heap that holds them from the start,
%% or, where that would be megabytes, a queue outside the heap, which no collection copies.
-spec room(pos_integer()) -> [{atom(), term()}].
room(Messages) when Messages =< 10000 -> [{min_heap_size, 32 * Messages}];
room(_) -> [{message_queue_data, off_heap}].

%% A scenario that has no part outside the timed region.
-spec repeat(fun(() -> counts())) -> sample().
repeat(Scenario) ->
    fun(Inner) -> timed(fun() -> times(Inner, Scenario, {0, 0, 0}) end) end.

-spec timed(fun(() -> A)) -> {Ns :: integer(), A}.
timed(Fun) ->
    Start = erlang:monotonic_time(),
    Result = Fun(),
    End = erlang:monotonic_time(),
    {erlang:convert_time_unit(End - Start, native, nanosecond), Result}.

times(0, _, Total) -> Total;
times(Left, Scenario, Total) -> times(Left - 1, Scenario, add(Total, Scenario())).

-spec add(counts(), counts()) -> counts().
add({M1, U1, C1}, {M2, U2, C2}) -> {M1 + M2, U1 + U2, C1 + C2}.

%% Waits for the `{done, Sent, Sum}` of as many processes; each of them is a unit.
-spec collect(non_neg_integer()) -> counts().
collect(Processes) -> collect(Processes, {0, 0, 0}).

collect(0, Total) -> Total;
collect(Left, Total) ->
    receive
        {done, Sent, Sum} -> collect(Left - 1, add(Total, {Sent, 1, Sum}));
        {wrong, _, _} = Wrong -> wrong(Wrong)
    end.

-spec wrong({wrong, term(), term()}) -> no_return().
wrong({wrong, Asked, Answer}) ->
    throw({bug, io_lib:format("asked ~p, the answer is ~p", [Asked, Answer])}).
