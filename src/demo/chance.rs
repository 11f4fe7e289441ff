//! Chance that repeats: what is drawn depends on the seed and on what it is drawn for, not on the
//! order in which things happen to be asked.

use rand::{Rng, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::scenario::Span;

/// The random source of `what` (a stream, a job's key) at its `number`th turn, under `seed`.
pub(super) fn source(seed: u64, what: &str, number: u32) -> ChaCha8Rng {
    let mut bytes = [0_u8; 32];
    let (head, tail) = bytes.split_at_mut(16);
    head[..8].copy_from_slice(&seed.to_le_bytes());
    head[8..].copy_from_slice(&digest(what).to_le_bytes());
    tail[..4].copy_from_slice(&number.to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

/// A value of the span, each as likely as the others.
pub(super) fn within(span: Span, random: &mut impl Rng) -> u64 {
    random.random_range(span.0..=span.1.max(span.0))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): the same on every machine and in every version, unlike the
/// standard library's hasher.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(digest(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn what_is_drawn_depends_on_seed_name_and_number_alone() {
        let draw = |seed, what, number| source(seed, what, number).random::<u64>();
        assert_eq!(draw(1, "a", 1), draw(1, "a", 1));
        assert_ne!(draw(1, "a", 1), draw(2, "a", 1));
        assert_ne!(draw(1, "a", 1), draw(1, "b", 1));
        assert_ne!(draw(1, "a", 1), draw(1, "a", 2));
    }
}
