//! [`RawPosition`]: number types of position arrays, and how their values are interpreted.

use std::cmp::Ordering;

/// The position of a label that a row does not rank.
pub const MISSING: u16 = 0;

/// A number type of position arrays: `f64` (NaN: missing, `+inf`: outside a top-k list), `i64` or `u16`.
pub trait RawPosition: Copy {
    /// The number as a position if it is an integer from 1 to 65535, else [`MISSING`]. Vectorises.
    fn to_position(self) -> u16;
    /// The number as an integer if it is an integer from 0 to 65535; otherwise a bit above the lowest 16 is
    /// set. Vectorises.
    fn integer_bits(self) -> u64;
    /// Interprets the number as the position of one of `labels` labels.
    fn parse(self, labels: usize) -> ParsedPosition;
    /// Compares two numbers that are positions.
    fn compare(self, other: Self) -> Ordering;
    /// The number, for messages.
    fn as_f64(self) -> f64;
}

/// Interpretation of one number of a position array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParsedPosition {
    /// A position between 1 and the number of labels.
    At(u16),
    /// The label is not ranked.
    Missing,
    /// Ranked after every label that has a finite position.
    Rest,
    /// Any other positive number: the row has gaps or fractions and must be ranked densely.
    Sparse,
    /// Zero, negative, or minus infinity.
    Invalid,
}

/// Adding 2^52 moves the integer part of a small number into the last bits of a float: unlike a cast, this vectorises.
const SHIFT: f64 = 4_503_599_627_370_496.0;

impl RawPosition for f64 {
    #[inline(always)]
    fn integer_bits(self) -> u64 {
        let shifted = self + SHIFT;
        // NaN compares unequal as well.
        let inexact = if shifted - SHIFT == self { 0 } else { 1 << 63 };
        (shifted.to_bits() ^ SHIFT.to_bits()) | inexact
    }

    #[inline]
    fn to_position(self) -> u16 {
        let bits = self.integer_bits();
        if bits >> 16 == 0 {
            bits as u16
        } else {
            MISSING
        }
    }

    fn parse(self, labels: usize) -> ParsedPosition {
        let position = self.to_position();
        if position != MISSING && usize::from(position) <= labels {
            ParsedPosition::At(position)
        } else if self.is_nan() {
            ParsedPosition::Missing
        } else if self == f64::INFINITY {
            ParsedPosition::Rest
        } else if self > 0.0 {
            ParsedPosition::Sparse
        } else {
            ParsedPosition::Invalid
        }
    }

    fn compare(self, other: Self) -> Ordering {
        self.total_cmp(&other)
    }

    fn as_f64(self) -> f64 {
        self
    }
}

impl RawPosition for i64 {
    #[inline(always)]
    fn integer_bits(self) -> u64 {
        // A negative number has its highest bit set.
        self as u64
    }

    #[inline]
    fn to_position(self) -> u16 {
        if self.integer_bits() >> 16 == 0 {
            self as u16
        } else {
            MISSING
        }
    }

    fn parse(self, labels: usize) -> ParsedPosition {
        if self >= 1 && self <= labels as i64 {
            ParsedPosition::At(self as u16)
        } else if self < 1 {
            ParsedPosition::Invalid
        } else {
            ParsedPosition::Sparse
        }
    }

    fn compare(self, other: Self) -> Ordering {
        self.cmp(&other)
    }

    fn as_f64(self) -> f64 {
        self as f64
    }
}

/// Positions in the form that [`crate::rankings::Rankings`] stores.
impl RawPosition for u16 {
    #[inline(always)]
    fn integer_bits(self) -> u64 {
        self.into()
    }

    #[inline]
    fn to_position(self) -> u16 {
        self
    }

    fn parse(self, labels: usize) -> ParsedPosition {
        if self == MISSING {
            ParsedPosition::Missing
        } else if usize::from(self) <= labels {
            ParsedPosition::At(self)
        } else {
            ParsedPosition::Sparse
        }
    }

    fn compare(self, other: Self) -> Ordering {
        self.cmp(&other)
    }

    fn as_f64(self) -> f64 {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_up_to_the_number_of_labels_are_positions() {
        use ParsedPosition::{At, Invalid, Missing, Rest, Sparse};
        for (value, expected) in [
            (1.0, At(1)),
            (4.0, At(4)),
            (5.0, Sparse),
            (1.5, Sparse),
            (0.4, Sparse),
            (2.0 + 1e-12, Sparse),
            (70_000.0, Sparse),
            (1e300, Sparse),
            (f64::MIN_POSITIVE, Sparse),
            (0.0, Invalid),
            (-0.0, Invalid),
            (-1.0, Invalid),
            (f64::NEG_INFINITY, Invalid),
            (f64::INFINITY, Rest),
            (f64::NAN, Missing),
        ] {
            let found = value.parse(4);
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn bits_of_whole_numbers_are_the_numbers() {
        for value in [0_u16, 1, 2, 255, 256, 4097, u16::MAX] {
            assert_eq!(f64::from(value).integer_bits(), u64::from(value));
            assert_eq!(f64::from(value).to_position(), value);
        }
        for value in [0.5, 1.25, -1.0, 1e20, f64::NAN, f64::INFINITY] {
            assert!(value.integer_bits() > u64::from(u16::MAX), "{value}");
            assert_eq!(value.to_position(), MISSING, "{value}");
        }
    }
}
