//! nqueenk: boards with queens that do not attack each other.

fn valid(board: &[i64]) -> bool {
    board.iter().enumerate().all(|(i, p)| {
        let mut rest = board.iter().skip(i + 1).zip(1..);
        rest.all(|(q, apart)| q != p && *q != p - apart && *q != p + apart)
    })
}

/// One more queen: the valid boards. Each of `size` places is tried.
pub fn place(board: &[i64], size: i64) -> impl Iterator<Item = Vec<i64>> {
    (0..size).filter_map(move |column| {
        let mut more = Vec::with_capacity(board.len() + 1);
        more.extend_from_slice(board);
        more.push(column);
        valid(&more).then_some(more)
    })
}

/// Tries all that can follow; `found` hears of every solution. Gives the boards tried.
pub fn solve(board: &[i64], size: i64, found: &mut impl FnMut()) -> i64 {
    if board.len() as i64 == size {
        found();
        return 0;
    }
    let mut tried = size;
    for more in place(board, size) {
        tried += solve(&more, size, found);
    }
    tried
}

/// Boards tried and solutions, counted with bits.
pub(crate) fn counted(size: i64) -> (i64, i64) {
    fn below(size: u32, columns: u32, left: u32, right: u32) -> (i64, i64) {
        let all = (1 << size) - 1;
        if columns == all {
            return (0, 1);
        }
        let mut free = all & !(columns | left | right);
        let mut sum = (i64::from(size), 0);
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            let more = below(size, columns | bit, (left | bit) << 1, (right | bit) >> 1);
            sum = (sum.0 + more.0, sum.1 + more.1);
        }
        sum
    }
    below(size as u32, 0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_count_the_known_solutions() {
        for (size, known) in [
            (1, 1),
            (2, 0),
            (3, 0),
            (4, 2),
            (5, 10),
            (6, 4),
            (7, 40),
            (8, 92),
        ] {
            let mut found = 0;
            let tried = solve(&[], size, &mut || found += 1);
            assert_eq!((tried, found), counted(size), "{size}");
            assert_eq!(found, known, "{size}");
        }
        assert_eq!(counted(12).1, 14_200);
    }
}
