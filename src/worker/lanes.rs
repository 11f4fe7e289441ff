//! Sharing free capacity over lanes, pure: who is asked next, and for how much.
//!
//! Queues take turns first, and the tenants of a queue take turns within its share, so that neither
//! a queue with many tenants nor a tenant with many jobs keeps others waiting. Knows no database;
//! the [`super::appetite`] decides when lanes are looked for.

use std::collections::{BTreeMap, VecDeque};

use crate::ledger::job::{Claimed, Lane};
use crate::store::LaneShare;

/// The most lanes that one claim asks: each is an index scan of its own inside the claiming
/// statement.
pub const SHARES_MAX: usize = 32;

/// How many more jobs of each queue may be held. A queue that has no limit of its own always has
/// room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rooms(BTreeMap<String, usize>);

impl Rooms {
    /// What the limits leave beside the jobs that are held, given by their queues.
    pub fn beside<'h>(
        limits: &BTreeMap<String, usize>,
        held: impl Iterator<Item = &'h str>,
    ) -> Self {
        let mut left = limits.clone();
        if !left.is_empty() {
            for queue in held {
                if let Some(left) = left.get_mut(queue) {
                    *left = left.saturating_sub(1);
                }
            }
        }
        Self(left)
    }

    fn has(&self, queue: &str) -> bool {
        self.0.get(queue) != Some(&0)
    }

    /// Takes a place, if there is one.
    fn take(&mut self, queue: &str) -> bool {
        let has = self.has(queue);
        if let Some(left) = self.0.get_mut(queue) {
            *left = left.saturating_sub(1);
        }
        has
    }
}

/// The lanes that are believed to have ready jobs, in the order of their turns.
#[derive(Debug, Default)]
pub struct Rotation {
    queues: VecDeque<Turns>,
}

/// The tenants of one queue, in the order of their turns; never empty.
#[derive(Debug)]
struct Turns {
    queue: String,
    tenants: VecDeque<String>,
}

impl Rotation {
    /// Whether no lane is known.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Takes in what a look found: lanes found again keep their turn, new ones come last, others
    /// go.
    pub fn refresh(&mut self, found: &[Lane]) {
        for turns in &mut self.queues {
            turns.tenants.retain(|tenant| {
                found
                    .iter()
                    .any(|lane| lane.queue == turns.queue && lane.tenant == *tenant)
            });
        }
        self.queues.retain(|turns| !turns.tenants.is_empty());
        for lane in found {
            self.add(lane);
        }
    }

    /// Adds a lane at the end of the turns, unless it is there.
    pub fn add(&mut self, lane: &Lane) {
        match self.turns_of(&lane.queue) {
            Some(turns) if turns.tenants.contains(&lane.tenant) => {}
            Some(turns) => turns.tenants.push_back(lane.tenant.clone()),
            None => self.queues.push_back(Turns {
                queue: lane.queue.clone(),
                tenants: VecDeque::from([lane.tenant.clone()]),
            }),
        }
    }

    /// Shares `capacity` over the next lanes in turn, as far as their queues have room. The sum is
    /// `capacity` wherever a lane is known and no queue is full.
    pub fn share(&mut self, capacity: u32, mut rooms: Rooms) -> Vec<LaneShare> {
        let mut shares: Vec<LaneShare> = Vec::new();
        let mut left = capacity;
        while left > 0 {
            let Some(lane) = self.first_with_room(&rooms) else {
                break;
            };
            if let Some(share) = shares.iter_mut().find(|share| share.lane == lane) {
                share.limit += 1;
            } else if shares.len() < SHARES_MAX {
                shares.push(LaneShare { lane, limit: 1 });
            } else {
                // Its turn is kept: a lane passed over here would be passed over again and again by
                // every claim of the same size.
                spread(&mut shares, &mut rooms, left);
                break;
            }
            self.advance(&mut rooms);
            left -= 1;
        }
        shares
    }

    /// Drops the lanes that brought less than they were asked for: they are drained, or other
    /// workers hold the rest. The next look brings them back.
    pub fn report(&mut self, asked: &[LaneShare], claimed: &[Claimed]) {
        for share in asked {
            let brought = claimed
                .iter()
                .filter(|job| job.queue == share.lane.queue && job.tenant == share.lane.tenant)
                .count();
            if brought < usize::try_from(share.limit).unwrap_or(usize::MAX) {
                self.drop_lane(&share.lane);
            } else {
                self.add(&share.lane);
            }
        }
    }

    fn turns_of(&mut self, queue: &str) -> Option<&mut Turns> {
        self.queues.iter_mut().find(|turns| turns.queue == queue)
    }

