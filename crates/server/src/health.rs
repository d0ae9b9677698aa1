//! Whether what agents keep is well.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::fault::Fault;

/// Whether what agents keep can be trusted with something new.
pub trait Health: fmt::Debug + Send + Sync {
    /// Whether something new can be taken. It answers soon, whatever happens.
    ///
    /// # Errors
    /// Why not, for everybody to read. The cause has been logged.
    fn check(&self) -> BoxFuture<'_, Result<(), &'static str>>;

    /// That what is kept is where it was. To be called now and then, because nobody would notice
    /// where nothing is written.
    ///
    /// # Errors
    /// That it is not.
    fn intact(&self) -> Result<(), Fault>;

    /// What a person should look at some time, by name, with how many there are of it. May wait for
    /// a disk.
    fn remarks(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
