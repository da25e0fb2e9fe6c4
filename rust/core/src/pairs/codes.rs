//! [`PackedPairCodes`]: two bits (before, after) per ranking and pair of labels, and a third one (seen: the ranking
//! ranks both labels) if labels are missing, for weighted sums over many small sets of rankings.

use std::ops::AddAssign;

use crate::rankings::MISSING;
use crate::simd::{dispatch, Kernel};

use super::pair_count;

/// Pairs per code word. Their sums stay in registers while rankings are added.
const LANES: usize = 32;

/// The bit of each pair in a code word.
const BITS: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Bytes of the code words that are gathered and added together: they stay in the first-level cache.
const GROUP_BYTES: usize = 1 << 13;

/// Codes above this size are not stored but computed for each sum.
const MAX_STORED_BYTES: usize = 1 << 28;

/// The relations of all pairs of labels in each of several rankings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PackedPairCodes {
    labels: usize,
    /// Code words per ranking.
    words: usize,
    /// Positions of the rankings, one ranking after the other.
    positions: Vec<u16>,
    /// All code words; empty if they would take too much memory.
    stored: Vec<CodeWord>,
    /// Per code word: a bit per pair, set if the ranking ranks both labels. Empty if `stored` is, or if `is_complete`.
    stored_seen: Vec<u32>,
    /// Whether every ranking ranks all labels.
    is_complete: bool,
}

/// Relations of [`LANES`] pairs: one bit per pair in `before` and one in `after`; neither is set for a tied or unseen
/// pair.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CodeWord {
    before: u32,
    after: u32,
}

impl PackedPairCodes {
    /// The codes of rankings given as positions, one after the other.
    pub(crate) fn new(labels: usize, positions: Vec<u16>) -> Self {
        Self::with_limit(labels, positions, MAX_STORED_BYTES)
    }

    fn with_limit(labels: usize, positions: Vec<u16>, max_bytes: usize) -> Self {
        let words = pair_count(labels).div_ceil(LANES);
        let rankings = positions.len() / labels.max(1);
        let mut codes = Self {
            labels,
            words,
            is_complete: !positions.contains(&MISSING),
            positions,
            stored: Vec::new(),
            stored_seen: Vec::new(),
        };
        let bytes_per_word = size_of::<CodeWord>() + size_of::<u32>();
        if rankings.saturating_mul(words * bytes_per_word) <= max_bytes {
            let mut stored = Vec::with_capacity(rankings * words);
            let mut seen = Vec::new();
            for ranking in 0..rankings as u32 {
                codes.push_words(ranking, &mut stored, &mut seen);
                if codes.is_complete {
                    seen.clear();
                }
            }
            codes.stored = stored;
            codes.stored_seen = seen;
        }
        codes
    }

    /// Number of pairs.
    pub(crate) fn pairs(&self) -> usize {
        pair_count(self.labels)
    }

    /// Number of pairs, padded to whole code words: the length of a plane (one sum per pair).
    pub(crate) fn stride(&self) -> usize {
        self.words * LANES
    }

    /// For each pair that a complete ranking does not tie, adds the weight of the ranking to the sum of the pair in the
    /// plane before or after.
    ///
    /// Sums of integers do not depend on the order of the rankings.
    pub(crate) fn add_complete(&self, rankings: &[(u32, i32)], sums: [&mut [i32]; 2]) {
        let [before, after] = sums;
        self.each_group(rankings, |words, _, rankings| {
            dispatch(AddComplete {
                words,
                rankings,
                sums: [&mut *before, &mut *after],
            });
        });
    }

    /// For each pair that a ranking ranks, adds the weight of the ranking to the sum of the pair in the plane seen and,
    /// unless the pair is tied, in the plane before or after.
    pub(crate) fn add_incomplete(&self, rankings: &[(u32, f32)], sums: [&mut [f32]; 3]) {
        let [before, after, seen] = sums;
        self.each_group(rankings, |words, seen_words, rankings| {
            dispatch(AddIncomplete {
                words,
                seen_words,
                rankings,
                sums: [&mut *before, &mut *after, &mut *seen],
            });
        });
    }

    /// Calls `add` with groups of a few rankings and their code words, gathered into one buffer. Gathering keeps many
    /// loads in flight, and the summation then reads from the first-level cache.
    fn each_group<W: Copy>(
        &self,
        rankings: &[(u32, W)],
        mut add: impl FnMut(&[CodeWord], &[u32], &[(u32, W)]),
    ) {
        let group = (GROUP_BYTES / size_of::<CodeWord>() / self.words.max(1)).max(1);
        let mut words = Vec::with_capacity(group.min(rankings.len()) * self.words);
        let mut seen_words = Vec::new();
        for rankings in rankings.chunks(group) {
            words.clear();
            seen_words.clear();
            for &(ranking, _) in rankings {
                let start = ranking as usize * self.words;
                let range = start..start + self.words;
                match self.stored.get(range.clone()) {
                    Some(stored) => {
                        words.extend_from_slice(stored);
                        seen_words.extend_from_slice(self.stored_seen.get(range).unwrap_or(&[]));
                    }
                    None => self.push_words(ranking, &mut words, &mut seen_words),
                }
            }
            if self.is_complete {
                seen_words.clear();
            }
            add(&words, &seen_words, rankings);
        }
    }

