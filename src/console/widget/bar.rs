//! A horizontal bar: a share of a number of columns, in eighths.

use crate::ledger::num;

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar of `part` of `whole` in at most `columns` columns. What is more than nothing is seen.
pub fn text(part: u64, whole: u64, columns: u16) -> String {
    if part == 0 || whole == 0 || columns == 0 {
        return String::new();
    }
    let share = (num::ratio(part) / num::ratio(whole)).min(1.0);
    let eighths = num::index(num::floor(share * f64::from(columns) * 8.0 + 0.5)).max(1);
    let mut bar = "█".repeat(eighths / 8);
    bar.push_str(EIGHTHS.get(eighths % 8).copied().unwrap_or_default());
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::text::columns;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(text(1, 1, 4), "████");
        assert_eq!(text(1, 2, 4), "██");
        assert_eq!(text(1, 16, 4), "▎");
        assert_eq!(text(1, 1_000_000, 4), "▏");
        assert_eq!(text(0, 4, 4), "");
        assert_eq!(text(9, 4, 4), "████");
        for part in 0..50 {
            assert!(columns(&text(part, 37, 9)) <= 9);
        }
    }
}
