//! Seeded data for the benches: no files, no network.
