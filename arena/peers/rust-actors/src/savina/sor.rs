//! sor: each cell of a matrix is an actor, which tells its neighbours its value for M rounds. A runner has the left half, a
//! peer that it makes the right one.

use super::{Behaviour, Context, Next, Program, System};
use ::savina::{PseudoRandom, Share, Sizes, attos, colour, relaxed};

pub(super) struct Sor;

type Cells<S> = Vec<<S as System>::Ref<Cell<S>>>;

enum ToCell<S: System> {
    /// Its neighbours.
    Start(Cells<S>),
    Value(f64),
}

enum ToHalf<S: System> {
    Boot,
    /// The cells of the other half, row by row.
    Border(Cells<S>),
    /// Of a cell, or of all cells of the other half.
    Result(i64),
}

struct Cell<S: System> {
    begins: bool,
    value: f64,
    rounds: i64,
    round: i64,
    sum: f64,
    got: usize,
    /// Values that came before the neighbours were known.
    early: Vec<f64>,
    near: Cells<S>,
    half: S::Ref<Half<S>>,
    share: Share,
}

impl<S: System> Cell<S> {
    /// Ends a round. What the second colour has in the end nobody waits for.
    fn tell(&mut self) -> Next {
        if self.round + 1 < self.rounds || self.begins {
            for cell in &self.near {
                S::tell(cell, ToCell::Value(self.value));
            }
        }
        self.round += 1;
        if self.round < self.rounds {
            return Next::Go;
        }
        S::tell(&self.half, ToHalf::Result(attos(self.value)));
        Next::End
    }

    fn add(&mut self, value: f64) -> Next {
        self.sum += value;
        self.got += 1;
        if self.got < self.near.len() {
            return Next::Go;
        }
        self.value = relaxed(self.value, self.sum);
        (self.sum, self.got) = (0.0, 0);
        self.tell()
    }
}

impl<S: System> Behaviour<S> for Cell<S> {
    type Message = ToCell<S>;

    async fn receive(&mut self, message: ToCell<S>, _: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToCell::Value(value) if self.near.is_empty() => {
                self.early.push(value);
                Next::Go
            }
            ToCell::Value(value) => self.add(value),
            ToCell::Start(near) => {
                self.near = near;
                let mut next = if self.begins { self.tell() } else { Next::Go };
                for value in std::mem::take(&mut self.early) {
                    next = self.add(value);
                }
                next
            }
        }
    }
}

/// The left half, or the right one, which tells the left its result.
struct Half<S: System> {
    sizes: Sizes,
    left: Option<(S::Ref<Self>, Cells<S>)>,
    own: Cells<S>,
    sum: i64,
    results: usize,
    share: Share,
}

impl<S: System> Half<S> {
    fn new(sizes: Sizes, left: Option<(S::Ref<Self>, Cells<S>)>, share: Share) -> Self {
        Self {
            sizes,
            left,
            own: Vec::new(),
            sum: 0,
            results: 0,
            share,
        }
    }

    async fn boot(&mut self, context: &mut Context<S, Self>) {
        let mut random = PseudoRandom::new(10_101_010);
        let n = self.sizes.n;
        for at in 0..n * n {
            let value = random.fraction() * 1e-6;
            if (at % n < n / 2) != self.left.is_none() {
                continue;
            }
            let cell = Cell::<S> {
                begins: colour(at / n, at % n),
                value,
                rounds: self.sizes.M,
                round: 0,
                sum: 0.0,
                got: 0,
                early: Vec::new(),
                near: Vec::new(),
                half: context.me.clone(),
                share: self.share.actor(),
            };
            self.own.push(context.system.start(cell).await);
        }
    }

    /// Tells its cells who is around them.
    fn start(&self, others: &Cells<S>) {
        let (n, part) = (self.sizes.n as usize, self.sizes.n as usize / 2);
        let (left, right) = match self.left {
            None => (&self.own, others),
            Some(_) => (others, &self.own),
        };
        let cell = |row: usize, column: usize| match column.checked_sub(part) {
            None => &left[row * part + column],
            Some(column) => &right[row * (n - part) + column],
        };
        for row in 0..n {
            for column in if self.left.is_none() {
                0..part
            } else {
                part..n
            } {
                let around = [
                    (column + 1 < n).then(|| cell(row, column + 1)),
                    (row + 1 < n).then(|| cell(row + 1, column)),
                    (column > 0).then(|| cell(row, column - 1)),
                    (row > 0).then(|| cell(row - 1, column)),
                ];
                let near = around.into_iter().flatten().cloned().collect();
                S::tell(cell(row, column), ToCell::Start(near));
            }
        }
    }
}

impl<S: System> Behaviour<S> for Half<S> {
    type Message = ToHalf<S>;

    async fn receive(&mut self, message: ToHalf<S>, context: &mut Context<S, Self>) -> Next {
        self.share.msgs += 1;
        match message {
            ToHalf::Boot => {
                self.boot(context).await;
                if let Some((runner, others)) = &self.left {
                    S::tell(runner, ToHalf::Border(self.own.clone()));
                    self.start(others);
                } else {
                    let left = Some((context.me.clone(), self.own.clone()));
                    let peer = Self::new(self.sizes, left, self.share.actor());
                    S::tell(&context.system.start(peer).await, ToHalf::Boot);
                }
            }
            ToHalf::Border(others) => self.start(&others),
            ToHalf::Result(value) => {
                self.sum += value;
                self.results += 1;
            }
        }
        if self.results < self.own.len() + usize::from(self.left.is_none()) {
            return Next::Go;
        }
        match &self.left {
            Some((runner, _)) => S::tell(runner, ToHalf::Result(self.sum)),
            None => self.share.check = self.sum,
        }
        Next::End
    }
}

impl Program for Sor {
    const ID: &'static str = "sor";

    async fn run<S: System>(system: S, sizes: Sizes, share: Share) {
        let runner = Half::<S>::new(sizes, None, share.actor());
        S::tell(&system.start(runner).await, ToHalf::Boot);
    }
}
