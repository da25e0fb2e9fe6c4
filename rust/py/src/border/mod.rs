//! The border, which is the boundary between Python and Rust: what all bindings share to cross it (errors, arrays,
//! parameters and interruption), one file each.

pub mod aggregator;
pub mod arrays;
pub mod board_data;
pub mod errors;
pub mod models;
pub mod params;
pub mod python_method;
pub mod run;
pub mod sets;
