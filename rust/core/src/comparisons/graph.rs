//! Connected components of the graph of compared labels.

use crate::pairs::PairCounts;

/// Index of the component of each label in the graph that connects two labels if they were compared. Components are
/// sorted by size, largest first; equal sizes by their first label.
#[must_use]
pub fn connected_components(counts: &PairCounts) -> Vec<usize> {
    let n = counts.labels();
    let mut root: Vec<usize> = (0..n).collect();
    let mut pairs = counts.table().triples();
    for u in 0..n {
        for v in u + 1..n {
            let is_compared = pairs
                .next()
                .is_some_and(|pair| pair.iter().sum::<f64>() > 0.0);
            if is_compared {
                let (a, b) = (find_root(&mut root, u), find_root(&mut root, v));
                // The smaller label is the root, so that roots are the first labels of their components.
                root[a.max(b)] = a.min(b);
            }
        }
    }
    let roots: Vec<usize> = (0..n).map(|label| find_root(&mut root, label)).collect();
    let mut size = vec![0_usize; n];
    for &root in &roots {
        size[root] += 1;
    }
    let mut order: Vec<usize> = (0..n).filter(|&label| roots[label] == label).collect();
    order.sort_by_key(|&root| std::cmp::Reverse(size[root]));
    let mut component_of = vec![0; n];
    for (component, &root) in order.iter().enumerate() {
        component_of[root] = component;
    }
    roots.iter().map(|&root| component_of[root]).collect()
}

/// Root of a label, with the path to it halved.
fn find_root(root: &mut [usize], mut label: usize) -> usize {
    while root[label] != label {
        root[label] = root[root[label]];
        label = root[label];
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_numbered_by_size() {
        let mut counts = PairCounts::empty(7).unwrap();
        for (u, v) in [(0, 3), (6, 4), (4, 1)] {
            counts.add_comparison(u, v, 1, 1.0);
        }
        assert_eq!(connected_components(&counts), [1, 0, 2, 1, 0, 3, 0]);
        let empty = PairCounts::empty(3).unwrap();
        assert_eq!(connected_components(&empty), [0, 1, 2]);
    }
}
