//! Feeds that update a dealer's inventory.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_dealer::import::Preset;
use tradepost_document::words;

use super::delivery::ConfigSecret;

/// Inventory feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedConfig {
    /// Name that identifies it in uploads, lists and runs.
    pub name: String,
    /// Source of its files.
    pub from: FeedOrigin,
    /// Column mapping; recognised from the headings when `None`.
    pub mapping: Option<MappingSource>,
    /// Full inventory or changes only.
    pub extent: Extent,
    /// Rule for feeds that are held back.
    pub guard: Guard,
    /// Time without an accepted feed after which it is stale.
    pub stale_after: Option<SignedDuration>,
}

/// Limits of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// Maximum share in percent of the units on offer that a feed may remove.
    pub max_drop: u8,
    /// True when a feed may look incomplete.
    pub force: bool,
}

/// Source of a column mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappingSource {
    /// Preset for a common format.
    Preset(Preset),
    /// Mapping file.
    File(PathBuf),
}

/// Source of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedOrigin {
    /// Folder into which files are put.
    Folder(FeedFolder),
    /// Remote file that is fetched.
    Pull(Pull),
    /// Upload with an API key.
    Upload {
        /// Maximum size in bytes.
        max_bytes: u64,
    },
}

impl FeedOrigin {
    /// Returns the name of the source.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Folder(_) => "folder",
            Self::Pull(_) => "pull",
            Self::Upload { .. } => "upload",
        }
    }
}

/// Folder of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Pattern of the file names, in which `*` stands for any text.
    pub files: String,
    /// Time without a change after which a file counts as complete.
    pub quiet: Duration,
}

/// Remote file that is fetched at intervals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Location of the file.
    pub place: FeedLocation,
    /// Interval between two requests.
    pub every: SignedDuration,
    /// Maximum time for a response.
    pub timeout: Duration,
    /// Maximum size of a response in bytes.
    pub max_bytes: u64,
}

/// Location of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedLocation {
    /// Web address.
    Web(FeedAddress),
    /// File on an SFTP server.
    Sftp(Sftp),
}

/// Web address of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedAddress {
    /// Address with https, or on this machine.
    pub url: String,
    /// Bearer token.
    pub bearer: Option<ConfigSecret>,
    /// User name and password.
    pub login: Option<(String, ConfigSecret)>,
}

/// File on an SFTP server. Its strings are safe to pass to the program that fetches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sftp {
    /// User name.
    pub user: String,
    /// Host name or address; an IPv6 address has brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Absolute path of the file.
    pub path: String,
    /// Private key with which we authenticate.
    pub key_file: PathBuf,
    /// Public keys of the server, as `ssh-keyscan` writes them.
    pub known_hosts: PathBuf,
}

words! {
    /// Extent of a feed.
    pub enum Extent {
        /// All of it: what is not in it is no longer on offer.
        Full = "full",
        /// What has changed: what is not in it stays as it is.
        Delta = "delta",
    }
}
