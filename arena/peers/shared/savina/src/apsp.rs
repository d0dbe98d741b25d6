//! apsp: all shortest paths (Floyd and Warshall), block by block.

use std::sync::Arc;

use crate::PseudoRandom;

/// The weights between all nodes.
#[derive(Debug)]
pub struct Graph {
    pub nodes: usize,
    pub block: usize,
    weights: Vec<i64>,
}

/// A block of the matrix of distances.
pub type Block = Arc<Vec<i64>>;

impl Graph {
    pub fn new(nodes: i64, block: i64, weight: i64) -> Self {
        let mut random = PseudoRandom::new(nodes);
        let n = nodes as usize;
        let mut weights = vec![0; n * n];
        for i in 0..n {
            for j in i + 1..n {
                let w = random.below(weight) + 1;
                weights[i * n + j] = w;
                weights[j * n + i] = w;
            }
        }
        Self {
            nodes: n,
            block: block as usize,
            weights,
        }
    }

    /// Blocks in a row.
    pub fn blocks(&self) -> usize {
        self.nodes / self.block
    }

    pub fn first(&self, id: usize) -> Block {
        let (row, column) = (
            id / self.blocks() * self.block,
            id % self.blocks() * self.block,
        );
        let cell = |at: usize| {
            self.weights[(row + at / self.block) * self.nodes + column + at % self.block]
        };
        Arc::new((0..self.block * self.block).map(cell).collect())
    }

    /// The blocks whose distances a block needs: of its row and of its column.
    pub fn neighbours(&self, id: usize) -> impl Iterator<Item = usize> + use<> {
        let side = self.blocks();
        let (row, column) = (id / side, id % side);
        let of_column = (0..side)
            .filter(move |r| *r != row)
            .map(move |r| r * side + column);
        let of_row = (0..side)
            .filter(move |c| *c != column)
            .map(move |c| row * side + c);
        of_column.chain(of_row)
    }

    /// A block after node `k` may lie on a path. `other` knows the blocks around.
    pub fn step<'a>(
        &self,
        id: usize,
        k: usize,
        mine: &'a Block,
        other: impl Fn(usize) -> &'a Block,
    ) -> Block {
        let (size, side) = (self.block, self.blocks());
        let (row, column, through) = (id / side, id % side, k / size);
        let at = |r: usize, c: usize| {
            if r * side + c == id {
                mine
            } else {
                other(r * side + c)
            }
        };
        let (left, above) = (at(row, through), at(through, column));
        let cell = |i: usize, j: usize| {
            let by_k = left[i * size + k % size] + above[k % size * size + j];
            mine[i * size + j].min(by_k)
        };
        Arc::new(
            (0..size * size)
                .map(|at| cell(at / size, at % size))
                .collect(),
        )
    }

    /// The sum of all distances.
    pub(crate) fn distances(&self) -> i64 {
        let n = self.nodes;
        let mut d = self.weights.clone();
        for k in 0..n {
            let row = d[k * n..(k + 1) * n].to_vec();
            for line in d.chunks_exact_mut(n) {
                let first = line[k];
                for (cell, second) in line.iter_mut().zip(&row) {
                    *cell = (*cell).min(first + second);
                }
            }
        }
        d.iter().sum()
    }
}
