//! That the laws can fail: for each, histories of things that go wrong, which it rejects.

use crate::history::{Act, Gauge, Got, History, NEVER, Record};
use crate::laws::LAWS;

/// A history of acts that follow one another: party, source, act, what came of it.
fn acts(acts: &[(u32, u32, Act, Got)]) -> History {
    let record = |(i, &(party, source, act, got)): (usize, &(u32, u32, Act, Got))| {
        let start = 10 * i as u64;
        let end = if got == Pending { NEVER } else { start + 5 };
        Record {
            party,
            source,
            act,
            got,
            start,
            end,
            choice: 0,
        }
    };
    History {
        records: acts.iter().enumerate().map(record).collect(),
        ..History::default()
    }
}

/// The same, all at the same time: nobody has an end before everybody has a start.
fn at_once(list: &[(u32, u32, Act, Got)]) -> History {
    let mut history = acts(list);
    for record in &mut history.records {
        record.start /= 10;
        record.end += 1_000;
    }
    history
}

fn with_capacity(capacity: u64, history: History) -> History {
    History {
        capacity: Some(capacity),
        ..history
    }
}

/// All in one choice.
fn chosen(mut history: History) -> History {
    history
        .records
        .iter_mut()
        .for_each(|record| record.choice = 7);
    history
}

fn measured(law: &'static str, found: u64) -> History {
    let gauge = Gauge {
        law,
        what: "what is left",
        expected: 0,
        found,
    };
    History {
        gauges: vec![gauge],
        ..History::default()
    }
}

fn verdict(law: &str, history: &History) -> Result<bool, String> {
    let law = LAWS
        .iter()
        .find(|known| known.name == law)
        .expect("a law of that name");
    (law.check)(history)
}

/// The law holds of the first history, which is about it, and rejects the others for these reasons.
fn refutes(law: &str, holds: &History, broken: &[(History, &str)]) {
    assert_eq!(verdict(law, holds), Ok(true), "{holds}");
    for (history, why) in broken {
        let verdict = verdict(law, history).expect_err("this history breaks the law");
        assert!(verdict.contains(why), "{verdict}, and not {why}");
    }
}

use Act::{
    Acquire, Await, Call, Choose, Close, Hear, Look, Meet, Put, Release, Share, Signal, Sleep,
    Stop, Take, Watch,
};
use Got::{Back, Closed, Done, Dropped, Lead, Missed, Nothing, Pending, Refused, Value};

#[test]
fn conservation_rejects_losses_and_gains() {
    let received = acts(&[(1, 0, Put(1), Done), (2, 0, Take, Value(1))]);
    let lost = acts(&[(1, 0, Put(1), Done), (2, 0, Take, Closed)]);
    let too_dead = History {
        dead: 1,
        ..received.clone()
    };
    let dead = History {
        dead: 1,
        ..lost.clone()
    };
    let unknown = acts(&[(1, 0, Put(1), Dropped), (2, 0, Take, Closed)]);
    assert_eq!(verdict("conservation", &dead), Ok(true));
    assert_eq!(verdict("conservation", &unknown), Ok(true));
    let unheard = [
        (1, 0, Share(1), Done),
        (2, 0, Hear, Missed(2)),
        (2, 0, Hear, Closed),
    ];
    let echo = [
        (1, 0, Signal, Done),
        (2, 0, Await, Done),
        (3, 0, Await, Done),
    ];
    refutes(
        "conservation",
        &received,
        &[
            (lost, "[1] were not received, and 0 are dead letters"),
            (too_dead, "[] were not received, and 1 are dead letters"),
            (
                acts(&[(2, 0, Take, Value(1))]),
                "value 1 comes from nowhere",
            ),
            (acts(&unheard), "party 2 heard or missed 2 of 1 values"),
            (acts(&echo), "1 signals were heard 2 times"),
        ],
    );
}

