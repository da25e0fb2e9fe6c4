//! [`AlignedBytes`]: bytes that start at a cache line.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Zeroed bytes whose first one starts a cache line: vector loads of whole rows then never touch two lines at once.
#[derive(Debug, Default)]
pub(crate) struct AlignedBytes {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBytes {
    pub(crate) fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self::default();
        }
        let bytes = vec![0; len + LINE];
        // The method may refuse to answer; then the bytes are only slower to read.
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
    fn bytes_are_zero_and_start_a_line() {
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
