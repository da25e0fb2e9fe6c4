//! What all saved models have in common: magic, format version, body, checksum; all little-endian.

use crate::error::{Error, Result};

/// How a kind of model is saved, and what to call it where its bytes cannot be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// The kind of model.
    pub(crate) what: &'static str,
    /// The first bytes.
    pub(crate) magic: [u8; 8],
    /// The newest version that can be read.
    pub(crate) newest: u32,
}

impl Format {
    /// The first bytes of a model, with the format version.
    pub(crate) fn header(&self, version: u32) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes
    }

    /// What is wrong with the bytes.
    pub(crate) fn problem(&self, problem: &'static str) -> Error {
        Error::SavedModel {
            what: self.what,
            problem,
        }
    }

    /// What is wrong with a model that is part of this one, said of the whole.
    pub(crate) fn part(&self, error: Error) -> Error {
        match error {
            Error::SavedModel { problem, .. } => self.problem(problem),
            Error::SavedModelVersion { found, newest, .. } => Error::SavedModelVersion {
                what: self.what,
                found,
                newest,
            },
            other => other,
        }
    }

    /// Checks magic, version and checksum, and returns what stands between them.
    pub(crate) fn open(self, bytes: &[u8]) -> Result<Reader<'_>> {
        let mut header = Reader {
            format: self,
            bytes,
        };
        if header.take::<8>()? != self.magic {
            return Err(self.problem("the bytes are something else"));
        }
        let found = u32::from_le_bytes(header.take()?);
        if found > self.newest {
            return Err(Error::SavedModelVersion {
                what: self.what,
                found,
                newest: self.newest,
            });
        }
        let Some((body, checksum)) = bytes.split_last_chunk::<4>() else {
            return Err(self.problem("the bytes are truncated"));
        };
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return Err(self.problem("the checksum does not match; the bytes are damaged"));
        }
        Ok(Reader {
            format: self,
            bytes: body.get(self.magic.len() + 4..).unwrap_or_default(),
        })
    }
}

/// Puts a checksum behind the bytes.
pub(crate) fn sign(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Takes values off the front of a slice.
pub(crate) struct Reader<'a> {
    format: Format,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// What is wrong with the bytes.
    pub(crate) fn problem(&self, problem: &'static str) -> Error {
        self.format.problem(problem)
    }

    pub(crate) fn sizes<const N: usize>(&mut self) -> Result<[usize; N]> {
        let mut sizes = [0; N];
        for size in &mut sizes {
            *size = usize::try_from(u64::from_le_bytes(self.take()?))
                .map_err(|_| self.problem("a size does not fit this machine"))?;
        }
        Ok(sizes)
    }

    /// So many bytes as they are.
    pub(crate) fn slice(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(self.problem("the bytes are truncated"))?;
        self.bytes = rest;
        Ok(head)
    }

    /// Checks that everything was read.
    pub(crate) fn end(&self) -> Result<()> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(self.problem("there are bytes behind the end"))
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self
            .bytes
            .split_first_chunk::<N>()
            .ok_or(self.problem("the bytes are truncated"))?;
        self.bytes = rest;
        Ok(*head)
    }

    pub(crate) fn many<const N: usize, T>(
        &mut self,
        count: usize,
        read: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        // Before any memory is asked for: a damaged size must not exhaust it.
        if count > self.bytes.len() / N {
            return Err(self.problem("the bytes are truncated"));
        }
        (0..count).map(|_| self.take().map(&read)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BALLOON: Format = Format {
        what: "balloon",
        magic: *b"BALLOON\n",
        newest: 2,
    };

    fn text(bytes: &[u8]) -> String {
        match BALLOON.open(bytes) {
            Ok(_) => "fine".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_problem_names_the_model() {
        let mut good = BALLOON.header(2);
        good.extend_from_slice(&7_u64.to_le_bytes());
        let good = sign(good);
        assert_eq!(text(&good), "fine");
        for end in 0..good.len() {
            assert!(text(&good[..end]).contains("saved balloon"), "{end}");
            let mut damaged = good.clone();
            damaged[end] ^= 0x10;
            assert!(text(&damaged).contains("saved balloon"), "{end}");
        }
        let mut reader = BALLOON.open(&good).unwrap();
        assert_eq!(reader.sizes().unwrap(), [7]);
        assert!(reader.end().is_ok());
        for error in [
            reader.sizes::<1>().unwrap_err(),
            reader.slice(1).unwrap_err(),
            reader.many(1, u32::from_le_bytes).unwrap_err(),
        ] {
            assert!(error.to_string().contains("saved balloon"), "{error}");
        }
    }

    #[test]
    fn problems_of_parts_are_problems_of_the_whole() {
        let part = Format {
            what: "basket",
            ..BALLOON
        };
        for bytes in [BALLOON.header(9), BALLOON.header(1), vec![0; 20]] {
            let error = part.open(&bytes).map(|_| ()).unwrap_err();
            let whole = BALLOON.part(error).to_string();
            assert!(whole.contains("balloon") && !whole.contains("basket"));
        }
        assert_eq!(BALLOON.part(Error::NoFeatures), Error::NoFeatures);
    }
}
