//! Trust in agent cards on the command line: the keys of a file come first, and the key location in
//! a card (`jku`) counts only for hosts that the buyer names.

use std::path::Path;

use jiff::Timestamp;
use tradepost_client::discover::{self, Discovered};
use tradepost_client::text::{SENTENCE, WORD, plain};
use tradepost_client::trust::{Jku, JudgedSignature, judge, judge_online};
use tradepost_client::{CardReader, HttpTransport, Url};
use tradepost_document::json;
use tradepost_document::json::{Value, json};
use tradepost_keys::card::{CardSignature, CardVerdict, SignedCard, is_trusted};
use tradepost_keys::keyset::KeySet;
use tradepost_server::clock::Clock;

use super::{read, with_problems};
use crate::output::{CommandFailure, UNTRUSTED};

/// Results of checking a card's signatures.
#[derive(Debug)]
pub struct TrustReport {
    rows: Vec<SignatureRow>,
}

#[derive(Debug)]
struct SignatureRow {
    kid: Option<String>,
    alg: Option<String>,
    /// Verdict; `None` when it was not checked.
    verdict: Option<CardVerdict>,
    why: String,
}

/// Reads the signatures of a card.
///
/// # Errors
/// Fails when none of them can be verified.
pub fn signed(text: &str) -> Result<SignedCard, CommandFailure> {
    json::read(text).and_then(|card| SignedCard::read(&card)).map_err(|problems| {
        let failure =
            CommandFailure::new(UNTRUSTED, "the signatures of the card cannot be verified").hint(
                "tell the seller that its card has no unambiguous form that a signature can cover",
            );
        with_problems(failure, &problems)
    })
}

/// Reads the keys of a file. It may be a pipe, so it is read only once.
///
/// # Errors
/// Fails when the file cannot be used.
pub fn keys(path: &Path) -> Result<KeySet, CommandFailure> {
    let name = path.display();
    let keys = KeySet::read(&read(path)?).map_err(|problems| {
        let failure = CommandFailure::usage(format!("{name} is not a set of public keys"));
        with_problems(failure.hint("correct every problem listed"), &problems)
    })?;
    if keys.is_empty() {
        return Err(CommandFailure::usage(format!("{name} has no usable key"))
            .hint("give public keys for signatures, of P-256 or Ed25519"));
    }
    Ok(keys)
}

/// Discovers the agent at an address; with `keys` its card must be signed by one of them.
///
/// # Errors
/// Fails when there is none, or its card is not trusted.
pub async fn discover(
    transport: &HttpTransport,
    url: &str,
    keys: Option<&KeySet>,
) -> Result<Discovered, CommandFailure> {
    let found = discover::discover(transport, url, None).await;
    // Until here only the card was requested.
    let found = found.map_err(|failure| CommandFailure::from(failure).without_effect())?;
    judged(found, keys)
}

/// Returns a function that reads the same card again, with the same trust.
pub fn reader(transport: &HttpTransport, card: &Url, keys: Option<&KeySet>) -> CardReader {
    let transport = transport.clone();
    let card = card.clone();
    let keys = keys.cloned();
    CardReader::new(move || {
        let transport = transport.clone();
        let card = card.clone();
        let keys = keys.clone();
        async move {
            let found = discover::discover_anew(&transport, card.as_str()).await.ok()?;
            judged(found, keys.as_ref()).ok()
        }
    })
}

/// Checks the signatures of a card against these keys, if there are any.
///
/// # Errors
/// Fails when no key has signed it.
fn judged(found: Discovered, keys: Option<&KeySet>) -> Result<Discovered, CommandFailure> {
    let Some(keys) = keys else { return Ok(found) };
    let judged = judge(&signed(found.card.raw.get())?, keys, Clock::system().now());
    TrustReport::from_judged(&judged).judge()?;
    Ok(found.with_verdicts(&judged))
}

