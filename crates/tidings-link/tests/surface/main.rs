//! What the types promise: which of them may move between threads, and what the macros say of
//! interfaces that cannot cross a link, at the user's words.

use std::marker::{PhantomData, PhantomPinned};

use tidings_link::{
    Address, AddressError, Bind, Broken, ConnectError, Connector, Driver, End, Exports, Failure,
    GetError, Grant, Identity, Incoming, Limits, Link, Listener, Options, Peer, Refusal, Server,
    Session, Stats, Tls, TlsError, Unbound, memory,
};

#[test]
fn what_cannot_cross_a_link_is_named_at_its_place() {
    trybuild::TestCases::new().compile_fail("tests/surface/ui/*.rs");
}

/// What a type has that does not have the trait in question.
trait No {
    const IS: bool = false;
}

/// Does a type have a trait? An inherent constant comes before a trait's.
macro_rules! is {
    ($type:ty, $trait:ident) => {{
        #[allow(dead_code, reason = "it stands for the type, and is never made")]
        struct Of<T: ?Sized>(PhantomData<T>);
        impl<T: ?Sized> No for Of<T> {}
        #[allow(dead_code, reason = "not used for a type without the trait")]
        impl<T: ?Sized + $trait> Of<T> {
            const IS: bool = true;
        }
        <Of<$type>>::IS
    }};
}

/// A type's name and whether it is `Send`, `Sync` and `Unpin`.
macro_rules! rows {
    ($($name:literal: $type:ty;)*) => {
        [$(($name, [is!($type, Send), is!($type, Sync), is!($type, Unpin)])),*]
    };
}

/// All types are all three, so that links can be kept where users want: a driver with its stream.
fn all() -> Vec<(&'static str, [bool; 3])> {
    let all = rows! {
        "memory::Pipe": memory::Pipe;
        "Address": Address;
        "AddressError": AddressError;
        "Bind": Bind;
        "Broken": Broken;
        "ConnectError": ConnectError;
        "Connector": Connector;
        "End": End;
        "Exports": Exports;
        "Failure": Failure;
        "GetError": GetError;
        "Grant": Grant;
        "Identity": Identity;
        "Incoming": Incoming<'static>;
        "Limits": Limits;
        "Link": Link;
        "Listener": Listener;
        "Options": Options;
        "Peer": Peer;
        "Refusal": Refusal;
        "Server": Server;
        "Session": Session;
        "Stats": Stats;
        "Tls": Tls;
        "TlsError": TlsError;
        "Unbound": Unbound;
    };
    all.to_vec()
}

type Moves = Driver<memory::Pipe>;

#[test]
fn links_and_all_about_them_move_between_threads_and_are_shared() {
    for (name, found) in all() {
        assert_eq!(found, [true; 3], "{name} is not Send, Sync and Unpin");
    }
    // One future has it: it moves, and is not shared.
    assert_eq!(
        [is!(Moves, Send), is!(Moves, Sync), is!(Moves, Unpin)],
        [true, false, true]
    );
}

#[test]
fn the_probe_tells_traits_apart() {
    assert!(!is!(std::rc::Rc<u8>, Send) && is!(u8, Send));
    assert!(!is!(std::cell::Cell<u8>, Sync) && !is!(PhantomPinned, Unpin));
}

#[test]
fn every_public_type_is_listed() {
    let api = include_str!("../../public-api.txt");
    let types: Vec<&str> = api
        .lines()
        .filter_map(|line| {
            let (_, after) = line
                .split_once("pub struct tidings_link::")
                .or(line.split_once("pub enum tidings_link::"))?;
            after.split(['<', '(', ' ']).next()
        })
        .collect();
    assert!(types.len() > 25, "the snapshot lists {} only", types.len());
    let listed: Vec<&str> = all().iter().map(|row| row.0).collect();
    for name in types {
        assert!(
            name == "Driver" || listed.contains(&name),
            "{name} is not in the list"
        );
    }
}
