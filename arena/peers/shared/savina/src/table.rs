//! The thirty benchmarks with their sizes. Those of the last column are the paper's, as the published
//! sources have them.

use crate::{Counts, Sizes, expected};

/// What dominates at the paper's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Messages, or the making of actors.
    Messages,
    /// What the actors compute.
    Computation,
}

impl Bound {
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Computation => "computation",
        }
    }
}

/// How `n` is made larger or smaller, to see whether time follows work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Double,
    One,
    /// Not at all: an operation takes longer where there are more.
    None,
}

/// One of the thirty.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    pub id: &'static str,
    pub bound: Bound,
    /// What `n` is.
    pub n: &'static str,
    /// What is counted as one operation.
    pub unit: &'static str,
    /// The other sizes.
    pub fixed: &'static [(&'static str, i64)],
    /// `n` of the smoke test, of a quick run and of the paper.
    pub sizes: [i64; 3],
    /// The largest `n` that may be asked for.
    pub most: i64,
    pub step: Step,
    pub(crate) expected: fn(Sizes) -> Counts,
}

impl Benchmark {
    /// What a correct run counts.
    pub fn expected(&self, sizes: Sizes) -> Counts {
        (self.expected)(sizes)
    }

    /// Its sizes with this `n`.
    pub fn at(&self, n: i64) -> Sizes {
        let fixed = |key: &str| self.fixed.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        Sizes::of(|key| fixed(key).unwrap_or(if key == "n" { n } else { 0 }))
    }

    /// The next larger or smaller `n`.
    pub fn next(&self, n: i64, up: bool) -> Option<i64> {
        let next = match (self.step, up) {
            (Step::Double, true) => n.checked_mul(2)?,
            (Step::Double, false) => n / 2,
            (Step::One, true) => n + 1,
            (Step::One, false) => n - 1,
            (Step::None, _) => return None,
        };
        self.check(self.at(next)).is_ok().then_some(next)
    }

    /// Refuses sizes at which it cannot run.
    pub fn check(&self, sizes: Sizes) -> Result<(), String> {
        let refuse = |what: String| Err(format!("{} with {what}", self.id));
        if !(1..=self.most).contains(&sizes.n) {
            return refuse(format!("n={}: it takes 1 to {}", sizes.n, self.most));
        }
        let given = self.at(0);
        let pairs = [
            ("w", sizes.w, given.w),
            ("P", sizes.P, given.P),
            ("A", sizes.A, given.A),
            ("N", sizes.N, given.N),
            ("M", sizes.M, given.M),
            ("S", sizes.S, given.S),
        ];
        let odd =
            |(_, value, usual): &&(&str, i64, i64)| *usual > 0 && !(1..=100_000).contains(value);
        if let Some((key, value, _)) = pairs.iter().find(odd) {
            return refuse(format!("{key}={value}: it takes 1 to 100000"));
        }
        let (n, power) = (sizes.n, sizes.n.count_ones() == 1);
        let fits = match self.id {
            "apsp" => n % sizes.S == 0 && n > sizes.S,
            "astar" | "sor" => n >= 4,
            "bitonicsort" => power && n >= 4,
            "bndbuffer" => sizes.w > sizes.P,
            "filterbank" => n >= 8,
            "recmatmul" => power && n >= 64,
            "sieve" => n >= 4,
            "piprecision" => n >= 15,
            "banking" => sizes.A >= 10,
            _ => true,
        };
        if fits {
            Ok(())
        } else {
            refuse(format!(
                "n={n}: it does not divide as it must, or is too small"
            ))
        }
    }
}

/// What is usual: `n` doubles.
const fn of(
    id: &'static str,
    bound: Bound,
    sizes: [i64; 3],
    expected: fn(Sizes) -> Counts,
) -> Benchmark {
    Benchmark {
        id,
        bound,
        n: "",
        unit: "message",
        fixed: &[],
        sizes,
        most: 100_000_000,
        step: Step::Double,
        expected,
    }
}

use Bound::{Computation, Messages};

