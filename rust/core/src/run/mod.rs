//! Running long computations: one token interrupts them ([`Interrupt`]), one scheduler distributes them over threads
//! ([`map`], [`stream`] and [`scope`]), one rule decides how many threads are used ([`NANOSECONDS_PER_THREAD`]), and
//! one check refuses them if their memory cannot be allocated ([`require_memory`]).

mod interrupt;
mod memory;
mod pool;

pub use interrupt::{Host, HostToken, Interrupt, WorkMeter};
pub use memory::require_memory;
pub use pool::{map, scope, stream, Jobs, Pool, Work, NANOSECONDS_PER_THREAD};
