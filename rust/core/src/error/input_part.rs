//! [`InputPart`]: the part of the input that an error belongs to.

use std::fmt;

use super::Error;

/// The part of the input that an error belongs to; it is displayed as the start of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputPart {
    /// One of many sets of rankings.
    Set(usize),
    /// One of many pair order matrices.
    Matrix(usize),
    /// One of many tables of pair shares.
    Table(usize),
    /// One of two arguments with rankings, by its name.
    Argument(&'static str),
}

impl fmt::Display for InputPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(index) => write!(f, "set {index}: "),
            Self::Matrix(index) => write!(f, "matrix {index}: "),
            Self::Table(index) => write!(f, "table {index}: "),
            Self::Argument(name) => write!(f, "{name}, "),
        }
    }
}

impl Error {
    /// The error with the part of the input that it belongs to. An interruption belongs to no part. Among the errors in
    /// an argument, only [`Error::Position`] gets the part: the other errors name the argument themselves or concern
    /// both arguments.
    #[must_use]
    pub fn in_part(self, part: InputPart) -> Self {
        let is_argument = matches!(part, InputPart::Argument(_));
        match self {
            Self::Interrupted => self,
            error if is_argument && !matches!(error, Self::Position { .. }) => error,
            error => Self::InPart {
                part,
                error: Box::new(error),
            },
        }
    }

    /// The error without the part of the input that it belongs to.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::InPart { error, .. } => error.cause(),
            error => error,
        }
    }
}
