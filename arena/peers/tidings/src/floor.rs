//! floor: what the machine takes, without a runtime. What a message costs is to be seen beside it.

use std::hint::{black_box, spin_loop};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Instant;

use crate::cell::{Cells, Counts, Fault, Params, Sample, Stopwatch, plain, within};

/// A read-modify-write of a line that nobody else has.
fn atomic(n: i64) -> Result<i64, Fault> {
    let word = AtomicI64::new(0);
    for _ in 0..n {
        black_box(&word).fetch_add(1, Ordering::SeqCst);
    }
    Ok(word.into_inner())
}

/// The monotonic clock.
fn clock(n: i64) -> Result<i64, Fault> {
    let mut read = 0;
    while read < n {
        black_box(Instant::now());
        read += 1;
    }
    Ok(read)
}

/// 64 bytes taken and given back.
fn malloc(n: i64) -> Result<i64, Fault> {
    let mut taken = 0;
    while taken < n {
        drop(black_box(Box::new([0_u64; 8])));
        taken += 1;
    }
    Ok(taken)
}

/// The cheapest call into the kernel.
fn syscall(n: i64) -> Result<i64, Fault> {
    let mut called = 0;
    while called < n {
        black_box(std::process::id());
        called += 1;
    }
    Ok(called)
}

/// A cache line goes to another core and comes back.
fn line(n: i64) -> Result<i64, Fault> {
    let word = Arc::new(AtomicI64::new(0));
    let theirs = Arc::clone(&word);
    let other = thread::spawn(move || {
        for turn in 0..n {
            until(&theirs, 2 * turn + 1);
            theirs.store(2 * turn + 2, Ordering::Release);
        }
    });
    for turn in 0..n {
        word.store(2 * turn + 1, Ordering::Release);
        until(&word, 2 * turn + 2);
    }
    other.join().map_err(|_| ended())?;
    Ok(word.load(Ordering::Acquire) / 2)
}

fn until(word: &AtomicI64, value: i64) {
    let mut looks = 0_u32;
    while word.load(Ordering::Acquire) != value {
        looks += 1;
        // With one core the other has to have it.
        match looks < 10_000 {
            true => spin_loop(),
            false => thread::yield_now(),
        }
    }
}

/// A thread that sleeps is woken, and wakes the one that woke it, which sleeps by then.
fn park(n: i64) -> Result<i64, Fault> {
    let asked = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let (theirs, us) = (Arc::clone(&asked), thread::current());
    let other = thread::spawn(move || {
        let mut woken = 0;
        while woken < n {
            asleep_until(&theirs[0]);
            woken += 1;
            theirs[1].store(true, Ordering::Release);
            us.unpark();
        }
        woken
    });
    for _ in 0..n {
        asked[0].store(true, Ordering::Release);
        other.thread().unpark();
        asleep_until(&asked[1]);
    }
    other.join().map_err(|_| ended())
}

fn asleep_until(flag: &AtomicBool) {
    while !flag.swap(false, Ordering::Acquire) {
        thread::park();
    }
}

/// 12 bytes go to another thread over TCP and come back; both read as threads do.
fn loopback(n: i64) -> Result<i64, Fault> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut ours = TcpStream::connect(listener.local_addr()?)?;
    let (mut theirs, _) = listener.accept()?;
    ours.set_nodelay(true)?;
    theirs.set_nodelay(true)?;
    let other = thread::spawn(move || {
        let mut frame = [0; 12];
        while theirs.read_exact(&mut frame).is_ok() {
            theirs.write_all(&frame)?;
        }
        Ok::<_, std::io::Error>(())
    });
    let mut back = [0; 12];
    let mut came = 0;
    while came < n {
        ours.write_all(&[7; 12])?;
        ours.read_exact(&mut back)?;
        came += i64::from(back == [7; 12]);
    }
    drop(ours);
    other.join().map_err(|_| ended())??;
    Ok(came)
}

fn ended() -> Fault {
    Fault::Bug("the other thread has panicked".into())
}

fn cell(params: Params, scenario: fn(i64) -> Result<i64, Fault>) -> Result<Sample, Fault> {
    let n = params.n;
    within(&[("n", n, 1_000_000_000)])?;
    Ok(Sample::Thread(Box::new(move |inner| {
        let mut total = Counts::default();
        let watch = Stopwatch::start();
        for _ in 0..inner {
            let did = scenario(n)?;
            total += Counts {
                msgs: did,
                units: 0,
                check: did,
            };
        }
        Ok((watch.stop(), total))
    })))
}

pub(crate) fn cells() -> Cells {
    plain([
        ("floor/atomic", |p, _| cell(p, atomic)),
        ("floor/clock", |p, _| cell(p, clock)),
        ("floor/malloc", |p, _| cell(p, malloc)),
        ("floor/syscall", |p, _| cell(p, syscall)),
        ("floor/line", |p, _| cell(p, line)),
        ("floor/park", |p, _| cell(p, park)),
        ("floor/loopback", |p, _| cell(p, loopback)),
    ])
}
