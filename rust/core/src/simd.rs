//! Running a kernel with the best vector instructions of the machine.

use std::sync::OnceLock;

/// A kernel whose body is compiled once for each instruction set. `run` must be `#[inline(always)]`, and so must be
/// what it calls: only what becomes part of the dispatched function uses the instructions.
///
/// A closure would be shorter, but one that could be called twice reaches [`pulp`] through a shim that is compiled
/// for the oldest machine.
pub(crate) trait Kernel {
    /// What the kernel computes.
    type Output;
    /// The computation.
    fn run(self) -> Self::Output;
}

/// Runs the kernel. With `BUCKETRANK_SIMD=portable` in the environment it uses only what every machine of its kind
/// has: the results are the same, and a test holds us to it.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    static PORTABLE: OnceLock<bool> = OnceLock::new();
    let portable = || std::env::var_os("BUCKETRANK_SIMD").is_some_and(|v| v == "portable");
    if *PORTABLE.get_or_init(portable) {
        return kernel.run();
    }
    pulp::Arch::new().dispatch(Dispatched(kernel))
}

struct Dispatched<K>(K);

impl<K: Kernel> pulp::WithSimd for Dispatched<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> K::Output {
        self.0.run()
    }
}
