//! t

// Said once more so that clippy knows helpers without `#[test]` for test code, too.
#[cfg(test)]
mod import;
