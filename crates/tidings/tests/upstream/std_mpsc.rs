//! Rust's `library/std/tests/sync/{mpsc,mpsc_sync,oneshot}.rs`, on plain threads: the forms that
//! block, with no runtime anywhere.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use crate::both::watchdog;
use crate::kinds;
use crate::letter::Ledger;
use tidings::{
    Event, Receiver, RecvError, Sender, TryRecvError, TrySendError, bounded, channel, oneshot,
    unbounded,
};

const MS: Duration = Duration::from_millis(1);

/// `no_runtime`, `smoke_threads`, `send_from_outside_runtime`, `recv_from_outside_runtime`: threads
/// talk to each other both ways.
#[test]
fn threads_talk_both_ways_without_a_runtime() {
    let _watchdog = watchdog();
    for ((to, at), (back, home)) in kinds().into_iter().zip(kinds()) {
        let echo = thread::spawn(move || {
            while let Ok(n) = at.recv_blocking() {
                back.send_blocking(n + 1).unwrap();
            }
        });
        for n in 0..40 {
            to.send_blocking(n).unwrap();
            assert_eq!(home.recv_blocking(), Ok(n + 1));
        }
        drop(to);
        echo.join().unwrap();
        assert_eq!(home.recv_blocking(), Err(RecvError));
    }
}

/// `port_gone_concurrent`, `port_gone_concurrent_shared`, `send2`, `send3`, `send4`: senders that
/// go on for ever hear when the receiver goes, whether they wait or not.
#[test]
fn senders_without_end_hear_when_the_receiver_goes() {
    let _watchdog = watchdog();
    for (tx, rx) in kinds() {
        let senders = [tx.clone(), tx].map(|tx| {
            thread::spawn(move || {
                let mut n = 0;
                loop {
                    if let Err(error) = tx.send_blocking(n) {
                        return error.into_inner() == n;
                    }
                    n += 1;
                }
            })
        });
        rx.recv_blocking().unwrap();
        drop(rx);
        assert!(senders.map(|sender| sender.join().unwrap()) == [true, true]);
    }
}

/// `chan_gone_concurrent`: a receiver without end hears when the sender goes.
#[test]
fn a_receiver_without_end_hears_when_the_senders_go() {
    let _watchdog = watchdog();
    for (tx, rx) in kinds() {
        let senders = [tx.clone(), tx]
            .map(|tx| thread::spawn(move || (0..2).for_each(|n| tx.send_blocking(n).unwrap())));
        let mut got = 0;
        while rx.recv_blocking().is_ok() {
            got += 1;
        }
        assert_eq!(got, 4);
        for sender in senders {
            sender.join().unwrap();
        }
    }
}

/// `stress_shared`, `shared_chan_stress`: many threads send, each a little.
#[test]
fn many_threads_send_a_little_each() {
    let _watchdog = watchdog();
    for (tx, rx) in kinds() {
        let senders: Vec<_> = (0..20)
            .map(|_| {
                let tx = tx.clone();
                thread::spawn(move || (0..20).for_each(|_| tx.send_blocking(1).unwrap()))
            })
            .collect();
        assert_eq!(
            (0..400).map(|_| rx.recv_blocking().unwrap()).sum::<u32>(),
            400
        );
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        for sender in senders {
            sender.join().unwrap();
        }
    }
}

/// `oneshot_multi_thread_{close,send_close,recv_close,send_recv}_stress`: one value, and the ends
/// are used and dropped on two threads at once.
#[test]
fn the_ends_of_a_channel_are_used_and_dropped_at_once() {
    let _watchdog = watchdog();
    for round in 0..200 {
        let ledger = Ledger::default();
        for (tx, rx) in kinds() {
            let letter = ledger.letter(round);
            let sender = thread::spawn(move || match round % 3 {
                0 => drop(tx),
                1 => drop(tx.try_send(letter)),
                _ => drop(tx.send_blocking(letter)),
            });
            match round % 4 {
                2 => drop(rx.try_recv()),
                3 => drop(rx.recv_blocking()),
                _ => {}
            }
            drop(rx);
            sender.join().unwrap();
        }
        assert_eq!(ledger.alive(), 0);
    }
}

/// `stream_send_recv_stress`: the ends move on to a new thread after every value.
#[test]
fn the_ends_move_to_another_thread_after_every_value() {
    fn send(tx: Sender<Box<u32>>, n: u32) {
        if n < 10 {
            thread::spawn(move || {
                tx.send_blocking(Box::new(n)).unwrap();
                send(tx, n + 1);
            });
        }
    }
    fn recv(rx: Receiver<Box<u32>>, n: u32, done: Sender<()>) {
        thread::spawn(move || {
            if n == 10 {
                assert_eq!(rx.recv_blocking(), Err(RecvError));
                return done.send_blocking(()).unwrap();
            }
            assert_eq!(*rx.recv_blocking().unwrap(), n);
            recv(rx, n + 1, done);
        });
    }
    let _watchdog = watchdog();
    for (tx, rx) in kinds() {
        let (done, end) = channel();
        send(tx, 0);
        recv(rx, 0, done);
        end.recv_blocking().unwrap();
    }
}

