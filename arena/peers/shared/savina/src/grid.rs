//! astar: a search through a grid of three dimensions, shared by the workers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{PseudoRandom, busy_wait};

const NOBODY: u32 = u32::MAX;

/// The nodes with their neighbours, all of which lie further from the origin.
#[derive(Debug)]
pub struct Grid {
    side: u32,
    neighbours: Vec<Vec<u32>>,
}

impl Grid {
    pub fn new(side: i64) -> Self {
        let side = side as u32;
        let mut random = PseudoRandom::new(123_456);
        let number = |i: u32, j: u32, k: u32| (i * side + j) * side + k;
        let mut neighbours = Vec::with_capacity(side.pow(3) as usize);
        for node in 0..side.pow(3) {
            let (i, j, k) = (node / side / side, node / side % side, node % side);
            let mut near: Vec<u32> = Vec::new();
            // Neither the node itself nor the opposite corner of its cube.
            for corner in 1..7 {
                let coin = random.coin();
                if coin || (corner == 6 && near.is_empty()) {
                    let step = |at: u32, bit: u32| (at + (corner >> bit & 1)).min(side - 1);
                    let other = number(step(i, 2), step(j, 1), step(k, 0));
                    if other != node && !near.contains(&other) {
                        near.push(other);
                    }
                }
            }
            neighbours.push(near);
        }
        Self { side, neighbours }
    }

    fn target(&self) -> u32 {
        let axis = self.side * 4 / 5;
        (axis * self.side + axis) * self.side + axis
    }

    /// How many nodes can be reached, the sum of their numbers, and whether the target is one.
    pub(crate) fn reachable(&self) -> (i64, i64, bool) {
        let mut seen = vec![false; self.neighbours.len()];
        let mut queue = vec![0_u32];
        seen[0] = true;
        let (mut count, mut sum) = (0, 0);
        while let Some(node) = queue.pop() {
            count += 1;
            sum += i64::from(node);
            for &near in &self.neighbours[node as usize] {
                if !std::mem::replace(&mut seen[near as usize], true) {
                    queue.push(near);
                }
            }
        }
        (count, sum, seen[self.target() as usize])
    }
}

/// One search: who came to each node from where.
#[derive(Debug)]
pub struct Search {
    grid: Arc<Grid>,
    parents: Vec<AtomicU32>,
}

impl Search {
    pub fn new(grid: Arc<Grid>) -> Self {
        let parents = grid.neighbours.iter().map(|_| AtomicU32::new(NOBODY));
        Self {
            parents: parents.collect(),
            grid,
        }
    }

    /// Visits a node and what can be reached from it first, up to a number of nodes: how many they were, the sum of
    /// their numbers, and the nodes that are left to visit.
    pub fn visit(&self, from: u32, most: i64) -> (i64, i64, impl Iterator<Item = u32> + use<>) {
        let mut queue = VecDeque::from([from]);
        let (mut visited, mut sum) = (0, 0);
        while visited < most {
            let Some(node) = queue.pop_front() else {
                break;
            };
            visited += 1;
            sum += i64::from(node);
            busy_wait(100);
            for &near in &self.grid.neighbours[node as usize] {
                let parent = &self.parents[near as usize];
                let free = Ordering::Relaxed;
                if parent.compare_exchange(NOBODY, node, free, free).is_ok() {
                    queue.push_back(near);
                }
            }
        }
        (visited, sum, queue.into_iter())
    }

    /// Whether the way back from the target leads to the origin.
    pub fn found(&self) -> bool {
        let parent = |node: u32| self.parents[node as usize].load(Ordering::Relaxed);
        let mut at = self.grid.target();
        while at != 0 {
            at = parent(at);
            if at == NOBODY {
                return false;
            }
        }
        true
    }
}
