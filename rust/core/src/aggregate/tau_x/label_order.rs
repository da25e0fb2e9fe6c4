//! The order of the labels before they are cut into buckets. It does not depend on the order of their columns. A lead
//! is the value of placing one label before another; a net preference is the sum of the leads of a label.

use super::super::threshold::TOLERANCE;
use super::cut::BucketCutter;

/// Scores per label, and the largest difference of equal ones.
pub(in super::super) type Scores<'a> = (&'a [f64], f64);

impl BucketCutter {
    /// Sorts the labels by `scores`, if given, then by net preference, then by net preference among the equal labels,
    /// then by the sum of their signed squared leads, which prefers few clear wins to many narrow ones. Labels that
    /// are still equal are marked to stay together.
    pub(in super::super) fn sort_labels(
        &mut self,
        order: &mut [usize],
        scores: Option<Scores<'_>>,
    ) {
        self.joined_labels.clear();
        let mut sorter = LabelSorter {
            n: order.len(),
            net: &self.net,
            gains: &self.gains,
            own: &mut self.own_scores,
            joined: &mut self.joined_labels,
        };
        match scores {
            None => sorter.sort_by_net(order, 0),
            Some((scores, tie)) => sort_descending(order, 0, scores, tie, |run, offset| {
                sorter.sort_by_net(run, offset);
            }),
        }
    }

    /// Per place whether its label is equal to the one before it.
    pub(in super::super) fn equal_labels(&self, n: usize) -> Vec<bool> {
        if self.joined_labels.is_empty() {
            vec![false; n]
        } else {
            self.joined_labels.clone()
        }
    }
}

/// Sorts runs (labels next to each other in the order that are equal by all earlier scores) by further scores.
struct LabelSorter<'a> {
    n: usize,
    net: &'a [f64],
    gains: &'a [f64],
    own: &'a mut Vec<f64>,
    joined: &'a mut Vec<bool>,
}

impl LabelSorter<'_> {
    /// Value of u before v: `gains[u * n + v]` is the value of a tie plus this lead, `gains[v * n + u]` the value of a
    /// tie minus this lead.
    fn lead(&self, u: usize, v: usize) -> f64 {
        (self.gains[u * self.n + v] - self.gains[v * self.n + u]) / 2.0
    }

    /// Sorts a run by net preference, equal labels by the further scores. `offset` is the place of the first label.
    fn sort_by_net(&mut self, run: &mut [usize], offset: usize) {
        sort_descending(run, offset, self.net, TOLERANCE, |run, offset| {
            self.sort_by_net_within_run(run, offset);
        });
    }

    /// Sorts a run by the sum of the leads over the other labels of the run.
    fn sort_by_net_within_run(&mut self, run: &mut [usize], offset: usize) {
        if let [first, second] = run {
            // Most runs have two labels, which need no buffers.
            let lead = 2.0 * self.lead(*first, *second);
            let ahead = if lead.abs() > TOLERANCE {
                lead
            } else {
                self.clear_wins(*first) - self.clear_wins(*second)
            };
            if ahead < -TOLERANCE {
                run.swap(0, 1);
            } else if ahead <= TOLERANCE {
                self.join(run, offset);
            }
            return;
        }
        let net_within = |sorter: &Self, u: usize, run: &[usize]| {
            let others = run.iter().filter(|&&v| v != u);
            others.map(|&v| sorter.lead(u, v)).sum()
        };
        self.sort_by(run, offset, net_within, Self::sort_by_clear_wins);
    }

    fn sort_by_clear_wins(&mut self, run: &mut [usize], offset: usize) {
        let clear_wins = |sorter: &Self, u: usize, _: &[usize]| sorter.clear_wins(u);
        self.sort_by(run, offset, clear_wins, Self::join);
    }

    /// Sum of the signed squared leads of a label.
    fn clear_wins(&self, u: usize) -> f64 {
        let others = (0..self.n).filter(|&v| v != u);
        let leads = others.map(|v| self.lead(u, v));
        leads.map(|lead| lead * lead.abs()).sum()
    }

    /// Sorts a run by a score; `within` treats each run of equal scores.
    fn sort_by(
        &mut self,
        run: &mut [usize],
        offset: usize,
        score: impl Fn(&Self, usize, &[usize]) -> f64,
        within: impl Fn(&mut Self, &mut [usize], usize),
    ) {
        let mut scores = std::mem::take(self.own);
        scores.resize(self.n, 0.0);
        for &label in run.iter() {
            scores[label] = score(self, label, run);
        }
        sort_descending(run, offset, &scores, TOLERANCE, |run, offset| {
            within(self, run, offset);
        });
        *self.own = scores;
    }

    /// Marks the labels of a run to stay together.
    fn join(&mut self, run: &mut [usize], offset: usize) {
        run.sort_unstable();
        self.joined.resize(self.n, false);
        self.joined[offset + 1..offset + run.len()].fill(true);
    }
}

