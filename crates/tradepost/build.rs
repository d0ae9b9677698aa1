//! What the binary was optimised for, so that it can say so.

#![expect(clippy::disallowed_methods, reason = "a build script is told by its environment alone")]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=OPT_LEVEL={}", std::env::var("OPT_LEVEL").unwrap_or_default());
}
