//! Axes: from values to positions, with ticks a reader can work with.

/// What an axis counts, which is how its ticks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Nanoseconds.
    Time,
    /// Events per second.
    Rate,
    /// A factor.
    Factor,
    Bytes,
    /// A plain number.
    Count,
}

impl Quantity {
    /// A value at an axis: short, with its unit.
    pub(crate) fn write(self, value: f64) -> String {
        let scaled = |steps: &[(f64, &str)], last: &str| {
            let step = steps.iter().find(|(limit, _)| value >= *limit);
            step.map_or_else(
                || format!("{}{last}", short(value)),
                |(limit, unit)| format!("{}{unit}", short(value / limit)),
            )
        };
        match self {
            Self::Time => scaled(&[(1e9, " s"), (1e6, " ms"), (1e3, " µs")], " ns"),
            Self::Rate => scaled(&[(1e9, " G"), (1e6, " M"), (1e3, " k")], ""),
            Self::Factor => format!("{}×", short(value)),
            Self::Bytes => {
                const MI: f64 = 1024.0 * 1024.0;
                scaled(
                    &[(MI * 1024.0, " GiB"), (MI, " MiB"), (1024.0, " KiB")],
                    " B",
                )
            }
            Self::Count if value >= 1e4 => scaled(&[(1e9, " G"), (1e6, " M"), (1e3, " k")], ""),
            Self::Count => short(value),
        }
    }
}

/// At most three digits and nothing after them that says nothing.
fn short(value: f64) -> String {
    let text = match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A logarithmic axis. Equal factors are equal lengths, so it may begin anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Log {
    /// An axis with room for all values that are above zero, at least `factor` from end to end. `None` without any.
    pub(crate) fn over(
        values: impl IntoIterator<Item = f64>,
        factor: f64,
        from: f64,
        to: f64,
    ) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.into_iter().filter(|v| v.is_finite() && *v > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            return None;
        }
        let missing = (factor / (high / low)).max(1.0).sqrt();
        let (low, high) = (low / missing, high * missing);
        let margin = (high / low).powf(0.04);
        Some(Self {
            low: (low / margin).ln(),
            high: (high * margin).ln(),
            from,
            to,
        })
    }

    /// The position of a value. Values beyond the ends, and zero, are put at the ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).ln() - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    fn ends(&self) -> (f64, f64) {
        (self.low.exp(), self.high.exp())
    }

    /// Round values for ticks, no two of them closer than `gap`. As many as there is room for, within reason.
    pub(crate) fn ticks(&self, quantity: Quantity, gap: f64) -> Vec<f64> {
        let (low, high) = self.ends();
        let mut candidates: Vec<Vec<f64>> = Vec::new();
        if quantity == Quantity::Bytes {
            candidates.extend((1..30).map(|step| powers(low, high, 2.0, &[1.0], step)));
        } else {
            if high / low < 6.0 {
                candidates.extend((2..8).rev().map(|most| even(low, high, most)));
            }
            let sets: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
            candidates.extend(sets.iter().map(|set| powers(low, high, 10.0, set, 1)));
            candidates.extend((2..12).map(|step| powers(low, high, 10.0, &[1.0], step)));
        }
        let is_apart = |ticks: &[f64]| {
            ticks
                .windows(2)
                .all(|pair| (self.at(pair[1]) - self.at(pair[0])).abs() >= gap)
        };
        candidates
            .into_iter()
            .find(|ticks| (1..9).contains(&ticks.len()) && is_apart(ticks))
            .unwrap_or_default()
    }
}

/// Multiples of a round step between two values.
fn even(low: f64, high: f64, most: usize) -> Vec<f64> {
    let magnitude = 10_f64.powf(((high - low) / count(most)).log10().floor());
    for step in [1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 50.0].map(|m| m * magnitude) {
        let first = (low / step).ceil();
        let last = (high / step).floor();
        if last - first + 1.0 <= count(most) {
            let mut ticks = Vec::new();
            let mut index = first;
            while index <= last {
                ticks.push(index * step);
                index += 1.0;
            }
            return ticks;
        }
    }
    Vec::new()
}

