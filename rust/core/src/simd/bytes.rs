//! [`ByteVectors`]: vector instructions on bytes that the compiler does not generate from portable code.

/// Bytes per vector.
pub(crate) const VECTOR_BYTES: usize = 32;

/// Vectors of [`VECTOR_BYTES`] bytes. Addition and subtraction wrap.
pub(crate) trait ByteVectors: Copy {
    /// Vector of bytes.
    type Bytes: Copy;
    /// Vector of eight 32-bit sums.
    type Sums: Copy;
    /// Reads a vector.
    fn load(self, bytes: &[u8; VECTOR_BYTES]) -> Self::Bytes;
    /// The vector with this byte in all lanes.
    fn splat(self, byte: u8) -> Self::Bytes;
    /// Sums per lane.
    fn add(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Differences per lane.
    fn subtract(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Per lane the entry of a table at an index below 16. The table is stored in both halves of a vector.
    fn look_up(self, table: Self::Bytes, indices: Self::Bytes) -> Self::Bytes;
    /// Per lane the entry of a table at an index below 32. `tables[0]` holds entries 0 to 15, `tables[1]` the others,
    /// each in both halves of the vector.
    fn look_up_long(self, tables: [Self::Bytes; 2], indices: Self::Bytes) -> Self::Bytes;
    /// Reads sums.
    fn load_sums(self, sums: &[i32; 8]) -> Self::Sums;
    /// Writes sums.
    fn store_sums(self, sums: Self::Sums, to: &mut [i32; 8]);
    /// Adds the products of bytes and weights to sums. `weights[0]` belongs to bytes 0 to 7 and 16 to 23, `weights[1]`
    /// to the others. Which products are added to which sum is not specified.
    fn add_products(
        self,
        sums: Self::Sums,
        bytes: Self::Bytes,
        weights: &[[i16; VECTOR_BYTES / 2]; 2],
    ) -> Self::Sums;
}

/// A kernel on vectors of bytes; `run` and all functions that it calls must be `#[inline(always)]`.
pub(crate) trait ByteKernel {
    /// Result of the kernel.
    type Output;
    /// Runs the kernel.
    fn run(self, vectors: impl ByteVectors) -> Self::Output;
}

/// Runs the kernel; `None` on machines without the level x86-64-v3 (AVX2), and if the environment asks for the baseline
/// instruction set.
#[inline]
pub(crate) fn dispatch_bytes<K: ByteKernel>(kernel: K) -> Option<K::Output> {
    if super::is_portable() {
        return None;
    }
    run_on_machine(kernel)
}

#[cfg(not(target_arch = "x86_64"))]
fn run_on_machine<K: ByteKernel>(_: K) -> Option<K::Output> {
    None
}

#[cfg(target_arch = "x86_64")]
use self::avx2::run_on_machine;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::__m256i;

    use pulp::x86::V3;
    use pulp::{cast, NullaryFnOnce};

    use super::{ByteKernel, ByteVectors, VECTOR_BYTES};

    struct WithVectors<K>(K, V3);

    impl<K: ByteKernel> NullaryFnOnce for WithVectors<K> {
        type Output = K::Output;

        #[inline(always)]
        fn call(self) -> K::Output {
            self.0.run(self.1)
        }
    }

    #[inline]
    pub(super) fn run_on_machine<K: ByteKernel>(kernel: K) -> Option<K::Output> {
        let vectors = V3::try_new()?;
        Some(vectors.vectorize(WithVectors(kernel, vectors)))
    }

    impl ByteVectors for V3 {
        type Bytes = __m256i;
        type Sums = __m256i;

        #[inline(always)]
        fn load(self, bytes: &[u8; VECTOR_BYTES]) -> __m256i {
            cast(*bytes)
        }

        #[inline(always)]
        fn splat(self, byte: u8) -> __m256i {
            self.avx._mm256_set1_epi8(byte as i8)
        }

        #[inline(always)]
        fn add(self, a: __m256i, b: __m256i) -> __m256i {
            self.avx2._mm256_add_epi8(a, b)
        }

        #[inline(always)]
        fn subtract(self, a: __m256i, b: __m256i) -> __m256i {
            self.avx2._mm256_sub_epi8(a, b)
        }

        #[inline(always)]
        fn look_up(self, table: __m256i, indices: __m256i) -> __m256i {
            self.avx2._mm256_shuffle_epi8(table, indices)
        }

        #[inline(always)]
        fn look_up_long(self, tables: [__m256i; 2], indices: __m256i) -> __m256i {
            // An index with the highest bit set yields 0. Adding 0x70 sets this bit for indices of at least 16,
            // subtracting 16 sets it for smaller ones.
            let in_first = self.add(indices, self.splat(0x70));
            let in_second = self.subtract(indices, self.splat(16));
            let first = self.look_up(tables[0], in_first);
            let second = self.look_up(tables[1], in_second);
            self.avx2._mm256_or_si256(first, second)
        }

        #[inline(always)]
        fn load_sums(self, sums: &[i32; 8]) -> __m256i {
            cast(*sums)
        }

        #[inline(always)]
        fn store_sums(self, sums: __m256i, to: &mut [i32; 8]) {
            *to = cast(sums);
        }

        #[inline(always)]
        fn add_products(
            self,
            sums: __m256i,
            bytes: __m256i,
            weights: &[[i16; VECTOR_BYTES / 2]; 2],
        ) -> __m256i {
            let zero = self.avx._mm256_setzero_si256();
            // Interleaved with zeros, bytes become 16-bit numbers: 0 to 7 and 16 to 23 in `low`, the others in `high`.
            let low = self.avx2._mm256_unpacklo_epi8(bytes, zero);
            let high = self.avx2._mm256_unpackhi_epi8(bytes, zero);
            let low = self.avx2._mm256_madd_epi16(low, cast(weights[0]));
            let high = self.avx2._mm256_madd_epi16(high, cast(weights[1]));
            let products = self.avx2._mm256_add_epi32(low, high);
            self.avx2._mm256_add_epi32(sums, products)
        }
    }
}
