//! How the lines of a screen are shared out among its bands of panes.

use ratatui::layout::Rect;

/// How many lines a band takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Band {
    /// Below this it is dropped.
    pub least: u16,
    /// With this it says what it has to say.
    pub good: u16,
    /// More than this it has no use for.
    pub most: u16,
}

/// Shares `area` out from top to bottom. Bands are dropped from the last to the second until the
/// rest have their least, the first one takes what there is; then each is brought to its good
/// height in order, then to its most. What is still left goes to the last, so that the frame is
/// full.
pub(super) fn share(area: Rect, bands: &[Band]) -> Vec<Rect> {
    let mut heights: Vec<u16> = bands.iter().map(|band| band.least).collect();
    let total = |heights: &[u16]| {
        heights
            .iter()
            .fold(0, |sum: u16, each| sum.saturating_add(*each))
    };
    while heights.len() > 1 && total(&heights) > area.height {
        heights.pop();
    }
    if let [only] = heights.as_mut_slice() {
        *only = (*only).min(area.height);
    }
    let used = total(&heights);
    let mut spare = area.height.saturating_sub(used);
    for wanted in [good, most] {
        for (height, band) in heights.iter_mut().zip(bands) {
            let more = wanted(*band).saturating_sub(*height).min(spare);
            *height = height.saturating_add(more);
            spare = spare.saturating_sub(more);
        }
    }
    if let Some(last) = heights.last_mut() {
        *last = last.saturating_add(spare);
    }
    let mut y = area.y;
    heights
        .into_iter()
        .map(|height| {
            let band = Rect { y, height, ..area };
            y = y.saturating_add(height);
            band
        })
        .collect()
}

const fn good(band: Band) -> u16 {
    band.good
}

const fn most(band: Band) -> u16 {
    band.most
}

/// Cuts a band into panes side by side; each gets its share of the width, the last what is left.
pub(super) fn side_by_side<const N: usize>(band: Rect, shares: [u16; N]) -> [Rect; N] {
    let whole = shares
        .iter()
        .fold(0, |sum: u32, share| sum.saturating_add(u32::from(*share)))
        .max(1);
    let mut x = band.x;
    let mut left = N;
    shares.map(|share| {
        left = left.saturating_sub(1);
        let width = if left == 0 {
            band.right().saturating_sub(x)
        } else {
            let exact = u32::from(band.width).saturating_mul(u32::from(share)) / whole;
            u16::try_from(exact).unwrap_or(band.width)
        };
        let pane = Rect { x, width, ..band };
        x = x.saturating_add(width);
        pane
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANDS: [Band; 3] = [
        Band {
            least: 4,
            good: 8,
            most: 20,
        },
        Band {
            least: 5,
            good: 6,
            most: 10,
        },
        Band {
            least: 4,
            good: 4,
            most: 90,
        },
    ];

    fn heights(height: u16) -> Vec<u16> {
        share(Rect::new(0, 3, 80, height), &BANDS)
            .iter()
            .map(|band| band.height)
            .collect()
    }

    #[test]
    fn bands_are_dropped_from_the_last_to_the_second() {
        assert_eq!(heights(3), [3]);
        assert_eq!(heights(8), [8]);
        assert_eq!(heights(12), [7, 5]);
        assert_eq!(heights(13), [4, 5, 4]);
        assert_eq!(heights(18), [8, 6, 4]);
        assert_eq!(heights(50), [20, 10, 20]);
    }

    #[test]
    fn bands_fill_their_area_exactly() {
        for height in 0..200 {
            assert_eq!(heights(height).iter().sum::<u16>(), height);
        }
        let panes = side_by_side(Rect::new(0, 0, 101, 5), [3, 2, 2]);
        assert_eq!(panes.iter().map(|pane| pane.width).sum::<u16>(), 101);
    }
}
