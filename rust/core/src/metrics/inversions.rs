//! [`InversionCounter`]: disagreements of two rankings of many labels, by counting inversions with a Fenwick tree.

/// Buffers for counting the disagreements of one row at a time in O(n log n).
#[derive(Default)]
pub(super) struct InversionCounter {
    /// Labels sorted by their position in the first ranking, then in the second.
    order: Vec<u32>,
    /// Fenwick tree that counts the positions inserted so far.
    tree: Vec<u32>,
    /// Number of labels at each position.
    sizes: Vec<u64>,
}

impl InversionCounter {
    /// Number of ordered pairs of labels on which the rankings `a` and `b` differ. An unordered pair counts twice when
    /// the orders are opposite, once when it is tied in exactly one ranking, and not at all otherwise.
    pub(super) fn disagreements(&mut self, a: &[u16], b: &[u16]) -> u64 {
        let tied_a = self.tied_pairs(a.iter().map(|&p| u32::from(p)), a.len());
        let tied_b = self.tied_pairs(b.iter().map(|&p| u32::from(p)), b.len());
        let (discordant, tied_both) = self.discordant_and_tied(a, b);
        2 * discordant + (tied_a - tied_both) + (tied_b - tied_both)
    }

    /// Number of unordered tied pairs.
    fn tied_pairs(&mut self, positions: impl Iterator<Item = u32>, labels: usize) -> u64 {
        self.sizes.clear();
        self.sizes.resize(labels + 1, 0);
        let mut pairs = 0;
        for position in positions {
            let size = &mut self.sizes[position as usize];
            pairs += *size;
            *size += 1;
        }
        pairs
    }

    /// Number of unordered pairs in strictly opposite order, and of unordered pairs tied in both.
    fn discordant_and_tied(&mut self, a: &[u16], b: &[u16]) -> (u64, u64) {
        self.order.clear();
        self.order.extend(0..a.len() as u32);
        let key = |&label: &u32| (a[label as usize], b[label as usize]);
        self.order.sort_unstable_by_key(key);
        let tied_both = self
            .order
            .chunk_by(|u, v| key(u) == key(v))
            .map(|run| (run.len() as u64) * (run.len() as u64 - 1) / 2)
            .sum();
        self.tree.clear();
        self.tree.resize(a.len() + 1, 0);
        let mut discordant = 0;
        let mut inserted = 0_u64;
        // Query all labels of one bucket of `a` before inserting any of them.
        for run in self.order.chunk_by(|&u, &v| a[u as usize] == a[v as usize]) {
            for &label in run {
                let not_after = prefix_sum(&self.tree, b[label as usize].into());
                discordant += inserted - u64::from(not_after);
            }
            for &label in run {
                insert(&mut self.tree, b[label as usize].into());
                inserted += 1;
            }
        }
        (discordant, tied_both)
    }
}

/// Number of inserted positions up to `index`.
fn prefix_sum(tree: &[u32], mut index: usize) -> u32 {
    let mut sum = 0;
    while index > 0 {
        sum += tree[index];
        index &= index - 1;
    }
    sum
}

/// Inserts a position into a Fenwick tree.
fn insert(tree: &mut [u32], mut index: usize) {
    while index < tree.len() {
        tree[index] += 1;
        index += index & index.wrapping_neg();
    }
}
