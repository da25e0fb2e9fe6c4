//! What all bindings share to connect Python and the core: errors, arrays, parameters and interruption, one file each.

pub mod aggregator;
pub mod arrays;
pub mod board_data;
pub mod errors;
pub mod models;
pub mod params;
pub mod python_method;
pub mod run;
pub mod sets;
