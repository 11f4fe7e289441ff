//! Colours by meaning. A screen names a [`Role`]; only this file knows how a role looks, and it
//! looks right on a dark and on a light background, in 16, 256 and 16 million colours, and without
//! any.
//!
//! Colour never carries a meaning alone: beside each coloured mark stands a word or a shape. Under
//! `NO_COLOR` bold, dim and reverse video remain, and the selected row has its marker. Nothing asks
//! the terminal a question: the background comes from a flag, the config, or `COLORFGBG`.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;

/// What a piece of the screen means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Numbers and words to be read.
    Text,
    /// Labels, units and whatever is read second.
    Muted,
    /// Lines around panes.
    Border,
    /// Titles of panes, names of columns that matter now.
    Title,
    /// The name of the ledger, the current tab, keys.
    Accent,
    /// Within limits.
    Good,
    /// Past a limit that calls for a look.
    Warning,
    /// Past a limit that calls for an act.
    Critical,
    /// What an operator did.
    Operator,
    /// The selected row.
    Selected,
    /// Bars, histograms, sparklines.
    Graph,
    /// Numbers that are no longer known to be true.
    Stale,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 12] = [
        Self::Text,
        Self::Muted,
        Self::Border,
        Self::Title,
        Self::Accent,
        Self::Good,
        Self::Warning,
        Self::Critical,
        Self::Operator,
        Self::Selected,
        Self::Graph,
        Self::Stale,
    ];

    /// Its key in a theme file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Muted => "muted",
            Self::Border => "border",
            Self::Title => "title",
            Self::Accent => "accent",
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Critical => "critical",
            Self::Operator => "operator",
            Self::Selected => "selected",
            Self::Graph => "graph",
            Self::Stale => "stale",
        }
    }
}

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// None: bold, dim and reverse video only.
    None,
    /// The 16 of ECMA-48 and its bright half, as the user's terminal defines them.
    Ansi16,
    /// The 6 × 6 × 6 cube and the greys.
    Ansi256,
    /// 24 bits.
    True,
}

/// What the text stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Light text on a dark ground.
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// Which of the themes that come with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// Calm.
    #[default]
    Standard,
    /// Stronger contrast, for projectors and bright rooms.
    HighContrast,
}

/// What the environment says about colours; read once, at the edge.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `NO_COLOR`: set and not empty means no colours (no-color.org).
    pub no_color: Option<String>,
    /// `COLORTERM`.
    pub colorterm: Option<String>,
    /// `TERM`.
    pub term: Option<String>,
    /// `COLORFGBG`, e.g. `15;0`: foreground and background as ECMA-48 colour numbers.
    pub colorfgbg: Option<String>,
}

impl Environment {
    /// Reads the process's environment.
    pub fn of_process() -> Self {
        let read = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self {
            no_color: read("NO_COLOR"),
            colorterm: read("COLORTERM"),
            term: read("TERM"),
            colorfgbg: read("COLORFGBG"),
        }
    }

    /// How many colours to use.
    pub fn depth(&self) -> Depth {
        if self
            .no_color
            .as_deref()
            .is_some_and(|value| !value.is_empty())
        {
            return Depth::None;
        }
        let colorterm = self.colorterm.as_deref().unwrap_or_default();
        let term = self.term.as_deref().unwrap_or_default();
        if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
            Depth::True
        } else if term.contains("256color") {
            Depth::Ansi256
        } else if matches!(term, "vt100" | "vt102" | "vt220" | "dumb" | "") {
            Depth::None
        } else {
            Depth::Ansi16
        }
    }

    /// The background, dark where nothing says otherwise.
    pub fn background(&self) -> Background {
        let last = self
            .colorfgbg
            .as_deref()
            .and_then(|value| value.rsplit(';').next());
        match last.and_then(|number| number.trim().parse::<u8>().ok()) {
            Some(7 | 9..=15) => Background::Light,
            Some(0..=6 | 8 | 16..) | None => Background::Dark,
        }
    }
}

/// Why a theme could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// Not TOML, or not of the shape of a theme.
    #[error("the theme is not valid: {message}")]
    Syntax {
        /// What the parser said, in one line.
        message: String,
    },
    /// A role has no entry.
    #[error("the theme gives no colour to '{role}'")]
    Missing {
        /// The role.
        role: &'static str,
    },
    /// An entry is for no role.
    #[error("the theme names '{name}', which is no role")]
    Unknown {
        /// The entry's key.
        name: String,
    },
    /// A colour cannot be read.
    #[error(
        "'{value}' of '{role}' is no colour: write '#rrggbb', or a name such as 'red' or 'default'"
    )]
    Colour {
        /// The role.
        role: &'static str,
        /// What is written.
        value: String,
    },
}

