//! quicksort, radixsort, bitonicsort: what is sorted; and one step of quicksort.

use std::cmp::Ordering;

use crate::PseudoRandom;

/// The values to sort.
pub fn values(seed: i64, n: i64) -> impl Iterator<Item = i64> {
    let mut random = PseudoRandom::new(seed);
    (0..n).map(move |_| random.next())
}

/// Values around the one in the middle.
#[derive(Debug, Default)]
pub struct Split {
    pub less: Vec<i64>,
    pub equal: Vec<i64>,
    pub greater: Vec<i64>,
}

pub fn split(data: &[i64]) -> Split {
    let pivot = data[data.len() / 2];
    let mut split = Split::default();
    for &value in data {
        match value.cmp(&pivot) {
            Ordering::Less => split.less.push(value),
            Ordering::Equal => split.equal.push(value),
            Ordering::Greater => split.greater.push(value),
        }
    }
    split
}

/// Without actors.
pub fn quicksort(data: Vec<i64>) -> Vec<i64> {
    if data.len() < 2 {
        return data;
    }
    let Split {
        less,
        equal,
        greater,
    } = split(&data);
    let mut sorted = quicksort(less);
    sorted.extend(equal);
    sorted.extend(quicksort(greater));
    sorted
}

/// How many actors sort this, if one sorts alone what is shorter than the threshold.
pub(crate) fn actors(data: &[i64], threshold: i64) -> i64 {
    if (data.len() as i64) < threshold {
        return 1;
    }
    let Split { less, greater, .. } = split(data);
    1 + actors(&less, threshold) + actors(&greater, threshold)
}
