//! The words of PostgreSQL in statements of lists.
//!
//! Owns nothing but fragments; each branch stands in the words of its partial index, so that the
//! planner proves that the index holds it. Next: [`crate::store::look`].

use crate::store::look::{Begins, Branch, Dialect};

pub(in crate::store::postgres) const DIALECT: Dialect = Dialect {
    // Keys are compared by their bytes, which lets LIKE search their index.
    begins: Begins::Like,
    place_of: "strpos",
    limit_end: "",
    branch,
};

const fn branch(branch: Branch) -> &'static str {
    match branch {
        Branch::PendingUntilDue => "j.state = 'pending' AND NOT j.awaits_children",
        Branch::PendingForChildren => "j.state = 'pending' AND j.awaits_children",
        Branch::Ready => "j.state = 'ready'",
        Branch::Running => "j.state = 'running'",
        Branch::RetryWait => "j.state = 'retry_wait'",
        Branch::Dead => "j.state = 'dead'",
        Branch::Quarantined => "j.state = 'quarantined'",
        Branch::Succeeded => "j.state = 'succeeded'",
        Branch::Discarded => "j.state = 'discarded'",
    }
}