    fn drop_lane(&mut self, lane: &Lane) {
        if let Some(turns) = self.turns_of(&lane.queue) {
            turns.tenants.retain(|tenant| *tenant != lane.tenant);
        }
        self.queues.retain(|turns| !turns.tenants.is_empty());
    }

    /// The lane whose turn it is. Queues that are full lose theirs.
    fn first_with_room(&mut self, rooms: &Rooms) -> Option<Lane> {
        let full = self
            .queues
            .iter()
            .take_while(|turns| !rooms.has(&turns.queue));
        let full = full.count();
        if full == self.queues.len() {
            return None;
        }
        self.queues.rotate_left(full);
        let turns = self.queues.front()?;
        Some(Lane {
            queue: turns.queue.clone(),
            tenant: turns.tenants.front()?.clone(),
        })
    }

    /// Ends the turn of the first lane: its queue goes to the end, and its tenant within the queue.
    fn advance(&mut self, rooms: &mut Rooms) {
        if let Some(turns) = self.queues.front_mut() {
            rooms.take(&turns.queue);
            turns.tenants.rotate_left(1);
            self.queues.rotate_left(1);
        }
    }
}

/// Adds `left` to the shares, as evenly as it goes and as far as there is room.
fn spread(shares: &mut [LaneShare], rooms: &mut Rooms, mut left: u32) {
    loop {
        let before = left;
        for share in shares.iter_mut() {
            if left > 0 && rooms.take(&share.lane.queue) {
                share.limit = share.limit.saturating_add(1);
                left -= 1;
            }
        }
        if left == 0 || left == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lane(queue: &str, tenant: &str) -> Lane {
        Lane {
            queue: queue.to_owned(),
            tenant: tenant.to_owned(),
        }
    }

    fn rotation(lanes: &[Lane]) -> Rotation {
        let mut rotation = Rotation::default();
        rotation.refresh(lanes);
        rotation
    }

    #[test]
    fn a_queue_with_many_tenants_gets_no_more_than_a_queue_with_one() {
        let mut lanes: Vec<Lane> = (0..9).map(|n| lane("mail", &format!("t{n}"))).collect();
        lanes.push(lane("billing", "t0"));
        let shares = rotation(&lanes).share(20, Rooms::default());
        let billing: u32 = shares
            .iter()
            .filter(|share| share.lane.queue == "billing")
            .map(|share| share.limit)
            .sum();
        assert_eq!(billing, 10);
    }

    #[test]
    fn a_worker_of_one_job_at_a_time_visits_every_lane() {
        let lanes = [lane("a", "x"), lane("a", "y"), lane("b", "x")];
        let mut rotation = rotation(&lanes);
        let visited: Vec<Lane> = (0..4)
            .map(|_| rotation.share(1, Rooms::default())[0].lane.clone())
            .collect();
        assert_eq!(
            visited,
            [
                lane("a", "x"),
                lane("b", "x"),
                lane("a", "y"),
                lane("b", "x")
            ]
        );
    }

    #[test]
    fn a_lane_that_comes_back_short_is_not_asked_again_until_it_is_found_again() {
        let lanes = [lane("a", ""), lane("b", "")];
        let mut rotation = rotation(&lanes);
        let asked = rotation.share(2, Rooms::default());
        rotation.report(&asked, &[]);
        assert!(rotation.is_empty());
        rotation.refresh(&lanes[1..]);
        assert_eq!(rotation.share(3, Rooms::default())[0].limit, 3);
    }

    #[test]
    fn a_lane_passed_over_because_the_claim_is_full_of_lanes_comes_first_next_time() {
        let lanes: Vec<Lane> = (0..=SHARES_MAX)
            .map(|n| lane("q", &format!("t{n}")))
            .collect();
        let mut rotation = rotation(&lanes);
        let first = rotation.share(100, Rooms::default());
        assert!(first.iter().all(|share| share.lane != lanes[SHARES_MAX]));
        assert_eq!(
            rotation.share(1, Rooms::default())[0].lane,
            lanes[SHARES_MAX]
        );
    }

    #[test]
    fn a_full_queue_is_passed_over_and_the_others_get_its_share() {
        let lanes = [
            lane("mail", "x"),
            lane("mail", "y"),
            lane("thumbnails", "x"),
        ];
        let limits = BTreeMap::from([("mail".to_owned(), 3)]);
        let mut rotation = rotation(&lanes);
        let shares = rotation.share(10, Rooms::beside(&limits, ["mail"].into_iter()));
        let of = |tenant: &str, queue: &str| {
            let mine = shares
                .iter()
                .find(|share| share.lane == lane(queue, tenant));
            mine.map(|share| share.limit)
        };
        assert_eq!(
            of("x", "mail"),
            Some(1),
            "tenants share what their queue has left"
        );
        assert_eq!(of("y", "mail"), Some(1));
        assert_eq!(of("x", "thumbnails"), Some(8));
        let held = ["mail", "mail", "mail", "mail"].into_iter();
        let shares = rotation.share(2, Rooms::beside(&limits, held));
        assert_eq!(shares.len(), 1);
        assert_eq!(shares[0].lane.queue, "thumbnails");
    }

    proptest! {
        #[test]
        fn no_queue_gets_more_than_it_has_room_for_and_no_room_is_left_unused(
            lanes in prop::collection::btree_set((0_u8..4, 0_u8..30), 1..60),
            limits in prop::collection::btree_map(0_u8..4, 0_usize..40, 0..4),
            capacity in 0_u32..100,
        ) {
            let lanes: Vec<Lane> = lanes
                .iter()
                .map(|(queue, tenant)| lane(&format!("q{queue}"), &format!("t{tenant}")))
                .collect();
            let limits: BTreeMap<String, usize> = limits
                .into_iter()
                .map(|(queue, limit)| (format!("q{queue}"), limit))
                .collect();
            let rooms = Rooms::beside(&limits, std::iter::empty());
            let shares = rotation(&lanes).share(capacity, rooms);
            let mut given: BTreeMap<&str, usize> = BTreeMap::new();
            for share in &shares {
                *given.entry(&share.lane.queue).or_default() +=
                    usize::try_from(share.limit).unwrap();
            }
            for (queue, given) in &given {
                prop_assert!(limits.get(*queue).is_none_or(|limit| given <= limit));
            }
            let room_left = lanes.iter().any(|lane| {
                let given = given.get(lane.queue.as_str()).copied().unwrap_or_default();
                limits.get(&lane.queue).is_none_or(|limit| given < *limit)
            });
            let sum: usize = given.values().sum();
            // A claim of very many lanes leaves some to the next.
            let all = shares.len() < SHARES_MAX;
            prop_assert!(sum == usize::try_from(capacity).unwrap() || !room_left || !all);
        }

        #[test]
        fn capacity_is_used_in_full_and_queues_differ_by_one_at_most(
            lanes in prop::collection::btree_set((0_u8..5, 0_u8..6), 1..20), capacity in 0_u32..400,
        ) {
            let lanes: Vec<Lane> = lanes
                .iter()
                .map(|(queue, tenant)| lane(&format!("q{queue}"), &format!("t{tenant}")))
                .collect();
            let shares = rotation(&lanes).share(capacity, Rooms::default());
            prop_assert_eq!(shares.iter().map(|share| share.limit).sum::<u32>(), capacity);
            let mut by_queue: BTreeMap<&str, u32> = BTreeMap::new();
            for each in &lanes {
                by_queue.insert(&each.queue, 0);
            }
            for share in &shares {
                *by_queue.get_mut(share.lane.queue.as_str()).unwrap() += share.limit;
            }
            let least = by_queue.values().min().unwrap();
            let most = by_queue.values().max().unwrap();
            prop_assert!(most - least <= 1, "{by_queue:?}");
        }

        #[test]
        fn no_lane_starves_whatever_the_capacity(
            lanes in prop::collection::btree_set((0_u8..5, 0_u8..30), 1..100),
            capacity in 1_u32..60,
        ) {
            let lanes: Vec<Lane> = lanes
                .iter()
                .map(|(queue, tenant)| lane(&format!("q{queue}"), &format!("t{tenant}")))
                .collect();
            let mut rotation = rotation(&lanes);
            let mut served: BTreeMap<Lane, u32> = BTreeMap::new();
            // Five queues of thirty tenants at most: 150 turns of one reach everyone.
            for _ in 0..150 {
                for share in rotation.share(capacity, Rooms::default()) {
                    *served.entry(share.lane).or_default() += share.limit;
                }
                rotation.refresh(&lanes);
            }
            prop_assert_eq!(served.len(), lanes.len());
        }

        #[test]
        fn no_claim_asks_more_lanes_than_its_bound(
            tenants in 1_usize..200, capacity in 1_u32..2_000,
        ) {
            let lanes: Vec<Lane> = (0..tenants).map(|n| lane("q", &format!("t{n}"))).collect();
            let shares = rotation(&lanes).share(capacity, Rooms::default());
            prop_assert!(shares.len() <= SHARES_MAX);
            prop_assert_eq!(shares.iter().map(|share| share.limit).sum::<u32>(), capacity);
        }
    }
}
