//! Consent. These leads contain personal data, so they are sent only when leads are allowed.
// Covers R-LD-02 to R-LD-08.

use tradepost_aap::error::AapCode::{
    self, ContactConsentRequired as NO_CONSENT, InvalidConsent as BAD_CONSENT,
    SchemaValidationFailed as SCHEMA,
};
use tradepost_document::json::{Value, json};

use super::lead::changed;
use crate::check::{Check, CheckResult, checks};
use crate::run::ProbeRun;
use crate::shape::set;

const WHY: &str = "Who contacts somebody without consent breaks the law, and the buyer's word.";
const FIX: &str = "check the whole grant before the lead is stored";

/// Codes for malformed consents. The pages of the specification disagree, so each is accepted.
// The contradictions are C-02 to C-05 of aap.md.
const MALFORMED: &[AapCode] = &[BAD_CONSENT, SCHEMA, NO_CONSENT];

pub(super) const CHECKS: &[Check] = checks![
    "aap.consent.missing", Version, Must, ["R-LD-02", "E-066"], "AAP behavior rules",
    "A lead without consent is CONTACT_CONSENT_REQUIRED", WHY, FIX => refused(&[("/consent", "")], &[NO_CONSENT]);
    "aap.consent.null", Version, Must, ["R-LD-02", "E-067"], "AAP consent-grant schema",
    "A consent that is null is refused", WHY, FIX => refused(&[("/consent", "null")], MALFORMED);
    "aap.consent.text-only", Version, Must, ["R-LD-02", "E-067"], "AAP consent-grant schema",
    "A consent that is only text is refused", WHY, FIX => refused(&[("/consent", "\"yes\"")], MALFORMED);
    "aap.consent.scope", Version, Must, ["R-LD-05", "E-068"], "AAP behavior rules",
    "A consent of another scope is refused", WHY, FIX => refused(&[("/consent/scope", r#"["marketing"]"#)], &[BAD_CONSENT, NO_CONSENT]);
    "aap.consent.scope-empty", Version, Must, ["R-LD-05", "E-068"], "AAP consent-grant schema",
    "A consent without a scope is refused", WHY, FIX => refused(&[("/consent/scope", "[]")], MALFORMED);
    "aap.consent.scope-two", Version, Must, ["R-LD-05", "E-068"], "AAP consent-grant schema",
    "A consent with a second scope is refused", WHY, FIX => refused(&[("/consent/scope", r#"["lead_submission", "marketing"]"#)], MALFORMED);
    "aap.consent.channels-empty", Version, Must, ["R-LD-03", "E-069"], "AAP consent-grant schema",
    "A consent without a channel is refused", WHY, FIX => refused(&[("/consent/allowed_channels", "[]")], MALFORMED);
    "aap.consent.channel-unknown", Version, Must, ["R-LD-03", "E-069"], "AAP consent-grant schema",
    "A channel that does not exist is refused", WHY, FIX => refused(&[("/consent/allowed_channels", r#"["fax"]"#)], MALFORMED);
    "aap.consent.text-empty", Version, Must, ["R-LD-04", "E-070"], "AAP errors, INVALID_CONSENT",
    "A consent with an empty text is refused", WHY, FIX => refused(&[("/consent/consent_text", "\"\"")], MALFORMED);
    "aap.consent.no-offset", Version, Must, ["R-LD-08", "E-071"], "AAP consent-grant schema",
    "A consent dated without an offset is refused", WHY, FIX => refused(&[("/consent/granted_at", "\"2026-01-01T10:00:00\"")], MALFORMED);
    "aap.consent.future", Version, Must, ["E-071"], "AAP errors, INVALID_CONSENT",
    "A consent of the future is refused", WHY, FIX => refused(&[("/consent/granted_at", "\"2999-01-01T10:00:00Z\"")], &[BAD_CONSENT]);
    "aap.consent.expired", Version, Must, ["R-LD-06", "E-072"], "AAP behavior rules",
    "A consent that has expired is refused", WHY, FIX => expired();
    "aap.consent.extra", Version, Must, ["E-073"], "AAP consent-grant schema",
    "A member of consent that does not exist is refused", WHY, FIX => refused(&[("/consent/tradepost_probe", "true")], MALFORMED);
    "aap.consent.channel", Version, Must, ["R-LD-03", "E-082"], "AAP behavior rules",
    "A wish for a channel that is not allowed is refused", WHY, FIX => refused(&[("/customer/preferred_contact", "\"sms\""), ("/customer/phone", "\"+14155550123\"")], &[NO_CONSENT, BAD_CONSENT]);
    "aap.consent.channel-useless", Version, Must, ["R-LD-03", "E-083"], "AAP behavior rules",
    "A consent to a channel for which there is no address is refused", WHY, FIX => refused(&[("/consent/allowed_channels", r#"["sms"]"#)], &[NO_CONSENT, BAD_CONSENT]);
];

async fn refused(run: &mut ProbeRun, changes: &[(&str, &str)], codes: &[AapCode]) -> CheckResult {
    run.may_send_leads()?;
    let lead = changed(run.valid_lead(), changes);
    run.send_payload(&lead).await?.refused(codes)
}

async fn expired(run: &mut ProbeRun) -> CheckResult {
    run.may_send_leads()?;
    let mut lead = run.valid_lead();
    let ago = |hours| {
        Value::String((run.options.now - jiff::SignedDuration::from_hours(hours)).to_string())
    };
    set(&mut lead, "/consent/granted_at", json!(ago(48)));
    set(&mut lead, "/consent/expires_at", json!(ago(24)));
    run.send_payload(&lead).await?.refused(&[BAD_CONSENT, NO_CONSENT])
}
