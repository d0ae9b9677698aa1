//! `tradepost explain`: explains an error code, by its name, its JSON-RPC number or its gRPC
//! status.

use serde::Serialize;
use tradepost_a2a as a2a;
use tradepost_aap as aap;
use tradepost_adcp as adcp;
use tradepost_adcp::error::{AdcpError, Recovery};
use tradepost_bridge::failures;
use tradepost_client::recovery::in_general;
use tradepost_client::refusal::{Adcp, ProtocolError, RefusalForm, is_retryable};
use tradepost_client::response::ErrorLayer;
use tradepost_document::catalog::{Vocabulary, WireName};
use tradepost_document::json::{Value, json};

use super::output::CommandFailure;
use super::output::seller::{exit_of_a2a, exit_of_aap, exit_of_adcp};
use super::output::table::TableColumn::{Number, Text};
use super::output::table::{self, Cells, TableWidth};
use super::{Context, Outcome};

/// Arguments of `tradepost explain`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Error code: a name such as VEHICLE_NOT_FOUND, a JSON-RPC number such as -32602, or a gRPC
    /// status such as FAILED_PRECONDITION; the default is all codes.
    #[arg(allow_hyphen_values = true)]
    code: Option<String>,
}

/// Row of a catalog.
#[derive(Debug, Default, Serialize)]
pub struct ExplainedCode {
    /// Name.
    pub code: &'static str,
    /// Name of the catalog.
    pub catalog: &'static str,
    /// Code of JSON-RPC.
    pub jsonrpc_code: Option<i32>,
    /// HTTP status.
    pub http_status: Option<u16>,
    /// Status of gRPC.
    pub grpc_status: Option<&'static str>,
    /// Recovery class of AdCP.
    pub recovery: Option<&'static str>,
    /// Release of AdCP that added it.
    pub since: Option<&'static str>,
    /// What to use instead of a deprecated code.
    pub retired: Option<&'static str>,
    /// True when the same request may be sent again.
    pub retryable: bool,
    /// Exit code of the commands.
    pub exit_code: Option<u8>,
    /// Meaning.
    pub description: String,
    /// Advice.
    pub hint: &'static str,
    /// Name of what a buyer does about it.
    pub advice: Option<&'static str>,
    /// What a buyer does about it.
    pub advice_text: Option<String>,
}

/// Runs the command. `own` has the codes of the program, beside those of [`codes`].
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(arguments: Arguments, own: Vec<ExplainedCode>, context: &Context) -> Outcome {
    let mut entries = codes();
    entries.extend(own);
    let (found, text) = match arguments.code {
        None => (entries, overview as fn(&[ExplainedCode], TableWidth) -> String),
        Some(code) => (find(&code, entries)?, explanation as _),
    };
    context.output.answer(&json!({"codes": found}), text(&found, TableWidth::Terminal));
    Ok(())
}

tradepost_document::catalog! {
    /// Code that the buyer's commands write to the `error` object of their JSON.
    enum BuyerCommandCode {
        /// Exit code of the command.
        exit: u8,
        /// Advice.
        hint: &'static str,
    }
    /// The configuration file, or another file that people write, has errors; all of them are
    /// listed.
    ConfigInvalid = "config_invalid" {
        exit: 2, hint: "correct each line; `tradepost check-config` lists them again",
    }
    /// The folder or the database cannot be used.
    StoreUnusable = "store_unusable" {
        exit: 1, hint: "check that the folder is writable, or that the database answers",
    }
    /// The command is one of the full program, and this is the buyer's.
    FullProgramOnly = "full_program_only" {
        exit: 2, hint: "install the full tradepost, whose archive, Debian package and image have it",
    }
}

/// Returns the codes of the protocols, AAP's first, and those of the bridge and of the buyer's
/// commands.
#[must_use]
pub fn codes() -> Vec<ExplainedCode> {
    let aap = aap::AapCode::ALL.iter().copied().map(of_aap);
    let a2a = a2a::error::A2aCode::ALL.iter().copied().map(of_a2a);
    let adcp = adcp::error::AdcpCode::ALL.iter().copied().map(of_adcp);
    let bridge = failures::BridgeErrorCode::ALL.iter().map(|code| ExplainedCode {
        retryable: code.retryable(),
        ..ExplainedCode::with_description(*code, "bridge", code.hint())
    });
    let commands = BuyerCommandCode::ALL.iter().map(|code| ExplainedCode {
        exit_code: Some(code.exit()),
        ..ExplainedCode::with_description(*code, "command line", code.hint())
    });
    aap.chain(a2a).chain(adcp).chain(bridge).chain(commands).collect()
}

