//! An answer of a seller by every transport: it is a failure or none, what is kept of it is
//! bounded, and there is advice that can be said and never comes earlier than told.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tradepost_client::adcp::{AccountAuthorization, Idempotency};
use tradepost_client::failure::{CallFailure, MAX_KEPT};
use tradepost_client::outcome::{PayloadOutcome, PlanDecision};
use tradepost_client::recovery::{FailedAttempt, RecoveryAdvice, RetryBudget, advise};
use tradepost_client::response::{RawResponse, Via, read};

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (attempt, status, body) = input;
    let status = [0, 200, 204, 302, 401, 429, 503, status][usize::from(attempt >> 5)];
    for via in [
        Via::JsonRpc { id: "i" },
        Via::HttpJson,
        Via::Grpc { code: i32::from(status % 18), message: "m" },
        Via::McpTool,
        Via::Task,
        Via::Text,
    ] {
        let raw = RawResponse {
            via,
            status,
            content_type: None,
            retry_after: None,
            challenges: &[],
            body,
        };
        let Some(failure) = read(&raw) else { continue };
        assert!(!failure.to_string().is_empty());
        let told = match &failure {
            CallFailure::Refused(refused) => {
                assert!(refused.kept.body.len() <= MAX_KEPT);
                refused.retry_after
            }
            CallFailure::Garbled(garbled) => {
                assert!(garbled.kept.body.len() <= MAX_KEPT);
                None
            }
            CallFailure::Unsent(_) | CallFailure::Unanswered(_) => unreachable!("something came"),
        };
        let attempt = FailedAttempt {
            had_credentials: attempt & 1 != 0,
            has_supply: attempt & 2 != 0,
            had_context: attempt & 4 != 0,
            seller: Some("seller.example".to_owned()),
            ..FailedAttempt::default()
        };
        let time = Duration::from_secs(300);
        let advice = advise(&attempt, &failure, &RetryBudget { attempts: 3, time, tokens: 3 });
        assert!(!advice.to_string().is_empty());
        if let RecoveryAdvice::Retry(retry) = advice {
            assert!(retry.wait.at_least >= told.unwrap_or_default());
            assert!(retry.wait.at_most <= time);
        }
    }
    if let Ok(payload) = tradepost_document::json::from_slice(body) {
        assert!(!Idempotency::read(&payload).permits(Duration::MAX));
        let _ =
            AccountAuthorization::read(&payload).map(|authorization| authorization.permits("x"));
        let outcome = PayloadOutcome::read(&payload);
        assert!(outcome.rows.iter().all(|row| !row.errors.is_empty()));
        let _ = PlanDecision::read(&payload).map(|governance| governance.next());
    }
});
