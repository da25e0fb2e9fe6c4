//! [`SetHasher`]: a fast hash of sets of labels, the same in every run.

use std::hash::Hasher;

/// Multiplies and folds. The keys are masks that the search makes itself, so no adversary chooses them.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct SetHasher(u64);

impl Hasher for SetHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
