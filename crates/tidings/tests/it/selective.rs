//! Selective receive: what is taken, and the order of what stays.

use std::time::Duration;

use crate::both::on_all;
use crate::inspect;
use tidings::actor::{Builder, Child, Ended, Exit, Mailbox, Overflow, Strategy, Supervisor};
use tidings::time::timeout;
use tidings::{ActorView, oneshot, unbounded};

#[test]
fn scans_take_what_a_plain_list_would_give() {
    on_all(|| async {
        const MESSAGES: u64 = 40;
        let (done, ended) = oneshot();
        let actor = Builder::new()
            .unbounded()
            .spawn(move |mut mailbox: Mailbox<u64>| async move {
                let mut model: Vec<u64> = (0..MESSAGES).collect();
                for step in 0.. {
                    let (rest, of) = (step % 5, 2 + step % 4);
                    let chosen = |n: u64| if n % of == rest % of { Ok(n) } else { Err(n) };
                    let wanted = model.iter().position(|&n| chosen(n).is_ok());
                    // The last that are there; another would be waited for.
                    let got = match wanted {
                        Some(at) => (mailbox.scan(chosen).await, model.remove(at)),
                        None if model.is_empty() => break,
                        None => (mailbox.recv().await, model.remove(0)),
                    };
                    assert_eq!(got.0, Ok(got.1), "step {step}: {model:?}");
                }
                assert!(mailbox.is_empty());
                done.send(()).unwrap();
            });
        for n in 0..MESSAGES {
            actor.send(n).await.unwrap();
        }
        ended.await.unwrap();
    });
}

#[test]
fn a_scan_that_is_given_up_at_its_deadline_loses_no_message() {
    on_all(|| async {
        const LAST: u64 = 30;
        let ((gives_up, given_up), (done, ended)) = (unbounded(), oneshot());
        let builder = Builder::new().unbounded();
        let actor = builder.spawn(move |mut mailbox: Mailbox<u64>| async move {
            let last = |n| if n == LAST { Ok(n) } else { Err(n) };
            loop {
                let scan = mailbox.scan(last);
                match timeout(Duration::from_micros(20), scan).await {
                    Ok(found) => break assert_eq!(found, Ok(LAST)),
                    Err(_) => gives_up.send(()).await.unwrap(),
                }
            }
            // Scans have passed over each of them, and most of them over all before it.
            for n in 0..LAST {
                assert_eq!(mailbox.recv().await, Ok(n));
            }
            done.send(mailbox.is_empty()).unwrap();
        });
        for n in 0..LAST {
            actor.send(n).await.unwrap();
            given_up.recv().await.unwrap();
        }
        actor.send(LAST).await.unwrap();
        assert_eq!(ended.await, Ok(true));
    });
}

/// What the first life of an actor is to take, scan by scan; then it panics, if no scan did.
type Wanted = fn(u32) -> Result<u32, u32>;

/// Runs the scans on what is sent, and expects that the next life receives what is left, in order.
fn the_next_life_receives(scans: &'static [Wanted], sent: &'static [u32], left: &'static [u32]) {
    on_all(move || async move {
        let (seen, all) = unbounded();
        let child = Child::new(move |mut mailbox: Mailbox<u32>| {
            let seen = seen.clone();
            async move {
                if mailbox.incarnation() == 1 {
                    for wanted in scans {
                        mailbox.scan(wanted).await.unwrap();
                    }
                    crash();
                }
                while let Ok(n) = mailbox.recv().await {
                    seen.send(n).await.unwrap();
                }
            }
        });
        let actor = child.actor_ref();
        for &n in sent {
            actor.send(n).await.unwrap();
        }
        let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        for &n in left {
            assert_eq!(all.recv().await, Ok(n));
        }
    });
}

fn crash() -> ! {
    std::panic::resume_unwind(Box::new("the first life is over"))
}

fn ten(n: u32) -> Result<u32, u32> {
    if n == 10 { Ok(n) } else { Err(n) }
}

fn panics_at_three(n: u32) -> Result<u32, u32> {
    if n == 3 { crash() } else { Err(n) }
}

#[test]
fn what_a_scan_passed_over_survives_its_life() {
    the_next_life_receives(&[ten], &[1, 2, 10, 3], &[1, 2, 3]);
}

#[test]
fn a_scan_that_panics_leaves_the_others_in_order() {
    the_next_life_receives(
        &[ten, panics_at_three],
        &[1, 2, 3, 4, 5, 10, 6],
        &[1, 2, 4, 5, 6],
    );
}

#[test]
fn a_message_that_was_not_received_may_be_stashed_and_dies_as_one_that_was() {
    on_all(|| async {
        let (done, seen) = unbounded();
        let actor = Builder::new().spawn(move |mut mailbox: Mailbox<u32>| async move {
            for n in 1..=3 {
                mailbox.stash(n).unwrap();
            }
            mailbox.unstash();
            done.send(mailbox.recv().await).await.unwrap();
            done.send(mailbox.recv().await).await.unwrap();
            // One of its own that it has received, and one that is new.
            mailbox.stash(2).unwrap();
            mailbox.stash(4).unwrap();
            let _ = mailbox.scan(|n| if n == 9 { Ok(n) } else { Err(n) }).await;
        });
        assert_eq!(seen.recv().await, Ok(Ok(1)));
        assert_eq!(seen.recv().await, Ok(Ok(2)));
        actor.send(9).await.unwrap();
        assert!(actor.down().await.is_orderly());
        assert_eq!(actor.dead_letters(), 3);
    });
}

