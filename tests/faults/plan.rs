//! The one seed from which every scenario draws its faults, the size of a run, and what is said
//! about both.
//!
//! The same seed draws the same faults at the same points; which process gets there first is the
//! scheduler's doing and cannot be repeated. Next: `wire.rs`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::OnceLock;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use uuid::Uuid;

const SEED: &str = "LEDGERTOP_FAULT_SEED";
const SIZE: &str = "LEDGERTOP_FAULTS";

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// As much as fits into every run of the tests.
    Gate,
    /// As much as `docs/faults.md` says.
    Full,
}

impl Size {
    /// The one or the other.
    pub(crate) fn pick<T>(self, gate: T, full: T) -> T {
        match self {
            Self::Gate => gate,
            Self::Full => full,
        }
    }
}

/// How large this run is.
pub(crate) fn size() -> Size {
    match std::env::var(SIZE).as_deref() {
        Ok("full") => Size::Full,
        Ok(other) if !other.is_empty() => panic!("'{SIZE}' is '{other}'; it may be 'full'"),
        _unset => Size::Gate,
    }
}

/// The seed of this run; said once, and again with every failure.
fn seed() -> u64 {
    static SEED_OF_THIS_RUN: OnceLock<u64> = OnceLock::new();
    *SEED_OF_THIS_RUN.get_or_init(|| {
        let seed = match std::env::var(SEED) {
            Ok(text) => text
                .parse()
                .unwrap_or_else(|error| panic!("'{SEED}' is '{text}': {error}")),
            Err(_unset) => Uuid::now_v7().as_u64_pair().1 >> 32,
        };
        let said = format!("faults: {SEED}={seed} draws the faults of this run again");
        say(&said);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            say(&said);
        }));
        seed
    })
}

/// What a scenario draws from: the run's seed and the scenario's own name.
pub(crate) fn random(scenario: &str) -> ChaCha8Rng {
    let mut name = DefaultHasher::new();
    scenario.hash(&mut name);
    ChaCha8Rng::seed_from_u64(seed() ^ name.finish())
}

/// A line on standard error, past the harness, which would keep what a test that passes prints.
pub(crate) fn say(line: &str) {
    // Nobody listens where it is closed.
    drop(writeln!(std::io::stderr(), "{line}"));
}
