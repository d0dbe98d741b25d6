//! The laws: what holds of the history of every program, whoever ran it.
//!
//! Each says in words what is broken. `refuted.rs` has, for each, histories that it rejects.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{Act, Got, History, NEVER, Record};

/// One law.
pub(crate) struct Law {
    /// As SEMANTICS.md calls it.
    pub(crate) name: &'static str,
    pub(crate) check: fn(&History) -> Verdict,
}

/// What is broken; or whether there was anything that the law is about.
pub(crate) type Verdict = Result<bool, String>;

/// All laws.
pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "conservation",
        check: conservation,
    },
    Law {
        name: "order",
        check: order,
    },
    Law {
        name: "no-duplicate",
        check: no_duplicate,
    },
    Law {
        name: "rendezvous",
        check: rendezvous,
    },
    Law {
        name: "one-branch",
        check: one_branch,
    },
    Law {
        name: "cancel",
        check: cancel,
    },
    Law {
        name: "close-wakes",
        check: close_wakes,
    },
    Law {
        name: "bound",
        check: bound,
    },
    Law {
        name: "agreement",
        check: agreement,
    },
    Law {
        name: "never-early",
        check: never_early,
    },
    Law {
        name: "one-end",
        check: one_end,
    },
    Law {
        name: "true-cycle",
        check: true_cycle,
    },
    Law {
        name: "no-wait-left",
        check: no_wait_left,
    },
    Law {
        name: "no-leak",
        check: no_leak,
    },
];

fn broken(why: String) -> Verdict {
    Err(why)
}

/// What was measured at the end is as expected; `about`: the law was about something before.
fn gauges(h: &History, law: &str, about: bool) -> Verdict {
    let mut measured = h.gauges.iter().filter(|gauge| gauge.law == law).peekable();
    let any = measured.peek().is_some();
    match measured.find(|gauge| gauge.found != gauge.expected) {
        Some(gauge) => broken(format!(
            "{}: found {}, expected {}",
            gauge.what, gauge.found, gauge.expected
        )),
        None => Ok(about || any),
    }
}

/// Values given away, with what came of it.
fn puts(h: &History) -> impl Iterator<Item = (u64, &Record)> {
    h.records.iter().filter_map(|record| match record.act {
        Act::Put(value) | Act::Share(value) => Some((value, record)),
        _ => None,
    })
}

/// Values that came to somebody by `act`.
fn came(h: &History, act: Act) -> impl Iterator<Item = (u64, &Record)> {
    h.records
        .iter()
        .filter(move |record| record.act == act)
        .filter_map(|record| match record.got {
            Got::Value(value) => Some((value, record)),
            _ => None,
        })
}

/// The values that parties have by any act.
fn all_came(h: &History) -> impl Iterator<Item = (u64, &Record)> {
    [Act::Take, Act::Hear, Act::Look]
        .into_iter()
        .flat_map(|act| came(h, act))
}

/// Sent = received + returned + dead letters, and every listener gets all or is told what it
/// missed; signals are heard by no more than they were sent to.
fn conservation(h: &History) -> Verdict {
    let put: BTreeMap<u64, &Record> = puts(h).collect();
    for (value, record) in all_came(h) {
        if !put.contains_key(&value) {
            return broken(format!("value {value} comes from nowhere: {record:?}"));
        }
    }
    let taken: BTreeSet<u64> = came(h, Act::Take).map(|(value, _)| value).collect();
    let missing = |got| {
        let to_one = |put: &&Record| matches!(put.act, Act::Put(_)) && put.got == got;
        let missing = put
            .iter()
            .filter(|(value, put)| to_one(put) && !taken.contains(value));
        missing.map(|(value, _)| *value).collect::<Vec<_>>()
    };
    let lost = missing(Got::Done);
    // They were dropped on the way, or by the one that was to receive them.
    let unknown = missing(Got::Dropped).len() + missing(Got::Refused).len();
    let unknown = unknown as u64;
    let sent = lost.len() as u64;
    if h.dead < sent || h.dead > sent + unknown {
        return broken(format!(
            "of the values sent, {lost:?} were not received, and {} are dead letters",
            h.dead
        ));
    }
    // Those who listened from the beginning to the end.
    let sent = put.values().filter(|put| put.got == Got::Done).count() as u64;
    let mut heard: BTreeMap<u32, (u64, bool)> = BTreeMap::new();
    for record in h.records.iter().filter(|record| record.act == Act::Hear) {
        let (n, ended) = heard.entry(record.party).or_default();
        match record.got {
            Got::Value(_) => *n += 1,
            Got::Missed(missed) => *n += missed,
            Got::Closed => *ended = true,
            _ => {}
        }
    }
    for (party, (n, ended)) in heard {
        if ended && n != sent {
            return broken(format!(
                "party {party} heard or missed {n} of {sent} values"
            ));
        }
    }
    let count = |act| {
        h.records
            .iter()
            .filter(|r| r.act == act && r.got == Got::Done)
            .count()
    };
    let (signals, heard) = (count(Act::Signal), count(Act::Await));
    if heard > signals {
        return broken(format!("{signals} signals were heard {heard} times"));
    }
    let about = heard > 0 || !put.is_empty();
    gauges(h, "conservation", about)
}

