//! facloc: where customers need facilities. A quadrant opens one, and becomes four, when its customers have too far to go.

use crate::PseudoRandom;

/// A customer, or a place for a facility.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    x: f64,
    y: f64,
    pub number: i64,
}

impl Point {
    fn distance(self, other: Self) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        (x * x + y * y).sqrt()
    }
}

/// The customers, without an end.
#[derive(Debug)]
pub struct Points {
    random: PseudoRandom,
    grid: f64,
    next: i64,
}

impl Points {
    pub fn new(grid: i64) -> Self {
        Self {
            random: PseudoRandom::new(123_456),
            grid: grid as f64,
            next: 0,
        }
    }
}

impl Iterator for Points {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        let number = self.next;
        self.next += 1;
        let x = self.random.fraction() * self.grid;
        let y = self.random.fraction() * self.grid;
        Some(Point { x, y, number })
    }
}

/// A part of the map.
#[derive(Debug)]
pub struct Quadrant {
    corner: Point,
    opposite: Point,
    /// Its own, and those around it when it was made.
    facilities: Vec<Point>,
    customers: Vec<Point>,
    cost: f64,
    threshold: f64,
}

impl Quadrant {
    /// The whole map. `alpha` times its diagonal is how far all customers of a quadrant may have to go.
    pub fn root(grid: i64, alpha: i64) -> Self {
        let point = |at: f64| Point {
            x: at,
            y: at,
            number: 0,
        };
        let diagonal = 2_f64.sqrt() * grid as f64;
        Self::new(
            point(0.0),
            point(grid as f64),
            Vec::new(),
            alpha as f64 * diagonal,
        )
    }

    fn new(corner: Point, opposite: Point, mut facilities: Vec<Point>, threshold: f64) -> Self {
        facilities.push(Point {
            x: f64::midpoint(corner.x, opposite.x),
            y: f64::midpoint(corner.y, opposite.y),
            number: 0,
        });
        Self {
            corner,
            opposite,
            facilities,
            customers: Vec::new(),
            cost: 0.0,
            threshold,
        }
    }

    fn centre(&self) -> Point {
        self.facilities[self.facilities.len() - 1]
    }

    fn take(&mut self, customer: Point) {
        let far = |facility: &Point| facility.distance(customer);
        self.cost += self.facilities.iter().map(far).fold(f64::MAX, f64::min);
        self.customers.push(customer);
    }

    /// A customer more; four quadrants if that is too much for one.
    pub fn add(&mut self, customer: Point) -> Option<[Self; 4]> {
        self.take(customer);
        (self.cost > self.threshold).then(|| self.split())
    }

    fn split(&mut self) -> [Self; 4] {
        let (low, mid, high) = (self.corner, self.centre(), self.opposite);
        let of = |x1, y1, x2, y2| {
            let (corner, opposite) = (
                Point {
                    x: x1,
                    y: y1,
                    number: 0,
                },
                Point {
                    x: x2,
                    y: y2,
                    number: 0,
                },
            );
            Self::new(corner, opposite, self.facilities.clone(), self.threshold)
        };
        let mut children = [
            of(low.x, mid.y, mid.x, high.y),
            of(mid.x, mid.y, high.x, high.y),
            of(low.x, low.y, mid.x, mid.y),
            of(mid.x, low.y, high.x, mid.y),
        ];
        for customer in std::mem::take(&mut self.customers) {
            children[self.child(customer)].take(customer);
        }
        children
    }

    /// Which of the four a customer belongs to.
    pub fn child(&self, customer: Point) -> usize {
        let (x, y) = (self.centre().x, self.centre().y);
        match (customer.x <= x, customer.y >= y) {
            (true, true) => 0,
            (false, true) => 1,
            (true, false) => 2,
            (false, false) => 3,
        }
    }

    /// Customers and the sum of their numbers.
    pub fn served(&self) -> (i64, i64) {
        let numbers = self.customers.iter().map(|customer| customer.number);
        (self.customers.len() as i64, numbers.sum())
    }
}

/// How often a quadrant becomes four.
pub(crate) fn splits(grid: i64, alpha: i64, customers: i64) -> i64 {
    // A quadrant with the places of its four.
    let mut all = vec![(Quadrant::root(grid, alpha), None::<usize>)];
    for customer in Points::new(grid).take(customers as usize) {
        let mut at = 0;
        while let Some(first) = all[at].1 {
            at = first + all[at].0.child(customer);
        }
        if let Some(children) = all[at].0.add(customer) {
            all[at].1 = Some(all.len());
            all.extend(children.map(|child| (child, None)));
        }
    }
    (all.len() as i64 - 1) / 4
}
