//! [`RankingSums`]: per ordered pair of labels the weight of the rankings that place the first label before the second,
//! for complete rankings of few labels.

use crate::simd::{dispatch, Kernel};

use super::pair_count;

/// Largest number of labels.
pub(crate) const MAX_LABELS: usize = 32;

/// Weights below this are summed in 16 bits, which takes half the instructions; at least 16 of them fit in a sum.
const SMALL_WEIGHT: i32 = 1 << 12;

/// Smallest allocation of [`PendingRankings`], in rankings.
const LEAST_ROOM: usize = 256;

/// Complete rankings of at most [`MAX_LABELS`] labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CompactRankings {
    labels: usize,
    rankings: Vec<CompactRanking>,
    /// Per ranking a bit per label, set if the label is outside the last bucket and so before at least one other label.
    winners: Vec<u32>,
}

/// Positions of the labels, padded after the last label with 0, which is before all positions.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
struct CompactRanking([i8; MAX_LABELS]);

impl CompactRankings {
    /// Rankings given as positions, one after the other; `None` for more than [`MAX_LABELS`] labels. No label may be
    /// missing.
    pub(crate) fn new(labels: usize, positions: &[u16]) -> Option<Self> {
        if labels > MAX_LABELS {
            return None;
        }
        let rankings = positions.chunks_exact(labels.max(1));
        let compact = |row: &[u16]| {
            let mut compact = [0; MAX_LABELS];
            for (to, &position) in compact.iter_mut().zip(row) {
                *to = position as i8;
            }
            CompactRanking(compact)
        };
        let winners = |row: &[u16]| {
            let last = row.iter().max();
            let each = (0..).zip(row);
            each.fold(0, |bits, (label, own)| {
                bits | u32::from(Some(own) < last) << label
            })
        };
        Some(Self {
            labels,
            rankings: rankings.clone().map(compact).collect(),
            winners: rankings.map(winners).collect(),
        })
    }
}

/// Per ordered pair of labels the weight of the rankings with the first label before the second.
///
/// A ranking takes one vector addition per label outside its last bucket, so the sums are fast if many labels are tied
/// for the last position.
pub(crate) struct RankingSums {
    /// Per first label a row with the sum of each second label, padded to [`MAX_LABELS`].
    sums: Vec<Lanes<i32>>,
    /// Sums of the weights below [`SMALL_WEIGHT`], to be added to `sums`.
    small_sums: Vec<Lanes<u16>>,
    /// Indices of the rankings with small weights, and their weights.
    small: PendingRankings<u16>,
    /// The same for the rankings with large weights.
    large: PendingRankings<i32>,
}

/// Rankings to be added, with their weights.
struct PendingRankings<T> {
    /// The first `count` are to be added; the others are room for more.
    rankings: Vec<(u32, T)>,
    count: usize,
}

impl<T: Copy + Default> PendingRankings<T> {
    const fn new() -> Self {
        Self {
            rankings: Vec::new(),
            count: 0,
        }
    }

    /// Adds a ranking on a condition that is hard to predict: it is written always, and kept if the condition holds.
    #[inline(always)]
    fn push_if(&mut self, condition: bool, ranking: u32, weight: T) {
        if self.count == self.rankings.len() {
            let room = (2 * self.count).max(LEAST_ROOM);
            self.rankings.resize(room, (0, T::default()));
        }
        self.rankings[self.count] = (ranking, weight);
        self.count += usize::from(condition);
    }

    /// Returns the pending rankings and forgets them.
    #[inline(always)]
    fn take(&mut self) -> &[(u32, T)] {
        &self.rankings[..std::mem::take(&mut self.count)]
    }
}

type Lanes<T> = [T; MAX_LABELS];

impl RankingSums {
    /// Sums of 0.
    pub(crate) fn new(labels: usize) -> Self {
        Self {
            sums: vec![[0; MAX_LABELS]; labels],
            small_sums: vec![[0; MAX_LABELS]; labels],
            small: PendingRankings::new(),
            large: PendingRankings::new(),
        }
    }

    /// Includes a ranking, given by its index, in the next call of [`Self::drain`]. The weight is not negative.
    #[inline]
    pub(crate) fn push(&mut self, ranking: u32, weight: i32) {
        let is_small = weight < SMALL_WEIGHT;
        self.small
            .push_if(is_small && weight > 0, ranking, weight as u16);
        self.large.push_if(!is_small, ranking, weight);
    }

