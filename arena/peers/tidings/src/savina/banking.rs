//! banking: a teller orders n transfers between A accounts.

use savina::{Share, Sizes, Transfer, Transfers};
use tidings::actor::{ActorRef, Builder, Mailbox};

use super::{Program, me, start, tell};

#[tidings::interface]
pub(crate) trait Account {
    /// Pays another account, and tells the teller when that has it.
    async fn pay(&mut self, amount: i64, to: AccountRef, teller: ActorRef<Teller>);
    async fn receive(&mut self, amount: i64) -> ();
}

pub(crate) enum Teller {
    Start,
    Done,
}

struct Balance {
    place: i64,
    share: Share,
}

impl Balance {
    fn change(&mut self, amount: i64) {
        self.share.msgs += 1;
        self.share.check += self.place * amount;
    }
}

impl Account for Balance {
    async fn pay(&mut self, amount: i64, to: AccountRef, teller: ActorRef<Teller>) {
        self.change(-amount);
        to.receive(amount).await.expect("the account is alive");
        self.share.msgs += 1;
        tell(&teller, Teller::Done).await;
    }

    async fn receive(&mut self, amount: i64) {
        self.change(amount);
    }
}

async fn teller(
    sizes: Sizes,
    me: ActorRef<Teller>,
    mut mailbox: Mailbox<Teller>,
    mut share: Share,
) {
    let account = |place| -> AccountRef {
        let share = share.actor();
        Builder::new().unbounded().start(Balance { place, share })
    };
    let accounts: Vec<_> = (0..sizes.A).map(account).collect();
    let mut left = sizes.n;
    while left > 0 {
        let Ok(message) = mailbox.recv().await else {
            return;
        };
        share.msgs += 1;
        match message {
            Teller::Start => {
                for Transfer { from, to, amount } in Transfers::new(sizes.A).take(sizes.n as usize)
                {
                    let sent = accounts[from]
                        .pay(amount, accounts[to].clone(), me.clone())
                        .await;
                    sent.expect("the account is alive");
                }
            }
            Teller::Done => left -= 1,
        }
    }
}

async fn run(sizes: Sizes, share: Share) {
    let teller = start(|mailbox| teller(sizes, me(&mailbox), mailbox, share.actor()));
    tell(&teller, Teller::Start).await;
}

pub(super) fn program(sizes: Sizes) -> Program {
    super::program(move |share| run(sizes, share))
}
