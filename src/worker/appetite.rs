//! When a worker looks for work, and where: at once after every job, at a bounded and growing pace
//! when there is none. Pure over moments that are passed in. Next: [`super::lanes`].

use std::time::Duration;

use rand::Rng;
use tokio::time::Instant;

use super::lanes::{Rooms, Rotation, SHARES_MAX};
use crate::ledger::backoff;
use crate::ledger::job::{Claimed, Lane};
use crate::store::LaneShare;

/// How often lanes are looked for while there is work, so that new ones get their turn.
const REFRESH: Duration = Duration::from_secs(1);
/// The first wait after a look that found nothing.
const FIRST_WAIT: Duration = Duration::from_millis(10);
/// The shortest time between two fruitless looks, times the number of fruitless looks so far: hints
/// may come without end from the work of others.
const HINT_GAP: Duration = Duration::from_millis(2);
/// The most fruitless looks that lengthen [`HINT_GAP`].
const HINT_GAP_STEPS: u32 = 10;

/// What ended the wait for a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// A hint.
    Hint,
    /// The wait was over.
    Time,
}

/// What a worker knows about where work is.
#[derive(Debug)]
pub(super) struct Appetite {
    rotation: Rotation,
    /// When lanes are looked for; `None` while a hint is awaited.
    look_at: Option<Instant>,
    /// Where the last jobs came from; at most [`SHARES_MAX`].
    remembered: Vec<Lane>,
    /// Whether all lanes that are known are of queues that are full: the next job that can be taken
    /// is one of another queue, which a hint announces.
    full: bool,
    /// Looks and claims in a row that brought nothing.
    fruitless: u32,
    /// The longest wait for a hint.
    poll: Duration,
}

impl Appetite {
    /// Looks first at `now`; waits at most `poll` for a hint.
    pub(super) fn new(poll: Duration, now: Instant) -> Self {
        Self {
            rotation: Rotation::default(),
            look_at: Some(now),
            remembered: Vec::new(),
            full: false,
            fruitless: 0,
            poll,
        }
    }

    /// When lanes are to be looked for; `None` while a hint is awaited.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// Takes in the lanes that a look at `now` found.
    pub(super) fn looked(&mut self, lanes: &[Lane], now: Instant) {
        self.rotation.refresh(lanes);
        if self.rotation.is_empty() || self.full {
            self.fruitless = self.fruitless.saturating_add(1);
            self.look_at = None;
        } else {
            self.look_at = Some(now + REFRESH);
        }
    }

    /// A look failed; the next is at `again`.
    pub(super) fn look_failed(&mut self, again: Instant) {
        self.look_at = Some(again);
    }

    /// A hint came, or the wait for one ended. After a hint the lanes of the last jobs are asked
    /// beside the look: most work comes where work came before, and starts a round trip earlier.
    pub(super) fn woken(&mut self, by: Woken, now: Instant) {
        self.look_at = Some(now);
        if by == Woken::Hint && self.rotation.is_empty() {
            for lane in &self.remembered {
                self.rotation.add(lane);
            }
        }
    }

    /// What to ask for with `capacity` free and `rooms` in the queues, beside settling jobs of the
    /// lanes `settled`: where no lane is known to have work, the lanes just worked on are asked,
    /// which costs no statement more.
    pub(super) fn ask(&mut self, capacity: u32, rooms: Rooms, settled: &[Lane]) -> Vec<LaneShare> {
        if self.rotation.is_empty() {
            for lane in settled {
                self.rotation.add(lane);
            }
        }
        let shares = self.rotation.share(capacity, rooms);
        self.full = capacity > 0 && shares.is_empty() && !self.rotation.is_empty();
        shares
    }

    /// Takes in what a claim brought at `now`.
    pub(super) fn claimed(&mut self, asked: &[LaneShare], brought: &[Claimed], now: Instant) {
        self.rotation.report(asked, brought);
        if brought.is_empty() {
            self.fruitless = self.fruitless.saturating_add(1);
            if self.rotation.is_empty() {
                self.look_at = None;
            }
        } else {
            self.fruitless = 0;
            self.remember(brought);
            if self.rotation.is_empty() {
                self.look_at = Some(now);
            }
        }
    }

