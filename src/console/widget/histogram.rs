//! A small histogram: one column a bucket, in eighths of a line.

use crate::ledger::num;

/// From empty to full.
pub(super) const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The level of `value` where `most` is the highest: 0 for nothing, else 1 to 8.
pub(super) fn level(value: u64, most: u64) -> usize {
    if value == 0 || most == 0 {
        return 0;
    }
    let share = num::ratio(value) / num::ratio(most);
    num::index(num::floor(share * 8.0 + 0.5)).clamp(1, 8)
}

/// Each bucket as one character, the highest bucket full. Empty buckets are blank, those with
/// anything in them are seen.
pub fn text(buckets: &[u64]) -> String {
    let most = buckets.iter().copied().max().unwrap_or(0);
    buckets
        .iter()
        .map(|bucket| LEVELS.get(level(*bucket, most)).copied().unwrap_or(' '))
        .collect()
}

/// The column of one bucket over `rows` lines, upper line first, one character a line.
pub fn column(value: u64, most: u64, rows: u16) -> Vec<char> {
    let eighths = u64::from(rows).saturating_mul(8);
    let filled = if value == 0 || most == 0 {
        0
    } else {
        let share = num::ratio(value) / num::ratio(most);
        num::floor(share * num::ratio(eighths) + 0.5).clamp(1, eighths)
    };
    (0..u64::from(rows))
        .rev()
        .map(|row| {
            let here = filled.saturating_sub(row.saturating_mul(8)).min(8);
            LEVELS.get(num::index(here)).copied().unwrap_or(' ')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bucket_is_full_and_small_ones_are_seen() {
        assert_eq!(text(&[0, 1, 50, 100, 0]), " ▁▄█ ");
        assert_eq!(text(&[0, 0]), "  ");
        assert_eq!(text(&[1_000_000, 1]), "█▁");
    }

    #[test]
    fn a_column_fills_from_below() {
        assert_eq!(column(4, 4, 2), ['█', '█']);
        assert_eq!(column(1, 4, 2), [' ', '▄']);
        assert_eq!(column(3, 4, 2), ['▄', '█']);
        assert_eq!(column(1, 1_000, 2), [' ', '▁']);
        assert_eq!(column(0, 4, 2), [' ', ' ']);
    }
}
