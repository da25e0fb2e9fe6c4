//! Positions as callers write them: [`RawPosition`] says what a number means before any ranking is made of it.

use crate::error::PositionProblem;

/// The position of a label that a row does not rank, in the stored form.
pub const MISSING: u16 = 0;

/// A number that callers use for positions: `f64` (NaN = missing, `+inf` = the rest of a top-k list) or `i64`.
pub trait RawPosition: Copy {
    /// The number as a position if it is a whole number from 1 to 65535, else [`MISSING`]. Most numbers are, and
    /// this question can be asked of many numbers at once.
    fn whole(self) -> u16;
    /// The bits of the number as a whole number, cheaply, for many numbers at once; for anything but a whole number
    /// from 0 to 65535 some higher bit is set.
    fn bits(self) -> u64;
    /// What the number says about the label.
    fn parse(self, labels: usize) -> Parsed;
    /// The number as it is shown in messages.
    fn as_f64(self) -> f64;
}

/// One position, read from a caller's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// A position between 1 and the number of labels.
    At(u16),
    /// The label is not ranked.
    Missing,
    /// Ranked behind every label that has a finite position.
    Rest,
    /// No position at all.
    Invalid(PositionProblem),
}

/// Adding 2^52 moves the whole part of a small number into the last bits of a float: unlike a cast, this is the same
/// few instructions for many numbers at once.
const SHIFT: f64 = 4_503_599_627_370_496.0;

impl RawPosition for f64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        let shifted = self + SHIFT;
        // NaN differs from everything.
        let inexact = if shifted - SHIFT == self { 0 } else { 1 << 63 };
        (shifted.to_bits() ^ SHIFT.to_bits()) | inexact
    }

    #[inline]
    fn whole(self) -> u16 {
        let bits = self.bits();
        if bits >> 16 == 0 {
            bits as u16
        } else {
            MISSING
        }
    }

    fn parse(self, labels: usize) -> Parsed {
        let whole = self.whole();
        if whole != MISSING && usize::from(whole) <= labels {
            Parsed::At(whole)
        } else if self.is_nan() {
            Parsed::Missing
        } else if self == f64::INFINITY {
            Parsed::Rest
        } else if self < 1.0 {
            Parsed::Invalid(if self > 0.0 {
                PositionProblem::Fractional
            } else {
                PositionProblem::BelowOne
            })
        } else if self.fract() != 0.0 {
            Parsed::Invalid(PositionProblem::Fractional)
        } else {
            Parsed::Invalid(PositionProblem::BeyondLabels)
        }
    }

    fn as_f64(self) -> f64 {
        self
    }
}

impl RawPosition for i64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        // A negative number has its highest bit set.
        self as u64
    }

    #[inline]
    fn whole(self) -> u16 {
        if self.bits() >> 16 == 0 {
            self as u16
        } else {
            MISSING
        }
    }

    fn parse(self, labels: usize) -> Parsed {
        if self >= 1 && self <= labels as i64 {
            Parsed::At(self as u16)
        } else if self < 1 {
            Parsed::Invalid(PositionProblem::BelowOne)
        } else {
            Parsed::Invalid(PositionProblem::BeyondLabels)
        }
    }

    fn as_f64(self) -> f64 {
        self as f64
    }
}

/// Positions in the form in which they are stored: [`MISSING`] for a label that the row does not rank.
impl RawPosition for u16 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.into()
    }

    #[inline]
    fn whole(self) -> u16 {
        self
    }

    fn parse(self, labels: usize) -> Parsed {
        if self == MISSING {
            Parsed::Missing
        } else if usize::from(self) <= labels {
            Parsed::At(self)
        } else {
            Parsed::Invalid(PositionProblem::BeyondLabels)
        }
    }

    fn as_f64(self) -> f64 {
        self.into()
    }
}