    fn remember(&mut self, brought: &[Claimed]) {
        self.remembered.clear();
        for job in brought {
            let is_known = |lane: &Lane| lane.queue == job.queue && lane.tenant == job.tenant;
            if self.remembered.len() < SHARES_MAX && !self.remembered.iter().any(is_known) {
                self.remembered.push(Lane {
                    queue: job.queue.clone(),
                    tenant: job.tenant.clone(),
                });
            }
        }
    }

    /// How long to wait for a hint: doubling from [`FIRST_WAIT`] to the poll interval, the second
    /// half of it by chance, so that many workers do not look at the same moment.
    pub(super) fn wait(&self, random: &mut impl Rng) -> Duration {
        let half = backoff::ceiling(FIRST_WAIT, self.poll, self.fruitless) / 2;
        half + backoff::full_jitter(half, half, 1, random)
    }

    /// The shortest time that the wait for a hint takes, however soon the hint comes.
    pub(super) fn gap(&self) -> Duration {
        (HINT_GAP * self.fruitless.saturating_sub(1).min(HINT_GAP_STEPS)).min(self.poll)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn lane() -> Lane {
        Lane {
            queue: "q".to_owned(),
            tenant: String::new(),
        }
    }

    #[test]
    fn an_idle_worker_waits_longer_and_longer_up_to_the_poll_interval() {
        let now = Instant::now();
        let poll = Duration::from_secs(1);
        let mut appetite = Appetite::new(poll, now);
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..20 {
            appetite.looked(&[], now);
            assert_eq!(appetite.look_at(), None);
            let wait = appetite.wait(&mut random);
            assert!(wait <= poll && appetite.gap() <= wait.max(Duration::from_millis(20)));
        }
        assert!(appetite.wait(&mut random) >= poll / 2);
    }

    #[test]
    fn a_drained_lane_is_looked_for_at_once_and_then_only_on_a_hint() {
        let now = Instant::now();
        let mut appetite = Appetite::new(Duration::from_secs(1), now);
        appetite.looked(&[lane()], now);
        let asked = appetite.ask(5, Rooms::default(), &[]);
        assert_eq!(asked.len(), 1);
        appetite.claimed(&asked, &[], now);
        assert_eq!(appetite.look_at(), None);
        assert!(appetite.ask(5, Rooms::default(), &[]).is_empty());
    }

    #[test]
    fn settling_a_job_asks_its_lane_again_in_the_same_breath() {
        let mut appetite = Appetite::new(Duration::from_secs(1), Instant::now());
        let asked = appetite.ask(2, Rooms::default(), &[lane()]);
        assert_eq!(
            asked,
            [LaneShare {
                lane: lane(),
                limit: 2
            }]
        );
    }

    #[test]
    fn a_hint_asks_the_lanes_of_the_last_jobs_beside_the_look_and_the_end_of_a_wait_does_not() {
        let now = Instant::now();
        let mut appetite = Appetite::new(Duration::from_secs(1), now);
        let job = crate::worker::flight::tests::job(1);
        let asked = appetite.ask(2, Rooms::default(), &[lane()]);
        appetite.claimed(&asked, &[Claimed::clone(&job)], now);
        assert!(
            appetite.ask(5, Rooms::default(), &[]).is_empty(),
            "the lane came back short"
        );
        appetite.woken(Woken::Time, now);
        assert!(appetite.ask(5, Rooms::default(), &[]).is_empty());
        appetite.woken(Woken::Hint, now);
        assert_eq!(appetite.ask(5, Rooms::default(), &[])[0].lane, lane());
        assert_eq!(appetite.look_at(), Some(now));
    }

    #[test]
    fn where_all_known_queues_are_full_a_hint_is_awaited_and_then_looked_for() {
        let now = Instant::now();
        let mut appetite = Appetite::new(Duration::from_secs(1), now);
        appetite.looked(&[lane()], now);
        assert!(appetite.look_at() > Some(now), "there is work");
        let limits = [("q".to_owned(), 1)].into();
        let full = || Rooms::beside(&limits, ["q"].into_iter());
        assert!(appetite.ask(5, full(), &[]).is_empty());
        appetite.looked(&[lane()], now);
        assert_eq!(appetite.look_at(), None, "it can take none of it");
        appetite.woken(Woken::Hint, now);
        assert_eq!(appetite.look_at(), Some(now));
        let other = Lane {
            queue: "other".to_owned(),
            ..lane()
        };
        appetite.looked(&[lane(), other.clone()], now);
        assert_eq!(appetite.ask(5, full(), &[])[0].lane, other);
    }
}