/// What one party gave to one source comes to each receiver in the order given. Late is only what
/// was given back: at most one value for each receive that was dropped.
fn order(h: &History) -> Verdict {
    let mut place: BTreeMap<u64, (u32, usize)> = BTreeMap::new();
    for (index, (value, record)) in puts(h).enumerate() {
        place.insert(value, (record.party, index));
    }
    let mut about = false;
    for source in h.sources() {
        let dropped = |r: &&Record| r.act == Act::Take && r.got == Got::Dropped;
        let given_back = h.of(source).filter(dropped).count();
        let mut last: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut late = Vec::new();
        for record in h.of(source) {
            let Got::Value(value) = record.got else {
                continue;
            };
            let Some(&(sender, index)) = place.get(&value) else {
                continue;
            };
            if !matches!(record.act, Act::Take | Act::Hear) {
                continue;
            }
            let last = last.entry((record.party, sender)).or_insert(index);
            about |= index != *last;
            if index < *last {
                if record.act == Act::Hear {
                    return broken(format!("value {value} is heard late: {record:?}"));
                }
                late.push(value);
            }
            *last = index.max(*last);
        }
        if late.len() > given_back {
            return broken(format!(
                "values {late:?} of source {source} came after their successors, but only \
                 {given_back} receives were dropped"
            ));
        }
    }
    Ok(about)
}

/// No value is taken twice, nor heard twice by one listener.
fn no_duplicate(h: &History) -> Verdict {
    let mut taken = BTreeMap::new();
    for (value, record) in came(h, Act::Take) {
        if let Some(before) = taken.insert(value, record) {
            return broken(format!(
                "value {value} is taken twice: {before:?}, {record:?}"
            ));
        }
    }
    let mut heard = BTreeSet::new();
    for (value, record) in came(h, Act::Hear) {
        if !heard.insert((record.party, value)) {
            return broken(format!("value {value} is heard twice: {record:?}"));
        }
    }
    let mut put = BTreeSet::new();
    match puts(h).find(|(value, _)| !put.insert(*value)) {
        Some((value, _)) => broken(format!("the program itself sends value {value} twice")),
        None => Ok(!taken.is_empty() || !heard.is_empty()),
    }
}

/// A rendezvous means both: a value that was sent was taken by somebody who came while it was
/// offered; nobody leaves a meeting to which not all have come, and one of them leads.
fn rendezvous(h: &History) -> Verdict {
    let mut about = false;
    if h.capacity == Some(0) {
        for (value, put) in puts(h).filter(|(_, put)| put.got == Got::Done) {
            let met = h.of(put.source).any(|take| {
                let overlaps = take.start < put.end && take.end > put.start;
                let takes = matches!(take.got, Got::Dropped) || take.got == Got::Value(value);
                take.act == Act::Take && take.party != put.party && overlaps && takes
            });
            about = true;
            if !met {
                return broken(format!("nobody was there to take value {value}: {put:?}"));
            }
        }
    }
    let Some(n) = h.capacity.filter(|&n| n > 0) else {
        return Ok(about);
    };
    let meets: Vec<_> = h
        .records
        .iter()
        .filter(|record| record.act == Act::Meet)
        .collect();
    let met = |r: &&&Record| matches!(r.got, Got::Done | Got::Lead);
    for one in meets.iter().filter(met) {
        let came = meets.iter().filter(|other| other.start < one.end).count() as u64;
        let left = meets
            .iter()
            .filter(met)
            .filter(|other| other.end <= one.end)
            .count() as u64;
        if left > came / n * n {
            return broken(format!("{left} have met, of {came} who had come: {one:?}"));
        }
    }
    let all = meets.iter().filter(met).count() as u64;
    let lead = meets.iter().filter(|meet| meet.got == Got::Lead).count() as u64;
    if lead * n == all {
        Ok(all > 0)
    } else {
        broken(format!("{lead} led the meetings of {all}, {n} at a time"))
    }
}