impl ExplainedCode {
    /// Creates a row with the facts that every catalog has.
    fn new<C: Vocabulary>(
        code: C,
        catalog: &'static str,
        hint: &'static str,
        by: RefusalForm,
    ) -> Self {
        let advice = in_general(by);
        Self {
            advice: Some(advice.name()),
            advice_text: Some(advice.to_string()),
            ..Self::with_description(code, catalog, hint)
        }
    }

    /// Creates a row of a code of our own, which has a meaning and advice alone.
    #[must_use]
    pub fn with_description<C: Vocabulary>(
        code: C,
        catalog: &'static str,
        hint: &'static str,
    ) -> Self {
        Self {
            code: code.name(),
            catalog,
            description: code.docs().split_whitespace().collect::<Vec<_>>().join(" "),
            hint,
            ..Self::default()
        }
    }
}

fn of_aap(code: aap::AapCode) -> ExplainedCode {
    let error = aap::error::ReceivedRefusal {
        code: WireName::Known(code),
        message: String::new(),
        retryable: code.retryable(),
        error_id: String::new(),
        details: Value::Null,
    };
    let by = RefusalForm::Aap { jsonrpc: i64::from(code.jsonrpc()), error };
    ExplainedCode {
        jsonrpc_code: Some(code.jsonrpc()),
        http_status: Some(code.http()),
        retryable: code.retryable(),
        exit_code: Some(exit_of_aap(code)),
        ..ExplainedCode::new(code, "AAP", code.hint(), by)
    }
}

fn of_a2a(code: a2a::error::A2aCode) -> ExplainedCode {
    let jsonrpc = i64::from(code.jsonrpc());
    let by = RefusalForm::Protocol(ProtocolError {
        jsonrpc,
        code: WireName::Known(code),
        message: String::new(),
        reason: None,
        metadata: Vec::new(),
        violations: Vec::new(),
    });
    // JSON-RPC 2.0 reserves these; all others are A2A's.
    let catalog = if (-32_700..=-32_600).contains(&jsonrpc) { "JSON-RPC" } else { "A2A" };
    ExplainedCode {
        jsonrpc_code: Some(code.jsonrpc()),
        http_status: Some(code.http()),
        grpc_status: Some(code.grpc()),
        retryable: is_retryable(code),
        exit_code: Some(exit_of_a2a(code)),
        ..ExplainedCode::new(code, catalog, code.hint(), by)
    }
}

fn of_adcp(code: adcp::error::AdcpCode) -> ExplainedCode {
    let error = AdcpError::new(code, "");
    let listed = Vec::new();
    let error = Adcp { error, listed, layer: ErrorLayer::Envelope, jsonrpc: 0 };
    ExplainedCode {
        jsonrpc_code: code.jsonrpc(),
        recovery: Some(code.recovery().name()),
        since: Some(code.since().name()),
        retired: code.retired(),
        retryable: code.recovery() == Recovery::Transient && code.rule().permits_repeating(),
        exit_code: Some(exit_of_adcp(code, code.recovery())),
        ..ExplainedCode::new(code, "AdCP", code.hint(), RefusalForm::Adcp(Box::new(error)))
    }
}

/// Maximum number of names that a guess lists.
const MAX_GUESSES: usize = 5;

