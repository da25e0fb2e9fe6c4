//! How long work is run: interrupted by one token, spread over threads by one scheduler.

mod interrupt;

pub use interrupt::{Interrupt, WorkMeter};
