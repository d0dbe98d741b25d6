//! banking: a teller orders n transfers between A accounts. An account that pays waits until the other has it, and keeps what
//! comes meanwhile.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{Share, Sizes, Transfer, Transfers};
use std::collections::VecDeque;

pub(super) struct Banking;

enum ToAccount<S: System> {
    /// Pays another account.
    Pay(i64, S::Ref<Account<S>>),
    /// Gets an amount from another account.
    Receive(i64, S::Ref<Account<S>>),
    Received,
    /// Not counted.
    End,
}

enum ToTeller {
    Start,
    Done,
}

struct Account<S: System> {
    place: i64,
    /// It has paid and has no answer yet.
    paying: bool,
    kept: VecDeque<ToAccount<S>>,
    teller: S::Ref<Teller<S>>,
    share: Share,
}

impl<S: System> Account<S> {
    fn handle(&mut self, message: ToAccount<S>, me: &S::Ref<Self>) {
        match message {
            ToAccount::Pay(amount, to) => {
                self.share.check -= self.place * amount;
                self.paying = true;
                S::tell(&to, ToAccount::Receive(amount, me.clone()));
            }
            ToAccount::Receive(amount, from) => {
                self.share.check += self.place * amount;
                S::tell(&from, ToAccount::Received);
            }
            ToAccount::Received => {
                self.paying = false;
                S::tell(&self.teller, ToTeller::Done);
            }
            ToAccount::End => {}
        }
    }
}

impl<S: System> Behaviour<S> for Account<S> {
    type Message = ToAccount<S>;

    async fn receive(&mut self, message: ToAccount<S>, context: &mut Context<S, Self>) -> Next {
        if let ToAccount::End = message {
            return Next::End;
        }
        self.share.msgs += 1;
        if self.paying && !matches!(message, ToAccount::Received) {
            self.kept.push_back(message);
            return Next::Go;
        }
        self.handle(message, &context.me);
        while !self.paying
            && let Some(message) = self.kept.pop_front()
        {
            self.handle(message, &context.me);
        }
        Next::Go
    }
}

struct Teller<S: System> {
    sizes: Sizes,
    left: i64,
    accounts: Vec<S::Ref<Account<S>>>,
    share: Share,
}

impl<S: System> Behaviour<S> for Teller<S> {
    type Message = ToTeller;

    async fn receive(&mut self, message: ToTeller, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        if let ToTeller::Start = message {
            for place in 0..self.sizes.A {
                let account = Account::<S> {
                    place,
                    paying: false,
                    kept: VecDeque::new(),
                    teller: context.me.clone(),
                    share: self.share.actor(),
                };
                self.accounts.push(context.system.start(account).await);
            }
            for Transfer { from, to, amount } in
                Transfers::new(self.sizes.A).take(self.sizes.n as usize)
            {
                S::tell(
                    &self.accounts[from],
                    ToAccount::Pay(amount, self.accounts[to].clone()),
                );
            }
            return Next::Go;
        }
        self.left -= 1;
        if self.left > 0 {
            return Next::Go;
        }
        for account in &self.accounts {
            S::tell(account, ToAccount::End);
        }
        Next::End
    }
}

impl Program for Banking {
    const ID: &'static str = "banking";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let teller = Teller::<S> {
            sizes,
            left: sizes.n,
            accounts: Vec::new(),
            share: share.actor(),
        };
        S::tell(&system.start(teller).await, ToTeller::Start);
    }
}
