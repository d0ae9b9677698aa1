//! A feed on its way to the disk, piece by piece, up to a size.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};

/// What has come of a feed. It is nowhere to be found by a name, and gone with whoever holds it.
#[derive(Debug)]
pub struct Spool {
    file: File,
    size: u64,
    most: u64,
}

/// Why a feed was not kept.
#[derive(Debug)]
pub enum FeedNotKept {
    /// It has more bytes than that.
    TooLarge(u64),
    /// The disk does not take it.
    Disk(io::Error),
}

impl Spool {
    /// Takes up to `most` bytes.
    ///
    /// # Errors
    /// When there can be no file.
    pub fn new(most: u64) -> Result<Self, FeedNotKept> {
        let file = tempfile::tempfile().map_err(FeedNotKept::Disk)?;
        Ok(Self { file, size: 0, most })
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// When it is one too many, or the disk does not take it.
    pub fn take(&mut self, piece: &[u8]) -> Result<(), FeedNotKept> {
        self.size = self.size.saturating_add(piece.len() as u64);
        if self.size > self.most {
            return Err(FeedNotKept::TooLarge(self.most));
        }
        self.file.write_all(piece).map_err(FeedNotKept::Disk)
    }

    /// All that came, to be read from its beginning.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn finish(mut self) -> Result<File, FeedNotKept> {
        self.file.rewind().map_err(FeedNotKept::Disk)?;
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_came_is_read_and_one_byte_too_many_is_refused() {
        let mut spool = Spool::new(4).unwrap();
        spool.take(b"ab").unwrap();
        spool.take(b"cd").unwrap();
        let mut text = String::new();
        spool.finish().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "abcd");
        let mut spool = Spool::new(4).unwrap();
        spool.take(b"abc").unwrap();
        assert!(matches!(spool.take(b"de"), Err(FeedNotKept::TooLarge(4))));
    }
}
