//! A container of named arrays, as bytes with one magic number, one version and one checksum.
//!
//! Layout, all little-endian: magic number (8 bytes), version (u32), number of arrays (u32), start of the table (u64),
//! total length (u64); the arrays without gaps; the table with one record per array (length of the name as u16, name,
//! element type as u8, number of dimensions as u8, each dimension as u64); CRC-32 of all bytes before it.
//!
//! The records have no offsets: arrays follow each other in the order of the table, so every byte belongs to exactly
//! one array. The string `kind` names the kind of object in the container. CRC-32 detects all damage within 4
//! consecutive bytes, and the length in the header detects every truncation.

use std::collections::BTreeMap;

use super::element::{Element, ElementType};
use super::SavedModel;
use crate::error::{pluralize, Error, Result};

pub(super) const MAGIC: [u8; 8] = *b"BRKSAVED";
pub(super) const VERSION: u32 = 1;
/// Bytes before the first array.
pub const HEADER_BYTES: usize = 32;
pub(super) const CHECKSUM_BYTES: usize = 4;
const MAX_DIMENSIONS: u8 = 4;
/// Name of the string with the kind of object in the container.
pub(super) const KIND: &str = "kind";

/// The bytes of an array in the container.
#[derive(Debug, Clone, Copy)]
struct Array<'a> {
    element_type: ElementType,
    /// Dimensions, 8 bytes each.
    shape: &'a [u8],
    data: &'a [u8],
}

/// The arrays of a container whose checksum matches. An array can be taken once.
#[derive(Debug)]
pub struct Container<'a> {
    /// Name of the saved object, for messages.
    what: String,
    arrays: BTreeMap<&'a str, Array<'a>>,
}

/// Checks magic number, version and length of a container from its first bytes alone.
///
/// # Errors
/// [`Error::SavedModelVersion`] for a newer format, [`Error::SavedModel`] for foreign or truncated bytes.
pub fn check_header(header: &[u8], length: usize, what: &str) -> Result<()> {
    if !header.starts_with(&MAGIC) {
        return Err(saved_model_error(
            what,
            "the bytes are not a saved model of bucketrank",
        ));
    }
    let Some(header) = header.get(..HEADER_BYTES) else {
        return Err(saved_model_error(what, "the bytes are truncated"));
    };
    let found = u32::parse(&header[8..12]);
    if found > VERSION {
        return Err(Error::SavedModelVersion {
            what: what.into(),
            found,
            newest: VERSION,
        });
    }
    let expected = u64::parse(&header[24..32]);
    if expected != length as u64 {
        let text = format!("expected {expected} bytes, found {length}");
        return Err(saved_model_error(what, &text));
    }
    Ok(())
}

/// The error about the saved object `what`.
fn saved_model_error(what: &str, problem: &str) -> Error {
    Error::SavedModel {
        what: what.into(),
        problem: problem.into(),
    }
}

impl<'a> Container<'a> {
    /// Checks header, checksum, table and the kind of object. Needs memory for the table only.
    ///
    /// # Errors
    /// As [`check_header`]; also a wrong checksum, a table that does not describe the bytes, or an object of
    /// another kind.
    pub fn open(bytes: &'a [u8], what: &str, kind: &str) -> Result<Self> {
        check_header(bytes, bytes.len(), what)?;
        let Some((body, checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Err(saved_model_error(what, "the bytes are truncated"));
        };
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return Err(saved_model_error(
                what,
                "the checksum does not match; the bytes are damaged",
            ));
        }
        let arrays = parse_table(body).ok_or_else(|| {
            saved_model_error(what, "the table of arrays does not describe the bytes")
        })?;
        let mut container = Self {
            what: what.into(),
            arrays,
        };
        let mut section = container.root();
        match section.text(KIND)? {
            found if found == kind => Ok(container),
            found => {
                Err(section.problem(&format!("expected a saved {kind}, found a saved {found}")))
            }
        }
    }

    /// The section of all arrays.
    pub fn root(&mut self) -> Section<'_, 'a> {
        Section {
            what: self.what.clone(),
            prefix: String::new(),
            container: self,
        }
    }

    /// Checks that all arrays were taken.
    ///
    /// # Errors
    /// [`Error::SavedModel`] with the name of an array that was not taken.
    pub fn finish(self) -> Result<()> {
        match self.arrays.keys().next() {
            None => Ok(()),
            Some(name) => Err(saved_model_error(
                &self.what,
                &format!("unexpected array {name:?}"),
            )),
        }
    }
}

