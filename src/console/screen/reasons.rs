//! Lines of reasons: class, reason, count, bar. Used wherever jobs are counted by why they failed.

use crate::console::format;
use crate::console::text;
use crate::console::theme::Role;
use crate::console::widget::canvas::Spot;
use crate::console::widget::{Canvas, bar};
use crate::ledger::error_class::ErrorClass;
use crate::ledger::event::FailureKey;

/// Columns of a count and the gap before the bar.
const COUNT: u16 = 8;
/// The widest that a reason with its class gets, and the least that is left for the bar.
const LABEL_MAX: u16 = 32;
const BAR_MIN: u16 = 6;
/// Columns of a class.
const CLASS: u16 = 10;

/// How the reasons of one pane are written: all with their classes, or, where one would not fit,
/// all without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Class and reason.
    Full,
    /// The reason alone; it matters more.
    Short,
}

/// The reasons of one pane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reasons {
    form: Form,
    /// The count whose bar is full.
    most: u64,
}

impl Reasons {
    /// The form in which all of these fit into lines of `columns`.
    pub(super) fn of<'a>(
        counted: impl Iterator<Item = (&'a FailureKey, u64)>,
        columns: u16,
    ) -> Self {
        let (longest, most) =
            counted.fold((0, 0), |(longest, most): (u16, u64), (failure, count)| {
                (longest.max(text::columns(reason(failure))), most.max(count))
            });
        let form = if CLASS.saturating_add(longest) <= label_width(columns) {
            Form::Full
        } else {
            Form::Short
        };
        Self { form, most }
    }

    /// Draws one of them; `shown` is its count as it is to be read.
    pub(super) fn draw(
        self,
        canvas: &mut Canvas<'_>,
        at: Spot,
        (failure, count): (&FailureKey, u64),
        shown: &str,
    ) {
        let label = label_width(at.columns);
        let spot = at.first(label);
        match self.form {
            Form::Full => {
                let class = failure.class.map_or(format::NOTHING, ErrorClass::name);
                canvas.text(spot, Role::Muted, class);
                canvas.text(spot.after(CLASS), Role::Text, reason(failure));
            }
            Form::Short => {
                canvas.text(spot, Role::Text, reason(failure));
            }
        }
        let rest = at.after(label);
        canvas.right(rest.first(COUNT - 1), Role::Text, shown);
        let rest = rest.after(COUNT);
        let bar = bar::text(count, self.most, rest.columns);
        canvas.text(rest, Role::Graph, &bar);
    }
}

fn label_width(columns: u16) -> u16 {
    columns.saturating_sub(COUNT + BAR_MIN).min(LABEL_MAX)
}

fn reason(failure: &FailureKey) -> &str {
    failure
        .reason
        .as_ref()
        .map_or("no reason", |reason| reason.as_str())
}