    /// Computes the code words of one ranking.
    fn push_words(&self, ranking: u32, words: &mut Vec<CodeWord>, seen_words: &mut Vec<u32>) {
        let positions = &self.positions[ranking as usize * self.labels..][..self.labels];
        let (mut word, mut seen_word, mut lane) = (CodeWord::default(), 0, 0);
        for (u, &own) in positions.iter().enumerate() {
            for &other in &positions[u + 1..] {
                let seen = own != MISSING && other != MISSING;
                word.before |= u32::from(seen && own < other) << lane;
                word.after |= u32::from(seen && own > other) << lane;
                seen_word |= u32::from(seen) << lane;
                lane += 1;
                if lane == LANES {
                    words.push(std::mem::take(&mut word));
                    seen_words.push(std::mem::take(&mut seen_word));
                    lane = 0;
                }
            }
        }
        if lane > 0 {
            words.push(word);
            seen_words.push(seen_word);
        }
    }
}

struct AddComplete<'a> {
    words: &'a [CodeWord],
    rankings: &'a [(u32, i32)],
    sums: [&'a mut [i32]; 2],
}

impl Kernel for AddComplete<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [before, after] = self.sums;
        add_plane(before, self.words, self.rankings, |word| word.before);
        add_plane(after, self.words, self.rankings, |word| word.after);
    }
}

struct AddIncomplete<'a> {
    words: &'a [CodeWord],
    /// Empty if every ranking ranks all labels.
    seen_words: &'a [u32],
    rankings: &'a [(u32, f32)],
    sums: [&'a mut [f32]; 3],
}

impl Kernel for AddIncomplete<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [before, after, seen] = self.sums;
        add_plane(before, self.words, self.rankings, |word| word.before);
        add_plane(after, self.words, self.rankings, |word| word.after);
        if self.seen_words.is_empty() {
            let all: f32 = self.rankings.iter().map(|(_, weight)| weight).sum();
            for sum in seen.iter_mut() {
                *sum += all;
            }
        } else {
            add_plane(seen, self.seen_words, self.rankings, |&word| word);
        }
    }
}

/// Adds the weights of the rankings to the sums of the pairs whose bit is set. One plane at a time: the sums of two
/// planes do not fit in the registers.
#[inline(always)]
fn add_plane<C, W: Copy + Default + AddAssign>(
    plane: &mut [W],
    words: &[C],
    rankings: &[(u32, W)],
    bits_of: impl Fn(&C) -> u32,
) {
    let chunks = plane.as_chunks_mut::<LANES>().0;
    let words_per_ranking = chunks.len();
    for (chunk, sums) in chunks.iter_mut().enumerate() {
        let mut lanes = *sums;
        let mut word = chunk;
        for &(_, weight) in rankings {
            let bits = bits_of(&words[word]);
            word += words_per_ranking;
            for lane in 0..LANES {
                lanes[lane] += if bits & BITS[lane] == 0 {
                    W::default()
                } else {
                    weight
                };
            }
        }
        *sums = lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::pair_index;

    const LABELS: usize = 9;

    fn positions() -> Vec<u16> {
        let position = |index: usize| (index * index / 3 % 5) as u16;
        (0..40 * LABELS).map(position).collect()
    }

    #[test]
    fn stored_and_computed_words_add_up_to_the_definition() {
        assert!(positions().contains(&MISSING));
        assert_sums_match(positions());
        // Complete rankings: a missing position becomes 1.
        assert_sums_match(positions().iter().map(|position| position + 1).collect());
    }

    fn assert_sums_match(positions: Vec<u16>) {
        let rankings: Vec<(u32, i32)> = (0..40).map(|r| (r, 3 + 7 * r as i32)).collect();
        let real: Vec<(u32, f32)> = rankings.iter().map(|&(r, w)| (r, w as f32)).collect();
        for limit in [0, MAX_STORED_BYTES] {
            let codes = PackedPairCodes::with_limit(LABELS, positions.clone(), limit);
            assert_eq!(codes.stored.is_empty(), limit == 0);
            let [mut before, mut after] = [vec![1; codes.stride()], vec![2; codes.stride()]];
            codes.add_complete(&rankings, [&mut before, &mut after]);
            let mut counts: [Vec<f32>; 3] = std::array::from_fn(|_| vec![0.0; codes.stride()]);
            codes.add_incomplete(&real, counts.each_mut().map(Vec::as_mut_slice));
            for u in 0..LABELS {
                for v in u + 1..LABELS {
                    let mut expected = [0; 3];
                    for &(ranking, weight) in &rankings {
                        let row = &positions[ranking as usize * LABELS..][..LABELS];
                        if row[u] != MISSING && row[v] != MISSING {
                            expected[0] += weight * i32::from(row[u] < row[v]);
                            expected[1] += weight * i32::from(row[u] > row[v]);
                            expected[2] += weight;
                        }
                    }
                    let pair = pair_index(LABELS, u, v);
                    assert_eq!([before[pair] - 1, after[pair] - 2], expected[..2]);
                    assert_eq!([0, 1, 2].map(|p| counts[p][pair] as i32), expected);
                }
            }
        }
    }

    #[test]
    fn groups_of_rankings_fit_in_the_cache_and_keep_their_order() {
        let labels = 60;
        let positions: Vec<u16> = (0..3 * labels).map(|i| (i * 7 % 60) as u16 + 1).collect();
        let codes = PackedPairCodes::with_limit(labels, positions, MAX_STORED_BYTES);
        let rankings: Vec<(u32, u32)> = (0..1000).map(|i| (i % 3, i)).collect();
        let mut seen = Vec::new();
        let mut groups = 0;
        codes.each_group(&rankings, |words, _, group| {
            assert_eq!(words.len(), group.len() * codes.words);
            assert!(size_of_val(words) <= GROUP_BYTES);
            seen.extend_from_slice(group);
            groups += 1;
        });
        assert_eq!(seen, rankings);
        assert!((2..1000).contains(&groups), "{groups}");
    }
}
