//! Credentials: on the transport, missing and rejected, and in the wrong place.
// Covers A-4 to A-10.

use tradepost_adcp::error::{AdcpCode, Recovery};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::answer::{TaskAnswer, refused};
use super::ask::PIN;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail_if, not_applicable_if, not_looked_at, pass_if,
    skip_if,
};
use crate::run::{Caller, ProbeRun};
use crate::shape::{member, set};

/// Tools that require a credential. Capabilities and products may be public.
const PRIVATE: &[(&str, &str)] = &[
    ("list_creatives", "{}"),
    ("get_media_buys", "{}"),
    ("list_accounts", "{}"),
    ("get_media_buy_delivery", "{}"),
];

/// Bearer token that is not valid.
const NO_TOKEN: &str = "tradepost-probe-not-a-token";

/// Value sent where no credential belongs; it grants nothing.
const PLANTED_CREDENTIAL: &str = "tradepost-probe-planted-4f7a1c";

const WHY: &str = "A buyer supplies what is missing by itself, and asks a person about what was rejected; it has to know which.";
const WHY_ARGS: &str = "What stands in the arguments is logged, stored and passed on to models.";
const FIX_ARGS: &str =
    "look for credential names in the arguments, at any depth, and refuse with CREDENTIAL_IN_ARGS";