/// Finds codes: a name may be in several catalogs, and a number is often shared.
///
/// # Errors
/// Fails when there is none, with a guess.
pub fn find(
    code: &str,
    mut entries: Vec<ExplainedCode>,
) -> Result<Vec<ExplainedCode>, CommandFailure> {
    let code = code.trim();
    if let Ok(number) = code.parse::<i64>() {
        let numbers = |entry: &ExplainedCode| entry.jsonrpc_code.map(i64::from);
        if entries.iter().any(|entry| numbers(entry) == Some(number)) {
            entries.retain(|entry| numbers(entry) == Some(number));
            return Ok(entries);
        }
        let negated =
            entries.iter().any(|entry| numbers(entry).and_then(i64::checked_neg) == Some(number));
        return Err(CommandFailure::usage("no error code has this JSON-RPC number").hint(
            match negated {
                true => format!("did you mean -{number}?"),
                false => "run tradepost explain for all codes and their numbers".to_owned(),
            },
        ));
    }
    // Accepts a name as people write it from memory: `vehicle not found`, `vehicle-not-found`.
    let is_gap = |c: char| matches!(c, '-' | '_') || c.is_whitespace();
    let words = code.split(is_gap).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_").to_ascii_uppercase();
    if entries.iter().any(|entry| entry.code.eq_ignore_ascii_case(&name)) {
        entries.retain(|entry| entry.code.eq_ignore_ascii_case(&name));
        return Ok(entries);
    }
    if entries.iter().any(|entry| entry.grpc_status == Some(name.as_str())) {
        entries.retain(|entry| entry.grpc_status == Some(name.as_str()));
        return Ok(entries);
    }
    let nearest_to = |name: &str| {
        entries
            .iter()
            .map(|entry| (strsim::jaro_winkler(entry.code, name), entry.code))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(likeness, _)| *likeness > 0.8)
    };
    let nearest = nearest_to(&name);
    let mut containing: Vec<_> = entries.iter().map(|entry| entry.code).collect();
    // Two letters are in too many names to be a hint.
    containing.retain(|code| name.len() > 2 && code.contains(&name));
    containing.sort_unstable();
    containing.dedup();
    containing.truncate(MAX_GUESSES);
    Err(CommandFailure::usage("no error code has this name").hint(
        match (nearest, containing.as_slice()) {
            (Some((_, name)), _) => format!("did you mean {name}?"),
            // Codes in lower case are suggested where no published code is similar.
            (None, []) => match nearest_to(&name.to_ascii_lowercase()) {
                Some((_, name)) => format!("did you mean {name}?"),
                None => "run tradepost explain for all codes".to_owned(),
            },
            (None, names) => format!("did you mean {}?", names.join(" or ")),
        },
    ))
}

fn overview(entries: &[ExplainedCode], fit: TableWidth) -> String {
    let columns: [Cells<'_, ExplainedCode>; 7] = [
        (Text("code"), &|entry| entry.code.to_owned()),
        (Text("catalog"), &|entry| entry.catalog.to_owned()),
        (Number("JSON-RPC"), &|entry| {
            entry.jsonrpc_code.map(|code| code.to_string()).unwrap_or_default()
        }),
        (Number("HTTP"), &|entry| {
            entry.http_status.map(|status| status.to_string()).unwrap_or_default()
        }),
        (Text("retry"), &|entry| yes_or_no(entry.retryable).to_owned()),
        (Number("exit"), &|entry| entry.exit_code.map(|exit| exit.to_string()).unwrap_or_default()),
        (Text("what to do next"), &|entry| entry.hint.to_owned()),
    ];
    table::items(fit, entries, &columns)
}

