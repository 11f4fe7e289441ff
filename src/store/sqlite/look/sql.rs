//! The words of SQLite in statements of lists.
//!
//! Owns nothing but fragments; each branch holds the very condition of its partial index, which is
//! all that SQLite understands. Next: [`crate::store::look`].

use crate::store::look::{Begins, Branch, Dialect};

pub(in crate::store::sqlite) const DIALECT: Dialect = Dialect {
    // LIKE takes upper and lower case alike, and searches no index.
    begins: Begins::Range,
    place_of: "instr",
    // Keeps the planner from taking the number for a small one that it knows.
    limit_end: " + 0",
    branch,
};

const fn branch(branch: Branch) -> &'static str {
    match branch {
        Branch::PendingUntilDue => {
            "j.state = 'pending' AND j.awaits_children = 0 \
             AND (j.state = 'retry_wait' OR j.state = 'pending' AND j.awaits_children = 0)"
        }
        Branch::PendingForChildren => "j.state = 'pending' AND j.awaits_children = 1",
        Branch::Ready => "j.state = 'ready'",
        Branch::Running => "j.state = 'running'",
        Branch::RetryWait => {
            "j.state = 'retry_wait' \
             AND (j.state = 'retry_wait' OR j.state = 'pending' AND j.awaits_children = 0)"
        }
        Branch::Dead => "j.state = 'dead' AND j.state IN ('dead', 'quarantined')",
        Branch::Quarantined => "j.state = 'quarantined' AND j.state IN ('dead', 'quarantined')",
        Branch::Succeeded => "j.state = 'succeeded'",
        Branch::Discarded => "j.state = 'discarded'",
    }
}
