//! A frame as bytes: what has changed since the frame before, and nothing else.
//!
//! Two equal frames make no bytes at all: no cursor moves, no reset. A changed frame is one block
//! between the marks of a synchronised update. Wherever terminals disagree about the width of a
//! character, the cursor is placed anew behind it, so that no border moves. Colours are written
//! here and not by crossterm, whose `NO_COLOR` drops reverse video as well.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::console::text;

/// Begins a synchronised update (DEC private mode 2026); ignored by terminals that do not know it.
const BEGIN: &str = "\x1b[?2026h";
/// Ends a synchronised update.
const END: &str = "\x1b[?2026l";

/// The look that the terminal's next character will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl Pen {
    const PLAIN: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        modifier: Modifier::empty(),
    };

    const fn of(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
        }
    }
}

/// What the terminal shows, as far as it was told.
#[derive(Debug)]
pub struct Encoder {
    shown: Option<Buffer>,
    pen: Pen,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            shown: None,
            pen: Pen::PLAIN,
        }
    }
}

impl Encoder {
    /// Forgets what the terminal shows: the next frame is painted in full.
    pub fn forget(&mut self) {
        self.shown = None;
    }

    /// Appends to `bytes` what turns the frame shown into `next`, and takes `next` for shown.
    /// Returns the buffer that was shown before, so that it can be used again.
    pub fn encode(&mut self, next: Buffer, bytes: &mut String) -> Option<Buffer> {
        let same_size = self
            .shown
            .as_ref()
            .is_some_and(|shown| shown.area == next.area);
        let before = self.shown.take().filter(|_| same_size);
        let start = bytes.len();
        bytes.push_str(BEGIN);
        let empty = bytes.len();
        if before.is_none() {
            bytes.push_str("\x1b[0m\x1b[2J");
            self.pen = Pen::PLAIN;
        }
        let mut run = Run {
            bytes,
            pen: self.pen,
            cursor: None,
        };
        for y in 0..next.area.height {
            encode_row(&mut run, before.as_ref(), &next, y);
        }
        self.pen = run.pen;
        if bytes.len() == empty {
            bytes.truncate(start);
        } else {
            bytes.push_str(END);
        }
        self.shown = Some(next);
        before
    }
}

/// Bytes being written: where the cursor is, if that is known, and the pen.
struct Run<'a> {
    bytes: &'a mut String,
    pen: Pen,
    cursor: Option<(u16, u16)>,
}

fn row_of(buffer: &Buffer, y: u16) -> &[Cell] {
    let Rect { width, .. } = buffer.area;
    let start = usize::from(y) * usize::from(width);
    buffer
        .content()
        .get(start..start + usize::from(width))
        .unwrap_or_default()
}

fn is_wide(cell: Option<&Cell>) -> bool {
    cell.is_some_and(|cell| !cell.symbol().is_ascii() && text::columns(cell.symbol()) == 2)
}

/// Which columns of a row must be written. A wide character stands and falls with both its columns.
fn dirty_columns(before: Option<&[Cell]>, next: &[Cell]) -> Option<Vec<bool>> {
    let Some(before) = before else {
        return Some(vec![true; next.len()]);
    };
    if before == next {
        return None;
    }
    let mut dirty: Vec<bool> = before
        .iter()
        .zip(next)
        .map(|(old, new)| old != new)
        .collect();
    for x in 0..dirty.len() {
        if is_wide(before.get(x)) || is_wide(next.get(x)) {
            let either = dirty
                .get(x..(x + 2).min(dirty.len()))
                .is_some_and(|pair| pair.contains(&true));
            if let Some(pair) = dirty.get_mut(x..(x + 2).min(next.len())) {
                pair.fill(either);
            }
        }
    }
    Some(dirty)
}

fn encode_row(run: &mut Run<'_>, before: Option<&Buffer>, next: &Buffer, y: u16) {
    let cells = row_of(next, y);
    let Some(dirty) = dirty_columns(before.map(|before| row_of(before, y)), cells) else {
        return;
    };
    let full = before.is_none();
    let mut x = 0_u16;
    while let Some(cell) = cells.get(usize::from(x)) {
        let wide = is_wide(Some(cell));
        let columns = if wide { 2 } else { 1 };
        let blank = full && cell.symbol() == " " && Pen::of(cell) == Pen::PLAIN;
        if dirty.get(usize::from(x)).copied().unwrap_or(false) && !blank {
            run.go_to(x, y, cells);
            run.write(cell, wide, (x, y));
        }
        x = x.saturating_add(columns);
    }
}

