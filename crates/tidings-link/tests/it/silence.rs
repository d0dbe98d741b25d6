//! The time of a session: silence, patience, and how long a request has been on its way. No socket, no clock.

use std::time::Duration;

use tidings::time::Instant;
use tidings_link::{Broken, Incoming, Limits, Session};

use crate::limits::{feed, frame, output, pair, session};

#[test]
fn a_peer_that_is_silent_is_asked_and_then_given_up() {
    let limits = Limits::default();
    let (mut one, mut other) = (session("one", limits), session("other", limits));
    let start = Instant::now();
    let secs = Duration::from_secs;
    feed(&mut one, &output(&mut other), start).unwrap();
    feed(&mut other, &output(&mut one), start).unwrap();
    assert_eq!(one.stats().pings, 1);
    // By the peer's patience, which is 10 s, it is asked three times at least.
    let third = secs(10) / 3;
    assert_eq!(one.tick(start).unwrap(), start + third);
    assert!(output(&mut one).is_empty());
    assert_eq!(one.tick(start + third).unwrap(), start + 2 * third);
    assert_eq!(one.stats().pings, 2);
    let ping = output(&mut one);
    // Its time: 3.3 s, in microseconds.
    assert!(
        ping.starts_with(&[5, 0, 0, 0, 13]) && ping.len() == 9,
        "{ping:?}"
    );
    one.tick(start + secs(4)).unwrap();
    assert!(output(&mut one).is_empty());
    output(&mut other);
    feed(&mut other, &ping, start).unwrap();
    let pong = output(&mut other);
    assert_eq!(pong[4], 14);
    assert_eq!(pong[5..9], ping[5..]);
    feed(&mut one, &pong, start + secs(7)).unwrap();
    one.tick(start + secs(7)).unwrap();
    assert_eq!(one.tick(start + secs(21)).unwrap(), start + secs(22));
    assert_eq!(one.tick(start + secs(22)).unwrap_err(), Broken::Silent);
}

/// A call of one's, as it comes to the other at that time: is it to be begun?
fn is_begun(other: &mut Session, bytes: &[u8], now: Instant) -> bool {
    other.heard(bytes.len());
    match other.receive(bytes, now).unwrap() {
        Some((_, Some(Incoming::Request { until, .. }))) => {
            let deadline = other.deadline(until);
            other.is_awaited(now) && deadline.is_none_or(|deadline| now < deadline)
        }
        came => panic!("{came:?}"),
    }
}

#[test]
fn a_request_is_begun_before_its_caller_has_given_it_up_wherever_it_was_held_up() {
    let secs = Duration::from_secs;
    // Held up by whom it may be: it comes so much later.
    for (late, waits, begun) in [
        (secs(0), Some(secs(2)), true),
        (secs(1), Some(secs(2)), true),
        (secs(2), Some(secs(2)), false),
        (secs(7), Some(secs(2)), false),
        (secs(7), None, true),
        // As long as a peer waits for one that says nothing, or takes nothing.
        (secs(9), None, true),
        (secs(10), None, false),
        (secs(3600), Some(secs(7200)), false),
    ] {
        let (mut one, mut other) = pair(Limits::default());
        let now = Instant::now();
        let call = one.begin_call().unwrap();
        one.call(
            call,
            1,
            1,
            waits.map(|waits| now + waits),
            vec![],
            &mut vec![],
        );
        let bytes = output(&mut one);
        let case = format!("{late:?} late, {waits:?}");
        assert_eq!(is_begun(&mut other, &bytes, now + late), begun, "{case}");
    }
}

#[test]
fn a_peer_that_still_waits_says_so_to_who_asks_it_and_one_that_does_not_has_nothing_begun() {
    let secs = Duration::from_secs;
    let (mut one, mut other) = pair(Limits::default());
    let late = Instant::now() + secs(12);
    assert!(!other.is_awaited(late));
    other.tick(late).unwrap();
    let ping = output(&mut other);
    feed(&mut one, &ping, late).unwrap();
    let pong = output(&mut one);
    feed(&mut other, &pong, late + secs(1)).unwrap();
    assert!(other.is_awaited(late + secs(1)));
    // Since it was asked, not since it said so.
    assert!(!other.is_awaited(late + secs(10)));
}

#[test]
fn a_handshake_and_a_write_take_so_long_and_no_longer() {
    let start = Instant::now();
    let secs = Duration::from_secs;
    let mut fresh = session("fresh", Limits::default());
    fresh.tick(start + secs(4)).unwrap();
    assert_eq!(fresh.tick(start + secs(6)).unwrap_err(), Broken::Handshake);

    let (mut one, _) = pair(Limits::default());
    one.stalled(start);
    one.stalled(start + secs(5));
    feed(&mut one, &frame(14, &[0, 0]), start + secs(9)).unwrap();
    one.tick(start + secs(9)).unwrap();
    assert_eq!(one.tick(start + secs(10)).unwrap_err(), Broken::SlowPeer);
    // Any progress counts.
    let (mut one, _) = pair(Limits::default());
    one.stalled(start);
    one.written(0);
    feed(&mut one, &frame(14, &[0, 0]), start + secs(9)).unwrap();
    one.tick(start + secs(10)).unwrap();
}

#[test]
fn a_peer_is_asked_for_a_word_no_oftener_than_a_link_can_do_something_else() {
    let (mut one, _other) = pair(Limits {
        idle: Duration::ZERO,
        ..Limits::default()
    });
    let now = Instant::now();
    one.tick(now).unwrap();
    assert!(one.tick(now).unwrap() > now);
}

#[test]
fn who_sends_a_byte_now_and_then_of_a_frame_that_never_comes_whole_is_silent() {
    let (mut one, _) = pair(Limits::default());
    let start = Instant::now();
    let ping = frame(13, &[0]);
    feed(&mut one, &ping, start).unwrap();
    for n in 1..ping.len() {
        let now = start + Duration::from_secs(n as u64 * 2);
        assert!(feed(&mut one, &ping[..n], now).unwrap().is_empty());
        one.tick(now).unwrap();
    }
    let silent = one.tick(start + Duration::from_secs(15));
    assert_eq!(silent, Err(Broken::Silent));
}

#[test]
fn a_peer_without_patience_is_not_asked_more_than_ten_times_a_second() {
    let impatient = Limits {
        silence: Duration::ZERO,
        ..Limits::default()
    };
    let mut one = session("one", Limits::default());
    let mut other = session("other", impatient);
    let start = Instant::now();
    feed(&mut one, &output(&mut other), start).unwrap();
    let mut now = start;
    while now < start + Duration::from_secs(1) {
        now = one.tick(now).unwrap();
    }
    assert!(one.stats().pings <= 11, "{}", one.stats().pings);
}
