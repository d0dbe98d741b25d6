%% As much JSON as the answers of a peer need. Lists are arrays, `{text, IoData}` is a string.
-module(arena_json).

-export([line/1]).

-type value() :: integer() | atom() | {text, unicode:chardata()} | [value()].

-spec line([{atom(), value()}]) -> iodata().
line(Fields) ->
    Members = [[string(atom_to_binary(Key)), $:, value(Value)] || {Key, Value} <- [{arena, 1} | Fields]],
    [${, lists:join($,, Members), "}\n"].

value(N) when is_integer(N) -> integer_to_binary(N);
value(Name) when is_atom(Name) -> string(atom_to_binary(Name));
value({text, Text}) -> string(unicode:characters_to_binary(Text));
value(List) when is_list(List) -> [$[, lists:join($,, [value(Item) || Item <- List]), $]].

string(Text) -> [$", [escape(Char) || <<Char/utf8>> <= Text], $"].

escape($") -> "\\\"";
escape($\\) -> "\\\\";
escape(Char) when Char < 32 -> io_lib:format("\\u~4.16.0b", [Char]);
escape(Char) -> <<Char/utf8>>.
