//! [`require_memory`]: refuses work before it starts if its memory cannot be allocated, because a failed allocation of
//! the standard library aborts the process.

use crate::error::{Error, Result};

/// Largest request that is not tested: without this much free memory the process cannot continue anyway.
const SMALL: usize = 16 << 20;

/// Checks that an array of `T` can be allocated now, and returns its number of values: the product of `counts`. `what`
/// names the array in the message.
///
/// A large array is allocated as a test and released again. This finds requests beyond the address space, a limit of the
/// process or the memory of the machine.
///
/// # Errors
/// [`Error::Memory`].
///
/// # Examples
/// ```
/// use bucketrank_core::run::require_memory;
///
/// assert_eq!(require_memory::<f64>("the table", &[20, 30]), Ok(600));
/// assert!(require_memory::<f64>("the table", &[usize::MAX, 2]).is_err());
/// ```
pub fn require_memory<T>(what: &'static str, counts: &[usize]) -> Result<usize> {
    let refused = || Error::Memory {
        what,
        bytes: counts.iter().map(|&count| count as f64).product::<f64>() * size_of::<T>() as f64,
    };
    let product = |product: usize, &count: &usize| product.checked_mul(count);
    let count = counts.iter().try_fold(1, product).ok_or_else(refused)?;
    let bytes = count.checked_mul(size_of::<T>()).ok_or_else(refused)?;
    if bytes > SMALL {
        let mut tried: Vec<u8> = Vec::new();
        tried.try_reserve_exact(bytes).map_err(|_| refused())?;
        // Otherwise the compiler may remove an allocation that is not used.
        std::hint::black_box(&tried);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_checked_for_overflow_and_size() {
        assert_eq!(require_memory::<u16>("x", &[]), Ok(1));
        assert_eq!(require_memory::<u64>("x", &[0, 5]), Ok(0));
        assert_eq!(require_memory::<u8>("x", &[1000, 20_000]), Ok(20_000_000));
        for counts in [&[usize::MAX, 3][..], &[usize::MAX / 4], &[1 << 40, 1 << 10]] {
            let error = require_memory::<u64>("the table", counts).unwrap_err();
            assert!(matches!(error, Error::Memory { bytes, .. } if bytes > 1e15));
        }
        let error = require_memory::<u64>("the table", &[1 << 60]).unwrap_err();
        let expected =
            "the table would take 9.2e18 bytes, more than the available memory; expected smaller data";
        assert_eq!(error.to_string(), expected);
    }
}
