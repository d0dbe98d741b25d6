//! filterbank: delays and filters of finite response.

/// Values that are sent through a bank with so many columns.
pub fn simulations(columns: i64) -> i64 {
    2 * columns + columns / 8
}

/// Which filter of a channel.
#[derive(Clone, Copy, Debug)]
pub enum Coefficients {
    First,
    Second,
}

impl Coefficients {
    fn all(self, channel: i64, channels: i64, columns: i64) -> Vec<f64> {
        let of = |i: i64| match self {
            Self::First => i * columns + channel * channels + 2 * channel + i + 1,
            Self::Second => i * channel + channel * channel + channel + i,
        };
        (0..columns).map(|i| of(i) as f64).collect()
    }
}

/// Gives what came so many values before.
#[derive(Debug)]
pub struct Delay {
    state: Vec<f64>,
    at: usize,
}

impl Delay {
    pub fn new(columns: i64) -> Self {
        Self {
            state: vec![0.0; columns as usize - 1],
            at: 0,
        }
    }

    pub fn push(&mut self, value: f64) -> f64 {
        let before = std::mem::replace(&mut self.state[self.at], value);
        self.at = (self.at + 1) % self.state.len();
        before
    }
}

/// A filter: once it has seen as many values as it has coefficients, each further one gives a sum of products.
#[derive(Debug)]
pub struct Fir {
    coefficients: Vec<f64>,
    data: Vec<f64>,
    at: usize,
    full: bool,
}

impl Fir {
    pub fn new(which: Coefficients, channel: i64, channels: i64, columns: i64) -> Self {
        Self {
            coefficients: which.all(channel, channels, columns),
            data: vec![0.0; columns as usize],
            at: 0,
            full: false,
        }
    }

    /// Multiplications of one sum.
    pub fn cost(&self) -> i64 {
        self.data.len() as i64
    }

    /// Keeps a value; whether there is a sum now.
    pub(crate) fn take(&mut self, value: f64) -> bool {
        self.data[self.at] = value;
        self.at += 1;
        if self.at == self.data.len() {
            (self.at, self.full) = (0, true);
        }
        self.full
    }

    /// The sum over the values at these places, which are in rising order.
    pub(crate) fn sum(&self, places: impl Iterator<Item = usize>) -> f64 {
        let last = self.data.len() - 1;
        places.fold(0.0, |sum, i| {
            sum + self.data[i] * self.coefficients[last - i]
        })
    }

    pub fn push(&mut self, value: f64) -> Option<f64> {
        self.take(value).then(|| self.sum(0..self.data.len()))
    }

    pub(crate) fn place(&self) -> usize {
        self.at
    }
}