/// Has this branch happened?
fn happened(record: &Record) -> bool {
    match record.act {
        Act::Put(_) | Act::Share(_) => record.got == Got::Done,
        _ => matches!(record.got, Got::Value(_) | Got::Done),
    }
}

/// A choice that is done has done exactly one of its branches; one that is not, none: but what
/// a partner had taken when the choice was dropped is taken (S-06).
fn one_branch(h: &History) -> Verdict {
    let mut about = false;
    for choice in h.records.iter().filter(|record| record.act == Act::Choose) {
        let of = |r: &&Record| r.choice == choice.choice && r.act != Act::Choose;
        let branches: Vec<_> = h.records.iter().filter(of).collect();
        let n = branches.iter().filter(|branch| happened(branch)).count();
        let right = match choice.got {
            Got::Done => n == 1,
            Got::Dropped => n <= 1,
            Got::Closed | Got::Nothing => n == 0,
            _ => true,
        };
        if !right {
            return broken(format!(
                "{n} branches of {choice:?} have happened: {branches:?}"
            ));
        }
        about = true;
    }
    Ok(about)
}

/// What was given up has not happened: a value that came back is nobody else's, a receive that
/// was dropped has none, permits are as many as before.
fn cancel(h: &History) -> Verdict {
    let is_back = |put: &Record| matches!(put.got, Got::Back | Got::Refused);
    let back: BTreeMap<_, _> = puts(h).filter(|(_, put)| is_back(put)).collect();
    for (value, record) in all_came(h) {
        if let Some(put) = back.get(&value) {
            return broken(format!(
                "value {value} came back, or was refused, and came here: {put:?}, {record:?}"
            ));
        }
    }
    let gave_up = |r: &Record| matches!(r.got, Got::Dropped | Got::Back);
    gauges(h, "cancel", h.records.iter().any(gave_up))
}

/// Whoever waits is woken by what ends the wait: a value, a place, a signal, a close, an end.
/// After a close nothing more is sent.
fn close_wakes(h: &History) -> Verdict {
    if let Some(waits) = h.records.iter().find(|record| record.end == NEVER) {
        return broken(format!("nobody wakes {waits:?}"));
    }
    for close in h.records.iter().filter(|record| record.act == Act::Close) {
        let after = |r: &&Record| r.start > close.end && r.source == close.source;
        let sent = |r: &&Record| matches!(r.act, Act::Put(_) | Act::Share(_)) && happened(r);
        if let Some(sent) = h.records.iter().filter(after).find(sent) {
            return broken(format!("sent after {close:?}: {sent:?}"));
        }
    }
    gauges(h, "close-wakes", !h.records.is_empty())
}

/// Never more than there is room for: values in a channel, holders of a lock or of permits.
/// Only values that were given back exceed it: at most one for each receive that was dropped.
fn bound(h: &History) -> Verdict {
    let Some(capacity) = h.capacity else {
        return broken("the program names no capacity".to_owned());
    };
    let mut about = false;
    for source in h.sources() {
        // Surely in from its end, perhaps out from its start.
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for record in h.of(source) {
            match (record.act, record.got) {
                (Act::Put(_), Got::Done) => changes.push((record.end, 1)),
                (Act::Acquire(n), Got::Done) => {
                    changes.push((record.end, i64::try_from(n).unwrap()));
                }
                (Act::Take, Got::Value(_) | Got::Dropped | Got::Pending) => {
                    changes.push((record.start, -1));
                }
                (Act::Release(n), _) => changes.push((record.start, -i64::try_from(n).unwrap())),
                _ => {}
            }
        }
        changes.sort_unstable();
        let mut inside = 0;
        for (at, change) in changes {
            inside += change;
            about |= inside > 0;
            if inside > i64::try_from(capacity).unwrap_or(i64::MAX) {
                return broken(format!(
                    "at {at} source {source} has {inside} inside, and room for {capacity}"
                ));
            }
        }
    }
    gauges(h, "bound", about)
}