/// Sorts labels by score, largest first; `within` orders each run of labels whose neighbours differ by no more than
/// `tie`, so that rounding does not affect the order. `offset` is the place of the first label.
fn sort_descending(
    order: &mut [usize],
    offset: usize,
    scores: &[f64],
    tie: f64,
    mut within: impl FnMut(&mut [usize], usize),
) {
    order.sort_unstable_by(|&u, &v| scores[v].total_cmp(&scores[u]).then(u.cmp(&v)));
    let mut start = 0;
    for end in 1..=order.len() {
        let ends = end == order.len() || scores[order[end - 1]] - scores[order[end]] > tie;
        if ends {
            if end - start > 1 {
                within(&mut order[start..end], offset + start);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts a run of labels with equal net preference; returns it and which labels are joined.
    fn sort(gains: &[&[f64]], run: &[usize]) -> (Vec<usize>, Vec<bool>) {
        let n = gains.len();
        let gains: Vec<f64> = gains.concat();
        let net = vec![0.0; n];
        let (mut own, mut joined) = (Vec::new(), Vec::new());
        let mut sorter = LabelSorter {
            n,
            net: &net,
            gains: &gains,
            own: &mut own,
            joined: &mut joined,
        };
        let mut run = run.to_vec();
        sorter.sort_by_net(&mut run, 0);
        (run, joined)
    }

    #[test]
    fn of_two_equal_labels_the_one_that_leads_is_first() {
        // Label 1 leads label 0 by a little, although label 0 has the clearer win over label 2.
        let gains: [&[f64]; 3] = [&[0.0, -0.2, 1.0], &[0.2, 0.0, 0.6], &[-1.0, -0.6, 0.0]];
        assert_eq!(sort(&gains, &[0, 1]), (vec![1, 0], vec![]));
        // Without a lead the clearer wins decide.
        let gains: [&[f64]; 3] = [&[0.0, 0.0, 0.6], &[0.0, 0.0, 1.0], &[-0.6, -1.0, 0.0]];
        assert_eq!(sort(&gains, &[0, 1]), (vec![1, 0], vec![]));
        let gains: [&[f64]; 3] = [&[0.0, 0.0, 0.6], &[0.0, 0.0, 0.6], &[-0.6, -0.6, 0.0]];
        assert_eq!(
            sort(&gains, &[0, 1]),
            (vec![0, 1], vec![false, true, false])
        );
    }

    #[test]
    fn of_three_equal_labels_the_net_lead_among_them_decides_first() {
        let gains: [&[f64]; 4] = [
            &[0.0, -0.1, -0.1, 0.5],
            &[0.1, 0.0, 0.3, 0.0],
            &[0.1, -0.3, 0.0, 0.1],
            &[-0.5, 0.0, -0.1, 0.0],
        ];
        // Label 1 leads both others; 0 and 2 have the same net lead, and 0 the clearer win over label 3.
        assert_eq!(sort(&gains, &[0, 1, 2]), (vec![1, 0, 2], vec![]));
    }
}
