//! [`AlignedBuffer`]: a buffer of numbers that starts at the boundary of a cache line.

use std::ops::{Deref, DerefMut};

/// Bytes per cache line.
const LINE: usize = 64;

/// A buffer that starts at the boundary of a cache line, so that a vector load of a padded row never spans two lines.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer<T> {
    /// The allocation, with room for moving the start to a boundary.
    numbers: Vec<T>,
    /// Index of the first number at the boundary.
    start: usize,
    len: usize,
}

impl<T: Copy + Default> AlignedBuffer<T> {
    /// `len` zeros.
    pub(crate) fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self::default();
        }
        let padding = LINE / size_of::<T>();
        let numbers = vec![T::default(); len + padding];
        // `align_offset` may fail; an unaligned buffer is only slower.
        let start = Some(numbers.as_ptr().align_offset(LINE)).filter(|&start| start < padding);
        Self {
            numbers,
            start: start.unwrap_or(0),
            len,
        }
    }
}

impl<T> Deref for AlignedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.numbers[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for AlignedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.numbers[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_and_aligned() {
        for len in [0, 1, 63, 64, 1000] {
            let mut bytes = AlignedBuffer::<u8>::zeroed(len);
            assert_eq!(bytes.len(), len);
            assert!(bytes.iter().all(|&byte| byte == 0));
            assert!(len == 0 || (bytes.as_ptr() as usize).is_multiple_of(LINE));
            bytes.fill(1);
            assert_eq!(bytes.iter().map(|&b| usize::from(b)).sum::<usize>(), len);
            let numbers = AlignedBuffer::<i32>::zeroed(len);
            assert_eq!(*numbers, vec![0; len]);
            assert!(len == 0 || (numbers.as_ptr() as usize).is_multiple_of(LINE));
        }
    }
}
