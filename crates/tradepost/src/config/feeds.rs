//! Where a dealer's inventory comes from by itself.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_dealer::import::Preset;
use tradepost_wire::words;

use super::delivery::ConfigSecret;
use crate::feeds::guard::Guard;

/// A feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedConfig {
    /// Its name, by which it is uploaded, listed and run.
    pub name: String,
    /// How it arrives.
    pub from: From,
    /// How its columns are understood; by its headings when `None`.
    pub mapping: Option<MappingSource>,
    /// Whether it is the whole inventory or a part of it.
    pub extent: Extent,
    /// Which feeds are held back.
    pub guard: Guard,
    /// After how long without a feed that was taken it is stale.
    pub stale_after: Option<SignedDuration>,
}

/// What says how columns are understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappingSource {
    /// A format of the field.
    Preset(Preset),
    /// A mapping file.
    File(PathBuf),
}

/// How a feed arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// Somebody puts files into a folder.
    Folder(FeedFolder),
    /// It is fetched from somewhere else.
    Pull(Pull),
    /// It is uploaded with a key.
    Upload {
        /// The largest one, in bytes.
        max_bytes: u64,
    },
}

impl From {
    /// The way in a word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Folder(_) => "folder",
            Self::Pull(_) => "pull",
            Self::Upload { .. } => "upload",
        }
    }
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Which files are of the feed: a name in which `*` stands for anything.
    pub files: String,
    /// For how long a file must not change to count as complete.
    pub quiet: Duration,
}

/// An address that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// The address.
    pub place: FeedLocation,
    /// How often it is asked.
    pub every: SignedDuration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// The largest answer, in bytes.
    pub max_bytes: u64,
}

/// Where a feed is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedLocation {
    /// On the web.
    Web(FeedAddress),
    /// At a server of SFTP.
    Sftp(Sftp),
}

/// A web address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedAddress {
    /// The address: with https, or on this machine.
    pub url: String,
    /// The bearer token.
    pub bearer: Option<ConfigSecret>,
    /// Who we are to it.
    pub login: Option<(String, ConfigSecret)>,
}

/// A file at a server of SFTP. Its texts are safe to hand to the program that fetches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sftp {
    /// Who we are to it.
    pub user: String,
    /// The server's name or address, the latter in brackets when it is one of IPv6.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The file, from the root.
    pub path: String,
    /// The private key by which it knows us.
    pub key_file: PathBuf,
    /// The keys by which we know it, as `ssh-keyscan` writes them.
    pub known_hosts: PathBuf,
}

words! {
    /// How much of an inventory a feed is.
    pub enum Extent {
        /// All of it: what is not in it is no longer on offer.
        Full = "full",
        /// What has changed: what is not in it stays as it is.
        Delta = "delta",
    }
}
