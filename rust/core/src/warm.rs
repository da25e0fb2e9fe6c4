//! [`warm_up`]: loads a table into the cache in the order of memory.

/// Reads all items once, in order. The hardware recognises such reads and loads the memory ahead of them, so this takes
/// less time than waiting for the same items one by one in random order. `read` reads a part of an item.
#[inline(always)]
pub(crate) fn warm_up<T>(items: &[T], read: impl Fn(&T) -> u32) {
    // With this many independent results, the compiler uses vectors.
    let (chunks, rest) = items.as_chunks::<16>();
    let mut all = [0; 16];
    for chunk in chunks {
        for (all, item) in all.iter_mut().zip(chunk) {
            *all ^= read(item);
        }
    }
    let rest = rest.iter().fold(0, |all, item| all ^ read(item));
    // Otherwise the compiler may remove the reads, because the results are not used.
    std::hint::black_box((all, rest));
}
