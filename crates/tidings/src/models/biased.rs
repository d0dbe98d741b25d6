//! `primitive/biased.rs`: the owner's plain stores against another thread's revocation.

use std::sync::Arc;

use super::{explore, fork, seen};
use crate::primitive::Biased;

/// # Safety
/// The caller is the one owner.
unsafe fn enter(shared: &Biased<Vec<u8>>, what: u8) {
    // SAFETY: the caller's promise.
    unsafe { shared.enter(|list| list.push(what)) };
}

#[test]
fn an_owner_and_a_revoker_exclude_each_other() {
    const OUTCOMES: &[&str] = &[
        "the owner first",
        "the revoker first",
        "in between",
        "the owner steps back",
    ];
    explore("biased", OUTCOMES, || {
        let shared = Arc::new(Biased::new(Vec::new()));
        let owner = Arc::clone(&shared);
        let owner = fork(move || {
            // SAFETY: this thread is the one owner.
            unsafe { enter(&owner, b'o') };
            // SAFETY: as above.
            unsafe { enter(&owner, b'o') };
        });
        match shared.revoke(|list| {
            list.push(b'r');
            list.len()
        }) {
            1 => seen("the revoker first"),
            2 => seen("in between"),
            _ => seen("the owner first"),
        }
        owner.join().unwrap();
        assert_eq!(
            shared.revoke(|list| list.len()),
            3,
            "each sees what all others did"
        );
    });
}

#[test]
fn two_revokers_and_an_owner_exclude_each_other() {
    explore(
        "biased/two",
        &["the owner first", "the owner steps back"],
        || {
            let shared = Arc::new(Biased::new(Vec::new()));
            let other = Arc::clone(&shared);
            let other = fork(move || other.revoke(|list| list.push(b'1')));
            let another = Arc::clone(&shared);
            let another = fork(move || {
                another.revoke(|list| {
                    if list.first() == Some(&b'o') {
                        seen("the owner first");
                    }
                    list.push(b'2');
                });
            });
            // SAFETY: this thread is the one owner.
            unsafe { enter(&shared, b'o') };
            other.join().unwrap();
            another.join().unwrap();
            assert_eq!(shared.revoke(|list| list.len()), 3);
        },
    );
}
