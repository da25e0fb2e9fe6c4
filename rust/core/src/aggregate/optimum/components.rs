//! Decomposition of the search for an optimal bucket order into independent parts. A relation of a pair of labels is
//! before, tied or after; it has a value, and an optimal bucket order has the largest sum of these values.

use super::values::{BucketLimits, PairValues};

/// Strongly connected components of the graph of labels with an edge i → j wherever "i strictly before j" is not the
/// (weakly) best relation of the pair, in an order in which no edge leads to a later component.
///
/// The concatenation of optimal bucket orders of the components, in this order, is an optimal bucket order of all
/// labels. Proof: let i be in an earlier component than j. There is no edge i → j, so "i strictly before j" is the
/// best relation of the pair, and the concatenation has it. It has the best relation of *every* pair of labels from
/// different components, and the pairs within a component are worth the optimum of that component. In any
/// other bucket order, pairs of labels from different components are worth at most their best relation, and the pairs
/// within a component at most its optimum. ∎ The same holds for strict orders, with the relations of strict
/// orders. It does not hold when the number of buckets is prescribed, because that couples the components.
///
/// By Tarjan's algorithm, O(n²): a component is complete after all those that it has edges to.
pub(super) fn decompose(values: &PairValues, limits: BucketLimits) -> Vec<Vec<usize>> {
    let n = values.n;
    let mut search = DepthFirst {
        index: vec![UNSEEN; n],
        low: vec![0; n],
        on_stack: vec![false; n],
        stack: Vec::new(),
        next: 0,
        components: Vec::new(),
    };
    let is_edge = |i: usize, j: usize| {
        let lead = values.lead(i, j);
        i != j && (lead < 0.0 || (!limits.forbid_ties(n) && lead < values.tied(i, j)))
    };
    for root in 0..n {
        if search.index[root] == UNSEEN {
            search.visit(root, &is_edge);
        }
    }
    search.components
}

const UNSEEN: usize = usize::MAX;

/// State of Tarjan's algorithm, with an explicit stack of calls.
struct DepthFirst {
    /// Per label the index of its discovery, or [`UNSEEN`].
    index: Vec<usize>,
    /// Per label the smallest index of a label on the stack that its subtree reaches.
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    components: Vec<Vec<usize>>,
}

impl DepthFirst {
    fn visit(&mut self, root: usize, is_edge: &impl Fn(usize, usize) -> bool) {
        let n = self.index.len();
        // A label and the next label to which an edge may lead.
        let mut calls = vec![(root, 0)];
        self.discover(root);
        while let Some(&mut (label, ref mut target)) = calls.last_mut() {
            if *target < n {
                let other = *target;
                *target += 1;
                if !is_edge(label, other) {
                    continue;
                }
                if self.index[other] == UNSEEN {
                    self.discover(other);
                    calls.push((other, 0));
                } else if self.on_stack[other] {
                    self.low[label] = self.low[label].min(self.index[other]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                self.low[parent] = self.low[parent].min(self.low[label]);
            }
            if self.low[label] == self.index[label] {
                self.complete(label);
            }
        }
    }

    fn discover(&mut self, label: usize) {
        self.index[label] = self.next;
        self.low[label] = self.next;
        self.next += 1;
        self.stack.push(label);
        self.on_stack[label] = true;
    }

    /// Moves the labels above and including `first` from the stack to a component.
    fn complete(&mut self, first: usize) {
        let mut component = Vec::new();
        while let Some(label) = self.stack.pop() {
            self.on_stack[label] = false;
            component.push(label);
            if label == first {
                break;
            }
        }
        component.sort_unstable();
        self.components.push(component);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_one_component_between_its_neighbours() {
        // 4 before all, 0 behind all, and the cycle 1 → 2 → 3 → 1.
        let value = |i: usize, j: usize| match (i, j) {
            (_, 4) | (0, _) => (-1.0, 0.0),
            (1, 3) => (-0.5, 0.0),
            _ => (0.5, 0.0),
        };
        let values = PairValues::new(5, value);
        for limits in [BucketLimits::ANY, BucketLimits::strict(5)] {
            let found = decompose(&values, limits);
            assert_eq!(found, [vec![4], vec![1, 2, 3], vec![0]]);
        }
    }

    #[test]
    fn pairs_without_evidence_are_one_component_unless_ties_are_forbidden() {
        let values = PairValues::new(3, |_, _| (0.0, 0.0));
        assert_eq!(decompose(&values, BucketLimits::ANY), [vec![0, 1, 2]]);
        let strict = decompose(&values, BucketLimits::strict(3));
        assert_eq!(strict, [vec![0], vec![1], vec![2]]);
    }
}
