//! A body from the network, through every step that comes before the dealer's own data: envelope,
//! the parameters of every operation, payload in both versions, and the answer where it is refused.

#![no_main]

use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;
use tradepost_a2a as a2a;
use tradepost_a2a::jsonrpc;
use tradepost_aap::{self as aap, DealerTerms, Skill, Version};
use tradepost_document::catalog::Vocabulary;

fuzz_target!(|body: &[u8]| {
    let Ok(request) = jsonrpc::read(body) else {
        return;
    };
    // The same parameters for every operation: none may panic, and what is refused says why.
    for operation in a2a::Operation::ALL.iter().copied() {
        if let Err(refusal) = a2a::request::read(operation, request.params.as_ref()) {
            assert!(refusal.has_details());
            tradepost_document::json::to_string(&refusal).expect("a refusal serialises");
        }
    }
    let send = match a2a::send_message(request.params.as_ref()) {
        Ok(send) => send,
        Err(refusal) => {
            tradepost_document::json::to_string(&refusal).expect("a refusal serialises");
            return;
        }
    };
    let terms = DealerTerms {
        // 2026-05-01T12:00:00Z
        now: Timestamp::from_second(1_777_636_800).expect("a moment of this century"),
        clock_skew: SignedDuration::from_mins(5),
        consent_lifetime: Some(SignedDuration::from_hours(24 * 365)),
    };
    for part in &send.message.parts {
        let a2a::Content::Data(data) = &part.content else {
            continue;
        };
        let Ok(skill) = aap::identify(data, Skill::ALL) else {
            continue;
        };
        for version in Version::ALL.iter().copied() {
            match aap::parse(skill, version, data, &terms) {
                Ok(aap::AapRequest::LeadSubmit(lead)) => {
                    assert!(!lead.usable_channels().is_empty(), "the channel rule holds");
                    assert!(!lead.canonical_payload().is_empty());
                }
                Ok(call) => assert_eq!(call.skill(), skill),
                Err(refusal) => {
                    let object = refusal.stamp(version, "e".into(), terms.now);
                    tradepost_document::json::to_string(&object)
                        .expect("an error object serialises");
                }
            }
        }
    }
});