/// One role as a theme file writes it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    /// `#rrggbb` or `default`; used with 256 colours and more.
    rgb: Option<String>,
    /// One of the 16 names or `default`.
    ansi: Option<String>,
    /// Ground, as `rgb`.
    on_rgb: Option<String>,
    /// Ground, as `ansi`.
    on_ansi: Option<String>,
    bold: bool,
    #[serde(rename = "dim")]
    faint: Dim,
    reverse: Reverse,
}

/// Where a role is dim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Dim {
    /// Nowhere.
    #[default]
    Never,
    /// Where there are fewer than 256 colours: `bright_black` is unreadable in too many palettes.
    FewColours,
}

/// Where a role is drawn in reverse video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reverse {
    /// Nowhere.
    #[default]
    Never,
    /// Where there are fewer than 256 colours, so that a ground of its own is not at hand.
    FewColours,
}

/// The look of every role, for one terminal.
#[derive(Debug, Clone)]
pub struct Theme {
    styles: BTreeMap<Role, Style>,
}

const DARK: &str = include_str!("../../assets/themes/dark.toml");
const LIGHT: &str = include_str!("../../assets/themes/light.toml");
const DARK_CONTRAST: &str = include_str!("../../assets/themes/dark_high_contrast.toml");
const LIGHT_CONTRAST: &str = include_str!("../../assets/themes/light_high_contrast.toml");

impl Theme {
    /// A theme that comes with the program, for a background.
    ///
    /// # Errors
    /// Never for the files in `assets/themes`, which a test reads; see [`Theme::parse`].
    pub fn built_in(look: Look, background: Background, depth: Depth) -> Result<Self, ThemeError> {
        let text = match (look, background) {
            (Look::Standard, Background::Dark) => DARK,
            (Look::Standard, Background::Light) => LIGHT,
            (Look::HighContrast, Background::Dark) => DARK_CONTRAST,
            (Look::HighContrast, Background::Light) => LIGHT_CONTRAST,
        };
        Self::parse(text, depth)
    }

    /// A theme from the text of a file.
    ///
    /// # Errors
    /// Where the text is no theme, or does not give every role a look.
    pub fn parse(text: &str, depth: Depth) -> Result<Self, ThemeError> {
        let mut written: BTreeMap<String, Written> =
            toml::from_str(text).map_err(|error| ThemeError::Syntax {
                message: error.message().replace('\n', " "),
            })?;
        let mut styles = BTreeMap::new();
        for role in Role::ALL {
            let entry = written
                .remove(role.name())
                .ok_or(ThemeError::Missing { role: role.name() })?;
            styles.insert(role, entry.style(role, depth)?);
        }
        match written.into_keys().next() {
            Some(name) => Err(ThemeError::Unknown { name }),
            None => Ok(Self { styles }),
        }
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(&role).copied().unwrap_or_default()
    }
}

impl Written {
    fn style(&self, role: Role, depth: Depth) -> Result<Style, ThemeError> {
        let fg = colour(role, depth, self.rgb.as_deref(), self.ansi.as_deref())?;
        let bg = colour(role, depth, self.on_rgb.as_deref(), self.on_ansi.as_deref())?;
        let mut style = Style::new().fg(fg).bg(bg);
        if self.bold {
            style = style.add_modifier(Modifier::BOLD);
        }
        let few = matches!(depth, Depth::None | Depth::Ansi16);
        if self.faint == Dim::FewColours && few {
            style = style.add_modifier(Modifier::DIM);
        }
        if self.reverse == Reverse::FewColours && few {
            style = style
                .fg(Color::Reset)
                .bg(Color::Reset)
                .add_modifier(Modifier::REVERSED);
        }
        Ok(style)
    }
}

fn colour(
    role: Role,
    depth: Depth,
    rgb: Option<&str>,
    ansi: Option<&str>,
) -> Result<Color, ThemeError> {
    let rgb = rgb.unwrap_or("default");
    let ansi = ansi.unwrap_or("default");
    let bad = |value: &str| ThemeError::Colour {
        role: role.name(),
        value: value.to_owned(),
    };
    let full = parse_rgb(rgb).ok_or_else(|| bad(rgb))?;
    let named = parse_ansi(ansi).ok_or_else(|| bad(ansi))?;
    Ok(match depth {
        Depth::None => Color::Reset,
        Depth::Ansi16 => named,
        Depth::Ansi256 => full.map_or(Color::Reset, nearest_256),
        Depth::True => full.map_or(Color::Reset, |[r, g, b]| Color::Rgb(r, g, b)),
    })
}

/// `Some(None)` for the terminal's own colour.
#[expect(
    clippy::option_option,
    reason = "the outer says whether it could be read"
)]
fn parse_rgb(text: &str) -> Option<Option<[u8; 3]>> {
    if text == "default" {
        return Some(None);
    }
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let part = |range| u8::from_str_radix(digits.get(range)?, 16).ok();
    Some(Some([part(0..2)?, part(2..4)?, part(4..6)?]))
}

