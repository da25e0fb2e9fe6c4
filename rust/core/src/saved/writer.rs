//! [`ContainerWriter`]: builds a container of named arrays, the file format of saved models; `container.rs` describes
//! its layout.

use super::container::{CHECKSUM_BYTES, HEADER_BYTES, KIND, MAGIC, VERSION};
use super::element::{Element, ElementType};

/// Builds a container.
#[derive(Debug)]
pub struct ContainerWriter {
    /// The header, filled in at the end, and the arrays.
    bytes: Vec<u8>,
    /// One record per array, appended after the arrays.
    table: Vec<u8>,
    /// Number of arrays.
    arrays: u32,
}

impl ContainerWriter {
    /// An empty container for an object of this kind.
    #[must_use]
    pub fn new(kind: &str) -> Self {
        let mut container = Self {
            bytes: vec![0; HEADER_BYTES],
            table: Vec::new(),
            arrays: 0,
        };
        container.root().text(KIND, kind);
        container
    }

    /// The section of all arrays.
    pub fn root(&mut self) -> SectionWriter<'_> {
        SectionWriter {
            prefix: String::new(),
            container: self,
        }
    }

    /// The container as bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut bytes = self.bytes;
        let table_start = bytes.len();
        bytes.extend_from_slice(&self.table);
        let length = bytes.len() + CHECKSUM_BYTES;
        let mut header = MAGIC.to_vec();
        VERSION.append(&mut header);
        self.arrays.append(&mut header);
        (table_start as u64).append(&mut header);
        (length as u64).append(&mut header);
        bytes[..HEADER_BYTES].copy_from_slice(&header);
        crc32fast::hash(&bytes).append(&mut bytes);
        bytes
    }

    /// Appends the record of an array to the table.
    fn push_record(&mut self, name: &str, element_type: ElementType, shape: &[usize]) {
        (name.len() as u16).append(&mut self.table);
        self.table.extend_from_slice(name.as_bytes());
        element_type.code().append(&mut self.table);
        (shape.len() as u8).append(&mut self.table);
        for &size in shape {
            (size as u64).append(&mut self.table);
        }
        self.arrays += 1;
    }
}

/// Writes the arrays of one section: those whose names start with its prefix.
#[derive(Debug)]
pub struct SectionWriter<'c> {
    container: &'c mut ContainerWriter,
    prefix: String,
}

impl SectionWriter<'_> {
    /// The subsection `name`: the names of its arrays start with `name` and a dot.
    pub fn section(&mut self, name: &str) -> SectionWriter<'_> {
        SectionWriter {
            prefix: format!("{}{name}.", self.prefix),
            container: self.container,
        }
    }

    /// Writes an array; the number of `values` is the product of `shape`.
    pub fn array<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
    ) {
        for value in values {
            value.append(&mut self.container.bytes);
        }
        let name = format!("{}{name}", self.prefix);
        self.container.push_record(&name, T::TYPE, shape);
    }

    /// Writes an array of one dimension.
    pub fn vector<T: Element>(&mut self, name: &str, values: &[T]) {
        self.array(name, &[values.len()], values.iter().copied());
    }

    /// Writes a string as an array of bytes.
    pub fn text(&mut self, name: &str, text: &str) {
        self.vector(name, text.as_bytes());
    }

    /// Writes one number.
    pub fn number(&mut self, name: &str, number: u64) {
        self.array(name, &[], [number]);
    }

    /// Writes unsigned numbers in the narrowest type that holds them.
    pub fn unsigned<I>(&mut self, name: &str, shape: &[usize], values: I)
    where
        I: Iterator + Clone,
        I::Item: Into<u64>,
    {
        let values = values.map(Into::into);
        match ElementType::narrowest(values.clone().max().unwrap_or(0)) {
            ElementType::U8 => self.array(name, shape, values.map(|value| value as u8)),
            ElementType::U16 => self.array(name, shape, values.map(|value| value as u16)),
            ElementType::U32 => self.array(name, shape, values.map(|value| value as u32)),
            _ => self.array(name, shape, values),
        }
    }

    /// Writes real numbers, in a narrow unsigned type when all are small whole numbers.
    pub fn reals(&mut self, name: &str, values: &[f64]) {
        let limit = f64::from(u32::MAX);
        let is_small = |&value: &f64| {
            value.is_sign_positive() && value <= limit && value.fract().to_bits() == 0
        };
        if values.iter().all(is_small) {
            let whole = values.iter().map(|&value| value as u64);
            self.unsigned(name, &[values.len()], whole);
        } else {
            self.vector(name, values);
        }
    }
}
