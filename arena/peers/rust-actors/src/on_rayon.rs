//! rayon: skynet as a recursion whose halves may run in parallel. No units, no messages: a floor.

use crate::cells::{Cell, Cells, Counts, Fault, Params, Sample, Stopwatch};
use crate::sizes;
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::hint::black_box;

const CHILDREN: i64 = 10;

fn node(number: i64, size: i64) -> i64 {
    if size == 1 {
        return black_box(number);
    }
    let size = size / CHILDREN;
    let children = (0..CHILDREN).into_par_iter();
    children.map(|i| node(number + i * size, size)).sum()
}

fn floor(params: Params) -> Result<Sample, Fault> {
    let size = sizes::skynet(params)?;
    let pool = ThreadPoolBuilder::new().num_threads(params.threads as usize);
    let pool = pool.build().map_err(|e| Fault::Limit(e.to_string()))?;
    Ok(Box::new(move |inner| {
        // Inside the pool, so that waking it is not measured.
        pool.install(|| {
            let mut total = Counts::default();
            let watch = Stopwatch::start();
            for _ in 0..inner {
                total += Counts {
                    msgs: (10 * size - 1) / 9,
                    units: 0,
                    check: node(0, black_box(size)),
                };
            }
            Ok((watch.stop(), total))
        })
    }))
}

pub(crate) fn cells() -> Cells {
    Cells::from([("skynet/floor", floor as Cell)])
}