/// `set` times powers of `base`, every `step`th.
fn powers(low: f64, high: f64, base: f64, set: &[f64], step: i32) -> Vec<f64> {
    let mut ticks = Vec::new();
    for power in (-60..=60).filter(|p| p % step == 0) {
        let unit = base.powi(power);
        ticks.extend(
            set.iter()
                .map(|m| m * unit)
                .filter(|t| (low..=high).contains(t)),
        );
    }
    ticks
}

/// A count as a number to compute positions with.
#[expect(clippy::cast_precision_loss, reason = "a few thousand points at most")]
pub(crate) fn count(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_monotone_and_equal_factors_are_equal_lengths() {
        let axis = Log::over([1.0, 10.0, 1000.0], 1.0, 100.0, 500.0).expect("values");
        let mut last = f64::NEG_INFINITY;
        for value in [0.5, 1.0, 1.5, 3.0, 10.0, 99.0, 100.0, 1000.0] {
            let position = axis.at(value);
            assert!(position >= last, "{value}");
            assert!((100.0..=500.0).contains(&position), "{value}");
            last = position;
        }
        let decade = axis.at(10.0) - axis.at(1.0);
        assert!((axis.at(1000.0) - axis.at(100.0) - decade).abs() < 1e-9);
        assert!((axis.at(0.0) - 100.0).abs() < 1e-9, "zero is at the end");
    }

    #[test]
    fn a_vertical_axis_runs_upwards() {
        let axis = Log::over([1.0, 2.0], 1.0, 90.0, 10.0).expect("values");
        assert!(axis.at(1.0) > axis.at(2.0));
    }

    #[test]
    fn one_value_still_makes_an_axis_of_the_least_span() {
        let axis = Log::over([7.0], 2.0, 0.0, 100.0).expect("a value");
        let (low, high) = axis.ends();
        assert!(high / low >= 2.0, "{low} {high}");
        assert!((axis.at(7.0) - 50.0).abs() < 1e-6);
        assert!(Log::over([0.0, f64::NAN], 2.0, 0.0, 1.0).is_none());
    }

    #[test]
    fn ticks_are_few_inside_and_apart() {
        for (low, high) in [
            (1.0, 1e6),
            (35.0, 2200.0),
            (0.97, 1.12),
            (3.0, 14.0),
            (81.0, 305.0),
            (1e-9, 1e12),
        ] {
            for quantity in [Quantity::Time, Quantity::Bytes] {
                let axis = Log::over([low, high], 2.0, 0.0, 250.0).expect("values");
                for gap in [16.0, 46.0, 60.0] {
                    let ticks = axis.ticks(quantity, gap);
                    assert!(
                        !ticks.is_empty() && ticks.len() < 9,
                        "{low} {high} {gap}: {ticks:?}"
                    );
                    let (low, high) = axis.ends();
                    assert!(ticks.iter().all(|t| (low..=high).contains(t)), "{ticks:?}");
                    let apart = |w: &[f64]| axis.at(w[1]) - axis.at(w[0]) >= gap;
                    assert!(ticks.windows(2).all(apart), "{gap}: {ticks:?}");
                }
            }
        }
        let memory = Log::over([6e6, 3e9], 1.0, 0.0, 300.0).expect("values");
        let words: Vec<String> = memory
            .ticks(Quantity::Bytes, 50.0)
            .into_iter()
            .map(|t| Quantity::Bytes.write(t))
            .collect();
        assert_eq!(
            words,
            ["16 MiB", "64 MiB", "256 MiB", "1 GiB"],
            "round in the units of memory"
        );
    }

    #[test]
    fn quantities_are_short() {
        assert_eq!(Quantity::Time.write(50.0), "50 ns");
        assert_eq!(Quantity::Time.write(2500.0), "2.5 µs");
        assert_eq!(Quantity::Time.write(2e9), "2 s");
        assert_eq!(Quantity::Rate.write(18_930_000.0), "18.9 M");
        assert_eq!(Quantity::Rate.write(200.0), "200");
        assert_eq!(Quantity::Factor.write(1.05), "1.05×");
        assert_eq!(Quantity::Count.write(30000.0), "30 k");
        assert_eq!(Quantity::Count.write(3000.0), "3000");
        assert_eq!(Quantity::Count.write(3e6), "3 M");
        assert_eq!(Quantity::Bytes.write(1_048_576.0), "1 MiB");
    }
}
