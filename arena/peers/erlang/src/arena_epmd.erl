%% How a node finds its only partner: by the port that prep was given, not by the daemon epmd. The
%% module that `-epmd_module` names.
-module(arena_epmd).

-export([own_port/0, server_is_at/1]).
-export([start_link/0, register_node/2, register_node/3, listen_port_please/2, address_please/3, names/1]).

-define(DISTRIBUTION_PROTOCOL, 6).

own_port() -> persistent_term:get({?MODULE, own}).

server_is_at(Port) -> persistent_term:put({?MODULE, server}, Port).

%% There is no process to supervise.
start_link() -> ignore.

register_node(Name, Port) -> register_node(Name, Port, inet).

register_node(_, Port, _) ->
    persistent_term:put({?MODULE, own}, Port),
    {ok, rand:uniform(1 bsl 31)}.

%% Any that is free.
listen_port_please(_, _) -> {ok, 0}.

address_please(_, _, _) ->
    {ok, {127, 0, 0, 1}, persistent_term:get({?MODULE, server}), ?DISTRIBUTION_PROTOCOL}.

names(_) -> {error, address}.
