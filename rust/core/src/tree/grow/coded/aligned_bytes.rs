//! [`AlignedBytes`]: a byte buffer aligned to cache lines.

use std::ops::{Deref, DerefMut};

/// Bytes per cache line.
const LINE: usize = 64;

/// Bytes that start at a cache line, so that a vector load of a padded row never spans two lines.
#[derive(Debug, Default)]
pub(crate) struct AlignedBytes {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBytes {
    /// `len` zero bytes.
    pub(crate) fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self::default();
        }
        let bytes = vec![0; len + LINE];
        // `align_offset` may fail; an unaligned buffer is only slower.
        let start = Some(bytes.as_ptr().align_offset(LINE)).filter(|&start| start < LINE);
        Self {
            bytes,
            start: start.unwrap_or(0),
            len,
        }
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_and_aligned() {
        for len in [0, 1, 63, 64, 1000] {
            let mut bytes = AlignedBytes::zeroed(len);
            assert_eq!(bytes.len(), len);
            assert!(bytes.iter().all(|&byte| byte == 0));
            assert!(len == 0 || (bytes.as_ptr() as usize).is_multiple_of(LINE));
            bytes.fill(1);
            assert_eq!(bytes.iter().map(|&b| usize::from(b)).sum::<usize>(), len);
        }
    }
}
