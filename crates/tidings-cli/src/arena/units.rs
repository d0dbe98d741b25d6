//! Quantities as people write them: bytes, durations and rates, to and from text.

use std::time::Duration;

use crate::arena::statistics::stats;

/// A year: longer times would not fit a clock's.
const MOST_SECONDS: f64 = 366.0 * 86_400.0;

/// `1.5 GiB`, `640 B`.
pub(crate) fn bytes(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    let mut value = count as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" {
        format!("{count} B")
    } else {
        format!("{} {unit}", digits(value))
    }
}

/// Three significant digits, and no more than two behind the point.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        // By what it is rounded to: 9.996 is 10.0.
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A rate per second: `18.9 M`, `7.40 k`.
pub(crate) fn rate(per_second: f64) -> String {
    for (limit, unit) in [(1e9, " G"), (1e6, " M"), (1e3, " k")] {
        if per_second >= 0.9995 * limit {
            return format!("{}{unit}", digits(per_second / limit));
        }
    }
    digits(per_second)
}

/// `±2.1 %`: half the width of an interval, relative to its median.
pub(crate) fn spread(median: f64, interval: [f64; 2]) -> String {
    format!("±{:.1} %", 100.0 * stats::half_width(median, interval))
}

/// `1:05`, `2:01:05`.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// Reads `120s`, `2m`, `500ms`, `1h`, or seconds without a unit.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration: write 500ms, 20s, 2m or 1h");
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = number * seconds;
    if seconds > MOST_SECONDS {
        return Err(format!("{text:?} is more than a year"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// Reads `4G`, `512M`, `64KiB`, or bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size of memory: write 4G, 512M or 1000000");
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .filter(|n| *n > 0)
        .ok_or_else(wrong)
}

/// Reads `10%` or `0.1` as a fraction.
pub(crate) fn parse_fraction(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a share below 1: write 10% or 0.1");
    let value = parse_share(text)?;
    (value < 1.0).then_some(value).ok_or_else(wrong)
}

/// As `parse_fraction`, of what may be more than the whole.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a share: write 10% or 0.1");
    let (number, scale) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |number| (number, 0.01));
    let value = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(wrong())
    }
}

/// `1 cell`, `2 cells`.
pub(crate) fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_and_written() {
        assert_eq!(bytes(640), "640 B");
        assert_eq!(bytes(3 << 30), "3.00 GiB");
        assert_eq!(rate(18_930_000.0), "18.9 M");
        let rounded = [9.994, 9.996, 99.94, 99.96, 999.6].map(digits);
        assert_eq!(rounded, ["9.99", "10.0", "99.9", "100", "1000"]);
        let rounded = [999.4, 999.6, 9_997.0, 999_600.0].map(rate);
        assert_eq!(rounded, ["999", "1.00 k", "10.0 k", "1.00 M"]);
        assert_eq!(spread(200.0, [190.0, 220.0]), "±7.5 %");
        assert_eq!(clock(Duration::from_secs(65)), "1:05");
        assert_eq!(clock(Duration::from_secs(7265)), "2:01:05");
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_bytes("4G"), Ok(4 << 30));
        assert_eq!(parse_bytes("64KiB"), Ok(64 << 10));
        assert_eq!(parse_fraction("10%"), Ok(0.1));
        assert!(parse_duration("9000000h").is_err_and(|why| why.contains("year")));
        for bad in ["", "x", "-1s", "1y", "1e"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
            assert!(
                parse_bytes(bad).is_err() && parse_fraction(bad).is_err(),
                "{bad}"
            );
        }
        assert!(parse_bytes("0").is_err() && parse_fraction("100%").is_err());
        assert_eq!(parse_share("300%"), Ok(3.0));
        assert!(
            ["0", "-1", "inf"]
                .map(parse_share)
                .iter()
                .all(Result::is_err)
        );
    }
}
