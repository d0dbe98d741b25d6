//! Requests of the peer's that are put aside, undecoded. What it says behind them is handled before
//! them, and must not change what they mean: an actor that one of them carries home is not forgotten, the
//! end of one whose reference it brings is still known, and a reply whose caller has gone is given up.

use std::collections::HashMap;

use tidings::remote::Carried;

use crate::hub::Hub;

/// How much all that are put aside may carry: 32 MiB. So many references wait nowhere but where a peer
/// means to fill memory, since a message costs no more credit for them.
const MOST: usize = 1 << 20;

/// What is carried, and may be spoken of behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    /// An actor of ours, by our number.
    Yours(u32),
    /// One of the peer's, by its number.
    Mine(u32),
    /// A call of the peer's.
    Reply(u32),
}

/// What all of them carry.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// How often; and whether the peer has said the last of it since.
    things: HashMap<Thing, (u32, bool)>,
    carried: usize,
}

/// What one of them carries.
pub(crate) struct Taken {
    things: Vec<Thing>,
    carried: usize,
}

impl Taken {
    pub(crate) fn of(carried: &[Carried]) -> Self {
        let thing = |carried: &Carried| match *carried {
            Carried::Yours(target) => Some(Thing::Yours(target)),
            Carried::Mine(target) => Some(Thing::Mine(target)),
            Carried::Reply(call, _) => Some(Thing::Reply(call)),
            Carried::Gone | Carried::Trace(_) => None,
        };
        Self {
            things: carried.iter().filter_map(thing).collect(),
            carried: carried.len(),
        }
    }
}

impl Aside {
    /// One is put aside. `false`: they carry too much.
    pub(crate) fn put(&mut self, carried: &[Carried]) -> bool {
        let taken = Taken::of(carried);
        for thing in taken.things {
            self.add(thing);
        }
        self.carried += taken.carried;
        self.carried <= MOST
    }

    /// One that is put aside is for it, or carries it.
    pub(crate) fn add(&mut self, thing: Thing) {
        self.things.entry(thing).or_default().0 += 1;
    }

    pub(crate) fn carries(&self, thing: Thing) -> bool {
        self.things.contains_key(&thing)
    }

    /// The peer has said the last of it. `false`: none of them carries it.
    pub(crate) fn last(&mut self, thing: Thing) -> bool {
        let known = self.things.get_mut(&thing);
        known.map(|(_, last)| *last = true).is_some()
    }

    /// One of those that carry it is aside no more. Has the peer said the last of it? `None`: there are others.
    fn less(&mut self, thing: Thing) -> Option<bool> {
        let (times, last) = self.things.get_mut(&thing)?;
        *times -= 1;
        let gone = (*times == 0).then_some(*last);
        if gone.is_some() {
            self.things.remove(&thing);
        }
        gone
    }
}

impl Hub {
    /// A request that was put aside has been decoded, or is at another place: what was said of what it
    /// carries is done, unless another carries that, too.
    pub(crate) fn decoded(&mut self, taken: Taken) {
        self.aside.carried -= taken.carried;
        for thing in taken.things {
            self.aside_no_more(thing);
        }
    }

    /// One request less that was put aside is for it, or carries it.
    pub(crate) fn aside_no_more(&mut self, thing: Thing) {
        match (thing, self.aside.less(thing)) {
            (_, None) => {}
            (Thing::Yours(target), Some(_)) => self.forget(target),
            (Thing::Mine(target), Some(true)) => drop(self.ended.remove(target)),
            (Thing::Reply(call), Some(true)) => self.nacked(call),
            (Thing::Mine(_) | Thing::Reply(_), Some(false)) => {}
        }
    }
}
