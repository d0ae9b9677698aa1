//! `tradepost card sign`: signs a card.

use std::path::PathBuf;

use tradepost_document::json;
use tradepost_document::json::Value;
use tradepost_keys::card as signed;
use tradepost_keys::card::SignedCard;
use tradepost_keys::private::SigningKey;

use super::{read, with_problems};
use crate::output::CommandFailure;
use crate::{Context, Outcome};

/// Arguments of `tradepost card sign`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// File of the card. Existing signatures are kept, except one by a key with the same id.
    #[arg(value_name = "FILE")]
    card: PathBuf,
    /// Private key: PKCS#8 in PEM, or a JWK; P-256 or Ed25519.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Key id; the default is the id in the JWK, or one derived from the key.
    #[arg(long, value_name = "ID")]
    kid: Option<String>,
    /// URL of the key set with the public key. The signature names this URL.
    #[arg(long, value_name = "URL")]
    jku: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// Fails when the card or the key cannot be used.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let key = SigningKey::load(&arguments.key, arguments.kid.as_deref()).map_err(|why| {
        CommandFailure::usage(why.to_string()).hint("create a key with `tradepost card keygen`")
    })?;
    let card = sign(&read(&arguments.card)?, &key, arguments.jku.as_deref())?;
    context.output.document(&card);
    Ok(())
}

fn sign(text: &str, key: &SigningKey, jku: Option<&str>) -> Result<Value, CommandFailure> {
    let unfit = |problems| {
        let failure = CommandFailure::usage("the card cannot be signed");
        with_problems(failure.hint("correct every problem listed and sign again"), &problems)
    };
    let mut card = json::read(text).map_err(unfit)?;
    let earlier = SignedCard::read(&card).map_err(unfit)?.signatures;
    let signature = signed::sign(&card, key, jku).map_err(unfit)?;
    if let Some(members) = card.as_object_mut() {
        let entries = members.get("signatures").and_then(Value::as_array);
        let kept = entries.into_iter().flatten().zip(&earlier);
        // A new signature replaces an earlier one by the same key.
        let kept = kept.filter(|(_, earlier)| earlier.kid.as_deref() != Some(key.kid()));
        let entries: Vec<_> = kept.map(|(entry, _)| entry.clone()).chain([signature]).collect();
        members.insert("signatures".to_owned(), entries.into());
    }
    Ok(card)
}

#[cfg(test)]
mod tests {
    use tradepost_keys::Algorithm;
    use tradepost_keys::private::generate;

    use super::*;

    #[test]
    fn signing_replaces_only_a_signature_of_the_same_name() {
        let key = |kid| SigningKey::read(&generate(Algorithm::EdDsa).unwrap(), Some(kid)).unwrap();
        let mut text = r#"{"name":"A","x":1.50}"#.to_owned();
        for kid in ["a", "b", "a"] {
            text = sign(&text, &key(kid), None).unwrap().to_string();
        }
        assert!(text.starts_with(r#"{"name":"A","x":1.50,"signatures":[{"protected":""#), "{text}");
        let signed = SignedCard::read(&json::read(&text).unwrap()).unwrap();
        let kids: Vec<_> = signed.signatures.iter().map(|s| s.kid.clone().unwrap()).collect();
        assert_eq!(kids, ["b", "a"]);
    }

    #[test]
    fn an_unsignable_card_is_a_usage_mistake_with_every_problem() {
        let key = SigningKey::read(&generate(Algorithm::EdDsa).unwrap(), None).unwrap();
        let failure = sign(r#"{"name":null,"x":[1e400]}"#, &key, None).unwrap_err();
        assert_eq!((failure.exit, failure.lines.len()), (2, 2));
        assert!(failure.lines[1].starts_with("/x/0: "), "{:?}", failure.lines);
        let failure = sign(r#"{"name":"A","name":"B"}"#, &key, None).unwrap_err();
        assert!(failure.lines[0].contains("twice"), "{:?}", failure.lines);
    }
}
