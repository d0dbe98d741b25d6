%% counter: P producers send n additions each to one process. Its queue waits outside its heap
%% (off_heap). Erlang orders messages only between two processes, and such a queue does let a
%% question overtake another sender's additions; so a producer that has sent all makes one round
%% trip to the counter before it says that it has ended.
-module(arena_counter).

-export([cells/0]).

-define(STEP, 100).

cells() -> [{<<"counter/send">>, cell(fun send/3)}, {<<"counter/ask-each">>, cell(fun ask_each/3)}].

cell(Scenario) ->
    fun(Args) ->
        [P, N] = arena_cell:sizes([{<<"P">>, 1000000}, {<<"n">>, 1 bsl 31}], Args),
        %% By a look-up, or the compiler would send one literal over and over.
        Step = maps:get(step, Args, ?STEP),
        arena_cell:repeat(fun() -> Scenario(P, N, Step) end)
    end.

%% One question after all producers have ended.
send(P, N, Step) ->
    Counter = start(),
    {Sent, Units, 0} = produce(P, fun() -> {additions(Counter, N, Step, 0), synced(Counter)} end),
    Sum = ask(Counter, get_and_reset),
    Counter ! stop,
    {Sent, Units + 1, Sum}.

%% Every producer asks for itself, the answers are added.
ask_each(P, N, Step) ->
    Counter = start(),
    Producer = fun() -> {additions(Counter, N, Step, 0), ask(Counter, get_and_reset)} end,
    {Sent, Units, Sum} = produce(P, Producer),
    Counter ! stop,
    {Sent, Units + 1, Sum}.

produce(P, Producer) ->
    Driver = self(),
    Run = fun() ->
        {Sent, Sum} = Producer(),
        Driver ! {done, Sent, Sum}
    end,
    _ = [spawn(Run) || _ <- lists:seq(1, P)],
    arena_cell:collect(P).

additions(_, N, _, N) -> N;
additions(Counter, N, Step, Sent) ->
    Counter ! {add, Step},
    additions(Counter, N, Step, Sent + 1).

synced(Counter) -> ask(Counter, sync).

ask(Counter, Question) ->
    Ref = make_ref(),
    Counter ! {Question, self(), Ref},
    receive
        {Ref, Answer} -> Answer
    end.

start() -> spawn_opt(fun() -> counter(0) end, [{message_queue_data, off_heap}]).

counter(Sum) ->
    receive
        {add, Step} ->
            counter(Sum + Step);
        {sync, From, Ref} ->
            From ! {Ref, 0},
            counter(Sum);
        {get_and_reset, From, Ref} ->
            From ! {Ref, Sum},
            counter(0);
        stop ->
            ok
    end.
