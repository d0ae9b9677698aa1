//! Has tests only: of the protocol crates against the published schemas, tables and catalogs, and of the
//! structure of the workspace. They are a package of their own because they need all protocol crates.