impl Run<'_> {
    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let written = self.bytes.write_fmt(text);
        debug_assert!(written.is_ok());
    }

    /// Moves the cursor by the shortest way: the unchanged cells between, where they are few, plain
    /// and of the present look; a step to the right; or an address.
    fn go_to(&mut self, x: u16, y: u16, cells: &[Cell]) {
        match self.cursor {
            Some(here) if here == (x, y) => {}
            Some((column, row)) if row == y && column < x => {
                let between = cells
                    .get(usize::from(column)..usize::from(x))
                    .unwrap_or_default();
                let cheap = between.len() <= 4
                    && between
                        .iter()
                        .all(|cell| cell.symbol().is_ascii() && Pen::of(cell) == self.pen);
                let steps = x.saturating_sub(column);
                if cheap {
                    for cell in between {
                        self.bytes.push_str(cell.symbol());
                    }
                } else if steps == 1 {
                    self.bytes.push_str("\x1b[C");
                } else {
                    self.push(format_args!("\x1b[{steps}C"));
                }
            }
            Some(_) | None => self.address(x, y),
        }
        self.cursor = Some((x, y));
    }

    fn address(&mut self, x: u16, y: u16) {
        let (row, column) = (y.saturating_add(1), x.saturating_add(1));
        self.push(format_args!("\x1b[{row};{column}H"));
    }

    fn write(&mut self, cell: &Cell, wide: bool, at: (u16, u16)) {
        self.take_pen(Pen::of(cell));
        let symbol = cell.symbol();
        if symbol.is_ascii() || (!wide && is_dependable(symbol)) {
            self.bytes.push_str(symbol);
            self.cursor = Some((at.0.saturating_add(1), at.1));
            return;
        }
        if wide {
            // A terminal that takes it for narrow would leave the old character beside it.
            self.bytes.push_str("  ");
            self.address(at.0, at.1);
        }
        self.bytes.push_str(symbol);
        // Terminals differ on its width: what follows is placed by address.
        self.cursor = None;
    }

    fn take_pen(&mut self, wanted: Pen) {
        if wanted == self.pen {
            return;
        }
        let mut codes = String::new();
        let mut from = self.pen;
        if !wanted.modifier.contains(from.modifier) {
            codes.push_str("0;");
            from = Pen::PLAIN;
        }
        for (modifier, code) in [
            (Modifier::BOLD, "1;"),
            (Modifier::DIM, "2;"),
            (Modifier::ITALIC, "3;"),
            (Modifier::UNDERLINED, "4;"),
            (Modifier::REVERSED, "7;"),
        ] {
            if wanted.modifier.contains(modifier) && !from.modifier.contains(modifier) {
                codes.push_str(code);
            }
        }
        if wanted.fg != from.fg {
            push_colour(&mut codes, wanted.fg, Ground::Fore);
        }
        if wanted.bg != from.bg {
            push_colour(&mut codes, wanted.bg, Ground::Back);
        }
        let codes = codes.trim_end_matches(';');
        self.push(format_args!("\x1b[{codes}m"));
        self.pen = wanted;
    }
}

/// Whether every terminal in use gives this one narrow character one column: letters of Latin,
/// Greek and Cyrillic, the punctuation the console itself uses, boxes and blocks.
fn is_dependable(symbol: &str) -> bool {
    let mut characters = symbol.chars();
    let first = characters.next();
    characters.next().is_none()
        && first.is_some_and(|each| {
            matches!(each,
                '\u{a1}'..='\u{24f}'
                | '\u{391}'..='\u{3c9}'
                | '\u{410}'..='\u{44f}'
                | '\u{2010}'..='\u{2027}'
                | '\u{2212}'
                | '\u{2500}'..='\u{259f}')
        })
}

#[derive(Debug, Clone, Copy)]
enum Ground {
    Fore,
    Back,
}

