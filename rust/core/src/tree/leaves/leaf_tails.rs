//! [`LeafTails`]: the training rankings between leaves and their anchors, with the weights of these rankings in the
//! pair shares of the leaves. The anchor of a leaf is the ancestor whose stored shares complete the sum; a climb from
//! the leaf towards the root ends there.

use super::anchor_plan::AnchorPlan;
use super::anchors::ClimbEnd;

/// Words (`u32`) per cache line.
const WORDS_PER_LINE: usize = 64 / size_of::<u32>();

/// Cache lines of a tail that are read ahead; most tails are not longer.
const LINES_AHEAD: usize = 2;

/// Number of words of a tail before its rankings.
const HEADER: usize = 3;

/// The integer that represents a weight of 1 in [`Tail::for_each`].
pub(crate) const TAIL_ONE: f32 = (1_u64 << 32) as f32;

/// Small weights are stored in 16 bits, in units of 2⁻²⁶. A shift by this converts them to multiples of 1/[`TAIL_ONE`].
const SMALL_SHIFT: u32 = 6;

/// The unit of small weights, as a multiple of 1/[`TAIL_ONE`].
const SMALL_ONE: f32 = (1 << SMALL_SHIFT) as f32;

/// Small weights are sorted into bins of this width. The last bin holds all larger weights: each is above
/// [`TAIL_ERROR`].
const BIN_WIDTH: u32 = 4;

/// Number of bins.
const BINS: usize = 16;

/// Largest error of the shares of a leaf from its tail: from omitted rankings and anchors, and from rounded numbers.
const TAIL_ERROR: f32 = 8e-7;

/// The tails of the leaves of a tree.
///
/// A tail consists of a mark (the code of a [`ClimbEnd`]), the fraction that this end contributes, a word with the
/// numbers of rankings with large and with small weights, two words per ranking with a large weight and one word per
/// ranking with a small weight. All words are in one stream, so that a tail takes few cache lines. The rankings with
/// the smallest weights are left out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeafTails {
    words: Vec<u32>,
}

/// The tail of one leaf.
pub(crate) struct Tail<'a> {
    /// Rankings with large weights: index among the distinct rankings, and weight.
    large: &'a [[u32; 2]],
    /// Rankings with small weights: index in the upper half of the word, weight in the lower half.
    small: &'a [u32],
    /// Where the climb from the leaf towards the root ends.
    pub(crate) end: ClimbEnd<'a>,
    /// Fraction of the leaf's shares that the end contributes.
    pub(crate) fraction: f32,
}

impl Tail<'_> {
    /// Calls `add` with each ranking and its weight, which is not 0, as a multiple of 1/[`TAIL_ONE`].
    #[inline(always)]
    pub(crate) fn for_each(&self, mut add: impl FnMut(u32, u32)) {
        for &[ranking, weight] in self.large {
            add(ranking, weight);
        }
        for word in self.small {
            add(word >> 16, (word & 0xffff) << SMALL_SHIFT);
        }
    }
}

impl LeafTails {
    /// The tail that starts at this word; `end` decodes a mark.
    #[inline]
    pub(super) fn tail<'a>(
        &'a self,
        start: u32,
        end: impl FnOnce(u32) -> ClimbEnd<'a>,
    ) -> Tail<'a> {
        let words = &self.words[start as usize..];
        let (header, words) = words.split_at(HEADER);
        let (large, words) = words.split_at(2 * (header[2] >> 16) as usize);
        Tail {
            large: large.as_chunks().0,
            small: &words[..(header[2] & 0xffff) as usize],
            end: end(header[0]),
            fraction: f32::from_bits(header[1]),
        }
    }

    /// Reads the first cache lines of a tail, so that they are in the cache when they are needed.
    #[inline]
    pub(super) fn touch(&self, start: u32) -> u32 {
        let lines = self.words[start as usize..].iter();
        let ahead = lines.step_by(WORDS_PER_LINE).take(LINES_AHEAD);
        ahead.fold(0, |all, word| all | word)
    }
}