impl TrustReport {
    /// Returns the signatures as they describe themselves, unchecked.
    #[must_use]
    pub fn from_unchecked(signed: &SignedCard) -> Self {
        let row = |signature: &CardSignature| SignatureRow {
            kid: signature.kid.clone(),
            alg: signature.alg.clone(),
            verdict: None,
            why: "give keys that you trust with --keys FILE".to_owned(),
        };
        Self { rows: signed.signatures.iter().map(row).collect() }
    }

    /// Returns the results for these signatures.
    #[must_use]
    pub fn from_judged(judged: &[JudgedSignature]) -> Self {
        Self { rows: judged.iter().map(SignatureRow::from_judged).collect() }
    }

    /// Verifies with these keys; for a signature whose key is not among them, with the key at its
    /// location on an allowed host.
    pub async fn verify_online(
        signed: &SignedCard,
        keys: &KeySet,
        now: Timestamp,
        transport: &HttpTransport,
        allowed_hosts: &[String],
    ) -> Self {
        let judged = judge_online(signed, keys, now, transport, allowed_hosts).await;
        Self::from_judged(&judged)
    }

    /// Returns the results as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        let entry = |row: &SignatureRow| json!({"kid": row.kid, "alg": row.alg, "verdict": row.verdict_name(), "why": row.why});
        self.rows.iter().map(entry).collect()
    }

    /// Returns table cells for people: kid, algorithm, verdict, and reason.
    #[must_use]
    pub fn cells(&self) -> Vec<Vec<String>> {
        let cells = |row: &SignatureRow| {
            let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let verdict = row.verdict_name().replace('_', " ");
            vec![or_none(&row.kid), or_none(&row.alg), verdict, row.why.clone()]
        };
        self.rows.iter().map(cells).collect()
    }

    /// Returns lines for people, for output without a table.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |row: &SignatureRow| {
            let kid =
                row.kid.as_deref().map_or("without a kid".to_owned(), |kid| format!("by {kid}"));
            let alg = row.alg.as_deref().map(|alg| format!(" with {alg}")).unwrap_or_default();
            let verdict = row.verdict_name().replace('_', " ");
            plain(&format!("{kid}{alg}: {verdict}; {}", row.why), SENTENCE)
        };
        self.rows.iter().map(line).collect()
    }

    /// Checks that the card is trusted.
    ///
    /// # Errors
    /// Returns the reason why it is not.
    pub fn judge(&self) -> Result<(), CommandFailure> {
        let verdicts: Vec<_> = self.rows.iter().filter_map(|row| row.verdict).collect();
        if is_trusted(&verdicts) {
            return Ok(());
        }
        let failure = if verdicts.is_empty() {
            CommandFailure::new(UNTRUSTED, "the card is not signed")
                .hint("ask the seller to sign its card, or confirm it in another way")
        } else if verdicts.iter().any(|verdict| matches!(verdict, CardVerdict::Invalid(_))) {
            CommandFailure::new(UNTRUSTED, "a signature of the card is forged or damaged")
                .hint("do not use the card; fetch it again, or tell the seller")
        } else {
            CommandFailure::new(UNTRUSTED, "no signature of the card is by a trusted key")
                .hint("give the seller's public keys with --keys FILE")
        };
        let data = json!({"trusted": false, "signatures": self.document()});
        Err(failure.lines(self.lines()).data(data))
    }
}

impl SignatureRow {
    fn from_judged(judged: &JudgedSignature) -> Self {
        let JudgedSignature { signature, verdict, jku } = judged;
        let why = match jku {
            None | Some(Jku::Read) => verdict.why().to_owned(),
            Some(Jku::NotAllowed) => {
                let shown = plain(signature.jku.as_deref().unwrap_or_default(), 2 * WORD);
                format!("{}, and --allow-jku does not permit {shown}", verdict.why())
            }
            Some(Jku::TooMany) => format!("{}; it names one key set too many", verdict.why()),
            Some(Jku::Failed(why)) => format!("{}; its jku: {why}", verdict.why()),
        };
        let kid = signature.kid.clone();
        let alg = signature.alg.clone();
        Self { kid, alg, verdict: Some(*verdict), why }
    }

    fn verdict_name(&self) -> &'static str {
        self.verdict.map_or("not_checked", CardVerdict::name)
    }
}
