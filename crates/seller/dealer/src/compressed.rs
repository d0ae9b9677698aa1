//! Compressed JSON. Listings of one dealer are similar, so a shared dictionary makes each of them
//! small by itself, and one is decompressed without its neighbours.

use std::fmt;

use zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict};

/// Compression level of zstd: a tenth less memory would take five times as long.
const LEVEL: i32 = 3;

/// Maximum size of a dictionary in bytes. A larger one is hardly better and adds to the memory of
/// each dealer.
const DICTIONARY: usize = 8 * 1024;

/// Minimum number of texts from which a dictionary is trained.
const MIN_SAMPLES: usize = 64;

/// Number of texts from which a dictionary is trained: more are slower and no better.
const SAMPLES: usize = 256;

/// Maximum decompressed size of a text in bytes. Data that claims more is damaged.
const LONGEST: usize = 64 * 1024 * 1024;

/// Reason why a text could not be compressed or decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompressionError(pub(crate) &'static str);

/// A compression dictionary.
#[derive(Clone, Default)]
pub struct Dictionary(Vec<u8>);

impl Dictionary {
    /// Returns the distance between samples in a list of texts. They are spread over a feed,
    /// because neighbours are often of one make and more similar than the rest.
    #[must_use]
    pub fn step(texts: usize) -> usize {
        texts.div_ceil(SAMPLES).max(1)
    }

    /// Trains a dictionary from samples of this many texts. With few texts it is empty, which is a
    /// valid dictionary.
    #[must_use]
    pub fn from_samples<T: AsRef<str>>(texts: usize, samples: impl Iterator<Item = T>) -> Self {
        if texts < MIN_SAMPLES {
            return Self::default();
        }
        let mut all = Vec::new();
        let mut sizes = Vec::with_capacity(SAMPLES);
        for sample in samples {
            all.extend_from_slice(sample.as_ref().as_bytes());
            sizes.push(sample.as_ref().len());
        }
        let mut learned = Vec::with_capacity(DICTIONARY.min(all.len() / 8));
        match zstd_safe::train_from_buffer(&mut learned, &all, &sizes) {
            Ok(_) => Self(learned),
            // The texts have nothing in common.
            Err(_) => Self::default(),
        }
    }

    /// Restores a dictionary.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the dictionary as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.0.len())
    }
}

/// Compresses texts with a dictionary.
pub struct Compressor {
    context: CCtx<'static>,
    dictionary: CDict<'static>,
}

impl Compressor {
    /// Creates a compressor with this dictionary.
    #[must_use]
    pub fn new(dictionary: &Dictionary) -> Self {
        Self { context: CCtx::create(), dictionary: CDict::create(&dictionary.0, LEVEL) }
    }

    /// Compresses a text.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn pack(&mut self, text: &str) -> Result<Vec<u8>, CompressionError> {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
        let Self { context, dictionary } = self;
        // The id of the dictionary would take four bytes, and is known.
        context
            .set_parameter(CParameter::DictIdFlag(false))
            .and_then(|_| context.ref_cdict(dictionary))
            .and_then(|_| context.compress2(&mut packed, text.as_bytes()))
            .map_err(|_| CompressionError("it cannot be packed"))?;
        Ok(packed)
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

/// Decompresses texts with a dictionary. Cheap to share.
pub struct Decompressor(DDict<'static>);

impl Decompressor {
    /// Creates a decompressor with this dictionary.
    ///
    /// # Errors
    /// When the dictionary is invalid.
    pub fn new(dictionary: &Dictionary) -> Result<Self, CompressionError> {
        DDict::try_create(&dictionary.0)
            .map(Self)
            .ok_or(CompressionError("the dictionary is broken"))
    }

    /// Decompresses a text.
    ///
    /// # Errors
    /// When the data is damaged.
    pub fn unpack(
        &self,
        bench: &mut DecompressScratch,
        packed: &[u8],
    ) -> Result<String, CompressionError> {
        let size = zstd_safe::get_frame_content_size(packed).ok().flatten();
        let size = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= LONGEST);
        // Checked before memory is allocated, because damaged data may claim any size.
        let Some(size) = size else {
            return Err(CompressionError("it does not say how long it is"));
        };
        let mut text = Vec::with_capacity(size);
        bench
            .0
            .decompress_using_ddict(&mut text, packed, &self.0)
            .map_err(|_| CompressionError("it cannot be unpacked"))?;
        String::from_utf8(text).map_err(|_| CompressionError("it is no text"))
    }

    /// Returns its memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.sizeof()
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unpacker")
    }
}

/// Reusable decompression context, because creating one takes longer than decompressing a text.
pub struct DecompressScratch(DCtx<'static>);

impl Default for DecompressScratch {
    fn default() -> Self {
        Self(DCtx::create())
    }
}

impl fmt::Debug for DecompressScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bench")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(count: usize) -> Vec<String> {
        let text = |n| {
            format!(
                r#"{{"vehicle_id":"v{n}","make":"Honda","model":"Civic","mileage":{},"photos":["https://photos.dealer.example/{n}/1.jpg"],"description":"Equipped with Alloy Wheels, {} and a fine radio."}}"#,
                n * 7919 % 100_000,
                ["Android Auto", "Heated Seats", "Remote Start"][n % 3],
            )
        };
        (0..count).map(text).collect()
    }

    fn learned(texts: &[&str]) -> Dictionary {
        let samples = texts.iter().step_by(Dictionary::step(texts.len()));
        Dictionary::from_samples(texts.len(), samples)
    }

    #[test]
    fn what_was_packed_is_unpacked_and_small() {
        for count in [1, 63, 64, 500] {
            let texts = texts(count);
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let dictionary = learned(&texts);
            assert_eq!(dictionary.as_bytes().is_empty(), count < MIN_SAMPLES);
            let dictionary = Dictionary::from_bytes(dictionary.as_bytes().to_vec());
            let mut packer = Compressor::new(&dictionary);
            let mut bench = DecompressScratch::default();
            let unpacker = Decompressor::new(&dictionary).unwrap();
            let mut before = 0;
            let mut after = 0;
            for text in texts.iter().chain(&["", "é"]) {
                let packed = packer.pack(text).unwrap();
                assert_eq!(unpacker.unpack(&mut bench, &packed).unwrap(), **text);
                before += text.len();
                after += packed.len();
            }
            assert!(count < MIN_SAMPLES || after * 3 < before, "{count}: {before} to {after}");
        }
    }

    #[test]
    fn what_was_not_packed_so_is_refused() {
        let texts = texts(100);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let dictionary = learned(&texts);
        let packed = Compressor::new(&dictionary).pack(texts[0]).unwrap();
        let unpacker = Decompressor::new(&dictionary).unwrap();
        let mut bench = DecompressScratch::default();
        assert!(unpacker.unpack(&mut bench, b"").is_err());
        assert!(unpacker.unpack(&mut bench, texts[0].as_bytes()).is_err());
        for end in 0..packed.len() {
            assert!(unpacker.unpack(&mut bench, &packed[..end]).is_err());
        }
        // A claimed size of nearly 2^64 is rejected.
        let claim = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 255, 255, 255, 255, 255, 255, 255, 127];
        assert!(unpacker.unpack(&mut bench, &claim).is_err());
    }
}
