use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use tradepost_aap::Version;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::*;
use crate::record::{AppointmentRecord, AppointmentState, SubmissionRecord};
use crate::settings::{LeadPolicy, SearchPolicy};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn dealer() -> DealerSettings {
    DealerSettings {
        id: "larkspur".into(),
        name: "Larkspur & Sons".into(),
        welcome_message: None,
        versions: vec![Version::V1_1],
        skills: Vec::new(),
        rooftops: Vec::new(),
        search: SearchPolicy::default(),
        leads: LeadPolicy::default(),
        tombstone_lifetime: SignedDuration::ZERO,
        price_truth: crate::import::PricePolicy::Warn,
    }
}

fn record() -> LeadRecord {
    let received_at = at("2026-04-30T10:15:11Z");
    LeadRecord {
        lead_id: "lead_1".into(),
        dealer_id: "larkspur".into(),
        received_at,
        changed_at: received_at,
        state: LeadState::Received,
        held_for: None,
        person: "lead_1".into(),
        time_zone: Some("America/Los_Angeles".into()),
        appointment: None,
        submission: SubmissionRecord {
            received_at,
            version: Version::V1_1,
            principal: "anonymous".into(),
            address: None,
            payload: json!({
                "customer": {"first_name": "Ada", "last_name": "Byron",
                    "email": "ada@example.com", "phone": "+14155550123"},
                "consent": {"allowed_channels": ["email"], "consent_text": "E-mail me."},
                "source_agent": {"name": "Helper <!channel>", "url": "https://helper.example"},
                "message": "Still <there>?",
            }),
            unreadable: None,
            rooftop: Some("Larkspur & Sons *Fairview*".into()),
            listing: Some(json!({"vehicle_id": "fv-77", "year": 2023, "make": "Honda",
                "model": "CR-V", "vdp_url": "https://larkspur.example/fv-77?a=1&b=2"})),
            appointment: None,
        },
    }
}

fn appointment(kind: AppointmentType, state: AppointmentState) -> AppointmentRecord {
    let start = at("2026-05-03T18:00:00Z");
    let is_confirmed = state == AppointmentState::Confirmed;
    AppointmentRecord {
        appointment_id: "appt_1".into(),
        kind,
        state,
        requested_at: Some(start),
        starts_at: is_confirmed.then_some(start),
        ends_at: is_confirmed.then(|| at("2026-05-03T18:30:00Z")),
        proposed: Vec::new(),
        version: 1,
    }
}

fn event(kind: LeadEventKind, state: LeadState) -> LeadEvent {
    let at = at("2026-04-30T10:15:11Z");
    LeadEvent { seq: 1, at, kind, state, appointment: None, submission: 0 }
}

#[test]
fn who_is_told_of_what_as_the_lead_stands_now() {
    use LeadEventKind as Kind;
    use LeadState as State;
    // The event, the state of the lead after it, and who receives it for each current state:
    // received, held, revoked, erased.
    let all = DeliveryAudience::All;
    let informed = DeliveryAudience::Informed;
    let nobody = DeliveryAudience::Nobody;
    let rows = [
        (Kind::Received, State::Received, [all, nobody, nobody, nobody]),
        (Kind::Received, State::Held, [nobody, nobody, nobody, nobody]),
        (Kind::Resubmitted, State::Received, [all, nobody, nobody, nobody]),
        (Kind::Resubmitted, State::Held, [nobody, nobody, nobody, nobody]),
        (Kind::Released, State::Received, [all, nobody, nobody, nobody]),
        (Kind::ConsentRevoked, State::Revoked, [informed, nobody, informed, nobody]),
        (Kind::Erased, State::Erased, [nobody, nobody, nobody, nobody]),
        (Kind::AppointmentConfirmed, State::Received, [all, nobody, informed, nobody]),
        (Kind::AppointmentMoved, State::Received, [all, nobody, informed, nobody]),
        (Kind::AppointmentCancelled, State::Received, [all, nobody, informed, informed]),
        (Kind::AppointmentNoShow, State::Received, [all, nobody, informed, nobody]),
    ];
    let kinds: BTreeSet<_> = rows.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds.len(), Kind::ALL.len(), "every kind has a row");
    for (kind, then, expected) in rows {
        let audiences = State::ALL
            .iter()
            .map(|now| audience(&LeadRecord { state: *now, ..record() }, &event(kind, then)));
        assert_eq!(audiences.collect::<Vec<_>>(), expected, "{kind} {then}");
    }
}

