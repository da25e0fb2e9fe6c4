//! Saved models: one container format of named arrays for the files and pickles of all models, and one module per kind
//! of model, which writes its arrays and checks them when they are read. A section is the group of arrays whose names
//! start with the same prefix.

mod booster;
mod container;
mod element;
mod forest;
mod linear;
mod rankings;
mod tree;
mod tree_arrays;
mod writer;

pub use container::{check_header, Container, Section, HEADER_BYTES};
pub use element::{Element, ElementType};
pub use writer::{ContainerWriter, SectionWriter};

use crate::error::Result;

/// A model that can be written to a section of a container and read back.
pub trait SavedModel: Sized {
    /// Name of the kind of model, in containers and in messages.
    const NAME: &'static str;

    /// Writes all arrays of the model.
    fn write(&self, section: &mut SectionWriter<'_>);

    /// Reads the model and checks everything that its methods rely on.
    ///
    /// # Errors
    /// [`crate::error::Error::SavedModel`] for arrays that [`Self::write`] cannot have written.
    fn read(section: &mut Section<'_, '_>) -> Result<Self>;

    /// Serialises the model into a new container.
    fn to_bytes(&self) -> Vec<u8> {
        let mut container = ContainerWriter::new(Self::NAME);
        self.write(&mut container.root());
        container.finish()
    }

    /// Reads a container that [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::error::Error::SavedModelVersion`] for a newer format; [`crate::error::Error::SavedModel`] for foreign,
    /// truncated or damaged bytes and for arrays that are not a valid model.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut container = Container::open(bytes, Self::NAME, Self::NAME)?;
        let model = container.root().model()?;
        container.finish()?;
        Ok(model)
    }
}

#[cfg(test)]
mod damage {
    use super::*;
    use crate::error::Error;
    use std::fmt::Debug;

    /// Replaces the checksum by that of the other bytes.
    fn repair(mut bytes: Vec<u8>) -> Vec<u8> {
        let body = bytes.len() - container::CHECKSUM_BYTES;
        let checksum = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Checks that a model is read back equal, and that every truncation, a flipped bit in any byte and a newer version
    /// are refused with the name of the model.
    pub(super) fn check_refusals<M: SavedModel + PartialEq + Debug>(model: &M) {
        let bytes = model.to_bytes();
        assert_eq!(&M::from_bytes(&bytes).unwrap(), model);
        let name = format!("the saved {}", M::NAME);
        let refuse = |bytes: &[u8], offset: usize| {
            let error = M::from_bytes(bytes).unwrap_err().to_string();
            assert!(error.contains(&name), "{offset}: {error}");
        };
        for offset in 0..bytes.len() {
            refuse(&bytes[..offset], offset);
            let mut damaged = bytes.clone();
            damaged[offset] ^= 0x10;
            refuse(&damaged, offset);
        }
        let mut newer = bytes;
        newer[8] = 9;
        let expected = Error::SavedModelVersion {
            what: M::NAME.into(),
            found: 9,
            newest: container::VERSION,
        };
        assert_eq!(M::from_bytes(&repair(newer)).unwrap_err(), expected);
    }

    /// Changes each byte after the version and repairs the checksum. Some changes give another valid model: `use_model`
    /// checks that its methods neither panic nor fail. Returns the number of these models.
    pub(super) fn check_repaired<M: SavedModel>(model: &M, use_model: impl Fn(&M)) -> usize {
        let bytes = model.to_bytes();
        let mut read = 0;
        for offset in 12..bytes.len() - container::CHECKSUM_BYTES {
            for flip in [0x01, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[offset] ^= flip;
                match M::from_bytes(&repair(damaged)) {
                    Ok(model) => {
                        use_model(&model);
                        read += 1;
                    }
                    Err(error) => {
                        let text = error.to_string();
                        assert!(text.contains(&format!("the saved {}", M::NAME)), "{text}");
                    }
                }
            }
        }
        read
    }
}
