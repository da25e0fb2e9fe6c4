//! An order of labels that depends on their pair values (the values of placing a label before another and of a tie),
//! not on the order of their columns in the data.

use std::cmp::Ordering;

/// Largest number of rounds of one colour refinement.
const MAX_ROUNDS: usize = 16;

/// Largest number of groups that [`individualise_label`] divides: limits the time for tables of very many labels
/// without structure.
const MAX_INDIVIDUALISED: usize = 200;

/// Divides each group of equal labels in `order` by colour refinement: labels of a group are sorted by their pair
/// values against all other labels, each of which is represented by its group, until no group is divided any more.
///
/// Labels of a group may then still differ, as in a cycle. The first label of such a group forms a new group with the
/// labels that are interchangeable with it, and the refinement continues. `joined[p]` is whether the labels at places
/// p − 1 and p are in the same group; `value(u, v)` returns the values of "u before v" and of a tie.
pub(in super::super) fn refine_groups(
    order: &mut [usize],
    joined: &mut [bool],
    value: impl Fn(usize, usize) -> (f64, f64),
) {
    for _ in 0..MAX_INDIVIDUALISED {
        refine(order, joined, &value);
        if !individualise_label(order, joined, &value) {
            break;
        }
    }
}

/// Colour refinement.
fn refine(order: &mut [usize], joined: &mut [bool], value: &impl Fn(usize, usize) -> (f64, f64)) {
    let n = order.len();
    let mut groups = vec![0; n];
    for _ in 0..MAX_ROUNDS {
        for place in 0..n {
            let before = place.checked_sub(1).map_or(0, |p| groups[order[p]]);
            groups[order[place]] = if joined[place] { before } else { place };
        }
        let mut changed = false;
        for (start, end) in ranges(joined) {
            changed |= split_group(&mut order[start..end], &mut joined[start..end], |u| {
                signature(u, n, &groups, value)
            });
        }
        if !changed {
            break;
        }
    }
}

/// Start and end of each group of two or more labels.
fn ranges(joined: &[bool]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for end in 1..=joined.len() {
        if end < joined.len() && joined[end] {
            continue;
        }
        if end - start > 1 {
            found.push((start, end));
        }
        start = end;
    }
    found
}

/// Finds the first group whose labels are not all interchangeable, and divides it: the first label and the labels that
/// are interchangeable with it form the first part. Returns whether there was such a group.
fn individualise_label(
    order: &mut [usize],
    joined: &mut [bool],
    value: &impl Fn(usize, usize) -> (f64, f64),
) -> bool {
    let n = order.len();
    for (start, end) in ranges(joined) {
        let first = order[start];
        let is_twin = |u: usize| {
            u == first
                || (value(first, u).0 == 0.0
                    && (0..n)
                        .filter(|&v| v != first && v != u)
                        .all(|v| value(first, v) == value(u, v)))
        };
        let (twins, others): (Vec<usize>, Vec<usize>) =
            order[start..end].iter().partition(|&&u| is_twin(u));
        if !others.is_empty() {
            let middle = start + twins.len();
            order[start..middle].copy_from_slice(&twins);
            order[middle..end].copy_from_slice(&others);
            joined[middle] = false;
            return true;
        }
    }
    false
}

/// Sorted entries of a label, one per other label: the group of the other label, the lead over it (the value of being
/// placed before it) and the value of a tie. Leads over labels of earlier groups are negated, so that labels that lose
/// to these groups come first.
fn signature(
    u: usize,
    n: usize,
    groups: &[usize],
    value: &impl Fn(usize, usize) -> (f64, f64),
) -> Vec<(usize, f64, f64)> {
    let others = (0..n).filter(|&v| v != u);
    let mut row: Vec<_> = others
        .map(|v| {
            let (lead, tied) = value(u, v);
            let lead = if groups[v] < groups[u] { -lead } else { lead };
            // Adding 0 turns a negative zero into a positive one.
            (groups[v], lead + 0.0, tied + 0.0)
        })
        .collect();
    row.sort_unstable_by(compare_entries);
    row
}

fn compare_entries(a: &(usize, f64, f64), b: &(usize, f64, f64)) -> Ordering {
    let by_group = a.0.cmp(&b.0);
    by_group.then(b.1.total_cmp(&a.1)).then(b.2.total_cmp(&a.2))
}

/// Sorts one group by signature; returns whether it was divided.
fn split_group(
    group: &mut [usize],
    joined: &mut [bool],
    signature: impl Fn(usize) -> Vec<(usize, f64, f64)>,
) -> bool {
    let mut keyed: Vec<_> = group.iter().map(|&u| (signature(u), u)).collect();
    let compare = |a: &[(usize, f64, f64)], b: &[(usize, f64, f64)]| {
        let mut entries = a.iter().zip(b).map(|(a, b)| compare_entries(a, b));
        entries
            .find(|&order| order != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    };
    keyed.sort_by(|a, b| compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
    let mut divided = false;
    for (place, (row, label)) in keyed.iter().enumerate() {
        group[place] = *label;
        if place > 0 && compare(&keyed[place - 1].0, row) != Ordering::Equal {
            joined[place] = false;
            divided = true;
        }
    }
    divided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_told_apart_by_their_rows_and_the_groups_of_others() {
        // 0 beats 1, 2 beats 3, 4 is alone: winners before the others before losers, pairs in column order.
        let value = |u: usize, v: usize| match (u, v) {
            (0, 1) | (2, 3) => (1.0, 0.0),
            (1, 0) | (3, 2) => (-1.0, 0.0),
            _ => (0.0, 0.0),
        };
        let mut order = vec![4, 3, 2, 1, 0];
        let mut joined = vec![false, true, true, true, true];
        refine_groups(&mut order, &mut joined, value);
        assert_eq!(order, [0, 2, 4, 1, 3]);
        assert_eq!(joined, [false; 5]);
    }

    #[test]
    fn a_cycle_is_numbered_along_its_wins() {
        // 0 > 1 > 2 > 0, whichever column comes first.
        let value = |u: usize, v: usize| (if (u + 1) % 3 == v { 1.0 } else { -1.0 }, 0.0);
        let mut order = vec![2, 1, 0];
        refine_groups(&mut order, &mut [false, true, true], value);
        assert_eq!(order, [0, 1, 2]);
    }

    #[test]
    fn interchangeable_labels_stay_in_the_order_of_columns() {
        let mut order = vec![2, 0, 1];
        let mut joined = vec![false, true, true];
        refine_groups(&mut order, &mut joined, |_, _| (0.0, 0.5));
        assert_eq!(order, [0, 1, 2]);
        assert_eq!(joined, [false, true, true]);
    }
}
