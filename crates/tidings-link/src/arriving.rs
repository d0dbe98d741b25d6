//! Those who have come to a listener and have no link yet: how many are in their handshakes, all together
//! and from one address. Who connects and says nothing has his share of the places, and no more.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidings::sync::{Permit, Semaphore};

/// Handshakes at a time.
const HANDSHAKES: usize = 64;

/// For each handshake that may be under way from an address so many may have come, that with them.
const WAITING: usize = 4;

pub(crate) struct Arriving {
    places: Semaphore,
    share: usize,
    /// The places of the addresses from which somebody has come. Each who has, has his.
    shares: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

/// Somebody who has come.
pub(crate) struct Arrival<'a> {
    arriving: &'a Arriving,
    from: Option<(IpAddr, Arc<Semaphore>)>,
}

impl Arriving {
    /// With so many places for one address.
    pub(crate) fn new(share: usize) -> Self {
        Self {
            places: Semaphore::new(HANDSHAKES),
            share: share.clamp(1, HANDSHAKES),
            shares: Mutex::default(),
        }
    }

    fn shares(&self) -> MutexGuard<'_, HashMap<IpAddr, Arc<Semaphore>>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a place is free.
    pub(crate) async fn is_free(&self) {
        drop(self.places.acquire(1).await);
    }

    /// Somebody has come from there. `None`: too many have.
    pub(crate) fn comes(&self, from: Option<IpAddr>) -> Option<Arrival<'_>> {
        let from = match from.map(network) {
            None => None,
            Some(from) => {
                let mut shares = self.shares();
                let share = shares.entry(from);
                let share = share.or_insert_with(|| Arc::new(Semaphore::new(self.share)));
                // Besides the table, each who is here has it.
                if Arc::strong_count(share) > self.share * WAITING {
                    return None;
                }
                Some((from, Arc::clone(share)))
            }
        };
        let arriving = self;
        Some(Arrival { arriving, from })
    }
}

impl Arrival<'_> {
    /// A place for its handshake, when there is one: of its address, and of all.
    pub(crate) async fn place(&self) -> (Option<Permit<&Semaphore>>, Option<Permit<&Semaphore>>) {
        let share = match &self.from {
            Some((_, share)) => share.acquire(1).await.ok(),
            None => None,
        };
        (share, self.arriving.places.acquire(1).await.ok())
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let Some((from, share)) = self.from.take() else {
            return;
        };
        let mut shares = self.arriving.shares();
        drop(share);
        if shares
            .get(&from)
            .is_some_and(|share| Arc::strong_count(share) == 1)
        {
            shares.remove(&from);
        }
    }
}

/// Of IPv6, who has one address has 2^64 of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn is_placed(arrival: &Arrival<'_>) -> bool {
        let mut place = pin!(arrival.place());
        let placed = place.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        // It stays there.
        let place = |place: Option<Permit<&Semaphore>>| place.map(Permit::forget);
        placed
            .map(|(share, of_all)| (place(share), place(of_all)))
            .is_ready()
    }

    #[test]
    fn who_has_one_address_has_a_share_of_the_places_and_of_the_room_before_them() {
        let arriving = Arriving::new(16);
        let from = |address: &str| arriving.comes(Some(address.parse().unwrap()));
        let here: Vec<_> = (0..100).filter_map(|_| from("192.0.2.1")).collect();
        assert_eq!(here.len(), 64);
        assert_eq!(here.iter().filter(|arrival| is_placed(arrival)).count(), 16);
        assert!(from("::ffff:192.0.2.1").is_none());
        // Others find places.
        let other = from("192.0.2.2").unwrap();
        assert!(is_placed(&other));
        let network: Vec<_> = (1..100)
            .filter_map(|n| from(&format!("2001:db8::{n:x}:0:0:1")))
            .collect();
        assert_eq!(network.len(), 64);
        assert_eq!(
            network.iter().filter(|arrival| is_placed(arrival)).count(),
            16
        );
        // Who comes from this machine has any.
        let local: Vec<_> = (0..40).filter_map(|_| arriving.comes(None)).collect();
        let placed = local.iter().filter(|arrival| is_placed(arrival)).count();
        assert_eq!(placed, 64 - 16 - 1 - 16);
        drop(here);
        assert!(from("192.0.2.1").is_some_and(|arrival| !is_placed(&arrival)));
        drop((other, network, local));
        assert!(arriving.shares().is_empty());
    }
}
