//! concsll: a sorted linked list, which is walked from its head.

const END: usize = usize::MAX;

/// Values in rising order, equal ones in the order in which they came.
#[derive(Debug, Default)]
pub struct SortedList {
    /// A value and its successor.
    nodes: Vec<(i64, usize)>,
    head: Option<usize>,
}

impl SortedList {
    pub fn new() -> Self {
        Self::default()
    }

    fn walk(&self) -> impl Iterator<Item = (usize, i64)> {
        let next = |at: usize| self.nodes.get(at).map(|node| (at, node.0));
        let first = self.head.and_then(next);
        std::iter::successors(first, move |(at, _)| next(self.nodes[*at].1))
    }

    pub fn add(&mut self, value: i64) {
        let before = self.walk().take_while(|(_, other)| *other <= value).last();
        let new = self.nodes.len();
        let after = match before {
            None => self.head.replace(new).unwrap_or(END),
            Some((at, _)) => std::mem::replace(&mut self.nodes[at].1, new),
        };
        self.nodes.push((value, after));
    }

    pub fn contains(&self, value: i64) -> bool {
        self.walk().any(|(_, other)| other == value)
    }

    pub fn size(&self) -> i64 {
        self.walk().count() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_whatever_came_first() {
        let mut list = SortedList::new();
        for value in [5, 3, 9, 3, 7, 1, 9] {
            list.add(value);
        }
        let values: Vec<i64> = list.walk().map(|(_, value)| value).collect();
        assert_eq!(values, [1, 3, 3, 5, 7, 9, 9]);
        assert!(list.contains(7) && !list.contains(8) && !list.contains(10));
        assert_eq!(list.size(), 7);
    }
}
