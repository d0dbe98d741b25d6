%% net/paced: requests on a fixed schedule, request k by client k mod N. Every client waits for its
%% own: by a timer set to an absolute time, whose steps are of a millisecond.
-module(arena_paced).

-export([run/3, share/2]).

-record(share, {next, step, requests, rate, start}).

-define(SECOND, 1000000000).
-define(MILLISECOND, 1000000).

%% The time, the counts and both histograms.
run(Clients, Rate, Secs) ->
    N = length(Clients),
    Requests = Rate * Secs,
    Start = now_ns(),
    Share = #share{step = N, requests = Requests, rate = Rate, start = Start},
    _ = [Client ! {paced, self(), Share#share{next = K}} || {K, Client} <- lists:zip(lists:seq(0, N - 1), Clients)],
    Done = [receive {paced, _, _, _, _} = One -> One end || _ <- Clients],
    Seen = lists:append([Latencies || {paced, _, _, _, Latencies} <- Done]),
    Counts = lists:foldl(fun({paced, Answered, Sum, _, _}, Total) -> arena_cell:add(Total, {2 * Answered, 2, Sum}) end,
                         {0, 0, 0}, Done),
    End = lists:max([Last || {paced, _, _, Last, _} <- Done]),
    {End - Start, Counts, histogram([Due || {Due, _} <- Seen]), histogram([Service || {_, Service} <- Seen])}.

%% What one client does of it, and what it tells the driver then.
share(Echo, Share) -> share(Echo, Share, 0, 0, Share#share.start, []).

share(Echo, #share{next = K, requests = Requests} = Share, Answered, Sum, _, Seen) when K < Requests ->
    Due = Share#share.start + K * ?SECOND div Share#share.rate,
    wait_until(Due),
    Sent = now_ns(),
    Answer = Echo(K),
    Now = now_ns(),
    Next = Share#share{next = K + Share#share.step},
    share(Echo, Next, Answered + 1, Sum + Answer, Now, [{Now - Due, Now - Sent} | Seen]);
share(_, _, Answered, Sum, Last, Seen) ->
    {paced, Answered, Sum, Last, Seen}.

wait_until(Due) ->
    case now_ns() >= Due of
        true -> ok;
        false ->
            Timer = erlang:start_timer(whole_ms(Due), self(), due, [{abs, true}]),
            receive {timeout, Timer, due} -> ok end
    end.

%% Rounded up, also where monotonic time is below 0.
whole_ms(Ns) when Ns rem ?MILLISECOND > 0 -> Ns div ?MILLISECOND + 1;
whole_ms(Ns) -> Ns div ?MILLISECOND.

now_ns() -> erlang:monotonic_time(nanosecond).

%% 32 buckets for each power of two from 64 on; pairs of bucket and count, in rising order.
histogram(Values) ->
    Counts = lists:foldl(fun(Value, Map) -> maps:update_with(bucket(Value), fun(C) -> C + 1 end, 1, Map) end, #{}, Values),
    [[Bucket, Count] || {Bucket, Count} <- lists:sort(maps:to_list(Counts))].

bucket(Value) ->
    E = highest_bit(Value bor 63, 0),
    (E - 5) * 32 + (Value bsr (E - 5)).

highest_bit(1, Bit) -> Bit;
highest_bit(Value, Bit) -> highest_bit(Value bsr 1, Bit + 1).