fn parse_table(body: &[u8]) -> Option<BTreeMap<&str, Array<'_>>> {
    let count = u32::parse(&body[12..16]);
    let start = usize::try_from(u64::parse(&body[16..24])).ok()?;
    let mut data = body.get(HEADER_BYTES..start)?;
    let mut table = &body[start..];
    let mut arrays = BTreeMap::new();
    for _ in 0..count {
        let length = u16::parse(table.split_off(..2)?);
        let name = std::str::from_utf8(table.split_off(..usize::from(length))?).ok()?;
        let element_type = ElementType::from_code(*table.split_off_first()?)?;
        let dimensions = *table.split_off_first()?;
        if dimensions > MAX_DIMENSIONS {
            return None;
        }
        let shape = table.split_off(..8 * usize::from(dimensions))?;
        let bytes = element_count(shape)?.checked_mul(element_type.size())?;
        let data = data.split_off(..bytes)?;
        if element_type == ElementType::Bool && data.iter().any(|&byte| byte > 1) {
            return None;
        }
        let array = Array {
            element_type,
            shape,
            data,
        };
        if arrays.insert(name, array).is_some() {
            return None;
        }
    }
    (data.is_empty() && table.is_empty()).then_some(arrays)
}

fn sizes(shape: &[u8]) -> impl Iterator<Item = Option<usize>> + '_ {
    shape
        .chunks_exact(8)
        .map(|size| usize::try_from(u64::parse(size)).ok())
}

/// Product of the dimensions; `None` if the product of the nonzero dimensions overflows.
fn element_count(shape: &[u8]) -> Option<usize> {
    let mut product: usize = 1;
    let mut is_empty = false;
    for size in sizes(shape) {
        is_empty |= size? == 0;
        product = product.checked_mul(size?.max(1))?;
    }
    Some(if is_empty { 0 } else { product })
}

/// Reads the arrays of one section: those whose names start with its prefix.
#[derive(Debug)]
pub struct Section<'c, 'a> {
    container: &'c mut Container<'a>,
    what: String,
    prefix: String,
}