fn explanation(entries: &[ExplainedCode], fit: TableWidth) -> String {
    let blocks = entries.iter().map(|entry| {
        let http = entry.http_status.map(|http| match entry.grpc_status {
            Some(grpc) => format!("{http} (gRPC {grpc})"),
            None => http.to_string(),
        });
        let facts = [
            ("meaning", Some(entry.description.clone())),
            ("since", entry.since.map(|release| format!("AdCP {release}"))),
            ("deprecated", entry.retired.map(|instead| format!("use {instead}"))),
            ("JSON-RPC code", entry.jsonrpc_code.map(|code| code.to_string())),
            ("HTTP status", http),
            ("recovery", entry.recovery.map(ToOwned::to_owned)),
            ("retry unchanged", Some(yes_or_no(entry.retryable).to_owned())),
            ("exit code", entry.exit_code.map(|exit| exit.to_string())),
            ("what to do next", Some(entry.hint.to_owned())),
            (
                "advice",
                entry
                    .advice
                    .zip(entry.advice_text.as_ref())
                    .map(|(name, text)| format!("{name}: {text}")),
            ),
        ];
        let facts = facts.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let facts: Vec<_> = facts.collect();
        format!("{} ({})\n{}", entry.code, entry.catalog, table::pairs(fit, &facts))
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn names(code: &str) -> Vec<String> {
        let found = find(code, codes()).unwrap();
        found.iter().map(|entry| format!("{} {}", entry.catalog, entry.code)).collect()
    }

    #[test]
    fn names_are_found_in_any_spelling() {
        for spelling in ["VEHICLE_NOT_FOUND", "vehicle-not-found", " Vehicle not_found "] {
            assert_eq!(names(spelling), ["AAP VEHICLE_NOT_FOUND"]);
        }
        assert_eq!(names("internal_error"), ["AAP INTERNAL_ERROR", "JSON-RPC INTERNAL_ERROR"]);
        assert_eq!(names("billing out of band"), ["AdCP BILLING_OUT_OF_BAND"]);
        assert_eq!(names("rate_limited"), ["AAP RATE_LIMITED", "AdCP RATE_LIMITED"]);
    }

    #[test]
    fn a_number_finds_everything_that_shares_it() {
        assert_eq!(names("-32002"), ["AAP RATE_LIMITED", "A2A TASK_NOT_CANCELABLE"]);
        assert_eq!(names("-32000").len(), 9);
        assert_eq!(names("-32009"), ["A2A VERSION_NOT_SUPPORTED"]);
        assert_eq!(names("-32028"), ["AdCP AUTH_MISSING"]);
    }

    #[test]
    fn what_is_unknown_is_a_usage_error_with_a_guess() {
        let hint = |code: &str| {
            let failure = find(code, codes()).unwrap_err();
            assert_eq!(failure.exit, 2);
            failure.hint.unwrap()
        };
        assert_eq!(hint("VEHICEL_NOTFOUND"), "did you mean VEHICLE_NOT_FOUND?");
        assert_eq!(hint("full_programme_only"), "did you mean full_program_only?");
        assert_eq!(hint("consent"), "did you mean CONTACT_CONSENT_REQUIRED or INVALID_CONSENT?");
        assert_eq!(hint("32602"), "did you mean -32602?");
        assert_eq!(hint("-1"), "run tradepost explain for all codes and their numbers");
        assert_eq!(
            hint(&i64::MIN.to_string()),
            "run tradepost explain for all codes and their numbers"
        );
        assert_eq!(hint("zebra"), "run tradepost explain for all codes");
        assert_eq!(hint(""), "run tradepost explain for all codes");
    }

    #[test]
    fn every_code_can_be_explained_by_name_and_number() {
        let all = codes();
        assert_eq!(
            all.len(),
            aap::AapCode::ALL.len()
                + a2a::error::A2aCode::ALL.len()
                + adcp::error::AdcpCode::ALL.len()
                + failures::BridgeErrorCode::ALL.len()
                + BuyerCommandCode::ALL.len()
        );
        for entry in all {
            assert!(
                find(entry.code, codes()).unwrap().iter().any(|found| found.code == entry.code)
            );
            let Some(number) = entry.jsonrpc_code else { continue };
            let by_number = find(&number.to_string(), codes()).unwrap();
            assert!(by_number.iter().any(|found| found.code == entry.code));
        }
    }

    #[test]
    fn an_adcp_code_is_explained_with_its_recovery() {
        expect![[r#"
            AUTH_REQUIRED (AdCP)
            meaning          Credentials are missing, or those presented were rejected; only the caller knows which.
            since            AdCP 3.0
            deprecated       use AUTH_MISSING or AUTH_INVALID
            recovery         correctable
            retry unchanged  no
            exit code        9
            what to do next  give a credential if none was sent; otherwise have it replaced by a person
            advice           ask: give a credential and send again"#]].assert_eq(&explanation(&find("auth required", codes()).unwrap(), TableWidth::Unbounded));
    }

    #[test]
    fn an_explanation_says_what_to_do() {
        expect![[r#"
            RATE_LIMITED (AAP)
            meaning          The caller has sent too many requests. The details say how long to wait before a retry.
            JSON-RPC code    -32002
            HTTP status      429
            retry unchanged  yes
            exit code        7
            what to do next  wait for details.retry_after_ms and send the same request again
            advice           retry: send the same request again, unchanged, in 1.5 to 2.5 s

            TASK_NOT_CANCELABLE (A2A)
            meaning          The task has ended and cannot be canceled.
            JSON-RPC code    -32002
            HTTP status      400 (gRPC FAILED_PRECONDITION)
            retry unchanged  no
            exit code        9
            what to do next  read the task's state; it has ended
            advice           stop: let it be; there is nothing left to do"#]].assert_eq(&explanation(&find("-32002", codes()).unwrap(), TableWidth::Unbounded));
    }
}