pub(super) const CHECKS: &[Check] = checks![
    "adcp.auth.missing", Seller, Must, ["A-4"], "AdCP errors, authentication",
    "Without a credential nothing private is answered, and the error is AUTH_MISSING", WHY,
    "refuse with AUTH_MISSING when there is no Authorization header" => missing();
    "adcp.auth.invalid", Seller, Must, ["A-4"], "AdCP errors, authentication",
    "A credential that is none is refused with AUTH_INVALID", WHY,
    "refuse with AUTH_INVALID when the credential is there and not accepted" => invalid();
    "adcp.auth.invalid-recovery", Seller, Must, ["A-4"], "AdCP errors, authentication",
    "AUTH_INVALID is terminal", "A buyer would send a revoked credential again and again.",
    "set its recovery to terminal" => invalid_recovery();
    "adcp.auth.challenge", Seller, Must, ["A-6"], "AdCP transport errors, authentication",
    "A 401 says in WWW-Authenticate what is asked for", "A client learns from it which scheme to use.",
    "send WWW-Authenticate with every 401" => challenge();
    "adcp.auth.pinned", Seller, Should, ["D-6", "A-4"], "AdCP errors, forward-compatible decoding",
    "A caller that names 3.0 gets AUTH_REQUIRED, which 3.0 has", "A buyer of 3.0 does not know AUTH_MISSING.",
    "choose the code by the release that the caller names" => pinned();
    "adcp.credential.ext", Seller, Must, ["A-7"], "AdCP authentication, credential placement",
    "A credential in ext is refused with CREDENTIAL_IN_ARGS", WHY_ARGS, FIX_ARGS
        => credential_refused(r#"{"ext": {"api_key": "tradepost-probe-planted-4f7a1c"}}"#);
    "adcp.credential.context", Seller, Must, ["A-7"], "AdCP authentication, credential placement",
    "A credential in context, and under a longer name, is refused with CREDENTIAL_IN_ARGS", WHY_ARGS, FIX_ARGS
        => credential_refused(r#"{"context": {"meta_access_token": "tradepost-probe-planted-4f7a1c"}}"#);
    "adcp.credential.depth", Seller, Must, ["A-7"], "AdCP authentication, credential placement",
    "A credential deep in the arguments is refused with CREDENTIAL_IN_ARGS", WHY_ARGS, FIX_ARGS
        => credential_refused(r#"{"ext": {"a": [{"b": {"client_secret": "tradepost-probe-planted-4f7a1c"}}]}}"#);
    "adcp.credential.terminal", Seller, Must, ["A-7", "A-9"], "AdCP errors, CREDENTIAL_IN_ARGS",
    "CREDENTIAL_IN_ARGS is terminal", "A buyer that repeats it spreads the credential further.",
    "set its recovery to terminal" => credential_refusal_is_terminal();
    "adcp.credential.echo", Seller, Must, ["A-10"], "AdCP errors, CREDENTIAL_IN_ARGS",
    "The value of such a credential is in no answer", "An answer is logged by the buyer too.",
    "leave context and every other echo out of this refusal" => credential_not_echoed();
];

async fn ask(
    run: &mut ProbeRun,
    caller: Caller<'_>,
    release: &str,
) -> Result<TaskAnswer, CheckVerdict> {
    let holds = run.options.token.is_none();
    skip_if(holds, "needs a credential to compare with; give one with --token")?;
    let (tool, mut arguments) = run.first_of(PRIVATE).await?;
    set(&mut arguments, "/adcp_version", release.into());
    run.tool_as(caller, tool, arguments).await
}

/// Returns the expected codes of a refusal, by the release of the seller.
async fn expected(run: &mut ProbeRun, modern: AdcpCode) -> Result<Vec<AdcpCode>, CheckVerdict> {
    Ok(if run.speaks_3_1().await? { vec![modern] } else { vec![AdcpCode::AuthRequired, modern] })
}

async fn missing(run: &mut ProbeRun) -> CheckResult {
    let codes = expected(run, AdcpCode::AuthMissing).await?;
    let answer = ask(run, Caller::Anonymous, PIN).await?;
    refused(&answer, &codes)
}

async fn invalid(run: &mut ProbeRun) -> CheckResult {
    let codes = expected(run, AdcpCode::AuthInvalid).await?;
    let answer = ask(run, Caller::Token(NO_TOKEN), PIN).await?;
    refused(&answer, &codes)
}

/// Checks that an error of this code is terminal.
fn terminal(answer: &TaskAnswer, code: AdcpCode) -> CheckResult {
    match answer.error() {
        Some(error) if member(error, "code") == code.name() => {
            let recovery = member(error, "recovery");
            pass_if(recovery == Recovery::Terminal.name(), format!("its recovery is {recovery:?}"))
        }
        Some(_) | None => not_looked_at(format!("there is no {code}")),
    }
}

async fn invalid_recovery(run: &mut ProbeRun) -> CheckResult {
    let answer = ask(run, Caller::Token(NO_TOKEN), PIN).await?;
    terminal(&answer, AdcpCode::AuthInvalid)
}

async fn challenge(run: &mut ProbeRun) -> CheckResult {
    let answer = ask(run, Caller::Anonymous, PIN).await?;
    not_applicable_if(answer.response.status != 401, "the seller does not answer 401")?;
    pass_if(answer.response.header("www-authenticate").is_some(), "there is no WWW-Authenticate")
}

async fn pinned(run: &mut ProbeRun) -> CheckResult {
    let holds = !run.releases().await?.iter().any(|release| release == "3.0");
    not_applicable_if(holds, "the seller does not say that it speaks 3.0")?;
    let answer = ask(run, Caller::Anonymous, "3.0").await?;
    // A seller that refuses before it reads the request cannot know the release.
    not_applicable_if(
        answer.response.status == 401,
        "the seller refuses before it reads the request",
    )?;
    refused(&answer, &[AdcpCode::AuthRequired])
}

async fn send_credential(run: &mut ProbeRun, arguments: &str) -> Result<TaskAnswer, CheckVerdict> {
    let arguments: Value = tradepost_document::json::from_str(arguments).unwrap_or_default();
    run.tool("get_adcp_capabilities", arguments).await
}

async fn credential_refused(run: &mut ProbeRun, arguments: &str) -> CheckResult {
    let answer = send_credential(run, arguments).await?;
    refused(&answer, &[AdcpCode::CredentialInArgs])
}

async fn credential_refusal_is_terminal(run: &mut ProbeRun) -> CheckResult {
    let answer =
        send_credential(run, &json!({"ext": {"api_key": PLANTED_CREDENTIAL}}).to_string()).await?;
    terminal(&answer, AdcpCode::CredentialInArgs)
}

async fn credential_not_echoed(run: &mut ProbeRun) -> CheckResult {
    for place in ["ext", "context"] {
        let answer =
            send_credential(run, &json!({place: {"api_key": PLANTED_CREDENTIAL}}).to_string())
                .await?;
        let header =
            answer.response.headers.iter().any(|(_, value)| value.contains(PLANTED_CREDENTIAL));
        let holds = header || answer.response.text().contains(PLANTED_CREDENTIAL);
        fail_if(holds, format!("the answer repeats the credential of {place}"))?;
    }
    Ok(CheckVerdict::Pass)
}