fn parse_ansi(name: &str) -> Option<Color> {
    const NAMES: [&str; 16] = [
        "black",
        "red",
        "green",
        "yellow",
        "blue",
        "magenta",
        "cyan",
        "white",
        "bright_black",
        "bright_red",
        "bright_green",
        "bright_yellow",
        "bright_blue",
        "bright_magenta",
        "bright_cyan",
        "bright_white",
    ];
    if name == "default" {
        return Some(Color::Reset);
    }
    let position = NAMES.iter().position(|each| *each == name)?;
    u8::try_from(position).ok().map(Color::Indexed)
}

/// The nearest of colours 16 to 255: the cube with the levels 0, 95, 135, 175, 215, 255 and the 24
/// greys 8, 18, … 238 (xterm's `256colres.pl`).
fn nearest_256(rgb: [u8; 3]) -> Color {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let mut best = (u32::MAX, 16_u8);
    let mut consider = |candidate: [u8; 3], index: u8| {
        let distance = rgb
            .iter()
            .zip(candidate)
            .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
            .sum();
        if distance < best.0 {
            best = (distance, index);
        }
    };
    let mut index = 16_u8;
    for r in LEVELS {
        for g in LEVELS {
            for b in LEVELS {
                consider([r, g, b], index);
                index = index.saturating_add(1);
            }
        }
    }
    for step in 0..24_u8 {
        let grey = 8 + 10 * step;
        consider([grey, grey, grey], 232 + step);
    }
    Color::Indexed(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let get = |name: &str| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Environment {
            no_color: get("NO_COLOR"),
            colorterm: get("COLORTERM"),
            term: get("TERM"),
            colorfgbg: get("COLORFGBG"),
        }
    }

    #[test]
    fn built_in_themes_style_every_role_at_every_depth() {
        for look in [Look::Standard, Look::HighContrast] {
            for background in [Background::Dark, Background::Light] {
                for depth in [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::True] {
                    let theme = Theme::built_in(look, background, depth).unwrap();
                    let selected = theme.style(Role::Selected);
                    let visible = selected.bg != Some(Color::Reset)
                        || selected.add_modifier.contains(Modifier::REVERSED);
                    assert!(visible, "{look:?} {background:?} {depth:?}: {selected:?}");
                }
            }
        }
    }

    #[test]
    fn no_color_leaves_no_colour_but_bold_and_reverse() {
        let theme = Theme::built_in(Look::Standard, Background::Dark, Depth::None).unwrap();
        for role in Role::ALL {
            let style = theme.style(role);
            assert_eq!(
                (style.fg, style.bg),
                (Some(Color::Reset), Some(Color::Reset)),
                "{role:?}"
            );
        }
        assert!(
            theme
                .style(Role::Critical)
                .add_modifier
                .contains(Modifier::BOLD)
        );
        assert!(
            theme
                .style(Role::Selected)
                .add_modifier
                .contains(Modifier::REVERSED)
        );
    }

    #[test]
    fn the_environment_decides_the_depth() {
        let depth = |pairs: &[(&str, &str)]| environment(pairs).depth();
        assert_eq!(
            depth(&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")]),
            Depth::None
        );
        assert_eq!(
            depth(&[("NO_COLOR", ""), ("COLORTERM", "truecolor")]),
            Depth::True
        );
        assert_eq!(depth(&[("TERM", "xterm-256color")]), Depth::Ansi256);
        assert_eq!(depth(&[("TERM", "linux")]), Depth::Ansi16);
        assert_eq!(depth(&[("TERM", "vt100")]), Depth::None);
    }

    #[test]
    fn the_background_comes_from_colorfgbg_and_is_dark_without_it() {
        let ground = |value: &str| environment(&[("COLORFGBG", value)]).background();
        assert_eq!(ground("15;0"), Background::Dark);
        assert_eq!(ground("0;15"), Background::Light);
        assert_eq!(ground("0;default;15"), Background::Light);
        assert_eq!(ground("nonsense"), Background::Dark);
        assert_eq!(environment(&[]).background(), Background::Dark);
    }

    #[test]
    fn a_theme_with_a_mistake_is_refused_by_name() {
        let broken = DARK.replace("[stale]", "[stael]");
        let error = Theme::parse(&broken, Depth::True).unwrap_err();
        assert_eq!(error.to_string(), "the theme gives no colour to 'stale'");
        let extra = format!("{DARK}\n[sparkle]\n");
        let error = Theme::parse(&extra, Depth::True).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the theme names 'sparkle', which is no role"
        );
        let colour = DARK.replace("\"red\"", "\"reddish\"");
        let error = Theme::parse(&colour, Depth::True).unwrap_err();
        assert!(
            error.to_string().contains("'reddish' of 'critical'"),
            "{error}"
        );
    }

    #[test]
    fn colours_fall_to_the_nearest_of_256() {
        assert_eq!(nearest_256([0, 0, 0]), Color::Indexed(16));
        assert_eq!(nearest_256([255, 0, 0]), Color::Indexed(196));
        assert_eq!(nearest_256([128, 128, 128]), Color::Indexed(244));
    }
}