    /// Adds the weights of the pushed rankings to the planes before and after (one sum per pair u < v each), and
    /// forgets the rankings.
    pub(crate) fn drain(&mut self, rankings: &CompactRankings, planes: [&mut [i32]; 2]) {
        dispatch(AddRankings {
            sums: self,
            rankings,
        });
        let [before, after] = planes.map(|plane| &mut plane[..pair_count(rankings.labels)]);
        let mut pair = 0;
        for u in 0..rankings.labels {
            for v in u + 1..rankings.labels {
                before[pair] += self.sums[u][v];
                after[pair] += self.sums[v][u];
                pair += 1;
            }
        }
        self.sums.fill([0; MAX_LABELS]);
    }
}

struct AddRankings<'a> {
    sums: &'a mut RankingSums,
    rankings: &'a CompactRankings,
}

impl Kernel for AddRankings<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let RankingSums {
            sums,
            small_sums,
            small,
            large,
        } = self.sums;
        let rankings = self.rankings;
        let (small, large) = (small.take(), large.take());
        // Prefetch: these reads do not wait for each other, and the summation finds the rankings in the cache.
        let touch =
            |all, &(ranking, _): &(u32, u16)| all | rankings.rankings[ranking as usize].0[0];
        std::hint::black_box(small.iter().fold(0, touch));
        for &(ranking, weight) in large {
            add_ranking(sums, rankings, ranking, weight);
        }
        let mut total = 0_u16;
        for &(ranking, weight) in small {
            // No small sum exceeds the total of the small weights since the last move.
            if let Some(sum) = total.checked_add(weight) {
                total = sum;
            } else {
                move_sums(small_sums, sums);
                total = weight;
            }
            add_ranking(small_sums, rankings, ranking, weight);
        }
        move_sums(small_sums, sums);
    }
}

#[inline(always)]
fn add_ranking<T: Copy + Default + std::ops::AddAssign>(
    sums: &mut [Lanes<T>],
    rankings: &CompactRankings,
    ranking: u32,
    weight: T,
) {
    let positions = rankings.rankings[ranking as usize].0;
    let mut winners = rankings.winners[ranking as usize];
    while winners != 0 {
        let winner = winners.trailing_zeros() as usize;
        winners &= winners - 1;
        let own = positions[winner % MAX_LABELS];
        let sums = &mut sums[winner];
        for lane in 0..MAX_LABELS {
            sums[lane] += if positions[lane] > own {
                weight
            } else {
                T::default()
            };
        }
    }
}

/// Adds small sums to large ones and sets them to 0.
#[inline(always)]
fn move_sums(small: &mut [Lanes<u16>], sums: &mut [Lanes<i32>]) {
    for (small, sums) in small.iter_mut().zip(sums) {
        for lane in 0..MAX_LABELS {
            sums[lane] += i32::from(small[lane]);
        }
        *small = [0; MAX_LABELS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_match_the_definition() {
        for labels in [2, 7, 26, 32] {
            let position = |index: usize| (index * index / 3 % 5) as u16 + 1;
            let positions: Vec<u16> = (0..90 * labels).map(position).collect();
            let rankings = CompactRankings::new(labels, &positions).unwrap();
            let mut sums = RankingSums::new(labels);
            let pairs = pair_count(labels);
            let [mut before, mut after] = [vec![1; pairs], vec![2; pairs + 9]];
            // The small weights together exceed 16 bits. The second round checks that `drain` leaves 0 in `sums`.
            for _ in 0..2 {
                let weight =
                    |ranking| (ranking as i32 % 7) * 1100 + i32::from(ranking == 80) * 9_000_000;
                (0..90).for_each(|ranking| sums.push(ranking, weight(ranking)));
                sums.drain(&rankings, [&mut before, &mut after]);
                (0..90).for_each(|ranking| sums.push(ranking, weight(ranking)));
                let mut expected = [vec![1; pairs], vec![2; pairs]];
                for (ranking, row) in (0..).zip(positions.chunks_exact(labels)) {
                    let mut pair = 0;
                    for u in 0..labels {
                        for v in u + 1..labels {
                            expected[0][pair] += weight(ranking) * i32::from(row[u] < row[v]);
                            expected[1][pair] += weight(ranking) * i32::from(row[u] > row[v]);
                            pair += 1;
                        }
                    }
                }
                assert_eq!(
                    [&before[..], &after[..pairs]],
                    [&expected[0][..], &expected[1][..]]
                );
                sums.drain(&rankings, [&mut before, &mut after]);
                before.fill(1);
                after.fill(2);
            }
        }
        assert!(CompactRankings::new(33, &[]).is_none());
    }
}
