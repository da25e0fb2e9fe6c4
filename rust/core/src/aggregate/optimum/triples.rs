//! [`TripleBound`]: the loss that triples of labels with inconsistent best relations cannot avoid. The loss of a pair
//! is the value of its best relation (before, tied or after) minus that of the chosen one.

use super::values::{BucketLimits, PairValues};

/// Loss of the three relations of a pair against the best one: first before second, tied, first after second.
type Losses = [f64; 3];

/// Losses up to this count as zero.
const TOLERANCE: f64 = 1e-12;

/// Limit of passes over all triples.
const MAX_PASSES: usize = 12;

/// Lower bounds of the loss of sets of labels.
///
/// The best relations of three labels may contradict each other (a > b > c > a, or a ~ b ~ c with a > c); then at least
/// one of the three pairs loses something. The loss of each pair is divided among the triples with that pair, so
/// the unavoidable losses of different triples add up. Greedy, largest losses first.
#[derive(Debug)]
pub(super) struct TripleBound {
    /// Labels of a triple as a set, and the loss that it cannot avoid.
    triples: Vec<(u64, f64)>,
    /// Sum of these losses.
    total: f64,
}

impl TripleBound {
    /// O(m³) for m labels; sets are only meaningful up to 64 labels.
    pub(super) fn new(values: &PairValues, limits: BucketLimits) -> Self {
        let m = values.n;
        let mut residual = pair_losses(values, limits);
        let consistent = consistent_choices();
        let (mut triples, mut total) = (Vec::new(), 0.0);
        for _ in 0..MAX_PASSES {
            let mut found = Vec::new();
            for i in 0..m {
                for j in i + 1..m {
                    for k in j + 1..m {
                        let pairs = [i * m + j, j * m + k, i * m + k];
                        let loss = unavoidable_loss(&residual, pairs, &consistent);
                        if loss > TOLERANCE {
                            found.push((loss, pairs, [i, j, k]));
                        }
                    }
                }
            }
            if found.is_empty() {
                break;
            }
            found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
            for (_, pairs, labels) in found {
                let loss = unavoidable_loss(&residual, pairs, &consistent);
                if loss > TOLERANCE {
                    charge(&mut residual, pairs, loss);
                    let set = labels.iter().fold(0, |set, &label| set | 1 << (label % 64));
                    triples.push((set, loss));
                    total += loss;
                }
            }
        }
        Self { triples, total }
    }

    /// Loss that all labels together cannot avoid.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// Loss that the pairs within a set cannot avoid.
    pub(super) fn within(&self, set: u64) -> f64 {
        let inside = self.triples.iter().filter(|(triple, _)| triple & !set == 0);
        inside.map(|(_, loss)| loss).sum()
    }
}

/// Loss of each relation of each pair i < j, at `i * m + j`; infinite for a tie that is forbidden.
fn pair_losses(values: &PairValues, limits: BucketLimits) -> Vec<Losses> {
    let m = values.n;
    let mut losses = vec![[0.0; 3]; m * m];
    for i in 0..m {
        for j in i + 1..m {
            let best = values.best(i, j, limits);
            let tie = if limits.forbid_ties(m) {
                f64::INFINITY
            } else {
                best - values.tied(i, j)
            };
            losses[i * m + j] = [best - values.lead(i, j), tie, best + values.lead(i, j)];
        }
    }
    losses
}

/// Table indexed by three sets of relations, three bits each, for the pairs (i,j), (j,k) and (i,k): whether a bucket
/// order exists that gives each pair a relation of its set.
fn consistent_choices() -> Vec<bool> {
    let mut table = vec![false; 512];
    for order in 0..27_usize {
        let [i, j, k] = [order % 3, order / 3 % 3, order / 9];
        let relation = |a: usize, b: usize| match a.cmp(&b) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => 2,
            std::cmp::Ordering::Greater => 4_usize,
        };
        let chosen = [relation(i, j), relation(j, k), relation(i, k)];
        for (sets, entry) in table.iter_mut().enumerate() {
            let contains = |pair: usize| sets >> (3 * pair) & chosen[pair] != 0;
            *entry |= contains(0) && contains(1) && contains(2);
        }
    }
    table
}

/// Loss that the three pairs cannot avoid: 0 if relations without loss are consistent, else the smallest other loss.
fn unavoidable_loss(residual: &[Losses], pairs: [usize; 3], consistent: &[bool]) -> f64 {
    let (mut sets, mut smallest) = (0, f64::INFINITY);
    for (index, &pair) in pairs.iter().enumerate() {
        for (relation, &loss) in residual[pair].iter().enumerate() {
            if loss <= TOLERANCE {
                sets |= 1 << (3 * index + relation);
            } else {
                smallest = smallest.min(loss);
            }
        }
    }
    if consistent[sets] || smallest == f64::INFINITY {
        0.0
    } else {
        smallest
    }
}

/// Subtracts `loss` from every positive loss of the pairs: any bucket order chooses one of these relations.
fn charge(residual: &mut [Losses], pairs: [usize; 3], loss: f64) {
    for pair in pairs {
        for value in &mut residual[pair] {
            if *value > TOLERANCE {
                *value -= loss;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_loses_its_weakest_pair() {
        // The best order reverses the weakest pair and loses twice its lead, 0.6; the bound is at least 0.3, the loss
        // of a tie of that pair.
        let value = |i: usize, j: usize| {
            if (i, j) == (0, 2) {
                (-0.3, 0.0)
            } else {
                (0.5, 0.0)
            }
        };
        let values = PairValues::new(3, value);
        let bound = TripleBound::new(&values, BucketLimits::ANY);
        assert!(bound.total() > 0.29 && bound.total() < 0.61, "{bound:?}");
        assert_eq!(bound.within(0b111), bound.total());
        assert_eq!(bound.within(0b011), 0.0);
        let strict = TripleBound::new(&values, BucketLimits::strict(3));
        assert!((strict.total() - 0.6).abs() < 1e-9);
    }

    #[test]
    fn consistent_best_relations_lose_nothing() {
        let values = PairValues::new(4, |i, _| if i == 0 { (0.5, 0.0) } else { (0.0, 0.5) });
        assert_eq!(TripleBound::new(&values, BucketLimits::ANY).total(), 0.0);
    }
}
