//! What a link hangs into a reply cell (`remote/`): it holds one half of many cells, and does not wait
//! on each of them. Without the feature `remote` it is nothing, and costs nothing.

#[cfg(feature = "remote")]
pub(super) use with_links::Bell;
#[cfg(feature = "remote")]
pub use with_links::Door;
#[cfg(feature = "remote")]
pub(crate) use with_links::Rings;
#[cfg(not(feature = "remote"))]
pub(super) use without::Bell;

#[cfg(feature = "remote")]
mod with_links {
    use std::fmt;

    use crate::primitive::Arc;

    /// Who holds one half of many cells.
    pub trait Door: Send + Sync {
        /// The other half of the cell that is known by `key` has gone. It may have been for long: the
        /// key may stand for another cell by now. Runs where that half was used or dropped: it must
        /// not block.
        fn gone(&self, key: u32);
    }

    /// What is rung when one half goes.
    pub(crate) struct Rings {
        door: Arc<dyn Door>,
        key: u32,
        /// By the sender's end, else by the receiver's.
        by_sender: bool,
    }

    impl Rings {
        #[inline]
        pub(crate) fn new(door: Arc<dyn Door>, key: u32, by_sender: bool) -> Self {
            Self {
                door,
                key,
                by_sender,
            }
        }

        #[cold]
        pub(crate) fn ring(&self) {
            self.door.gone(self.key);
        }
    }

    impl fmt::Debug for Rings {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "Rings({})", self.key)
        }
    }

    /// In a cell, under its lock.
    #[derive(Debug)]
    pub(crate) struct Bell {
        hung: Option<Rings>,
        rare: Option<Box<Rare>>,
    }

    /// What few cells have.
    #[derive(Debug, Default)]
    struct Rare {
        /// The one of the other half, where links hold both: a call that came over one link and goes on
        /// over another.
        other: Option<Rings>,
        /// There is a second sender: the first that ends does nothing.
        twin: bool,
    }

    impl Bell {
        pub(crate) const fn new() -> Self {
            Self {
                hung: None,
                rare: None,
            }
        }

        #[inline]
        pub(crate) fn hang(&mut self, rings: Rings) {
            match &self.hung {
                Some(hung) if hung.by_sender != rings.by_sender => {
                    self.rare.get_or_insert_default().other = Some(rings);
                }
                _ => self.hung = Some(rings),
            }
        }

        /// There is a second sender from here on. `true`: there was one.
        pub(crate) fn set_twin(&mut self) -> bool {
            std::mem::replace(&mut self.rare.get_or_insert_default().twin, true)
        }

        /// A sender ends. `true`: the other one stays.
        #[inline(always)]
        pub(crate) fn take_twin(&mut self) -> bool {
            let rare = self.rare.as_mut();
            rare.is_some_and(|rare| std::mem::take(&mut rare.twin))
        }

        /// May something hang there?
        #[inline(always)]
        pub(crate) fn is_hung(&self) -> bool {
            self.hung.is_some() || self.rare.is_some()
        }

        /// What this half rings as it goes. Few have something: not in place, and for all others `is_hung`.
        #[cold]
        #[inline(never)]
        pub(crate) fn take(&mut self, by_sender: bool) -> Option<Rings> {
            let of_this_half = |rings: &mut Rings| rings.by_sender == by_sender;
            let hung = self.hung.take_if(of_this_half);
            if hung.is_some() {
                return hung;
            }
            self.rare.as_mut()?.other.take_if(of_this_half)
        }
    }
}

#[cfg(not(feature = "remote"))]
mod without {
    #[derive(Debug)]
    pub(crate) struct Bell;

    /// Nothing rings.
    pub(crate) enum Rings {}

    impl Rings {
        pub(crate) fn ring(&self) {
            match *self {}
        }
    }

    impl Bell {
        pub(crate) const fn new() -> Self {
            Self
        }

        #[inline(always)]
        pub(crate) fn take_twin(&mut self) -> bool {
            false
        }

        #[inline(always)]
        pub(crate) fn is_hung(&self) -> bool {
            false
        }

        #[inline(always)]
        pub(crate) fn take(&mut self, _: bool) -> Option<Rings> {
            None
        }
    }
}

#[cfg(all(test, feature = "remote", not(any(loom, shuttle))))]
mod tests {
    use std::sync::Mutex;

    use super::{Bell, Door, Rings};
    use crate::primitive::Arc;

    /// The keys that have gone.
    #[derive(Default)]
    struct Gone(Mutex<Vec<u32>>);

    impl Door for Gone {
        fn gone(&self, key: u32) {
            self.0.lock().unwrap().push(key);
        }
    }

    #[test]
    fn each_half_rings_its_own_once_whichever_was_hung_first() {
        for first in [true, false] {
            let gone = Arc::new(Gone::default());
            let mut bell = Bell::new();
            assert!(bell.take(first).is_none());
            for by_sender in [first, !first] {
                let rings = Rings::new(gone.clone(), u32::from(by_sender), by_sender);
                bell.hang(rings);
            }
            for by_sender in [true, false] {
                bell.take(by_sender).expect("it was hung").ring();
                assert!(bell.take(by_sender).is_none());
            }
            assert_eq!(*gone.0.lock().unwrap(), [1, 0]);
        }
    }

    #[test]
    fn what_is_hung_again_takes_the_place_of_what_that_half_had() {
        let gone = Arc::new(Gone::default());
        let mut bell = Bell::new();
        for key in [1, 2] {
            bell.hang(Rings::new(gone.clone(), key, true));
        }
        bell.take(true).expect("it was hung").ring();
        assert!(bell.take(true).is_none());
        assert_eq!(*gone.0.lock().unwrap(), [2]);
    }

    #[test]
    fn of_two_senders_the_first_that_ends_learns_that_the_other_stays() {
        let mut bell = Bell::new();
        assert!(!bell.take_twin());
        assert!(!bell.set_twin());
        assert!(bell.set_twin(), "there was one");
        assert!(bell.take_twin());
        assert!(!bell.take_twin());
    }
}
