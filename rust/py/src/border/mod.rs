//! The border between Python and the core: errors, arrays, parameters and interruption, each in one place.

pub mod aggregator;
pub mod arrays;
pub mod errors;
pub mod params;
pub mod run;
pub mod sets;
