//! A sparkline: a history in one line, oldest first.

use super::histogram::{LEVELS, level};

/// `points` in `columns` columns, each the highest of the points it stands for, so that a spike is
/// never averaged away. Points that are not known are blank; known zeros are the lowest mark.
pub fn text(points: &[Option<u64>], columns: u16) -> String {
    let columns = usize::from(columns).min(points.len());
    let most = points.iter().flatten().copied().max().unwrap_or(0);
    (0..columns)
        .map(|column| {
            let from = column * points.len() / columns;
            let to = (column + 1) * points.len() / columns;
            let highest = points
                .get(from..to)
                .unwrap_or_default()
                .iter()
                .flatten()
                .max();
            highest.map_or(' ', |value| {
                LEVELS
                    .get(level(*value, most).max(1))
                    .copied()
                    .unwrap_or(' ')
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spikes_survive_and_the_unknown_is_blank() {
        let points = [
            None,
            None,
            Some(0),
            Some(0),
            Some(1),
            Some(8),
            Some(4),
            Some(4),
        ];
        assert_eq!(text(&points, 8), "  ▁▁▁█▄▄");
        assert_eq!(text(&points, 4), " ▁█▄");
        assert_eq!(text(&[], 4), "");
        assert_eq!(text(&points, 0), "");
    }
}
