//! What comes out: rows of a figure, its budget, and something real that was measured beside it in
//! the same run; as a table for people and as JSON for programs.
//!
//! Knows nothing of how a figure is come by. Next: [`crate::sample`], how times are gathered.

use std::fmt::{self, Write as _};

use serde::Serialize;

/// The budget of a figure.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Budget {
    AtMost(f64),
    AtLeast(f64),
}

impl Budget {
    fn is_kept(self, figure: f64) -> bool {
        match self {
            Self::AtMost(limit) => figure <= limit,
            Self::AtLeast(limit) => figure >= limit,
        }
    }
}

/// Something real that was measured in the same run, in the unit of the figure.
#[derive(Debug, Clone, Serialize)]
struct Beside {
    what: String,
    figure: f64,
    ratio: f64,
}

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    group: &'static str,
    what: String,
    figure: f64,
    unit: &'static str,
    budget: Option<Budget>,
    within_budget: Option<bool>,
    beside: Option<Beside>,
}

impl Row {
    pub(crate) fn new(
        group: &'static str,
        what: impl Into<String>,
        figure: f64,
        unit: &'static str,
    ) -> Self {
        Self {
            group,
            what: what.into(),
            figure,
            unit,
            budget: None,
            within_budget: None,
            beside: None,
        }
    }

    pub(crate) fn at_most(self, limit: f64) -> Self {
        self.under(Budget::AtMost(limit))
    }

    pub(crate) fn at_least(self, limit: f64) -> Self {
        self.under(Budget::AtLeast(limit))
    }

    fn under(self, budget: Budget) -> Self {
        Self {
            budget: Some(budget),
            within_budget: Some(budget.is_kept(self.figure)),
            ..self
        }
    }

    /// Beside what; the ratio is the figure over that one.
    pub(crate) fn beside(self, what: impl Into<String>, figure: f64) -> Self {
        let beside = Beside {
            what: what.into(),
            figure,
            ratio: self.figure / figure,
        };
        Self {
            beside: Some(beside),
            ..self
        }
    }

    fn budget_text(&self) -> String {
        let Some(budget) = self.budget else {
            return String::new();
        };
        let (sign, limit) = match budget {
            Budget::AtMost(limit) => ("<=", limit),
            Budget::AtLeast(limit) => (">=", limit),
        };
        let verdict = if budget.is_kept(self.figure) {
            "ok"
        } else {
            "MISSED"
        };
        format!("{sign} {} {verdict}", Figure(limit))
    }

    fn cells(&self) -> [String; 5] {
        let (beside, ratio) = match &self.beside {
            Some(beside) => (
                format!("{} {}", beside.what, Figure(beside.figure)),
                format!("{}x", Figure(beside.ratio)),
            ),
            None => (String::new(), String::new()),
        };
        [
            self.what.clone(),
            format!("{} {}", Figure(self.figure), self.unit),
            self.budget_text(),
            beside,
            ratio,
        ]
    }
}

/// A number with three significant digits, thousands apart: `0.0123`, `4.56`, `1,234`.
struct Figure(f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if value == 0.0 {
            return f.write_str("0");
        }
        if value.abs() < 100.0 {
            let decimals = match value.abs() {
                size if size >= 10.0 => 1,
                size if size >= 1.0 => 2,
                size if size >= 0.1 => 3,
                _smaller => 4,
            };
            return write!(f, "{value:.decimals$}");
        }
        let digits = format!("{value:.0}");
        let mut shown = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                shown.push(',');
            }
            shown.push(digit);
        }
        f.write_str(&shown)
    }
}

/// Everything that was measured, and on what.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The machine, the databases and the sizes.
    pub(crate) setting: Vec<String>,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(setting: Vec<String>) -> Self {
        Self {
            setting,
            rows: Vec::new(),
        }
    }

    pub(crate) fn extend(&mut self, rows: Vec<Row>) {
        self.rows.extend(rows);
    }

    /// The table, with one block for each group of rows.
    pub(crate) fn table(&self) -> String {
        let head = ["", "figure", "budget", "beside it, in this run", "ratio"].map(str::to_owned);
        let cells: Vec<[String; 5]> = self.rows.iter().map(Row::cells).collect();
        let mut widths = [0; 5];
        for line in cells.iter().chain([&head]) {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut table = self.setting.join("\n");
        table.push('\n');
        let mut group = "";
        for (row, line) in self.rows.iter().zip(&cells) {
            if row.group != group {
                group = row.group;
                let mut titled = head.clone();
                group.clone_into(&mut titled[0]);
                table.push('\n');
                push_line(&mut table, &titled, widths);
            }
            push_line(&mut table, line, widths);
        }
        table
    }
}

fn push_line(table: &mut String, cells: &[String; 5], widths: [usize; 5]) {
    let [what, figure, budget, beside, ratio] = cells;
    let [w_what, w_figure, w_budget, w_beside, w_ratio] = widths;
    let mut line = String::new();
    let written = write!(
        line,
        "{what:<w_what$}  {figure:>w_figure$}  {budget:<w_budget$}  {beside:<w_beside$}  \
         {ratio:>w_ratio$}"
    );
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    table.push_str(line.trim_end());
    table.push('\n');
}
