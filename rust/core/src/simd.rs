//! [`dispatch`]: runs a kernel with the best vector instructions of the machine.

mod bytes;

use std::sync::OnceLock;

pub(crate) use bytes::{dispatch_bytes, ByteKernel, ByteVectors, VECTOR_BYTES};

/// A kernel whose body is compiled once per instruction set. `run` and all functions that it calls must be
/// `#[inline(always)]`: only code inlined into the dispatched function uses the instruction set.
///
/// Not a closure: [`pulp`] calls closures through a shim that is compiled for the baseline instruction set.
pub(crate) trait Kernel {
    /// Result of the kernel.
    type Output;
    /// Runs the kernel.
    fn run(self) -> Self::Output;
}

/// Runs the kernel. With `BUCKETRANK_SIMD=portable` in the environment it uses the baseline instruction set; results
/// are identical, which a test checks.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    if is_portable() {
        return kernel.run();
    }
    pulp::Arch::new().dispatch(DispatchedKernel(kernel))
}

/// Whether the environment asks for the baseline instruction set.
fn is_portable() -> bool {
    static PORTABLE: OnceLock<bool> = OnceLock::new();
    let portable = || std::env::var_os("BUCKETRANK_SIMD").is_some_and(|v| v == "portable");
    *PORTABLE.get_or_init(portable)
}

/// The larger of two numbers that are not NaN: one vector instruction, where [`f32::max`] takes three.
#[inline(always)]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if a > b {
        a
    } else {
        b
    }
}

struct DispatchedKernel<K>(K);

impl<K: Kernel> pulp::WithSimd for DispatchedKernel<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> K::Output {
        self.0.run()
    }
}