#[test]
fn which_destination_gets_which_lead() {
    let plain = record();
    let with = |kind, payload: Value| {
        let mut lead = record();
        lead.appointment = Some(appointment(kind, AppointmentState::Requested));
        if let Some(members) = lead.submission.payload.as_object_mut() {
            members.extend(payload.as_object().unwrap().clone());
        }
        lead
    };
    let drive = with(AppointmentType::TestDrive, json!({}));
    let service = with(AppointmentType::Service, json!({}));
    let both = with(AppointmentType::Sales, json!({"trade_in": {"make": "Ford"}}));
    let fairview = "larkspur & sons *FAIRVIEW*";
    // Rooftops and kinds of a destination; true when it receives an inquiry, a test drive, a
    // service visit, and a visit with a trade-in.
    for (rooftops, kinds, expected) in [
        (&[][..], &[][..], [true, true, true, true]),
        (&[fairview], &[], [true, true, true, true]),
        (&["Larkspur Ridgemont"], &[], [false, false, false, false]),
        (&["Larkspur Ridgemont", fairview], &[], [true, true, true, true]),
        (&[], &[LeadKind::Inquiry], [true, false, false, false]),
        (&[], &[LeadKind::TestDrive, LeadKind::Sales], [false, true, false, true]),
        (&[], &[LeadKind::Service], [false, false, true, false]),
        (&[], &[LeadKind::TradeIn], [false, false, false, true]),
        (&["Larkspur Ridgemont"], &[LeadKind::Service], [false, false, false, false]),
    ] {
        let destination = LeadDestination {
            name: "crm".into(),
            rooftops: rooftops.iter().map(|name| (*name).to_owned()).collect(),
            kinds: kinds.to_vec(),
            form: MessageFormat::Event,
            handles_leads: false,
        };
        let got = [&plain, &drive, &service, &both].map(|lead| destination.wants(lead));
        assert_eq!(got, expected, "{rooftops:?} {kinds:?}");
    }
    assert_eq!(super::kinds(&both), [LeadKind::Sales, LeadKind::TradeIn]);
}

fn content<'a>(lead: &'a LeadRecord, event: &'a LeadEvent) -> DeliveryContent<'a> {
    let id = "lead_1-7";
    let same_person = &[][..];
    let now = at("2026-04-30T12:00:00Z");
    let attempt = 1;
    let is_resent = false;
    let is_test = false;
    DeliveryContent { lead, event, same_person, id, attempt, is_resent, is_test, now }
}

/// Contents of a written lead, by format.
fn check(form: MessageFormat, content: &DeliveryContent<'_>, expected: &Expect) {
    let dealer = dealer();
    let written = write(&form, content, &dealer);
    let body: Value = tradepost_document::json::from_str(&written.body).unwrap();
    expected.assert_eq(&format!("{}\n{body:#}\n", written.subject));
}

