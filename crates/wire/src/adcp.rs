//! AdCP, the protocol of buying advertising (3.1, and what 3.2 adds): its error catalog and error
//! object. Nothing here belongs to one side: sellers write with it and buyers read with it.

pub mod credentials;
pub mod error;

/// The release of AdCP that is spoken, at release precision (`adcp_version`).
pub const VERSION: &str = "3.1";

/// The extension by which an A2A agent card declares AdCP.
pub const EXTENSION: &str = "https://adcontextprotocol.org/extensions/adcp/v3";
