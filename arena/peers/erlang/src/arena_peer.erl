%% The peer protocol: words in, one line of JSON out. Standard input and output belong to this
%% process alone; a sample runs in a process of its own, so that it starts with an empty heap.
-module(arena_peer).

-export([start/0, answer/2]).

-define(SYSTEM, "erlang").

start() -> spawn(fun main/0).

main() ->
    %% Reports of the logger must not get into standard output.
    _ = logger:remove_handler(default),
    ok = logger:add_handler(default, logger_std_h, #{config => #{type => standard_error}}),
    ok = io:setopts([binary, {encoding, unicode}]),
    case pairs(init:get_plain_arguments(), #{}) of
        #{"--arena" := "1", "--system" := ?SYSTEM} ->
            put_line(hello()),
            serve(none);
        _ ->
            io:put_chars(standard_error, "this peer speaks to the arena: --arena 1 --system erlang\n"),
            erlang:halt(2)
    end.

pairs([Key, Value | Rest], Map) -> pairs(Rest, Map#{Key => Value});
pairs(_, Map) -> Map.

serve(Current) ->
    case io:get_line("") of
        Line when is_binary(Line) ->
            case answer(Line, Current) of
                quit -> erlang:halt(0);
                {Reply, Next} -> put_line(Reply), serve(Next)
            end;
        _ -> erlang:halt(0)
    end.

put_line(Line) -> ok = io:put_chars(Line).

%% The answer to one command and what is prepared after it.
-spec answer(binary(), Current) -> quit | {iodata(), Current} when Current :: none | arena_cell:prepared().
answer(Line, Current) ->
    [Command | Words] = binary:split(string:trim(Line), <<" ">>, [global]),
    Args = maps:from_list([word(Word) || Word <- Words]),
    Id = case Args of #{<<"id">> := N} when is_integer(N), N >= 0 -> N; #{} -> 0 end,
    try command(Command, Args, Current) of
        quit -> quit;
        {Kind, Fields, Next} -> {arena_json:line([{t, Kind}, {id, Id} | Fields]), Next}
    catch
        throw:{Kind, Text} -> {arena_json:line([{t, err}, {id, Id}, {kind, Kind}, {msg, {text, Text}}]), kept(Command, Current)}
    end.

kept(<<"prep">>, _) -> none;
kept(_, Current) -> Current.

%% key=value; a value that is a number of 64 bits becomes one.
word(Word) ->
    case binary:split(Word, <<"=">>) of
        [Key, Value] -> {Key, number(Value)};
        [Key] -> {Key, true}
    end.

number(Value) ->
    try binary_to_integer(Value) of
        N when N < 1 bsl 63, N >= -(1 bsl 63) -> N;
        _ -> Value
    catch
        error:badarg -> Value
    end.

command(<<"prep">>, Args, Current) ->
    close(Current),
    threads(maps:get(<<"threads">>, Args, none)),
    Prepared = apart(fun() -> arena_cell:prepare(maps:get(<<"cell">>, Args, <<>>), Args) end),
    {ok, maps:get(fields, Prepared), Prepared};
command(<<"run">>, _, none) -> throw({bug, "run without prep"});
command(<<"run">>, #{<<"hist">> := 1} = Args, #{paced := Paced} = Current) ->
    [Rate, Secs] = arena_cell:sizes([{<<"rate">>, 100000000}, {<<"secs">>, 10000}], Args),
    {{Ns, Counts, Due, Service}, Gcs} = counting_gcs(fun() -> Paced(Rate, Secs) end),
    {sample, counted(Ns, 1, Counts, Gcs) ++ [{hist, Due}, {hist_service, Service}], Current};
command(<<"run">>, #{<<"hist">> := 1}, _) -> throw({unsupported, "this cell has no schedule"});
command(<<"run">>, Args, #{sample := Sample} = Current) ->
    [Inner] = arena_cell:sizes([{<<"inner">>, 1 bsl 30}], maps:merge(#{<<"inner">> => 1}, Args)),
    {{Ns, Counts}, Gcs} = counting_gcs(fun() -> Sample(Inner) end),
    {sample, counted(Ns, Inner, Counts, Gcs), Current};
command(<<"drop">>, _, Current) ->
    close(Current),
    lists:foreach(fun erlang:garbage_collect/1, erlang:processes()),
    {ok, [], none};
command(<<"ping">>, _, Current) -> {ok, [], Current};
command(<<"quit">>, _, _) -> quit;
command(Other, _, _) -> throw({unsupported, ["unknown command ", io_lib:format("~tp", [Other])]}).

close(none) -> ok;
close(#{close := Close}) -> Close().

counting_gcs(Fun) ->
    {Before, _, _} = statistics(garbage_collection),
    Result = apart(Fun),
    {After, _, _} = statistics(garbage_collection),
    {Result, After - Before}.

counted(Ns, Inner, {Msgs, Units, Check}, Gcs) ->
    [{ns, Ns}, {inner, Inner}, {msgs, Msgs}, {units, Units}, {check, Check}, {gc, [Gcs]}].

threads(none) -> ok;
threads(T) ->
    case erlang:system_info(schedulers) of
        Most when is_integer(T), T >= 1, T =< Most ->
            _ = erlang:system_flag(schedulers_online, T),
            ok;
        Most -> throw({limit, io_lib:format("threads=~p: started with ~b schedulers", [T, Most])})
    end.

%% Runs a function in a process of its own and says what became of it.
apart(Fun) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit(outcome(Fun)) end),
    receive
        {'DOWN', Ref, process, Pid, {value, Value}} -> Value;
        {'DOWN', Ref, process, Pid, {failed, Kind, Text}} -> throw({Kind, Text});
        {'DOWN', Ref, process, Pid, {bug, Text}} -> throw({bug, Text});
        {'DOWN', Ref, process, Pid, Reason} -> throw({bug, io_lib:format("~0tp", [Reason])})
    end.

outcome(Fun) ->
    try
        {value, Fun()}
    catch
        throw:{Kind, Text} -> {failed, Kind, Text};
        error:system_limit -> {failed, limit, "system_limit: no room for another process (+P)"};
        Class:Reason:Stack -> {failed, bug, io_lib:format("~0tp", [{Class, Reason, Stack}])}
    end.

hello() ->
    Info = fun erlang:system_info/1,
    Runtime = [otp_version(), Info(version), Info(emu_flavor), Info(system_architecture)],
    Cells = lists:sort([{text, Name} || Name <- arena_cell:names()]),
    arena_json:line([{t, hello}, {system, {text, ?SYSTEM}}, {peer, erlang}, {version, {text, otp_version()}},
            {runtime, {text, io_lib:format("Erlang/OTP ~ts, erts ~ts (~p), ~ts", Runtime)}},
            {flags, {text, flags()}}, {threads, Info(schedulers_online)}, {pid, list_to_integer(os:getpid())},
            {clock_ns, clock_step(1000, 1 bsl 30)}, {caps, [gc, hist]}, {cells, Cells}]).

otp_version() ->
    Release = erlang:system_info(otp_release),
    case file:read_file(filename:join([code:root_dir(), "releases", Release, "OTP_VERSION"])) of
        {ok, Exact} -> string:trim(Exact);
        {error, _} -> Release
    end.

flags() ->
    Set = [[Name, "=", Value] || Name <- ["ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS"],
                                 Value <- [os:getenv(Name, "")], Value =/= ""],
    lists:join(" ", Set).

%% The smallest step of the clock that was seen.
clock_step(0, Least) -> Least;
clock_step(Left, Least) ->
    Start = erlang:monotonic_time(nanosecond),
    clock_step(Left - 1, min(Least, next_tick(Start) - Start)).

next_tick(Start) ->
    case erlang:monotonic_time(nanosecond) of
        Start -> next_tick(Start);
        Later -> Later
    end.