/// Appends the SGR codes (ECMA-48 8.3.117, ITU-T T.416 for 256 and more) of a colour.
fn push_colour(codes: &mut String, colour: Color, ground: Ground) {
    let (base, bright, extended) = match ground {
        Ground::Fore => (30_u16, 90_u16, 38_u16),
        Ground::Back => (40, 100, 48),
    };
    let written = match colour {
        Color::Rgb(r, g, b) => write!(codes, "{extended};2;{r};{g};{b};"),
        Color::Indexed(number @ 0..=7) => write!(codes, "{};", base + u16::from(number)),
        Color::Indexed(number @ 8..=15) => write!(codes, "{};", bright + u16::from(number) - 8),
        Color::Indexed(number) => write!(codes, "{extended};5;{number};"),
        // Themes name colours by number; every other name is the terminal's own colour.
        Color::Reset
        | Color::Black
        | Color::Red
        | Color::Green
        | Color::Yellow
        | Color::Blue
        | Color::Magenta
        | Color::Cyan
        | Color::Gray
        | Color::DarkGray
        | Color::LightRed
        | Color::LightGreen
        | Color::LightYellow
        | Color::LightBlue
        | Color::LightMagenta
        | Color::LightCyan
        | Color::White => write!(codes, "{};", base + 9),
    };
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::Style;

    use super::*;
    use crate::console::theme::{Background, Depth, Look, Role, Theme};
    use crate::console::widget::Canvas;
    use crate::console::widget::canvas::Spot;

    fn frame(width: u16, lines: &[&str]) -> Buffer {
        let area = Rect::new(0, 0, width, crate::ledger::num::columns(lines.len()));
        let mut buffer = Buffer::empty(area);
        let theme = Theme::built_in(Look::Standard, Background::Dark, Depth::Ansi16).unwrap();
        let mut canvas = Canvas::new(&mut buffer, &theme);
        for (row, line) in lines.iter().enumerate() {
            let spot = Spot::row(area, crate::ledger::num::columns(row)).unwrap();
            canvas.text(spot, Role::Text, line);
        }
        buffer
    }

    fn encode(encoder: &mut Encoder, buffer: Buffer) -> String {
        let mut bytes = String::new();
        encoder.encode(buffer, &mut bytes);
        bytes
    }

    #[test]
    fn equal_frames_write_nothing() {
        let mut encoder = Encoder::default();
        assert!(!encode(&mut encoder, frame(20, &["queue 図書館", "12s"])).is_empty());
        assert_eq!(
            encode(&mut encoder, frame(20, &["queue 図書館", "12s"])),
            ""
        );
    }

    #[test]
    fn a_changed_number_costs_a_few_bytes_between_the_marks() {
        let mut encoder = Encoder::default();
        encode(&mut encoder, frame(20, &["oldest 12s", "x"]));
        let bytes = encode(&mut encoder, frame(20, &["oldest 13s", "x"]));
        assert_eq!(bytes, "\x1b[?2026h\x1b[1;9H3\x1b[?2026l");
    }

    #[test]
    fn reverse_video_is_written_without_colours_too() {
        let theme = Theme::built_in(Look::Standard, Background::Dark, Depth::None).unwrap();
        let mut buffer = frame(4, &["row"]);
        Canvas::new(&mut buffer, &theme).tint(Rect::new(0, 0, 4, 1), Role::Selected);
        let bytes = encode(&mut Encoder::default(), buffer);
        assert!(bytes.contains("\x1b[1;7m"), "{bytes:?}");
        assert!(!bytes.contains("[3") && !bytes.contains("[4"), "{bytes:?}");
    }

    #[test]
    fn a_resized_frame_is_painted_in_full() {
        let mut encoder = Encoder::default();
        encode(&mut encoder, frame(20, &["ready"]));
        assert!(encode(&mut encoder, frame(21, &["ready"])).contains("\x1b[2J"));
    }

    fn terminal(rows: u16, columns: u16) -> vt100::Parser {
        vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0)
    }

    /// What a terminal shows after the bytes, as rows.
    fn screen(parser: &mut vt100::Parser, bytes: &str) -> Vec<String> {
        parser.process(bytes.as_bytes());
        let (_, width) = parser.screen().size();
        let rows = parser.screen().rows(0, width.into());
        // Whether blanks at the end of a row were written or never were makes no difference.
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    fn expected(buffer: &Buffer) -> Vec<String> {
        let mut parser = terminal(buffer.area.height, buffer.area.width);
        screen(
            &mut parser,
            &encode(&mut Encoder::default(), buffer.clone()),
        )
    }

    fn any_frame() -> impl Strategy<Value = Buffer> {
        let piece = prop_oneof![
            Just("a"),
            Just("b"),
            Just(" "),
            Just("図"),
            Just("é"),
            Just("│"),
            Just("ש"),
            Just("e\u{301}"),
        ];
        let cells = proptest::collection::vec((piece, 0_u8..3), 24);
        cells.prop_map(|cells| {
            let area = Rect::new(0, 0, 12, 2);
            let mut buffer = Buffer::empty(area);
            let theme = Theme::built_in(Look::Standard, Background::Dark, Depth::Ansi16).unwrap();
            let mut canvas = Canvas::new(&mut buffer, &theme);
            for (position, (symbol, look)) in cells.iter().enumerate() {
                let role = [Role::Text, Role::Critical, Role::Muted][usize::from(*look)];
                let at = crate::ledger::num::columns(position);
                let spot = Spot {
                    x: at % 12,
                    y: at / 12,
                    columns: 2,
                };
                if spot.x < 11 || *symbol != "図" {
                    canvas.text(spot, role, symbol);
                }
            }
            // What was half covered by a wide character is no character any more.
            mend(buffer)
        })
    }

    fn mend(mut buffer: Buffer) -> Buffer {
        for y in 0..buffer.area.height {
            let mut x = 0;
            while x < buffer.area.width {
                if is_wide(buffer.cell((x, y))) {
                    if x + 1 < buffer.area.width {
                        let style: Style = buffer.cell((x, y)).unwrap().style();
                        let cell = buffer.cell_mut((x + 1, y)).unwrap();
                        cell.reset();
                        cell.set_style(style);
                    }
                    x += 1;
                }
                x += 1;
            }
        }
        buffer
    }

    proptest! {
        #[test]
        fn any_run_of_frames_leaves_the_terminal_showing_the_last(
            frames in proptest::collection::vec(any_frame(), 1..6),
        ) {
            let mut encoder = Encoder::default();
            let mut parser = terminal(2, 12);
            for frame in frames {
                let bytes = encode(&mut encoder, frame.clone());
                prop_assert_eq!(screen(&mut parser, &bytes), expected(&frame));
            }
        }
    }
}