#[test]
fn order_rejects_what_overtakes() {
    let sends = [(1, 0, Put(1), Done), (1, 0, Put(2), Done)];
    let with = |rest: &[_]| acts(&[&sends[..], rest].concat());
    let late = [(2, 0, Take, Value(2)), (2, 0, Take, Value(1))];
    let given_back = with(&[&[(3, 0, Take, Dropped)], &late[..]].concat());
    assert_eq!(verdict("order", &given_back), Ok(true));
    let other_receivers = [(2, 0, Take, Value(2)), (3, 0, Take, Value(1))];
    assert_eq!(verdict("order", &with(&other_receivers)), Ok(false));
    refutes(
        "order",
        &with(&[(2, 0, Take, Value(1)), (2, 0, Take, Value(2))]),
        &[
            (with(&late), "[1] of source 0 came after their successors"),
            (
                with(&[(2, 0, Hear, Value(2)), (2, 0, Hear, Value(1))]),
                "value 1 is heard late",
            ),
        ],
    );
}

#[test]
fn no_duplicate_rejects_copies() {
    refutes(
        "no-duplicate",
        &acts(&[(2, 0, Take, Value(1)), (2, 0, Take, Value(2))]),
        &[
            (
                acts(&[(2, 0, Take, Value(1)), (3, 0, Take, Value(1))]),
                "value 1 is taken twice",
            ),
            (
                acts(&[(2, 0, Hear, Value(1)), (2, 0, Hear, Value(1))]),
                "value 1 is heard twice",
            ),
            (
                acts(&[(1, 0, Put(1), Done), (1, 0, Put(1), Done)]),
                "itself sends value 1 twice",
            ),
        ],
    );
}

#[test]
fn rendezvous_rejects_who_left_too_early() {
    let sent = [(1, 0, Put(1), Done), (2, 0, Take, Value(1))];
    let by_another = [(1, 0, Put(1), Done), (2, 0, Take, Dropped)];
    assert_eq!(
        verdict("rendezvous", &with_capacity(0, at_once(&by_another))),
        Ok(true)
    );
    let meets = |second| [(1, 0, Meet, Lead), (2, 0, Meet, second)];
    assert_eq!(
        verdict("rendezvous", &with_capacity(2, at_once(&meets(Done)))),
        Ok(true)
    );
    refutes(
        "rendezvous",
        &with_capacity(0, at_once(&sent)),
        &[
            (
                with_capacity(0, acts(&sent)),
                "nobody was there to take value 1",
            ),
            (
                with_capacity(2, acts(&meets(Done))),
                "1 have met, of 1 who had come",
            ),
            (
                with_capacity(2, at_once(&meets(Lead))),
                "2 led the meetings of 2",
            ),
        ],
    );
}

#[test]
fn one_branch_rejects_none_and_two() {
    let choice = |got, first, second| {
        chosen(acts(&[
            (1, 0, Choose, got),
            (1, 0, Put(1), first),
            (1, 1, Take, second),
        ]))
    };
    assert_eq!(
        verdict("one-branch", &choice(Dropped, Back, Dropped)),
        Ok(true)
    );
    refutes(
        "one-branch",
        &choice(Done, Back, Value(3)),
        &[
            (choice(Done, Done, Value(3)), "2 branches of"),
            (choice(Done, Back, Nothing), "0 branches of"),
            (choice(Dropped, Done, Value(3)), "2 branches of"),
            (choice(Closed, Done, Closed), "1 branches of"),
        ],
    );
}

#[test]
fn cancel_rejects_what_happened_all_the_same() {
    refutes(
        "cancel",
        &acts(&[(1, 0, Put(1), Back), (2, 0, Take, Dropped)]),
        &[
            (
                acts(&[(1, 0, Put(1), Back), (2, 0, Take, Value(1))]),
                "value 1 came back, or was refused, and came",
            ),
            (
                acts(&[(1, 0, Put(1), Refused), (2, 0, Take, Value(1))]),
                "or was refused, and came",
            ),
            (measured("cancel", 1), "what is left: found 1, expected 0"),
        ],
    );
}

#[test]
fn close_wakes_rejects_who_sleeps_and_who_sends() {
    refutes(
        "close-wakes",
        &acts(&[
            (1, 0, Put(1), Done),
            (2, 0, Close, Done),
            (3, 0, Take, Closed),
        ]),
        &[
            (
                acts(&[(2, 0, Close, Done), (3, 0, Take, Pending)]),
                "nobody wakes",
            ),
            (
                acts(&[(2, 0, Close, Done), (1, 0, Put(1), Done)]),
                "sent after",
            ),
            (measured("close-wakes", 1), "what is left"),
        ],
    );
}

