//! The extension module `bucketrank._core`.
