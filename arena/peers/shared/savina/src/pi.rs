//! piprecision: numbers with many places after the point, and the terms of a series for pi.

/// A number that is not negative, in words of 64 bits: the first before the point, the others behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed(Vec<u64>);

impl Fixed {
    /// 0 with room for so many decimals, and some bits more.
    pub fn zero(decimals: i64) -> Self {
        let bits = decimals as usize * 3322 / 1000 + 128;
        Self(vec![0; bits / 64 + 2])
    }

    /// Words behind the point.
    pub fn words(&self) -> i64 {
        self.0.len() as i64 - 1
    }

    fn ratio(over: u64, under: u64, decimals: i64) -> Self {
        let mut ratio = Self::zero(decimals);
        ratio.0[0] = over;
        ratio.divide(under);
        ratio
    }

    fn divide(&mut self, by: u64) {
        let mut rest = 0_u128;
        for word in &mut self.0 {
            let value = rest << 64 | u128::from(*word);
            (*word, rest) = ((value / u128::from(by)) as u64, value % u128::from(by));
        }
    }

    pub fn add(&mut self, other: &Self) {
        let mut carry = false;
        for (word, more) in self.0.iter_mut().zip(&other.0).rev() {
            let (sum, first) = word.overflowing_add(*more);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*word, carry) = (sum, first || second);
        }
    }

    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (word, less) in self.0.iter_mut().zip(&other.0).rev() {
            let (left, first) = word.overflowing_sub(*less);
            let (left, second) = left.overflowing_sub(u64::from(borrow));
            (*word, borrow) = (left, first || second);
        }
    }

    fn multiply(&mut self, by: u64) {
        let mut carry = 0_u128;
        for word in self.0.iter_mut().rev() {
            let value = u128::from(*word) * u128::from(by) + carry;
            (*word, carry) = (value as u64, value >> 64);
        }
    }

    /// Divides by a power of 2.
    fn shift(&mut self, bits: u32) {
        let (words, bits) = ((bits / 64) as usize, bits % 64);
        for at in (0..self.0.len()).rev() {
            let word = |back: usize| at.checked_sub(words + back).map_or(0, |from| self.0[from]);
            let (low, high) = (word(0), word(1));
            self.0[at] = if bits == 0 {
                low
            } else {
                low >> bits | high << (64 - bits)
            };
        }
    }

    /// The last 15 of so many decimals, as a number.
    pub fn decimals(mut self, decimals: i64) -> i64 {
        let mut last = 0;
        let mut left = decimals as u32;
        while left > 0 {
            let some = left.min(15);
            self.0[0] = 0;
            self.multiply(10_u64.pow(some));
            last = ((u128::from(last) * 10_u128.pow(some) + u128::from(self.0[0]))
                % 10_u128.pow(15)) as u64;
            left -= some;
        }
        last as i64
    }
}

/// How many terms it takes for so many decimals.
pub fn terms(decimals: i64) -> i64 {
    Fixed::zero(decimals).words() * 16 + 1
}

/// Term `k` of the series of Bailey, Borwein and Plouffe.
pub fn term(k: i64, decimals: i64) -> Fixed {
    let eight = 8 * k as u64;
    let mut term = Fixed::ratio(4, eight + 1, decimals);
    for (over, more) in [(2, 4), (1, 5), (1, 6)] {
        term.subtract(&Fixed::ratio(over, eight + more, decimals));
    }
    term.shift(4 * k as u32);
    term
}

/// Pi by another way: Machin's.
pub(crate) fn machin(decimals: i64) -> Fixed {
    let arctan = |times: u64, of: u64| {
        let mut sum = Fixed::zero(decimals);
        let mut power = Fixed::ratio(times, of, decimals);
        let (mut odd, mut plus) = (1, true);
        while power.0.iter().any(|word| *word > 0) {
            let mut term = power.clone();
            term.divide(odd);
            if plus {
                sum.add(&term);
            } else {
                sum.subtract(&term);
            }
            power.divide(of * of);
            (odd, plus) = (odd + 2, !plus);
        }
        sum
    };
    let mut pi = arctan(16, 5);
    pi.subtract(&arctan(4, 239));
    pi
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_give_the_known_decimals() {
        // 3.14159 26535 89793 23846 26433 83279 50288 41971 69399 37510
        for (decimals, last) in [(15, 141_592_653_589_793), (50, 419_716_939_937_510)] {
            let mut sum = Fixed::zero(decimals);
            for k in 0..terms(decimals) {
                sum.add(&term(k, decimals));
            }
            assert_eq!(sum.decimals(decimals), last);
            assert_eq!(machin(decimals).decimals(decimals), last);
        }
        let mut sum = Fixed::zero(997);
        for k in 0..terms(997) {
            sum.add(&term(k, 997));
        }
        assert_eq!(sum.decimals(997), machin(997).decimals(997));
    }
}
