//! Element types of the arrays in a container, the file format of saved models.

/// The type of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    /// One byte, 0 or 1.
    Bool,
    /// Unsigned, 1 byte.
    U8,
    /// Unsigned, 2 bytes.
    U16,
    /// Unsigned, 4 bytes.
    U32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 8 bytes.
    I64,
    /// Floating point, 4 bytes.
    F32,
    /// Floating point, 8 bytes.
    F64,
}

impl ElementType {
    const ALL: [Self; 8] = [
        Self::Bool,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I64,
        Self::F32,
        Self::F64,
    ];

    /// The code of the type in the table at the end of a container, which has one record per array.
    pub(super) fn code(self) -> u8 {
        self as u8
    }

    /// The type with this code; `None` for an unknown code.
    pub(super) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Bytes per element.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// The narrowest unsigned type that holds all values up to `largest`.
    pub(super) fn narrowest(largest: u64) -> Self {
        match largest {
            0..=0xFF => Self::U8,
            0x100..=0xFFFF => Self::U16,
            0x1_0000..=0xFFFF_FFFF => Self::U32,
            _ => Self::U64,
        }
    }
}

/// A number that arrays can hold.
pub trait Element: Copy {
    /// Its type in a container.
    const TYPE: ElementType;

    /// Appends the little-endian bytes.
    fn append(self, bytes: &mut Vec<u8>);

    /// Reads the little-endian bytes of one element; `bytes` has exactly its size.
    fn parse(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($number:ident $variant:ident),*) => {$(
        impl Element for $number {
            const TYPE: ElementType = ElementType::$variant;

            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn parse(bytes: &[u8]) -> Self {
                bytes.try_into().map(Self::from_le_bytes).unwrap_or_default()
            }
        }
    )*};
}

element!(u8 U8, u16 U16, u32 U32, u64 U64, i64 I64, f32 F32, f64 F64);

impl Element for bool {
    const TYPE: ElementType = ElementType::Bool;

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }

    fn parse(bytes: &[u8]) -> Self {
        bytes == [1]
    }
}