/// Whoever looks into a cell that is written once sees the one value written, and the last that a
/// listener hears before the end is the last value there was.
fn agreement(h: &History) -> Verdict {
    let written: Vec<_> = puts(h).filter(|(_, put)| put.got == Got::Done).collect();
    let looks: BTreeSet<u64> = came(h, Act::Look).map(|(value, _)| value).collect();
    if !looks.is_empty()
        && (written.len() != 1 || looks.len() != 1 || !looks.contains(&written[0].0))
    {
        return broken(format!("readers see {looks:?}; written: {written:?}"));
    }
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for record in h.records.iter().filter(|record| record.act == Act::Hear) {
        match (record.got, written.last()) {
            (Got::Value(value), _) => {
                last.insert(record.party, value);
            }
            (Got::Closed, Some((newest, put))) if last.get(&record.party) != Some(newest) => {
                return broken(format!("{record:?} without having heard of {put:?}"));
            }
            _ => {}
        }
    }
    gauges(h, "agreement", !looks.is_empty() || !last.is_empty())
}

/// A timer is never early.
fn never_early(h: &History) -> Verdict {
    let mut about = false;
    for record in &h.records {
        if let (Act::Sleep(asked), Got::Value(passed)) = (record.act, record.got) {
            about = true;
            if passed < asked {
                return broken(format!("{record:?} is early"));
            }
        }
    }
    Ok(about)
}

/// An actor ends once: all who watch it hear the same reason, after which it takes nothing; nor does
/// it once it was told to stop without delay.
fn one_end(h: &History) -> Verdict {
    let mut about = false;
    for source in h.sources() {
        let took = |r: &&Record| r.act == Act::Take && matches!(r.got, Got::Value(_));
        let mut first: Option<&Record> = None;
        for record in h.of(source) {
            let ends = match (record.act, record.got) {
                (Act::Watch, Got::Value(_)) => {
                    let first = *first.get_or_insert(record);
                    if first.got != record.got {
                        return broken(format!("two ends of one actor: {first:?}, {record:?}"));
                    }
                    true
                }
                (Act::Stop, Got::Done) => true,
                _ => false,
            };
            about |= ends;
            let mut late = h.of(source).filter(took).filter(|r| r.start > record.end);
            if ends && let Some(late) = late.next() {
                return broken(format!("taken after {record:?}: {late:?}"));
            }
        }
    }
    Ok(about)
}

/// Who is refused because of a cycle has called one that waits, by calls, for the caller.
fn true_cycle(h: &History) -> Verdict {
    let calls = || h.records.iter().filter(|record| record.act == Act::Call);
    let mut refused = calls().filter(|call| call.got == Got::Refused).peekable();
    let about = refused.peek().is_some();
    for call in refused {
        let mut reached = BTreeSet::from([call.source]);
        loop {
            let waits = |r: &&Record| r.start < call.end && r.end > call.start && *r != call;
            let further = calls().filter(waits).filter(|r| reached.contains(&r.party));
            let further: Vec<u32> = further.map(|record| record.source).collect();
            let before = reached.len();
            reached.extend(further);
            if reached.contains(&call.party) {
                break;
            }
            if reached.len() == before {
                return broken(format!("nobody it called waits for the caller: {call:?}"));
            }
        }
    }
    Ok(about)
}

/// When all have ended, no list has a wait in it.
fn no_wait_left(h: &History) -> Verdict {
    gauges(h, "no-wait-left", false)
}

/// When all have ended, no value and no task is left.
fn no_leak(h: &History) -> Verdict {
    gauges(h, "no-leak", false)
}
