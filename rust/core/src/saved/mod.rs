//! Saved models: one container of named arrays for the files and pickles of all models, and one file per model that
//! writes its arrays and checks them when they are read.

mod booster;
mod container;
mod element;
mod forest;
mod linear;
mod rankings;
mod tree;
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
    /// [`crate::error::Error::SavedModel`] for arrays that [`Self::write`] does not write.
    fn read(section: &mut Section<'_, '_>) -> Result<Self>;

    /// The model as a container of its own.
    fn to_bytes(&self) -> Vec<u8> {
        let mut container = ContainerWriter::new();
        self.write(&mut container.section(Self::NAME));
        container.finish()
    }

    /// Reads a container that [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::error::Error::SavedModelVersion`] for a newer format; [`crate::error::Error::SavedModel`] for foreign,
    /// truncated or damaged bytes and for arrays that are no such model.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut container = Container::open(bytes, Self::NAME)?;
        let model = container.model(Self::NAME)?;
        container.finish()?;
        Ok(model)
    }
}
