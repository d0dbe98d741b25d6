//! counter/send: P producers send n additions each to one counter, which has an unbounded mailbox.

use std::sync::mpsc::{channel, Sender};
use std::thread;

use crate::{Counts, Once, Sizes};

enum Message {
    Add(i64),
    GetAndReset(Sender<Counts>),
}

pub(crate) fn send(sizes: &Sizes) -> Once {
    let size = |key: &str| sizes.get(key).copied().unwrap_or(1);
    let (producers, n) = (size("P"), size("n"));
    Box::new(move || {
        let (mailbox, messages) = channel();
        let counter = thread::spawn(move || {
            let mut sum = Counts::default();
            for message in messages {
                match message {
                    Message::Add(amount) => {
                        sum.msgs += 1;
                        sum.check += amount;
                    }
                    Message::GetAndReset(reply) => {
                        let _ = reply.send(std::mem::take(&mut sum));
                    }
                }
            }
        });
        let senders: Vec<_> = (0..producers)
            .map(|_| {
                let mailbox = mailbox.clone();
                thread::spawn(move || {
                    for _ in 0..n {
                        mailbox.send(Message::Add(100)).expect("the counter lives");
                    }
                })
            })
            .collect();
        for sender in senders {
            sender.join().expect("a producer ends");
        }
        let (reply, answer) = channel();
        mailbox.send(Message::GetAndReset(reply)).expect("the counter lives");
        let mut counts = answer.recv().expect("the counter answers");
        drop(mailbox);
        counter.join().expect("the counter ends");
        counts.units = producers + 1;
        counts
    })
}