/// Their places are the next messages', and they are in the mailbox all the same.
#[test]
fn what_a_scan_passed_over_or_was_stashed_is_queued_and_not_handled() {
    on_all(|| async {
        const N: usize = 10;
        let ((seen, saw), (go, on)) = (unbounded(), oneshot());
        let name = format!("scans {}", inspect::unique());
        let builder = Builder::new().capacity(2).name(name.clone());
        let actor = builder.spawn(move |mut mailbox: Mailbox<usize>| async move {
            let last = |n| {
                seen.try_send(n).unwrap();
                if n == N { Ok(n) } else { Err(n) }
            };
            assert_eq!(mailbox.scan(last).await, Ok(N));
            let first = mailbox.recv().await.unwrap();
            mailbox.stash(first).unwrap();
            assert_eq!(mailbox.recv().await, Ok(1));
            assert_eq!(mailbox.len(), N - 1);
            seen.try_send(N + 1).unwrap();
            on.await.unwrap();
            mailbox.unstash();
            while mailbox.recv().await.is_ok() {}
        });
        let counts = |view: ActorView| (view.queued as u64, view.handled);
        for n in 0..N {
            actor.send(n).await.unwrap();
            assert_eq!(saw.recv().await, Ok(n));
        }
        assert_eq!(actor.queued(), N);
        assert_eq!(counts(inspect::look(&name, |_| true).await), (N as u64, 0));
        actor.send(N).await.unwrap();
        while saw.recv().await != Ok(N + 1) {}
        // All but the one that it looked for and the second; the first is stashed.
        assert_eq!(actor.queued(), N - 1);
        assert_eq!(
            counts(inspect::look(&name, |_| true).await),
            (N as u64 - 1, 2)
        );
        go.send(()).unwrap();
        let done = inspect::look(&name, |view| view.queued == 0).await;
        assert_eq!(counts(done), (0, N as u64 + 1));
    });
}

#[test]
fn a_scan_takes_nothing_once_the_actor_is_to_end_without_delay() {
    on_all(|| async {
        let ((pass, passed), (open, gate)) = (oneshot(), oneshot());
        let actor = Builder::new().spawn(move |mut mailbox: Mailbox<u32>| async move {
            let last = |n| if n == 3 { Ok(n) } else { Err(n) };
            assert_eq!(mailbox.scan(last).await, Ok(3));
            pass.send(()).unwrap();
            gate.await.unwrap();
            for _ in 0..2 {
                assert_eq!(mailbox.scan(Ok).await, Err(Ended));
            }
            assert_eq!(mailbox.recv().await, Err(Ended));
            assert_eq!(mailbox.scan(Ok).await, Err(Ended));
        });
        for n in 0..4 {
            actor.send(n).await.unwrap();
        }
        passed.await.unwrap();
        actor.stop_now();
        open.send(()).unwrap();
        let exit = actor.down().await;
        assert!(matches!(exit, Exit::Stopped), "{exit:?}");
        assert_eq!(actor.dead_letters(), 3);
    });
}

/// What a life gives back may be more than the mailbox holds: from then on one goes for each that comes.
#[test]
fn a_mailbox_that_has_more_than_it_holds_drops_its_oldest_and_takes_the_new() {
    on_all(|| async {
        let ((open, gate), (done, seen)) = (unbounded(), unbounded());
        let builder = Builder::new().capacity(2).overflow(Overflow::DropOldest);
        let child = builder.child(move |mut mailbox: Mailbox<u32>| {
            let (gate, done) = (gate.clone(), done.clone());
            async move {
                if mailbox.incarnation() == 1 {
                    for _ in 0..2 {
                        let early = mailbox.recv().await.unwrap();
                        mailbox.stash(early).unwrap();
                        done.send(early).await.unwrap();
                    }
                    gate.recv().await.unwrap();
                    crash();
                }
                gate.recv().await.unwrap();
                while let Ok(n) = mailbox.recv().await {
                    done.send(n).await.unwrap();
                }
            }
        });
        let actor = child.actor_ref();
        let _supervisor = Supervisor::new(Strategy::OneForOne).child(child).start();
        for n in 1..=2 {
            actor.send(n).await.unwrap();
            assert_eq!(seen.recv().await, Ok(n));
        }
        for n in 3..=4 {
            actor.send(n).await.unwrap();
        }
        open.send(()).await.unwrap();
        actor.restarted(1).await.unwrap();
        for n in 5..=6 {
            actor.send(n).await.unwrap();
        }
        assert_eq!((actor.queued(), actor.overflowed()), (4, 2));
        open.send(()).await.unwrap();
        for n in 3..=6 {
            assert_eq!(seen.recv().await, Ok(n));
        }
    });
}