/// `stress_recv_timeout_two_threads`, `stress_recv_timeout_shared`: receives that time out while
/// others send lose nothing.
#[test]
fn receives_that_time_out_on_threads_lose_nothing() {
    let _watchdog = watchdog();
    for (tx, rx) in kinds() {
        let senders: Vec<_> = (0..3u64)
            .map(|id| {
                let tx = tx.clone();
                thread::spawn(move || {
                    for n in 0..60u64 {
                        if n % 20 == id {
                            thread::yield_now();
                        }
                        tx.send_blocking(1).unwrap();
                    }
                })
            })
            .collect();
        drop(tx);
        let mut got = 0;
        loop {
            match rx.recv().timeout(Duration::from_micros(got % 50)).wait() {
                Ok(Ok(n)) => got += n,
                Ok(Err(RecvError)) => break,
                Err(_) => {}
            }
        }
        assert_eq!(got, 180);
        for sender in senders {
            sender.join().unwrap();
        }
    }
}

/// `oneshot_single_thread_recv_timeout`, `recv_timeout`, `recv_timeout_upgrade`, `send_timeout`,
/// `recv_no_time`, `recv_deadline_passed`: a timeout says so and leaves everything as it was.
#[test]
fn a_timeout_leaves_the_channel_as_it_was() {
    let _watchdog = watchdog();
    for (tx, rx) in [bounded(1), unbounded()] {
        let start = tidings::time::Instant::now();
        assert!(rx.recv().timeout(MS).wait().is_err());
        assert!(start.elapsed() >= MS);
        tx.send_blocking(1).unwrap();
        let late = tx.send(2).timeout(MS).wait();
        assert_eq!(late.is_err(), tx.capacity().is_some());
        assert_eq!(rx.recv().timeout(MS).wait(), Ok(Ok(1)));
        assert_eq!(rx.try_recv().is_ok(), tx.capacity().is_none());
        assert!(rx.recv().timeout(Duration::ZERO).wait().is_err());
    }
    let (_tx, mut rx) = oneshot::<u8>();
    assert!(rx.recv().timeout(Duration::ZERO).wait().is_err());
    assert!(rx.into_recv().timeout(MS).wait().is_err());
}

/// `very_long_recv_timeout_wont_panic`: a deadline beyond the end of time is none.
#[test]
fn a_timeout_beyond_the_end_of_time_is_none() {
    let _watchdog = watchdog();
    for forever in [Duration::MAX, Duration::from_secs(u64::MAX)] {
        let (tx, rx) = channel();
        let receiver = thread::spawn(move || rx.recv().timeout(forever).wait());
        tx.send_blocking(7).unwrap();
        assert_eq!(receiver.join().unwrap(), Ok(Ok(7)));
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(8).timeout(forever).wait());
        assert_eq!(rx.recv_blocking(), Ok(8));
        assert_eq!(sender.join().unwrap(), Ok(Ok(())));
    }
}

/// `recv_a_lot`: ten thousand values wait, and go.
#[test]
fn ten_thousand_values_wait_and_go() {
    for (tx, rx) in [bounded(10_000), unbounded()] {
        (0..10_000).for_each(|n| tx.try_send(n).unwrap());
        assert_eq!(tx.try_send(0).is_err(), tx.capacity().is_some());
        (0..10_000).for_each(|n| assert_eq!(rx.try_recv(), Ok(n)));
    }
}

/// `try_recv_states`: empty, a value, empty again, closed.
#[test]
fn a_try_recv_sees_each_state_in_turn() {
    let _watchdog = watchdog();
    let ((tx1, rx1), (tx2, rx2), (tx3, rx3)) = (bounded(1), bounded(1), bounded(1));
    let other = thread::spawn(move || {
        rx2.recv_blocking().unwrap();
        tx1.send_blocking(1).unwrap();
        tx3.send_blocking(()).unwrap();
        rx2.recv_blocking().unwrap();
        drop(tx1);
        tx3.send_blocking(()).unwrap();
    });
    assert_eq!(rx1.try_recv(), Err(TryRecvError::Empty));
    tx2.send_blocking(()).unwrap();
    rx3.recv_blocking().unwrap();
    assert_eq!(rx1.try_recv(), Ok(1));
    assert_eq!(rx1.try_recv(), Err(TryRecvError::Empty));
    tx2.send_blocking(()).unwrap();
    rx3.recv_blocking().unwrap();
    assert_eq!(rx1.try_recv(), Err(TryRecvError::Closed));
    other.join().unwrap();
}