/// All, in the order of the paper: micro-benchmarks, concurrency, parallelism.
pub const ALL: [Benchmark; 30] = [
    Benchmark {
        n: "pings",
        ..of(
            "pingpong",
            Messages,
            [997, 40_000, 40_000],
            expected::pingpong,
        )
    },
    Benchmark {
        n: "additions",
        ..of(
            "count",
            Messages,
            [997, 100_000, 1_000_000],
            expected::count,
        )
    },
    Benchmark {
        n: "messages for each actor",
        fixed: &[("A", 60)],
        ..of("fjthrput", Messages, [97, 1000, 10_000], expected::fjthrput)
    },
    Benchmark {
        n: "actors",
        most: 10_000_000,
        ..of(
            "fjcreate",
            Messages,
            [997, 40_000, 40_000],
            expected::fjcreate,
        )
    },
    Benchmark {
        n: "hops",
        fixed: &[("A", 100)],
        ..of(
            "threadring",
            Messages,
            [997, 100_000, 100_000],
            expected::threadring,
        )
    },
    Benchmark {
        n: "meetings",
        fixed: &[("A", 100)],
        ..of(
            "chameneos",
            Messages,
            [997, 20_000, 200_000],
            expected::chameneos,
        )
    },
    Benchmark {
        n: "pings of each actor",
        fixed: &[("A", 120)],
        most: 1_000_000,
        ..of("big", Messages, [97, 1000, 20_000], expected::big)
    },
    Benchmark {
        n: "operations of each worker",
        fixed: &[("P", 20), ("w", 10)],
        most: 1_000_000,
        ..of("concdict", Messages, [97, 1000, 10_000], expected::concdict)
    },
    Benchmark {
        n: "operations of each worker",
        fixed: &[("P", 20), ("w", 10), ("S", 1)],
        most: 100_000,
        step: Step::None,
        ..of("concsll", Computation, [97, 400, 8000], expected::concsll)
    },
    Benchmark {
        n: "items of each producer",
        fixed: &[("P", 40), ("N", 40), ("w", 50), ("S", 25)],
        most: 1_000_000,
        ..of("bndbuffer", Computation, [3, 20, 1000], expected::bndbuffer)
    },
    Benchmark {
        n: "meals of each philosopher",
        fixed: &[("A", 20)],
        unit: "meal",
        ..of(
            "philosopher",
            Messages,
            [97, 1000, 10_000],
            expected::philosopher,
        )
    },
    Benchmark {
        n: "haircuts",
        fixed: &[("w", 1000), ("S", 1000)],
        unit: "haircut",
        most: 1_000_000,
        ..of("barber", Computation, [97, 1000, 5000], expected::barber)
    },
    Benchmark {
        n: "rounds",
        fixed: &[("A", 200)],
        ..of("cigsmok", Computation, [97, 1000, 1000], expected::cigsmok)
    },
    Benchmark {
        n: "terms of each series",
        fixed: &[("A", 10)],
        most: 10_000_000,
        ..of("logmap", Messages, [97, 2500, 25_000], expected::logmap)
    },
    Benchmark {
        n: "transactions",
        fixed: &[("A", 1000)],
        most: 10_000_000,
        ..of("banking", Messages, [997, 5000, 50_000], expected::banking)
    },
    Benchmark {
        n: "values",
        most: 10_000_000,
        ..of(
            "radixsort",
            Messages,
            [97, 2000, 100_000],
            expected::radixsort,
        )
    },
    Benchmark {
        n: "columns",
        fixed: &[("P", 8)],
        unit: "multiplication",
        most: 65_536,
        ..of(
            "filterbank",
            Computation,
            [64, 1024, 16_384],
            expected::filterbank,
        )
    },
    Benchmark {
        n: "numbers",
        fixed: &[("M", 1000)],
        unit: "division",
        most: 10_000_000,
        ..of(
            "sieve",
            Computation,
            [997, 20_000, 100_000],
            expected::sieve,
        )
    },
    Benchmark {
        n: "nodes at most",
        fixed: &[("A", 10), ("S", 500), ("M", 100)],
        unit: "node",
        most: 10_000_000,
        ..of("uct", Messages, [997, 20_000, 200_000], expected::uct)
    },
    Benchmark {
        n: "side of the board",
        fixed: &[("P", 20), ("w", 4)],
        unit: "board",
        most: 15,
        step: Step::One,
        ..of("nqueenk", Computation, [7, 10, 12], expected::nqueenk)
    },
    Benchmark {
        n: "customers",
        fixed: &[("S", 500), ("w", 2)],
        unit: "customer",
        most: 10_000_000,
        ..of(
            "facloc",
            Computation,
            [997, 10_000, 100_000],
            expected::facloc,
        )
    },
    Benchmark {
        n: "values",
        fixed: &[("w", 2048)],
        unit: "value",
        most: 10_000_000,
        ..of(
            "quicksort",
            Computation,
            [9973, 100_000, 1_000_000],
            expected::quicksort,
        )
    },
    Benchmark {
        n: "pieces",
        fixed: &[("P", 100)],
        unit: "piece",
        most: 1_000_000_000,
        ..of(
            "trapezoid",
            Computation,
            [9973, 1_000_000, 10_000_000],
            expected::trapezoid,
        )
    },
    Benchmark {
        n: "decimals",
        fixed: &[("P", 20)],
        unit: "word of a term",
        most: 50_000,
        ..of(
            "piprecision",
            Computation,
            [97, 1000, 5000],
            expected::piprecision,
        )
    },
    Benchmark {
        n: "side of the matrix",
        fixed: &[("M", 100)],
        most: 1000,
        ..of("sor", Messages, [6, 20, 20], expected::sor)
    },
    Benchmark {
        n: "nodes",
        fixed: &[("S", 50), ("w", 100)],
        unit: "relaxation",
        most: 2000,
        ..of("apsp", Computation, [100, 150, 300], expected::apsp)
    },
    Benchmark {
        n: "side of the grid",
        fixed: &[("P", 20), ("w", 1024)],
        unit: "node",
        most: 200,
        ..of("astar", Computation, [7, 15, 30], expected::astar)
    },
    Benchmark {
        n: "side of the matrices",
        fixed: &[("P", 20), ("w", 16_384)],
        unit: "multiplication",
        most: 4096,
        ..of(
            "recmatmul",
            Computation,
            [256, 256, 1024],
            expected::recmatmul,
        )
    },
    Benchmark {
        n: "the number's index",
        most: 35,
        step: Step::One,
        ..of("fib", Messages, [11, 20, 25], expected::fib)
    },
    Benchmark {
        n: "values",
        most: 65_536,
        ..of(
            "bitonicsort",
            Messages,
            [16, 256, 4096],
            expected::bitonicsort,
        )
    },
];
