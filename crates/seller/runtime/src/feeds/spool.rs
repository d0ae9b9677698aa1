//! Temporary file into which a feed is received piece by piece, up to a maximum size.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};

/// A received feed. The file has no name, and is deleted when it is closed.
#[derive(Debug)]
pub struct Spool {
    file: File,
    size: u64,
    most: u64,
}

/// Reason why a feed was not written.
#[derive(Debug)]
pub enum FeedNotKept {
    /// The feed has more than this number of bytes.
    TooLarge(u64),
    /// The disk failed.
    Disk(io::Error),
}

impl Spool {
    /// Creates a file for up to `most` bytes.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn new(most: u64) -> Result<Self, FeedNotKept> {
        let file = tempfile::tempfile().map_err(FeedNotKept::Disk)?;
        Ok(Self { file, size: 0, most })
    }

    /// Appends the next piece.
    ///
    /// # Errors
    /// When the maximum size is exceeded, or the disk fails.
    pub fn take(&mut self, piece: &[u8]) -> Result<(), FeedNotKept> {
        self.size = self.size.saturating_add(piece.len() as u64);
        if self.size > self.most {
            return Err(FeedNotKept::TooLarge(self.most));
        }
        self.file.write_all(piece).map_err(FeedNotKept::Disk)
    }

    /// Returns the file, positioned at its beginning.
    ///
    /// # Errors
    /// When it cannot be rewound.
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
    fn bytes_are_read_back_and_one_too_many_is_refused() {
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