/// Collects the tails of a tree.
pub(super) struct TailBuilder {
    tails: LeafTails,
    /// Largest number of words.
    limit: usize,
    /// Per distinct ranking its weight in the current tail.
    weights: Vec<f32>,
    /// The rankings of the current tail whose weight is not 0.
    rankings: Vec<u32>,
    /// Words of small weights of the current tail.
    small: Vec<u32>,
}

impl TailBuilder {
    pub(super) fn new(plan: &AnchorPlan<'_>) -> Self {
        let distinct = plan.ranking_of.iter().max().map_or(0, |&last| last + 1);
        Self {
            tails: LeafTails { words: Vec::new() },
            limit: plan.tail_bytes / size_of::<u32>(),
            weights: vec![0.0; distinct as usize],
            rankings: Vec::new(),
            small: Vec::new(),
        }
    }

    /// Adds a ranking to the current tail.
    pub(super) fn add(&mut self, ranking: u32, weight: f32) {
        let sum = &mut self.weights[ranking as usize];
        if *sum == 0.0 && weight > 0.0 {
            self.rankings.push(ranking);
        }
        *sum += weight;
    }

    /// Appends the current tail and returns its start, or `None` if there are too many words. `mark` is the code of the
    /// end of the climb, `fraction` what this end contributes to the shares of the leaf, and `error` its largest error
    /// there.
    pub(super) fn finish_leaf(&mut self, mark: u32, fraction: f32, mut error: f32) -> Option<u32> {
        let words = &mut self.tails.words;
        let start = words.len();
        words.extend([mark, fraction.to_bits(), 0]);
        self.small.clear();
        for ranking in self.rankings.drain(..) {
            let weight = std::mem::take(&mut self.weights[ranking as usize]) * TAIL_ONE;
            let small = (weight / SMALL_ONE + 0.5) as u32;
            let fits_one_word = (small | ranking) >> 16 == 0;
            if fits_one_word {
                error += (weight - small as f32 * SMALL_ONE).abs() / TAIL_ONE;
                self.small.push(ranking << 16 | small);
            } else if weight >= 1.0 {
                words.extend([ranking, weight as u32]);
            }
        }
        let large = (words.len() - start - HEADER) / 2;
        keep_largest(&mut self.small, TAIL_ERROR - error);
        words[start + 2] = (large << 16 | self.small.len()) as u32;
        words.extend_from_slice(&self.small);
        let fits = words.len() <= self.limit && large.max(self.small.len()) <= 0xffff;
        fits.then_some(start as u32)
    }

    /// The tails of all leaves.
    pub(super) fn finish(mut self) -> LeafTails {
        self.tails.words.shrink_to_fit();
        self.tails
    }
}

/// Removes words of small weights that add up to at most `error`, and all weights of 0. Equal weights are all kept or
/// all removed, so that opposite rankings of equal weights cancel.
fn keep_largest(small: &mut Vec<u32>, error: f32) {
    let error = (error * (TAIL_ONE / SMALL_ONE)) as u32;
    let weight = |word: u32| word & 0xffff;
    let mut sums = [0; BINS];
    for &word in small.iter() {
        sums[(weight(word) / BIN_WIDTH).min(BINS as u32 - 1) as usize] += weight(word);
    }
    let mut removed = 0;
    let exceeds = |&sum: &u32| {
        removed += sum;
        removed > error
    };
    let removed_bins = sums.iter().position(exceeds).unwrap_or(BINS - 1) as u32;
    let least_kept = (removed_bins * BIN_WIDTH).max(1);
    let mut kept = 0;
    for index in 0..small.len() {
        // Branch-free: every word is written, and overwritten by the next unless it is kept.
        let word = small[index];
        small[kept] = word;
        kept += usize::from(weight(word) >= least_kept);
    }
    small.truncate(kept);
}
