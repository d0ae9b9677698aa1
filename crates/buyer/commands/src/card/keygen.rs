//! `tradepost card keygen`: generates a key.

use std::path::PathBuf;

use tradepost_keys::Algorithm;
use tradepost_keys::private::{self as key, SigningKey};
use tradepost_server::private_file::write_new;

use crate::output::{CommandFailure, unwritten};
use crate::{Context, Outcome};

/// Arguments of `tradepost card keygen`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Signature algorithm. Most verifiers support es256; eddsa is more modern.
    #[arg(long, value_enum, value_name = "ALGORITHM")]
    alg: KeyName,
    /// File for the private key. Only its owner can read it.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Key id; the default is derived from the key.
    #[arg(long, value_name = "ID")]
    kid: Option<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum KeyName {
    Es256,
    Eddsa,
}

/// Runs the command.
///
/// # Errors
/// Fails when the file exists already, or cannot be written.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let algorithm = match arguments.alg {
        KeyName::Es256 => Algorithm::Es256,
        KeyName::Eddsa => Algorithm::EdDsa,
    };
    let no_key = |_| CommandFailure::new(1, "the machine does not provide random numbers");
    let pem = key::generate(algorithm).map_err(no_key)?;
    // Read back from the text that is written, so that the public key shown is the one of the file.
    let key = SigningKey::read(&pem, arguments.kid.as_deref()).map_err(CommandFailure::fault)?;
    let name = arguments.out.display();
    let hint = "name another file with --out; a lost key cannot be created again";
    write_new(&arguments.out, pem.as_bytes())
        .map_err(|error| unwritten(&arguments.out, &error, hint))?;
    context.output.document(&key.public_jwk());
    if !context.output.is_json() {
        context.output.talk(format!(
            "wrote the private key to {name}; keep it secret, and give buyers the public key above"
        ));
    }
    Ok(())
}
