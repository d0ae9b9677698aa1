//! Leads that a dealer must refuse (R-LD). Leads without a customer are always sent; those with one only when leads
//! are allowed.

use tradepost_aap::Skill;
use tradepost_aap::Version;
use tradepost_aap::error::AapCode::{
    self, ContactConsentRequired as NO_CONSENT, InvalidCondition as CONDITION,
    InvalidConsent as BAD_CONSENT, MissingRequiredField as MISSING,
    SchemaValidationFailed as SCHEMA, VehicleNotFound as NOT_FOUND,
};
use tradepost_document::json::{Value, json};

use super::ask::DealerAnswer;
use super::input::check_refusal;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, not_applicable_if, not_looked_at_if, pass_if, skip,
    verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, change, set};

const WHY: &str = "A lead with a mistake in it is a customer whom nobody calls back.";
const FIX: &str = "validate against the skill's schema, and name the place in details.errors";

pub(super) const CHECKS: &[Check] = checks![
    "aap.lead.empty", Version, Must, ["R-LD-01", "R-LD-02", "E-065"], "AAP behavior rules",
    "A lead with nothing in it is CONTACT_CONSENT_REQUIRED", "The consent is what makes a lead lawful; its absence comes first.",
    "check the consent before everything else" => empty();
    "aap.lead.nobody", Version, Must, ["R-LD-01", "E-074"], "AAP lead-submit schema",
    "A lead without a customer is refused", WHY, FIX => refused_without_customer(&[("/vehicle_of_interest", r#"{"make": "Honda"}"#)], "/customer");
    "aap.lead.extra-member", Version, Must, ["E-096"], "AAP lead-submit schema",
    "A member that the schema does not have is listed", WHY, FIX => refused_without_customer(&[("/tradepost_probe", "true")], "/tradepost_probe");
    "aap.lead.source-agent", Version, Must, ["R-LD-11", "E-084", "E-085"], "AAP lead-submit schema",
    "A source agent of the wrong type is listed", "The dealer has to know who brought the lead.", FIX => refused_without_customer(&[("/source_agent", "5")], "/source_agent");
    "aap.lead.appointment-type", Version, Must, ["E-093"], "AAP lead-submit schema",
    "A kind of appointment that does not exist is listed", WHY, FIX => refused_without_customer(&[("/appointment", r#"{"appointment_type": "visit"}"#)], "/appointment/appointment_type");
    "aap.lead.appointment-time", Version, Must, ["E-094", "R-LD-08"], "AAP lead-submit schema",
    "A time without an offset is listed", "Nobody knows when that is.", FIX => refused_without_customer(&[("/appointment", r#"{"appointment_type": "sales", "appointment_at": "2030-05-03T11:00:00"}"#)], "/appointment/appointment_at");
    "aap.lead.appointment-length", Version, Must, ["E-095", "R-LD-30"], "AAP lead-submit schema",
    "An appointment of 10 minutes is listed", WHY, FIX => refused_without_customer(&[("/appointment", r#"{"appointment_type": "sales", "duration_minutes": 10}"#)], "/appointment/duration_minutes");
    "aap.lead.message-length", Version, Must, ["E-095", "R-LD-30"], "AAP lead-submit schema",
    "A message of more than 4,000 characters is listed", WHY, FIX => long_message();
    "aap.lead.key-length", Version, Must, ["E-095"], "AAP lead-submit schema",
    "An empty idempotency key is listed", "It would join all leads that have none.", FIX => refused_without_customer(&[("/idempotency_key", "\"\"")], "/idempotency_key");
    "aap.lead.vehicle-form", Version, Must, ["E-092"], "AAP lead-submit schema",
    "A year that is text, in the vehicle of interest, is listed", WHY, FIX => refused_without_customer(&[("/vehicle_of_interest", r#"{"year": "2022"}"#)], "/vehicle_of_interest/year");
    "aap.lead.condition-word", Version, Must, ["R-LD-10", "E-089"], "AAP lead-submit schema",
    "A condition of neither vocabulary is listed", WHY, FIX => refused_without_customer(&[("/vehicle_of_interest", r#"{"condition": "mint"}"#)], "/vehicle_of_interest/condition");
    "aap.lead.all-listed", Version, Must, ["R-ER-02", "E-091"], "AAP errors, details.errors",
    "Every problem of a lead is listed at once", "A buyer asks its user again for each mistake that it hears of.",
    "collect every problem before answering" => all_listed();
    "aap.lead.no-echo", Version, Must, ["R-ER-03", "R-ER-10"], "AAP errors",
    "A refusal does not repeat what was sent about a person", "Errors are logged and shown in places where personal data must not be.",
    "name the place and the rule, never the value" => no_echo();
    "aap.lead.condition-sale", Version, Must, ["R-LD-10", "E-087"], "AAP errors, INVALID_CONDITION",
    "A trade-in condition on the vehicle of interest is refused", WHY,
    "answer INVALID_CONDITION" => refused_with_customer(&[("/vehicle_of_interest", r#"{"condition": "good"}"#)], &[CONDITION, SCHEMA], "/vehicle_of_interest/condition");
    "aap.lead.condition-trade", Version, Must, ["R-LD-10", "E-088"], "AAP errors, INVALID_CONDITION",
    "A sale condition on the trade-in is refused", WHY,
    "answer INVALID_CONDITION" => refused_with_customer(&[("/trade_in", r#"{"condition": "used"}"#)], &[CONDITION, SCHEMA], "/trade_in/condition");
    "aap.lead.names", Version, Must, ["R-LD-09", "E-076"], "AAP customer schema",
    "A customer without a last name is refused", WHY, FIX => refused_with_customer(&[("/customer/last_name", "")], &[MISSING, SCHEMA], "/customer/last_name");
    "aap.lead.contact", Version, Must, ["R-LD-09", "E-077"], "AAP customer schema",
    "A customer with neither e-mail nor telephone is refused", WHY, FIX => refused_with_customer(&[("/customer/email", "")], &[MISSING, SCHEMA, NO_CONSENT], "/customer/email");
    "aap.lead.email", Version, Must, ["E-078"], "AAP customer schema",
    "An e-mail address that is none is refused", WHY, FIX => refused_with_customer(&[("/customer/email", "\"nobody at nowhere\"")], &[SCHEMA], "/customer/email");
    "aap.lead.phone", Version, Must, ["R-LD-09", "E-079"], "AAP customer schema",
    "A telephone number that is not E.164 is refused", WHY, FIX => refused_with_customer(&[("/customer/phone", "\"(415) 555-0123\"")], &[SCHEMA], "/customer/phone");
    "aap.lead.preferred-contact", Version, Must, ["E-080"], "AAP customer schema",
    "A way of contact that does not exist is refused", WHY, FIX => refused_with_customer(&[("/customer/preferred_contact", "\"fax\"")], &[SCHEMA], "/customer/preferred_contact");
    "aap.lead.address", Version, Must, ["E-081"], "AAP customer schema",
    "A member of an address that does not exist is refused", WHY, FIX => refused_with_customer(&[("/customer/address", r#"{"street": "1 Main"}"#)], &[SCHEMA], "/customer/address/street");
    "aap.lead.no-source-agent", Version, Must, ["R-LD-11", "E-084"], "AAP lead-submit schema",
    "A lead without a source agent is refused", "The dealer has to know who brought the lead.", FIX => refused_with_customer(&[("/source_agent", "")], &[MISSING, SCHEMA], "/source_agent");
    "aap.lead.test-drive-unknown", Version, Should, ["R-LD-27", "E-098"], "AAP lead-submit",
    "A test drive with a car that the dealer never had is VEHICLE_NOT_FOUND", "Somebody would come for nothing.",
    "look the vehicle up before booking" => test_drive();
    "aap.lead.test-drive-without", Version, May, ["R-LD-25", "E-097"], "AAP lead-submit",
    "A test drive without a vehicle is refused", "The dealer cannot prepare a car.",
    "answer MISSING_REQUIRED_FIELD" => refused_with_customer(&[("/appointment", r#"{"appointment_type": "test_drive"}"#)], &[MISSING, SCHEMA], "");
];

impl ProbeRun {
    /// Returns a lead that a dealer would accept.
    pub(super) fn valid_lead(&mut self) -> Value {
        let granted = self.options.now - jiff::SignedDuration::from_mins(1);
        let mut lead = json!({
            "type": Skill::LeadSubmit.request_type(),
            "customer": {
                "first_name": "Tradepost", "last_name": "Probe",
                "email": format!("{}@tradepost-probe.example", self.unique_id("probe")),
            },
            "consent": {
                "granted_at": granted.to_string(), "allowed_channels": ["email"],
                "consent_text": "Automated conformance test. There is nobody to contact.",
                "scope": ["lead_submission"],
            },
            "message": "Automated conformance test by tradepost probe. Please ignore it.",
        });
        match self.version {
            Version::V1_0 => {
                set(&mut lead, "/source_agent", json!("tradepost-probe"));
                set(&mut lead, "/consent/source_agent", json!("tradepost-probe"));
            }
            Version::V1_1 => set(&mut lead, "/source_agent", json!({"name": "tradepost-probe"})),
        }
        lead
    }

    /// Checks that leads with a customer may be sent.
    pub(super) fn may_send_leads(&self) -> Result<(), CheckVerdict> {
        self.offers(Skill::LeadSubmit)?;
        if self.options.allow_leads {
            return Ok(());
        }
        skip("leads were not allowed; allow them with --allow-leads")
    }
}

/// Returns a lead with members replaced, or removed when their text is empty.
pub(super) fn changed(mut lead: Value, changes: &[(&str, &str)]) -> Value {
    for (pointer, text) in changes {
        change(&mut lead, pointer, text);
    }
    lead
}

async fn empty(run: &mut ProbeRun) -> CheckResult {
    run.skill(Skill::LeadSubmit, "{}").await?.refused(&[NO_CONSENT])
}

/// Sends a lead without a customer, so that no person could be contacted even if the dealer accepts it.
async fn send_without_customer(
    run: &mut ProbeRun,
    changes: &[(&str, &str)],
) -> Result<DealerAnswer, CheckVerdict> {
    run.offers(Skill::LeadSubmit)?;
    let lead = changed(run.valid_lead(), changes);
    run.send_payload(&changed(lead, &[("/customer", "")])).await
}

async fn refused_without_customer(
    run: &mut ProbeRun,
    changes: &[(&str, &str)],
    pointer: &str,
) -> CheckResult {
    let answered = send_without_customer(run, changes).await?;
    // A consent without a customer may be refused as well.
    check_refusal(run.version, &answered, &[SCHEMA, MISSING, BAD_CONSENT, NO_CONSENT], pointer)
}

async fn long_message(run: &mut ProbeRun) -> CheckResult {
    let text = format!("\"{}\"", "x".repeat(4001));
    refused_without_customer(run, &[("/message", &text)], "/message").await
}

async fn all_listed(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(run.version == Version::V1_0, "v1.0 lists one problem (its error schema)")?;
    let answered = send_without_customer(
        run,
        &[
            ("/source_agent", "{}"),
            ("/trade_in", r#"{"condition": "mint"}"#),
            ("/appointment", r#"{"appointment_type": "visit", "duration_minutes": 10}"#),
            ("/tradepost_probe", "true"),
        ],
    )
    .await?;
    let holds = answered.refusal.is_none();
    not_looked_at_if(holds, format!("there is no refusal to look at: {}", answered.describe()))?;
    let mut wrong = ShapeProblems::default();
    for pointer in [
        "/customer",
        "/source_agent/name",
        "/trade_in/condition",
        "/appointment/appointment_type",
        "/appointment/duration_minutes",
        "/tradepost_probe",
    ] {
        wrong.unless(answered.lists(pointer), format!("{pointer} is not listed"));
    }
    verdict_of(&wrong.0)
}

async fn no_echo(run: &mut ProbeRun) -> CheckResult {
    run.offers(Skill::LeadSubmit)?;
    // Neither value can be used to contact a person, and both are invalid.
    let email = "not-an-address-7f3a";
    let phone = "not-a-number-7f3a";
    let customer = json!({"email": email, "phone": phone});
    let lead = changed(run.valid_lead(), &[("/customer", &customer.to_string())]);
    let answered = run.send_payload(&lead).await?;
    let answer = answered.reply.response.text();
    let shown: Vec<_> = [email, phone].into_iter().filter(|mark| answer.contains(mark)).collect();
    pass_if(shown.is_empty(), format!("it repeats {shown:?}"))
}

async fn refused_with_customer(
    run: &mut ProbeRun,
    changes: &[(&str, &str)],
    codes: &[AapCode],
    pointer: &str,
) -> CheckResult {
    run.may_send_leads()?;
    let lead = changed(run.valid_lead(), changes);
    let answered = run.send_payload(&lead).await?;
    check_refusal(run.version, &answered, codes, pointer)
}

async fn test_drive(run: &mut ProbeRun) -> CheckResult {
    run.may_send_leads()?;
    let changes = [
        ("/appointment", r#"{"appointment_type": "test_drive"}"#),
        ("/vehicle_of_interest", r#"{"vin": "1M8GDM9AXKP042788"}"#),
    ];
    let lead = changed(run.valid_lead(), &changes);
    run.send_payload(&lead).await?.refused(&[NOT_FOUND])
}
