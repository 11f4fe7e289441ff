//! Characters for lines: a cell's four arms, each none, light or heavy, as one character.

use super::route::Side;

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Weight {
    /// Not at all.
    #[default]
    None,
    /// An arrow that nobody walked.
    Light,
    /// An arrow that was walked.
    Heavy,
}

impl Weight {
    const fn digit(self) -> usize {
        match self {
            Self::None => 0,
            Self::Light => 1,
            Self::Heavy => 2,
        }
    }
}

/// Every character for lines of Unicode's box drawing block, by their arms as digits to base three:
/// up, right, down, left.
const STROKES: &str =
    " ╴╸╷╮┑╻┒┓╶─╾╭┬┭┎┰┱╺╼━┍┮┯┏┲┳╵╯┙│┤┥╽┧┪╰┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋";

/// The arms of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arms {
    up: Weight,
    right: Weight,
    down: Weight,
    left: Weight,
}

impl Arms {
    /// Adds an arm; the heavier of two stays.
    pub(super) fn add(&mut self, side: Side, weight: Weight) {
        let arm = match side {
            Side::Up => &mut self.up,
            Side::Right => &mut self.right,
            Side::Down => &mut self.down,
            Side::Left => &mut self.left,
        };
        *arm = weight.max(*arm);
    }

    /// The heaviest arm.
    pub(super) fn heaviest(self) -> Weight {
        self.up.max(self.right).max(self.down).max(self.left)
    }

    /// The character.
    pub(super) fn symbol(self) -> char {
        let index = [self.up, self.right, self.down, self.left]
            .into_iter()
            .fold(0, |sum, arm| sum * 3 + arm.digit());
        STROKES.chars().nth(index).unwrap_or(' ')
    }
}

/// The head of an arrow: hollow where nobody walked it.
pub(super) const fn head(side: Side, weight: Weight) -> &'static str {
    match (side, weight) {
        (Side::Up, Weight::Heavy) => "▲",
        (Side::Right, Weight::Heavy) => "►",
        (Side::Down, Weight::Heavy) => "▼",
        (Side::Left, Weight::Heavy) => "◄",
        (Side::Up, Weight::None | Weight::Light) => "△",
        (Side::Right, Weight::None | Weight::Light) => "▷",
        (Side::Down, Weight::None | Weight::Light) => "▽",
        (Side::Left, Weight::None | Weight::Light) => "◁",
    }
}

#[cfg(test)]
mod tests {
    use super::Side::{Down, Left, Right, Up};
    use super::Weight::{Heavy, Light};
    use super::*;

    #[test]
    fn arms_are_drawn_as_they_stand() {
        let drawn = |arms: &[(Side, Weight)]| {
            let mut cell = Arms::default();
            for (side, weight) in arms {
                cell.add(*side, *weight);
            }
            cell.symbol()
        };
        assert_eq!(STROKES.chars().count(), 81);
        assert_eq!(drawn(&[]), ' ');
        assert_eq!(drawn(&[(Left, Light), (Right, Light)]), '─');
        assert_eq!(drawn(&[(Left, Heavy), (Right, Heavy)]), '━');
        assert_eq!(drawn(&[(Up, Heavy), (Right, Light)]), '┖');
        assert_eq!(
            drawn(&[(Up, Light), (Down, Light), (Left, Heavy), (Right, Heavy)]),
            '┿'
        );
        assert_eq!(drawn(&[(Up, Light), (Up, Heavy), (Down, Heavy)]), '┃');
    }
}
