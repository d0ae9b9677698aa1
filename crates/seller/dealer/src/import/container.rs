//! Containers of a feed: plain, gzip or zip. A feed is decompressed while it is read, once for each
//! pass, and never held in memory as a whole.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

use super::FeedError;
use super::decode::unreadable;

/// Maximum decompressed size of a small container in bytes.
const MAX_SMALL_SIZE: u64 = 64 * 1024 * 1024;

/// Maximum ratio of decompressed to compressed size for larger containers. Tables compress to a
/// tenth, hardly any to a fiftieth; a higher ratio is a decompression bomb.
const MAX_RATIO: u64 = 200;

/// Maximum decompressed size in bytes.
const MAX_SIZE: u64 = 4 * 1024 * 1024 * 1024;

/// Maximum number of archive entries that are searched for the feed.
const MOST_ENTRIES: usize = 1_000;

const HINT: &str = "pack one file with gzip or zip, or none";

/// A file with its kind of compression.
pub(super) struct CompressedFile<R> {
    form: Compression<R>,
    /// Maximum number of decompressed bytes.
    most: u64,
}

enum Compression<R> {
    Plain(R),
    Gzip(R),
    /// An archive with the index of the entry that is the feed.
    Zip(Box<ZipArchive<R>>, usize),
}

impl<R: Read + Seek> CompressedFile<R> {
    pub(super) fn open(mut source: R) -> Result<Self, FeedError> {
        let mut magic = Vec::new();
        source.by_ref().take(4).read_to_end(&mut magic).map_err(unreadable)?;
        source.rewind().map_err(unreadable)?;
        let is_gzip = magic.starts_with(b"\x1f\x8b");
        // `PK\x05\x06` begins an archive without files.
        if !is_gzip && !magic.starts_with(b"PK\x03\x04") && !magic.starts_with(b"PK\x05\x06") {
            return Ok(Self { form: Compression::Plain(source), most: u64::MAX });
        }
        let size = source.seek(SeekFrom::End(0)).map_err(unreadable)?;
        let most = MAX_SMALL_SIZE.max(size.saturating_mul(MAX_RATIO)).min(MAX_SIZE);
        if is_gzip {
            return Ok(Self { form: Compression::Gzip(source), most });
        }
        let mut archive = ZipArchive::new(source).map_err(damaged)?;
        let place = feed_index(&mut archive)?;
        Ok(Self { form: Compression::Zip(Box::new(archive), place), most })
    }

    /// Decompresses the feed from the beginning.
    pub(super) fn unpack(&mut self) -> Result<LimitedReader<'_>, FeedError> {
        let text: Box<dyn Read + '_> = match &mut self.form {
            Compression::Plain(source) => {
                source.rewind().map_err(unreadable)?;
                Box::new(source)
            }
            Compression::Gzip(source) => {
                source.rewind().map_err(unreadable)?;
                // Some packers write several gzip members one after another.
                Box::new(MultiGzDecoder::new(source))
            }
            Compression::Zip(archive, place) => {
                Box::new(archive.by_index(*place).map_err(damaged)?)
            }
        };
        Ok(LimitedReader { text, left: self.most })
    }
}

fn damaged(error: zip::result::ZipError) -> FeedError {
    FeedError::new(format!("the archive cannot be read: {error}"), HINT)
}

/// Returns the index of the only file that is not the packer's own.
fn feed_index<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<usize, FeedError> {
    let names = archive.file_names().take(MOST_ENTRIES + 1);
    let names: Vec<String> =
        names.map(|name| name.map(Into::into)).collect::<Result<_, _>>().map_err(damaged)?;
    if names.len() > MOST_ENTRIES {
        return Err(FeedError::new("the archive holds too many files", HINT));
    }
    // By its bytes, a spreadsheet is an archive too.
    if names.iter().any(|name| name == "[Content_Types].xml") {
        let hint = "export the sheet as CSV";
        return Err(FeedError::new("the file is a spreadsheet", hint));
    }
    let feeds: Vec<&String> = names
        .iter()
        .filter(|name| {
            let own = name.rsplit('/').next().unwrap_or_default();
            !own.is_empty() && !own.starts_with('.') && !name.starts_with("__MACOSX/")
        })
        .collect();
    match feeds.as_slice() {
        [name] => archive
            .index_for_name(name)
            .ok_or_else(|| FeedError::new("the archive cannot be read", HINT)),
        [] => Err(FeedError::new("the archive holds no file", HINT)),
        several => {
            let message = format!("the archive holds {} files", several.len());
            Err(FeedError::new(message, HINT))
        }
    }
}

/// A reader that fails beyond a maximum number of bytes.
pub(super) struct LimitedReader<'p> {
    text: Box<dyn Read + 'p>,
    left: u64,
}

impl Read for LimitedReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(out)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other("it unpacks to more than such a file can hold of vehicles")
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
