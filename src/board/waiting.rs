//! Jobs that wait for a moment: in `pending`, and in `retry_wait` by the failure they wait because
//! of.

use std::time::Duration;

use super::counted::{Counted, Parted};
use crate::ledger::event::FailureKey;
use crate::ledger::num;

/// What waiting jobs differ by: the second waited for, and the second in which the wait began.
pub(crate) type Wait = (Option<i64>, i64);

/// Jobs in `pending`.
pub(crate) type Pending = Counted<Wait>;

/// Jobs in `retry_wait`, by failure.
pub(crate) type RetryWait = Parted<FailureKey, Wait>;

/// How long until the first of `waits` is due, zero if it is due already; `None` if none waits for
/// a moment.
pub(crate) fn next_due_in(waits: &Counted<Wait>, now_s: i64) -> Option<Duration> {
    let ((due, _), _) = waits.from((Some(i64::MIN), i64::MIN)).next()?;
    due.map(|due| Duration::from_secs(num::unsigned(due.saturating_sub(now_s))))
}
