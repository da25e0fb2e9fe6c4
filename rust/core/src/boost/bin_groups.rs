//! Groups of the bins of a feature in a node: an edge between two groups is a candidate boundary.

use super::params::MAX_BINS;

/// Bytes per word.
const BYTES: usize = size_of::<u64>();

/// Assigns the bins of a feature without missing values to groups, given the rows per bin, and returns the last group.
///
/// There are at most 256 bins and no edge before the first, so `u8` suffices.
pub(super) fn assign_groups(
    counts: &[u32],
    min_samples_leaf: usize,
    group_of: &mut [u8; MAX_BINS],
) -> u8 {
    let least = min_samples_leaf as u64;
    // The bins with enough rows before them, and with enough rows from them on, are consecutive.
    let (mut first, mut left) = (0, 0);
    while first < counts.len() && left < least {
        left += u64::from(counts[first]);
        first += 1;
    }
    let (mut end, mut right) = (counts.len(), 0);
    while end > first && right < least {
        end -= 1;
        right += u64::from(counts[end]);
    }
    if right < least || first == counts.len() {
        return 0;
    }
    for (starts_group, &count) in group_of[first..=end].iter_mut().zip(&counts[first..=end]) {
        *starts_group = u8::from(count > 0);
    }
    number_groups(&mut group_of[..counts.len().next_multiple_of(BYTES)])
}

/// Replaces each flag by the number of flags up to it, and returns the number of all flags. The flags are whole words.
fn number_groups(flags: &mut [u8]) -> u8 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut group = 0;
    for chunk in flags.chunks_exact_mut(BYTES) {
        let mut eight = [0; BYTES];
        eight.copy_from_slice(chunk);
        // The product adds to each byte all bytes below it. No byte overflows: the first flag is never set.
        let numbers = u64::from_le_bytes(eight).wrapping_mul(ONES) + u64::from(group) * ONES;
        chunk.copy_from_slice(&numbers.to_le_bytes());
        group = (numbers >> 56) as u8;
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_by_the_flags_before_them() {
        for bins in [8, 16, 256] {
            let mut flags: Vec<u8> = (0..bins)
                .map(|bin| u8::from(bin > 0 && bin % 7 != 3))
                .collect();
            let mut group = 0;
            let expected: Vec<u8> = flags
                .iter()
                .map(|flag| {
                    group += flag;
                    group
                })
                .collect();
            assert_eq!(number_groups(&mut flags), group);
            assert_eq!(flags, expected);
        }
        let mut flags = [1; MAX_BINS];
        flags[0] = 0;
        assert_eq!(number_groups(&mut flags), 255);
        assert!(flags
            .iter()
            .enumerate()
            .all(|(bin, &group)| bin == usize::from(group)));
    }
}
