//! recmatmul: two matrices multiplied by halving them.

/// Where a part of the product comes from.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// First row of the first matrix and of the product.
    pub row: usize,
    /// First column of the second matrix and of the product.
    pub column: usize,
    /// First column of the first matrix and row of the second.
    pub between: usize,
    pub side: usize,
}

impl Part {
    pub fn whole(side: i64) -> Self {
        Self {
            row: 0,
            column: 0,
            between: 0,
            side: side as usize,
        }
    }

    /// Its eight parts, unless it is small enough to be multiplied.
    pub fn split(self, threshold: i64) -> Option<[Self; 8]> {
        let half = self.side / 2;
        (self.side * self.side > threshold as usize).then(|| {
            [0, 1, 2, 3, 4, 5, 6, 7].map(|bits: usize| Self {
                row: self.row + half * (bits >> 2),
                column: self.column + half * (bits >> 1 & 1),
                between: self.between + half * (bits & 1),
                side: half,
            })
        })
    }
}

/// What is multiplied: row i of the first is all i, column j of the second all j.
#[derive(Debug)]
pub struct Matrices {
    side: usize,
    first: Vec<f64>,
    second: Vec<f64>,
}

/// A part of the product that one worker adds up.
#[derive(Clone, Debug)]
pub struct Leaf(Vec<f64>);

impl Leaf {
    pub fn sum(&self) -> i64 {
        self.0.iter().map(|value| *value as i64).sum()
    }
}

impl Matrices {
    pub fn new(side: i64) -> Self {
        let side = side as usize;
        let fill = |of: fn(usize, usize) -> usize| {
            let cells = (0..side * side).map(|at| of(at / side, at % side) as f64);
            cells.collect()
        };
        Self {
            side,
            first: fill(|row, _| row),
            second: fill(|_, column| column),
        }
    }

    /// Adds a part's products to what is there. Gives the number of multiplications.
    pub fn add(&self, part: Part, leaf: &mut Leaf) -> i64 {
        let Part {
            row,
            column,
            between,
            side,
        } = part;
        for i in 0..side {
            for j in 0..side {
                let mut sum = leaf.0[i * side + j];
                for k in between..between + side {
                    sum += self.first[(row + i) * self.side + k]
                        * self.second[k * self.side + column + j];
                }
                leaf.0[i * side + j] = sum;
            }
        }
        (side * side * side) as i64
    }

    pub fn leaf(&self, part: Part) -> Leaf {
        Leaf(vec![0.0; part.side * part.side])
    }
}