impl<'a> Section<'_, 'a> {
    /// The subsection `name`: the names of its arrays start with `name` and a dot.
    pub fn section(&mut self, name: &str) -> Section<'_, 'a> {
        Section {
            what: self.what.clone(),
            prefix: format!("{}{name}.", self.prefix),
            container: self.container,
        }
    }

    /// Reads a model that was written to this section.
    ///
    /// # Errors
    /// As [`SavedModel::read`], with the name of the model.
    pub fn model<M: SavedModel>(mut self) -> Result<M> {
        self.what = M::NAME.into();
        M::read(&mut self)
    }

    /// An error about the content of the section.
    #[must_use]
    pub fn problem(&self, text: &str) -> Error {
        saved_model_error(&self.what, text)
    }

    /// Whether there is an array of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let name = format!("{}{name}", self.prefix);
        self.container.arrays.contains_key(name.as_str())
    }

    /// The element type of an array, if there is one of this name.
    #[must_use]
    pub fn element_type(&self, name: &str) -> Option<ElementType> {
        let name = format!("{}{name}", self.prefix);
        let array = self.container.arrays.get(name.as_str())?;
        Some(array.element_type)
    }

    /// Takes an array, with its shape, out of the container.
    ///
    /// # Errors
    /// [`Error::SavedModel`] if there is no array of this name and element type.
    pub fn array<T: Element>(&mut self, name: &str) -> Result<(Vec<usize>, Vec<T>)> {
        let array = self.take(name)?;
        if array.element_type != T::TYPE {
            return Err(self.wrong_type(name, array.element_type));
        }
        let values = array.data.chunks_exact(T::TYPE.size()).map(T::parse);
        Ok((sizes(array.shape).flatten().collect(), values.collect()))
    }

    /// Takes an array of one dimension.
    ///
    /// # Errors
    /// As [`Self::array`]; also if the array does not have exactly one dimension.
    pub fn vector<T: Element>(&mut self, name: &str) -> Result<Vec<T>> {
        let (shape, values) = self.array(name)?;
        self.check_dimensions(name, shape.len(), 1)?;
        Ok(values)
    }

    /// Takes unsigned numbers of any width, with their shape.
    ///
    /// # Errors
    /// As [`Self::array`]; also if a number does not fit in `T`.
    pub fn unsigned_array<T: TryFrom<u64>>(&mut self, name: &str) -> Result<(Vec<usize>, Vec<T>)> {
        let array = self.take(name)?;
        let values = match array.element_type {
            ElementType::U8 => parse_unsigned::<u8, T>(array.data),
            ElementType::U16 => parse_unsigned::<u16, T>(array.data),
            ElementType::U32 => parse_unsigned::<u32, T>(array.data),
            ElementType::U64 => parse_unsigned::<u64, T>(array.data),
            other => return Err(self.wrong_type(name, other)),
        };
        let values =
            values.ok_or_else(|| self.problem(&format!("a number of {name} is too large")))?;
        Ok((sizes(array.shape).flatten().collect(), values))
    }

    /// Takes unsigned numbers of one dimension.
    ///
    /// # Errors
    /// As [`Self::unsigned_array`]; also if the array does not have exactly one dimension.
    pub fn unsigned<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Vec<T>> {
        let (shape, values) = self.unsigned_array(name)?;
        self.check_dimensions(name, shape.len(), 1)?;
        Ok(values)
    }

    /// Takes one number.
    ///
    /// # Errors
    /// As [`Self::unsigned_array`]; also if the array has dimensions.
    pub fn number(&mut self, name: &str) -> Result<usize> {
        let (shape, values) = self.unsigned_array(name)?;
        self.check_dimensions(name, shape.len(), 0)?;
        values
            .first()
            .copied()
            .ok_or_else(|| self.problem(&format!("there is no number in {name}")))
    }

    /// Takes numbers written by `SectionWriter::reals`.
    ///
    /// # Errors
    /// As [`Self::unsigned`].
    pub fn reals(&mut self, name: &str) -> Result<Vec<f64>> {
        if self.element_type(name) == Some(ElementType::F64) {
            return self.vector(name);
        }
        let whole: Vec<u32> = self.unsigned(name)?;
        Ok(whole.into_iter().map(f64::from).collect())
    }

    /// Takes a string.
    ///
    /// # Errors
    /// As [`Self::array`]; also if the bytes are not UTF-8.
    pub fn text(&mut self, name: &str) -> Result<&'a str> {
        let array = self.take(name)?;
        if array.element_type != ElementType::U8 {
            return Err(self.wrong_type(name, array.element_type));
        }
        std::str::from_utf8(array.data)
            .map_err(|_| self.problem(&format!("the text {name} is not UTF-8")))
    }

    fn take(&mut self, name: &str) -> Result<Array<'a>> {
        let name = format!("{}{name}", self.prefix);
        self.container
            .arrays
            .remove(name.as_str())
            .ok_or_else(|| self.problem(&format!("there is no array {name:?}")))
    }

    fn wrong_type(&self, name: &str, found: ElementType) -> Error {
        self.problem(&format!("the array {name} has elements of type {found:?}"))
    }

    fn check_dimensions(&self, name: &str, found: usize, expected: usize) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        let found = pluralize(found, "dimension");
        let text = format!("the array {name} has {found}; expected {expected}");
        Err(self.problem(&text))
    }
}

fn parse_unsigned<U: Element + Into<u64>, T: TryFrom<u64>>(data: &[u8]) -> Option<Vec<T>> {
    let mut values = Vec::with_capacity(data.len() / U::TYPE.size());
    for bytes in data.chunks_exact(U::TYPE.size()) {
        values.push(T::try_from(U::parse(bytes).into()).ok()?);
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::writer::ContainerWriter;

    #[test]
    fn arrays_of_other_dimensions_are_refused() {
        let mut writer = ContainerWriter::new("test");
        let mut root = writer.root();
        root.array("table", &[1, 2], [1.0_f64, 2.0]);
        root.vector("row", &[1_u8]);
        root.number("number", 3);
        let bytes = writer.finish();
        let open = || Container::open(&bytes, "a file", "test").unwrap();
        assert!(open().root().vector::<f64>("table").is_err());
        assert!(open().root().number("row").is_err());
        assert!(open().root().unsigned::<u8>("number").is_err());
        assert_eq!(open().root().number("number"), Ok(3));
        assert_eq!(open().root().unsigned::<u8>("row"), Ok(vec![1]));
    }
}