#[test]
fn bound_rejects_a_crowd() {
    let two = [(1, 0, Acquire(1), Done), (2, 0, Acquire(1), Done)];
    let in_turn = [
        (1, 0, Acquire(1), Done),
        (1, 0, Release(1), Done),
        (2, 0, Acquire(1), Done),
    ];
    let full = [(1, 0, Put(1), Done), (1, 0, Put(2), Done)];
    let given_back = [
        (1, 0, Put(1), Done),
        (2, 0, Take, Dropped),
        (1, 0, Put(2), Done),
    ];
    assert_eq!(
        verdict("bound", &with_capacity(1, acts(&given_back))),
        Ok(true)
    );
    refutes(
        "bound",
        &with_capacity(1, acts(&in_turn)),
        &[
            (
                with_capacity(1, acts(&two)),
                "source 0 has 2 inside, and room for 1",
            ),
            (
                with_capacity(1, acts(&full)),
                "source 0 has 2 inside, and room for 1",
            ),
            (acts(&full), "names no capacity"),
            (with_capacity(1, measured("bound", 1)), "what is left"),
        ],
    );
}

#[test]
fn agreement_rejects_two_truths() {
    let filled = |second| {
        [
            (1, 0, Share(1), Done),
            (2, 0, Share(2), second),
            (3, 0, Look, Value(1)),
        ]
    };
    let old = [
        (1, 0, Put(1), Done),
        (2, 0, Hear, Value(1)),
        (1, 0, Put(2), Done),
        (2, 0, Hear, Closed),
    ];
    refutes(
        "agreement",
        &acts(&filled(Back)),
        &[
            (acts(&filled(Done)), "readers see {1}"),
            (
                acts(&[(1, 0, Put(2), Done), (3, 0, Look, Value(1))]),
                "readers see {1}",
            ),
            (acts(&old), "without having heard"),
        ],
    );
}

#[test]
fn never_early_rejects_a_hurry() {
    refutes(
        "never-early",
        &acts(&[(1, 0, Sleep(10), Value(10))]),
        &[(acts(&[(1, 0, Sleep(10), Value(9))]), "is early")],
    );
}

#[test]
fn one_end_rejects_two_ends_and_what_comes_after() {
    let watched = |second| [(1, 0, Watch, Value(7)), (2, 0, Watch, second)];
    let taken_after = |act, got| [(1, 0, act, got), (3, 0, Take, Value(1))];
    let before = [(3, 0, Take, Value(1)), (1, 0, Stop, Done)];
    assert_eq!(verdict("one-end", &acts(&before)), Ok(true));
    refutes(
        "one-end",
        &acts(&watched(Value(7))),
        &[
            (acts(&watched(Value(8))), "two ends of one actor"),
            (acts(&taken_after(Watch, Value(7))), "taken after"),
            (acts(&taken_after(Stop, Done)), "taken after"),
        ],
    );
}

#[test]
fn true_cycle_rejects_a_refusal_without_one() {
    let around = [
        (1, 2, Call, Done),
        (2, 3, Call, Done),
        (3, 1, Call, Refused),
    ];
    let elsewhere = [
        (1, 2, Call, Done),
        (2, 4, Call, Done),
        (3, 1, Call, Refused),
    ];
    let oneself = [(1, 1, Call, Refused)];
    assert_eq!(verdict("true-cycle", &acts(&oneself)), Ok(true));
    refutes(
        "true-cycle",
        &at_once(&around),
        &[
            (acts(&around), "nobody it called waits"),
            (at_once(&elsewhere), "nobody it called waits"),
        ],
    );
}

#[test]
fn the_laws_of_the_end_reject_what_is_left() {
    for law in ["no-wait-left", "no-leak"] {
        refutes(
            law,
            &measured(law, 0),
            &[(measured(law, 1), "what is left: found 1")],
        );
        assert_eq!(
            verdict(law, &History::default()),
            Ok(false),
            "nothing was measured"
        );
    }
}
