use jiff::SignedDuration;
use tradepost_aap::error::AapCode;
use tradepost_aap::lead::AppointmentType;
use tradepost_aap::{self as aap, DealerTerms};

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn agent() -> SourceAgent {
    let url = Some("https://shop.example".to_owned());
    SourceAgent { name: "shop".to_owned(), url, agent_card_url: None }
}

fn lead(channels: &[Channel]) -> Lead {
    let consent = LeadConsent::new(at("2026-05-01T10:00:00Z"), "You may.", channels.to_vec());
    Lead::new("k-1", agent(), consent, at("2026-05-01T10:00:05Z"))
}

fn check(lead: &Lead, version: Version) -> Result<aap::AapRequest, aap::AapRefusal> {
    let terms = DealerTerms {
        now: lead.submitted_at(),
        clock_skew: SignedDuration::ZERO,
        consent_lifetime: None,
    };
    aap::parse(Skill::LeadSubmit, version, &lead.payload(version), &terms)
}

#[test]
fn a_contact_is_taken_only_when_its_channel_was_granted() {
    use Channel::{Email, Phone, Sms};
    // granted, e-mail, phone, and the preferences email, phone, sms, any
    type Row = (&'static [Channel], bool, bool, [bool; 4]);
    let table: &[Row] = &[
        (&[], false, false, [false, false, false, true]),
        (&[Email], true, false, [true, false, false, true]),
        (&[Phone], false, true, [false, true, false, true]),
        (&[Sms], false, true, [false, false, true, true]),
        (&[Email, Sms], true, true, [true, false, true, true]),
        (&[Email, Phone, Sms, Email], true, true, [true, true, true, true]),
    ];
    for (granted, email, phone, preferences) in table {
        assert_eq!(lead(granted).email("a@b.example").is_ok(), *email, "{granted:?}");
        assert_eq!(lead(granted).phone("+14155550100").is_ok(), *phone, "{granted:?}");
        for (preferred, expected) in PreferredContact::ALL.iter().zip(preferences) {
            let taken = lead(granted).prefers(*preferred).is_ok();
            assert_eq!(taken, *expected, "{granted:?} {preferred:?}");
        }
    }
    let refused = lead(&[Email]).phone("+14155550100").unwrap_err();
    let text = "the customer granted email, which does not cover phone or sms; ask first";
    assert_eq!(refused.to_string(), text);
    assert_eq!(refused.granted, [Email]);
}

#[test]
fn a_dealer_takes_a_whole_lead_in_both_versions() {
    let lead = lead(&[Channel::Email, Channel::Phone])
        .name("Ada", "Lovelace")
        .email("ada@example.com")
        .and_then(|lead| lead.phone("+14155550100"))
        .and_then(|lead| lead.prefers(PreferredContact::Phone))
        .unwrap()
        .address(Address { city: Some("Oakland".into()), ..Address::default() })
        .about(json!({"vin": "1HGCY2F57RA000001", "x-own": 1.50}))
        .trade_in(json!({"year": 2020, "make": "VW", "model": "Golf"}))
        .appointment(AppointmentRequest {
            kind: AppointmentType::TestDrive,
            at: Some(at("2026-05-03T18:00:00Z")),
            duration_minutes: Some(30),
            notes: None,
        })
        .message("Hello");
    for version in [Version::V1_0, Version::V1_1] {
        let aap::AapRequest::LeadSubmit(read) = check(&lead, version).unwrap() else { panic!() };
        assert_eq!(read.idempotency_key.as_deref(), Some("k-1"));
        assert_eq!(read.usable_channels(), [Channel::Email, Channel::Phone]);
    }
    expect_test::expect![[r#"{"type":"lead.submit.request","customer":{"first_name":"Ada","last_name":"Lovelace","email":"ada@example.com","phone":"+14155550100","preferred_contact":"phone","address":{"city":"Oakland"}},"consent":{"granted_at":"2026-05-01T10:00:00Z","allowed_channels":["email","phone"],"consent_text":"You may.","scope":["lead_submission"]},"vehicle_of_interest":{"vin":"1HGCY2F57RA000001","x-own":1.5},"trade_in":{"year":2020,"make":"VW","model":"Golf"},"appointment":{"appointment_type":"test_drive","appointment_at":"2026-05-03T18:00:00Z","duration_minutes":30},"message":"Hello","source_agent":{"name":"shop","url":"https://shop.example"},"submitted_at":"2026-05-01T10:00:05Z","idempotency_key":"k-1"}"#]]
    .assert_eq(&lead.payload(Version::V1_1).to_string());
    let shown = format!("{lead:?}");
    assert!(!shown.contains("Ada") && !shown.contains("4155550100"), "{shown}");
}

#[test]
fn what_is_missing_is_found_before_a_dealer_says_so() {
    let code = |lead: &Lead| check(lead, Version::V1_1).unwrap_err().code;
    let whole = lead(&[Channel::Email]).email("a@b.example").unwrap();
    check(&whole, Version::V1_1).unwrap();
    assert_eq!(code(&lead(&[Channel::Email])), AapCode::MissingRequiredField);
    let nothing_granted = Lead {
        consent: LeadConsent { channels: vec![], ..whole.consent.clone() },
        ..whole.clone()
    };
    assert_eq!(code(&nothing_granted), AapCode::InvalidConsent);
    let over = whole.consent.clone().until(at("2026-05-01T10:00:01Z"));
    assert_eq!(code(&Lead { consent: over, ..whole }), AapCode::InvalidConsent);
}
