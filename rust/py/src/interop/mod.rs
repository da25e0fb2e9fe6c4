//! The border between Python and the core: errors, arrays, parameters and interruption, each in one place.

pub mod aggregator;
pub mod arrays;
pub mod board_data;
pub mod errors;
pub mod models;
pub mod params;
pub mod python_method;
pub mod run;
pub mod sets;
