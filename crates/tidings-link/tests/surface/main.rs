//! What the types promise: which of them may move between threads. What cannot cross a link does not compile:
//! `crates/tidings-macros/tests/ui/remote`.

use tidings_link::{
    Address, AddressError, Arrivals, Bind, Broken, ConnectError, Connector, Driver, End, Exports,
    Failure, GetError, Grant, Identity, Incoming, Limits, Link, Listener, Options, Peer, Peers,
    Refusal, Request, Server, Session, Stats, Tls, TlsError, Unbound, memory,
};

use probe::{No, Row};

#[macro_use]
#[path = "../../../tidings/tests/surface/probe.rs"]
mod probe;

/// All can be kept where users want.
fn all() -> Vec<Row> {
    let all = plain! {
        "memory::Pipe": memory::Pipe => "SYU";
        "Address": Address => "SYU";
        "AddressError": AddressError => "SYU";
        "Arrivals": Arrivals => "SYU";
        "Bind": Bind => "SYU";
        "Broken": Broken => "SYU";
        "ConnectError": ConnectError => "SYU";
        "Connector": Connector => "SYU";
        "End": End => "SYU";
        "Exports": Exports => "SYU";
        "Failure": Failure => "SYU";
        "GetError": GetError => "SYU";
        "Grant": Grant => "SYU";
        "Identity": Identity => "SYU";
        "Incoming": Incoming<'static> => "SYU";
        "Limits": Limits => "SYU";
        "Link": Link => "SYU";
        "Listener": Listener => "SYU";
        "Options": Options => "SYU";
        "Peer": Peer => "SYU";
        "Peers": Peers => "SYU";
        "Refusal": Refusal => "SYU";
        "Request": Request<'static> => "SYU";
        "Server": Server => "SYU";
        "Session": Session => "SYU";
        "Stats": Stats => "SYU";
        "Tls": Tls => "SYU";
        "TlsError": TlsError => "SYU";
        "Unbound": Unbound => "SYU";
        "Driver": Driver => "SYU";
    };
    all.to_vec()
}

#[test]
fn links_and_all_about_them_move_between_threads_and_are_shared() {
    probe::agree(&all());
}

#[test]
fn every_public_type_is_listed() {
    let api = include_str!("../../public-api.txt");
    probe::are_complete(&all(), api, "tidings_link", 25, &[]);
}
