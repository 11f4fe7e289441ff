//! Durations as people write them in a config: `500ms`, `5s`, `2m`, `24h`, `7d`, `1h30m`.
//!
//! It knows neither files nor flags; both read durations through here. Next on the walk:
//! [`super::settings`], which says which durations each setting takes.

use std::fmt::Write as _;
use std::time::Duration;

/// Units from long to short, with their length in milliseconds. A text names each at most once, in
/// this order.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads a duration; `None` where the text is not one: no number without a unit, no fraction, no
/// sign, no space, units in falling order, at most `u64::MAX` milliseconds.
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut next_unit = 0;
    let mut total_ms: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|each: char| !each.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let letters = tail
            .find(|each: char| !each.is_ascii_lowercase())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(letters)?;
        let position = UNITS.iter().position(|(name, _)| *name == unit)?;
        if position < next_unit {
            return None;
        }
        next_unit = position + 1;
        let (_, length) = UNITS.get(position)?;
        let part = number.parse::<u64>().ok()?.checked_mul(*length)?;
        total_ms = total_ms.checked_add(part)?;
        rest = tail;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total_ms))
}

/// The shortest text that [`parse`] reads as this duration; what is below a millisecond is cut off.
pub fn text(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if left == 0 {
        return "0s".to_owned();
    }
    let mut written = String::new();
    for (unit, length) in UNITS {
        let number = left / length;
        left %= length;
        // Writing to a String cannot fail.
        if number > 0 && write!(written, "{number}{unit}").is_err() {
            return String::new();
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (written, millis) in [
            ("500ms", 500),
            ("5s", 5_000),
            ("2m", 120_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(
                parse(written),
                Some(Duration::from_millis(millis)),
                "{written}"
            );
        }
    }

    #[test]
    fn what_could_be_misread_is_not_a_duration() {
        for written in [
            "",
            "5",
            "s",
            "5 s",
            "-5s",
            "1.5h",
            "5S",
            "5sec",
            "30m1h",
            "1h1h",
            "5s ",
            "٥s",
            "99999999999999999999s",
            "300000000000d",
        ] {
            assert_eq!(parse(written), None, "{written:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis: u64) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse(&text(duration)), Some(duration));
        }

        #[test]
        fn any_text_is_survived(written in any::<String>()) {
            let _duration = parse(&written);
        }
    }
}