/// `test_recv_try_iter`: one asks, another answers, and what is there is taken without a wait.
#[test]
fn what_is_there_is_taken_until_nothing_is() {
    let _watchdog = watchdog();
    let ((ask, asked), (answer, answers)) = (unbounded(), unbounded());
    let client = thread::spawn(move || {
        let mut sum = 0;
        loop {
            while let Ok(n) = answers.try_recv() {
                sum += n;
                if sum == 6 {
                    return sum;
                }
            }
            ask.send_blocking(()).unwrap();
        }
    });
    while asked.recv_blocking().is_ok() {
        if answer.send_blocking(2).is_err() {
            break;
        }
    }
    assert_eq!(client.join().unwrap(), 6);
}

/// `destroy_upgraded_shared_port_when_sender_still_active`, `issue_39364`: senders are cloned and
/// dropped while a receiver waits, with and without a deadline.
#[test]
fn senders_come_and_go_while_a_receiver_waits() {
    let _watchdog = watchdog();
    for (tx, rx) in kinds() {
        let (ready, go) = channel();
        let receiver = thread::spawn(move || {
            ready.send_blocking(()).unwrap();
            let got = rx.recv().timeout(Duration::from_secs(3_600)).wait();
            drop(rx);
            got
        });
        go.recv_blocking().unwrap();
        for _ in 0..100 {
            drop(tx.clone());
        }
        let last = tx.clone();
        drop(tx);
        last.send_blocking(1).unwrap();
        assert_eq!(receiver.join().unwrap(), Ok(Ok(1)));
        assert!(last.send_blocking(2).is_err());
    }
}

/// `issue_15761`: a value each way, through buffers with room, again and again.
#[test]
fn one_value_each_way_again_and_again() {
    let _watchdog = watchdog();
    for _ in 0..100 {
        let ((tx1, rx1), (tx2, rx2)) = (bounded(3), bounded(3));
        let other = thread::spawn(move || {
            rx1.recv_blocking().unwrap();
            tx2.try_send(()).unwrap();
        });
        tx1.try_send(()).unwrap();
        rx2.recv_blocking().unwrap();
        other.join().unwrap();
    }
}

/// `oneshot.rs: non_send_type_can_be_used_on_same_thread`, `mpsc_sync.rs: drop_unreceived`: values
/// that must not cross threads may go through a channel on one, and are dropped with it.
#[test]
fn values_that_stay_on_their_thread_go_through_too() {
    let value = Rc::new(5);
    let (tx, mut rx) = oneshot();
    tx.send(Rc::clone(&value)).unwrap();
    assert_eq!(rx.try_recv(), Ok(Rc::clone(&value)));
    for (tx, rx) in [bounded(2), unbounded()] {
        tx.try_send(Rc::clone(&value)).unwrap();
        tx.try_send(Rc::clone(&value)).unwrap();
        assert_eq!(rx.recv_blocking(), Ok(Rc::clone(&value)));
        drop(rx);
        assert_eq!(Rc::strong_count(&value), 1, "dropped at once");
        assert_eq!(
            tx.try_send(value.clone()),
            Err(TrySendError::Closed(value.clone()))
        );
    }
}

/// `oneshot.rs: send_before_recv`, `recv_before_send`, `sender_drop`, `recv_then_drop_sender`,
/// `drop_sender_then_recv`, `send_error_drops_message_correctly{,_on_extract}`.
#[test]
fn a_oneshot_across_threads_gives_its_value_or_its_end() {
    let _watchdog = watchdog();
    let ledger = Ledger::default();
    for n in 0..100 {
        let (tx, rx) = oneshot();
        let letter = (n % 4 != 3).then(|| ledger.letter(n));
        let sender = thread::spawn(move || match letter {
            Some(letter) => tx.send(letter),
            None => {
                drop(tx);
                Ok(())
            }
        });
        if n % 4 == 2 {
            drop(rx);
            if let Err(letter) = sender.join().unwrap() {
                assert_eq!((letter.n, ledger.alive()), (n, 1));
            }
        } else {
            assert_eq!(
                rx.recv_blocking().ok().map(|letter| letter.n),
                (n % 4 != 3).then_some(n)
            );
            sender.join().unwrap().unwrap();
        }
        assert_eq!(ledger.alive(), 0);
    }
    let (tx, rx) = oneshot();
    tx.send([0xaau8; 4096]).unwrap();
    assert!(rx.recv_blocking().unwrap() == [0xaau8; 4096]);
}