#[test]
fn a_lead_event_has_only_the_permitted_contact_values() {
    let mut lead = record();
    let event = event(LeadEventKind::Received, LeadState::Received);
    lead.appointment = Some(appointment(AppointmentType::TestDrive, AppointmentState::Confirmed));
    check(
        MessageFormat::Event,
        &content(&lead, &event),
        &expect![[r#"
            New lead: test drive, 2023 Honda CR-V, Larkspur & Sons *Fairview*
            {
              "type": "aap.event",
              "event_kind": "lead.status_changed",
              "entity_id": "lead_1",
              "status": "received",
              "occurred_at": "2026-04-30T10:15:11Z",
              "payload": {
                "delivery": {
                  "id": "lead_1-7",
                  "attempt": 1,
                  "resend": false
                },
                "lead": {
                  "lead_id": "lead_1",
                  "dealer_id": "larkspur",
                  "rooftop": "Larkspur & Sons *Fairview*",
                  "event": "received",
                  "state": "received",
                  "kinds": [
                    "test_drive"
                  ],
                  "received_at": "2026-04-30T10:15:11Z",
                  "changed_at": "2026-04-30T10:15:11Z",
                  "customer": {
                    "name": "Ada Byron",
                    "email": "ada@example.com"
                  },
                  "permitted": [
                    "email"
                  ],
                  "consent_text": "E-mail me.",
                  "vehicle_of_interest": {
                    "vehicle_id": "fv-77",
                    "year": 2023,
                    "make": "Honda",
                    "model": "CR-V"
                  },
                  "appointment": {
                    "appointment_id": "appt_1",
                    "type": "test_drive",
                    "status": "confirmed",
                    "requested_at": "2026-05-03T18:00:00Z",
                    "starts_at": "2026-05-03T18:00:00Z",
                    "ends_at": "2026-05-03T18:30:00Z"
                  },
                  "message": "Still <there>?",
                  "source_agent": {
                    "name": "Helper <!channel>",
                    "url": "https://helper.example"
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn what_an_event_says_has_changed() {
    use AppointmentState as State;
    use LeadEventKind as Kind;
    let lead = "lead.status_changed";
    let booking = "appointment.status_changed";
    for (kind, current, expected) in [
        (Kind::Received, None, [lead, "lead_1", "received"]),
        (Kind::Received, Some(State::Confirmed), [lead, "lead_1", "received"]),
        (Kind::Released, Some(State::Requested), [lead, "lead_1", "received"]),
        (Kind::Resubmitted, None, [lead, "lead_1", "duplicate"]),
        (Kind::Resubmitted, Some(State::Requested), [booking, "appt_1", "requested"]),
        (Kind::Resubmitted, Some(State::Proposed), [booking, "appt_1", "proposed"]),
        (Kind::Resubmitted, Some(State::Confirmed), [booking, "appt_1", "confirmed"]),
        (Kind::Resubmitted, Some(State::Rejected), [booking, "appt_1", "rejected"]),
        (Kind::Resubmitted, Some(State::Superseded), [booking, "appt_1", "rejected"]),
        (Kind::ConsentRevoked, None, [lead, "lead_1", "lost"]),
        (Kind::AppointmentConfirmed, Some(State::Confirmed), [booking, "appt_1", "confirmed"]),
        (Kind::AppointmentMoved, Some(State::Confirmed), [booking, "appt_1", "confirmed"]),
        (Kind::AppointmentCancelled, Some(State::Cancelled), [booking, "appt_1", "rejected"]),
        (Kind::AppointmentNoShow, Some(State::NoShow), [booking, "appt_1", "no_show"]),
    ] {
        let state = match kind {
            Kind::ConsentRevoked => LeadState::Revoked,
            Kind::Received
            | Kind::Resubmitted
            | Kind::Released
            | Kind::Erased
            | Kind::AppointmentConfirmed
            | Kind::AppointmentMoved
            | Kind::AppointmentCancelled
            | Kind::AppointmentNoShow => LeadState::Received,
        };
        let current = current.map(|state| appointment(AppointmentType::Sales, state));
        let changed = LeadEvent { appointment: current.clone(), ..event(kind, state) };
        let record = LeadRecord { appointment: current, state, ..record() };
        let written = event::write(&content(&record, &changed));
        let members = ["event_kind", "entity_id", "status"].map(|name| &written[name]);
        assert_eq!(members, expected.map(|text| json!(text)).each_ref(), "{kind}");
        let reachable = written.pointer("/payload/lead/customer/email").is_some();
        assert_eq!(reachable, kind != Kind::ConsentRevoked, "{kind}");
    }
}

#[test]
fn a_chat_sentence_names_the_customer_only_when_wanted() {
    let mut lead = record();
    let event = event(LeadEventKind::Received, LeadState::Received);
    lead.appointment = Some(appointment(AppointmentType::TestDrive, AppointmentState::Confirmed));
    let form = |style, contact| MessageFormat::Chat { style, contact };
    check(
        form(ChatStyle::Slack, false),
        &content(&lead, &event),
        &expect![[r#"
        New lead: test drive, 2023 Honda CR-V, Larkspur & Sons *Fairview*
        {
          "text": "New lead: test drive, 2023 Honda CR-V, Larkspur &amp; Sons *Fairview*; appointment confirmed for May 3, 11:00 AM PDT.\nLead: lead_1\nVehicle: <https://larkspur.example/fv-77?a=1&amp;b=2>\nPermitted: email"
        }
    "#]],
    );
    check(
        form(ChatStyle::Slack, true),
        &content(&lead, &event),
        &expect![[r#"
        New lead: test drive, 2023 Honda CR-V, Larkspur & Sons *Fairview*
        {
          "text": "New lead: test drive, 2023 Honda CR-V, Larkspur &amp; Sons *Fairview*; appointment confirmed for May 3, 11:00 AM PDT.\nLead: lead_1\nVehicle: <https://larkspur.example/fv-77?a=1&amp;b=2>\nPermitted: email\nName: Ada Byron\nE-mail: ada@example.com"
        }
    "#]],
    );
    check(
        form(ChatStyle::Teams, false),
        &content(&lead, &event),
        &expect![[r#"
        New lead: test drive, 2023 Honda CR-V, Larkspur & Sons *Fairview*
        {
          "type": "message",
          "attachments": [
            {
              "contentType": "application/vnd.microsoft.card.adaptive",
              "contentUrl": null,
              "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": [
                  {
                    "type": "TextBlock",
                    "text": "New lead: test drive, 2023 Honda CR-V, Larkspur & Sons \\*Fairview\\*; appointment confirmed for May 3, 11:00 AM PDT.",
                    "wrap": true,
                    "weight": "Bolder"
                  },
                  {
                    "type": "FactSet",
                    "facts": [
                      {
                        "title": "Lead",
                        "value": "lead\\_1"
                      },
                      {
                        "title": "Vehicle",
                        "value": "[https://larkspur.example/fv-77?a=1&b=2](https://larkspur.example/fv-77?a=1&b=2)"
                      },
                      {
                        "title": "Permitted",
                        "value": "email"
                      }
                    ]
                  }
                ]
              }
            }
          ]
        }
    "#]],
    );
    for (style, wanted) in
        [(ChatStyle::Slack, false), (ChatStyle::Teams, false), (ChatStyle::Teams, true)]
    {
        let body = write(&form(style, wanted), &content(&lead, &event), &dealer());
        assert_eq!(body.body.contains("Byron"), wanted, "{style}");
        assert_eq!(body.body.contains("ada@example.com"), wanted, "{style}");
        assert!(!body.body.contains("0123"), "{style}: the number may not be called");
    }
}

#[test]
fn headlines_say_what_is_new_and_whose() {
    let plain = record();
    let received = event(LeadEventKind::Received, LeadState::Received);
    let revoked = LeadRecord { state: LeadState::Revoked, ..record() };
    let mut written = record();
    written.submission.listing = None;
    if let Some(members) = written.submission.payload.as_object_mut() {
        members.insert("vehicle_of_interest".into(), json!({"make": "Ada's own words"}));
    }
    let rooftop = "Larkspur & Sons *Fairview*";
    for (lead, is_resent, is_test, expected) in [
        (&plain, false, false, "New lead: inquiry, 2023 Honda CR-V"),
        (&plain, true, false, "Lead, sent again: inquiry, 2023 Honda CR-V"),
        (&plain, false, true, "TEST, this is no lead: inquiry, 2023 Honda CR-V"),
        (&revoked, true, false, "Do not contact, consent withdrawn: inquiry, 2023 Honda CR-V"),
        (&written, false, false, "New lead: inquiry"),
    ] {
        let content = DeliveryContent { is_resent, is_test, ..content(lead, &received) };
        assert_eq!(headline(&content), format!("{expected}, {rooftop}"));
    }
    let resubmitted = event(LeadEventKind::Resubmitted, LeadState::Received);
    let content = DeliveryContent { is_resent: true, ..content(&plain, &resubmitted) };
    assert_eq!(headline(&content), format!("Changed lead: inquiry, 2023 Honda CR-V, {rooftop}"));
}

#[test]
fn a_lead_of_the_operators_own_is_marked_as_a_test() {
    let received = event(LeadEventKind::Received, LeadState::Received);
    let mut own = record();
    own.submission.payload = sample::self_test("me@example.com", "k-1", at("2026-05-01T10:00:00Z"));
    let written = write(&MessageFormat::Event, &content(&own, &received), &dealer());
    assert!(written.subject.starts_with("TEST, this is no lead: "), "{}", written.subject);
    assert!(written.body.contains("\"test\":true"), "{}", written.body);
    let written = write(&MessageFormat::Event, &content(&record(), &received), &dealer());
    assert!(!written.body.contains("\"test\""), "{}", written.body);
}

#[test]
fn a_consent_that_has_ended_before_sending_permits_nothing() {
    let received = event(LeadEventKind::Received, LeadState::Received);
    let day = Some(SignedDuration::from_hours(24));
    // End of the consent, the dealer's default lifetime, and true when the customer may be written
    // to two days after the grant.
    for (expires_at, lifetime, permitted) in [
        (None, None, true),
        (None, day, false),
        (Some("2026-05-02T10:00:01Z"), None, true),
        (Some("2026-05-02T10:00:00Z"), None, false),
        (Some("2026-06-01T00:00:00Z"), day, true),
    ] {
        let mut lead = record();
        if let Some(consent) = lead.submission.payload["consent"].as_object_mut() {
            consent.insert("granted_at".into(), json!("2026-04-30T10:00:00Z"));
            consent.extend(expires_at.map(|end| ("expires_at".to_owned(), json!(end))));
        }
        let leads = LeadPolicy { consent_lifetime: lifetime, ..LeadPolicy::default() };
        let dealer = DealerSettings { leads, ..dealer() };
        let content =
            DeliveryContent { now: at("2026-05-02T10:00:00Z"), ..content(&lead, &received) };
        let adf = MessageFormat::Adf(adf::AdfOptions::default());
        for form in [
            adf,
            MessageFormat::Event,
            MessageFormat::Chat { style: ChatStyle::Teams, contact: true },
        ] {
            let body = write(&form, &content, &dealer).body;
            assert_eq!(body.contains("ada@example.com"), permitted, "{expires_at:?} {form:?}");
        }
    }
}
