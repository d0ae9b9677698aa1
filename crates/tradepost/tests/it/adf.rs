//! ADF documents: valid against the published DTD, with nothing dropped and nothing invented.

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use proptest::prelude::*;
use tradepost_aap::Version;
use tradepost_aap::lead::AppointmentType;
use tradepost_dealer::adf::{
    self, AdfOptions, ContactValues, LeadNetwork, LeadProvider, NameForm, NoVehicle, Prolog,
    Prospect, Timeframe,
};
use tradepost_dealer::record::{
    AppointmentRecord, AppointmentState, LeadRecord, LeadState, SubmissionRecord,
};
use tradepost_dealer::settings::DealerSettings;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::read;

use crate::beside::{published, without};

fn lead(payload: Value) -> LeadRecord {
    let received_at = "2026-04-30T10:15:11Z".parse().unwrap();
    LeadRecord {
        lead_id: "lead-1".into(),
        dealer_id: "larkspur".into(),
        received_at,
        changed_at: received_at,
        state: LeadState::Received,
        held_for: None,
        person: "lead-1".into(),
        time_zone: Some("America/Los_Angeles".into()),
        appointment: None,
        submission: SubmissionRecord {
            received_at,
            version: Version::V1_1,
            principal: "anonymous".into(),
            address: Some("192.0.2.1".into()),
            payload,
            unreadable: None,
            rooftop: Some("Larkspur Motors Fairview".into()),
            listing: None,
            appointment: None,
        },
    }
}

/// A document of leads; those that have changed are sent again.
fn write(leads: &[LeadRecord], dealers: &[DealerSettings], options: &AdfOptions) -> Option<String> {
    let prospect = |lead| -> Prospect<'_> {
        let lead: &LeadRecord = lead;
        Prospect { lead, is_resent: lead.changed_at > lead.received_at, same_person: &[] }
    };
    adf::write(&leads.iter().map(prospect).collect::<Vec<_>>(), dealers, options)
}

/// Gives a lead an appointment, of its latest submission.
fn book(lead: &mut LeadRecord, appointment: AppointmentRecord) {
    lead.submission.appointment = Some(appointment.clone());
    lead.appointment = Some(appointment);
}

fn minimal() -> Value {
    json!({
        "type": "lead.submit.request",
        "customer": {"first_name": "Ada", "last_name": "Byron", "email": "ada@example.com"},
        "consent": {
            "granted_at": "2026-04-30T03:14:00-07:00",
            "allowed_channels": ["email"],
            "consent_text": "You may e-mail me about this car.",
            "scope": ["lead_submission"],
        },
        "source_agent": {"name": "Helper"},
    })
}

fn with(mut payload: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        payload.as_object_mut().unwrap().insert(name.clone(), value.clone());
    }
    payload
}

fn full() -> LeadRecord {
    let payload = with(
        minimal(),
        json!({
            "customer": {
                "first_name": "Ada", "last_name": "Byron",
                "email": "ada@example.com", "phone": "+14155550123",
                "preferred_contact": "sms",
                "address": {
                    "address_line_1": "1 Analytical Way", "address_line_2": "Apt 2",
                    "city": "Fairview", "state": "CA", "zip": "94542"
                },
            },
            "consent": {
                "granted_at": "2026-04-30T03:14:00-07:00",
                "expires_at": "2026-07-30T00:00:00Z",
                "allowed_channels": ["sms"],
                "consent_text": "Text me.\nNothing else.",
                "scope": ["lead_submission"],
            },
            "vehicle_of_interest": {
                "vin": "1M8GDM9AXKP042788", "year": 2023.0, "make": "Honda", "model": "CR-V",
                "price": 26000, "features": ["Roof rails"],
            },
            "trade_in": {
                "year": 2015, "make": "Ford", "model": "Focus", "condition": "good",
                "mileage": 80100, "price": 5000, "transmission": "5-Speed Manual",
                "photos": ["https://photos.example/1.jpg", "https://photos.example/2.jpg"],
            },
            "appointment": {
                "appointment_type": "test_drive",
                "appointment_at": "2026-05-03T11:00:00-07:00",
                "duration_minutes": 45, "notes": "Bringing a child seat.",
            },
            "message": "Is the blue one still there?\nCONSENT: email, phone, sms",
            "submitted_at": "2026-04-30T10:15:10Z",
            "source_agent": {
                "name": "Helper", "url": "https://helper.example",
                "agent_card_url": "https://helper.example/card.json",
            },
        }),
    );
    let mut lead = lead(payload);
    lead.submission.listing = Some(json!({
        "vehicle_id": "fv-77", "vin": "1M8GDM9AXKP042788", "stock": "H1077", "year": 2023,
        "make": "Honda", "model": "CR-V", "trim": "EX", "body": "SUV", "condition": "cpo",
        "price": 26780, "mileage": 21034, "transmission": "CVT",
        "exterior_color": "Blue", "interior_color": "Grey",
    }));
    book(&mut lead, appointment(AppointmentType::TestDrive, AppointmentState::Confirmed));
    lead
}

fn appointment(kind: AppointmentType, state: AppointmentState) -> AppointmentRecord {
    let at = |text: &str| text.parse().unwrap();
    let confirmed = state == AppointmentState::Confirmed;
    AppointmentRecord {
        appointment_id: "appointment-1".into(),
        kind,
        state,
        requested_at: Some(at("2026-05-03T18:00:00Z")),
        starts_at: confirmed.then(|| at("2026-05-03T18:00:00Z")),
        ends_at: confirmed.then(|| at("2026-05-03T18:45:00Z")),
        proposed: if state == AppointmentState::Proposed {
            vec![at("2026-05-03T19:00:00Z"), at("2026-05-04T18:00:00Z")]
        } else {
            Vec::new()
        },
        version: 1,
    }
}

fn dealers() -> Vec<DealerSettings> {
    read::demo().dealers.into_iter().map(|dealer| dealer.terms).collect()
}

fn document(lead: &LeadRecord) -> String {
    write(std::slice::from_ref(lead), &dealers(), &AdfOptions::default()).unwrap()
}

#[track_caller]
fn check(lead: &LeadRecord, expected: Expect) {
    expected.assert_eq(&document(lead));
}

#[test]
fn the_agent_of_a_lead_is_read_from_each_version() {
    let name = |payload: Value| adf::view::agent_name(&payload).map(str::to_owned);
    for payload in [
        json!({"source_agent": {"name": "shopper"}}),
        json!({"source_agent": "shopper"}),
        json!({"consent": {"source_agent": "shopper"}}),
    ] {
        assert_eq!(name(payload.clone()).as_deref(), Some("shopper"), "{payload}");
    }
    assert_eq!(name(json!({"source_agent": {"url": "https://shopper.example"}})), None);
}

#[test]
fn moments_are_the_same_second_as_in_the_other_formats() {
    let received_at = "2026-04-30T10:15:11.9Z".parse().unwrap();
    let record = LeadRecord { received_at, ..lead(minimal()) };
    let document = write(&[record], &dealers(), &AdfOptions::default()).unwrap();
    assert_eq!(tradepost_document::format::rfc3339(received_at), "2026-04-30T10:15:11Z");
    assert!(document.contains("<requestdate>2026-04-30T03:15:11-07:00<"), "{document}");
}

#[test]
fn a_minimal_lead_becomes_a_whole_prospect() {
    check(
        &lead(minimal()),
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <?adf version="1.0"?>
        <adf>
          <prospect status="new">
            <id sequence="1" source="Larkspur Motors Fairview">lead-1</id>
            <requestdate>2026-04-30T03:15:11-07:00</requestdate>
            <vehicle interest="buy" status="new">
              <year>Unknown</year>
              <make>Unknown</make>
              <model>Unknown</model>
              <comments>VEHICLE: the lead names no vehicle of interest</comments>
            </vehicle>
            <customer>
              <contact>
                <name part="full" type="individual">Ada Byron</name>
                <email preferredcontact="0">ada@example.com</email>
              </contact>
              <comments>CONSENT: email only
        CONSENT TEXT: You may e-mail me about this car.
        CONSENT GRANTED: 2026-04-30T03:14:00-07:00
        SOURCE AGENT: Helper</comments>
            </customer>
            <vendor>
              <id sequence="1" source="Tradepost">larkspur</id>
              <vendorname>Larkspur Motors Fairview</vendorname>
              <url>https://fairview.larkspur-motors.example</url>
              <contact>
                <name part="full" type="business">Larkspur Motors Fairview</name>
                <email>sales@fairview.larkspur-motors.example</email>
                <phone type="voice">+15105550110</phone>
                <address type="work">
                  <street line="1">2100 Fairview Auto Row</street>
                  <city>Fairview</city>
                  <regioncode>CA</regioncode>
                  <postalcode>94542</postalcode>
                  <country>US</country>
                </address>
              </contact>
            </vendor>
            <provider>
              <name part="full" type="business">Helper</name>
            </provider>
          </prospect>
        </adf>
    "#]],
    );
}

#[test]
fn a_full_lead_drops_only_contact_values_without_consent() {
    let document = document(&full());
    assert!(!document.contains("ada@example.com"), "e-mail is not permitted");
    check(
        &full(),
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <?adf version="1.0"?>
        <adf>
          <prospect status="new">
            <id sequence="1" source="Larkspur Motors Fairview">lead-1</id>
            <requestdate>2026-04-30T03:15:10-07:00</requestdate>
            <vehicle interest="test-drive" status="used">
              <id sequence="1" source="Larkspur Motors Fairview">fv-77</id>
              <year>2023</year>
              <make>Honda</make>
              <model>CR-V</model>
              <vin>1M8GDM9AXKP042788</vin>
              <stock>H1077</stock>
              <trim>EX</trim>
              <bodystyle>SUV</bodystyle>
              <transmission>A</transmission>
              <odometer status="unknown" units="mi">21034</odometer>
              <colorcombination>
                <interiorcolor>Grey</interiorcolor>
                <exteriorcolor>Blue</exteriorcolor>
                <preference>1</preference>
              </colorcombination>
              <price type="quote" currency="USD">26780</price>
              <option>
                <optionname>Roof rails</optionname>
              </option>
              <comments>CONDITION: certified pre-owned
        AS SENT, PRICE: 26000
        TRANSMISSION: CVT</comments>
            </vehicle>
            <vehicle interest="trade-in" status="used">
              <year>2015</year>
              <make>Ford</make>
              <model>Focus</model>
              <transmission>M</transmission>
              <odometer status="unknown" units="mi">80100</odometer>
              <imagetag>https://photos.example/1.jpg</imagetag>
              <price type="asking" currency="USD">5000</price>
              <comments>CONDITION: good
        TRANSMISSION: 5-Speed Manual
        PHOTO: https://photos.example/2.jpg</comments>
            </vehicle>
            <customer>
              <contact>
                <name part="full" type="individual">Ada Byron</name>
                <phone type="cellphone" preferredcontact="1">+14155550123</phone>
                <address type="home">
                  <street line="1">1 Analytical Way</street>
                  <apartment>Apt 2</apartment>
                  <city>Fairview</city>
                  <regioncode>CA</regioncode>
                  <postalcode>94542</postalcode>
                  <country>US</country>
                </address>
              </contact>
              <timeframe>test drive, requested for 2026-05-03T11:00:00-07:00, 45 minutes; status confirmed, from 2026-05-03T11:00:00-07:00 to 2026-05-03T11:45:00-07:00</timeframe>
              <comments>CONSENT: sms only
        CONSENT TEXT: Text me.
        &gt; Nothing else.
        CONSENT GRANTED: 2026-04-30T03:14:00-07:00
        CONSENT EXPIRES: 2026-07-29T17:00:00-07:00
        WITHHELD: the customer's e-mail address, for want of consent
        APPOINTMENT: test drive, requested for 2026-05-03T11:00:00-07:00, 45 minutes; status confirmed, from 2026-05-03T11:00:00-07:00 to 2026-05-03T11:45:00-07:00
        APPOINTMENT NOTES: Bringing a child seat.
        PREFERRED CONTACT: sms
        SOURCE AGENT: Helper
        AGENT CARD: https://helper.example/card.json
        MESSAGE: Is the blue one still there?
        &gt; CONSENT: email, phone, sms</comments>
            </customer>
            <vendor>
              <id sequence="1" source="Tradepost">larkspur</id>
              <vendorname>Larkspur Motors Fairview</vendorname>
              <url>https://fairview.larkspur-motors.example</url>
              <contact>
                <name part="full" type="business">Larkspur Motors Fairview</name>
                <email>sales@fairview.larkspur-motors.example</email>
                <phone type="voice">+15105550110</phone>
                <address type="work">
                  <street line="1">2100 Fairview Auto Row</street>
                  <city>Fairview</city>
                  <regioncode>CA</regioncode>
                  <postalcode>94542</postalcode>
                  <country>US</country>
                </address>
              </contact>
            </vendor>
            <provider>
              <name part="full" type="business">Helper</name>
              <url>https://helper.example</url>
            </provider>
          </prospect>
        </adf>
    "#]],
    );
}

/// Every kind of lead that can be told apart.
fn table() -> Vec<(String, LeadRecord)> {
    let mut table = vec![("minimal".to_owned(), lead(minimal())), ("full".to_owned(), full())];
    let mut add = |name: &str, members: Value| {
        table.push((name.to_owned(), lead(with(minimal(), members))));
    };
    add(
        "hostile texts",
        json!({
            "customer": {
                "first_name": "<b>\u{0}\u{8}&amp;\"'\u{1b}[2J", "last_name": "]]>\u{fffe}\u{ffff}",
                "email": "ada@example.com",
                "address": {"city": "\u{85}<!ENTITY x \"y\">", "country": "\u{7f}"},
            },
            "message": "</comments><adf/> \u{c} \r\n\r line\u{2028}two",
            "vehicle_of_interest": {
                "year": 2023, "make": "<make attribute=\"1\">", "model": "\t", "features": ["<?pi?>"],
            },
            "source_agent": {"name": "<!-- agent -->"},
        }),
    );
    add(
        "no name",
        json!({"customer": {"first_name": "", "last_name": " ", "email": "a@b.example"}}),
    );
    add(
        "phone only",
        json!({
            "customer": {"first_name": "A", "last_name": "B", "phone": "+14155550123"},
            "consent": {"allowed_channels": ["phone", "sms"], "consent_text": "ok",
                "granted_at": "2026-04-30T10:14:00Z", "scope": ["lead_submission"]},
        }),
    );
    add("an empty vehicle", json!({"vehicle_of_interest": {}}));
    add(
        "a trade-in and no vehicle",
        json!({"trade_in": {"make": "Ford", "exterior_color": "Red"}}),
    );
    add("only an inside colour", json!({"vehicle_of_interest": {"interior_color": "Grey"}}));
    add("a vehicle id only", json!({"vehicle_of_interest": {"vehicle_id": "fv-77"}}));
    add("a record that is no lead", json!({"customer": 7, "consent": [], "trade_in": "no"}));
    for kind in AppointmentType::ALL.iter().copied() {
        for state in AppointmentState::ALL.iter().copied() {
            let request = json!({"appointment": {"appointment_type": kind}});
            let mut lead = lead(with(minimal(), request));
            book(&mut lead, appointment(kind, state));
            table.push((format!("{kind} {state}"), lead));
        }
    }
    let mut old = lead(with(minimal(), json!({"source_agent": "Helper of v1.0"})));
    old.submission.version = Version::V1_0;
    old.submission.payload["consent"]["source_agent"] = "Helper of v1.0".into();
    table.push(("v1.0".to_owned(), old));
    let mut elsewhere = lead(minimal());
    elsewhere.dealer_id = "unconfigured & unknown".into();
    table.push(("an unknown dealer".to_owned(), elsewhere));
    let mut nowhere = lead(minimal());
    nowhere.submission.rooftop = None;
    nowhere.changed_at += SignedDuration::from_secs(1);
    table.push(("no rooftop, again".to_owned(), nowhere));
    table
}

/// The repaired DTD of the requirements, beside the repository; and the validator.
pub fn validator() -> Option<PathBuf> {
    let dtd = published("data/adf-1.0-wellformed.dtd")?;
    if Command::new("xmllint").arg("--version").output().is_err() {
        without("xmllint (Debian: libxml2-utils)");
        return None;
    }
    Some(dtd)
}

/// What xmllint has against a document; empty when it is valid.
pub fn complaints(document: &str, dtd: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("document.xml");
    std::fs::write(&file, document).unwrap();
    let run = Command::new("xmllint")
        .args(["--noout", "--nonet", "--dtdvalid"])
        .args([dtd, &file])
        .output()
        .unwrap();
    if run.status.success() {
        return String::new();
    }
    format!("{}: {}", run.status, String::from_utf8_lossy(&run.stderr))
}

#[test]
fn every_lead_is_valid_against_the_dtd() {
    let Some(dtd) = validator() else { return };
    for names in [NameForm::Full, NameForm::Parts] {
        for contacts in [ContactValues::Consented, ContactValues::All] {
            let options = AdfOptions { names, contacts, ..AdfOptions::default() };
            for (name, lead) in table() {
                let document = write(&[lead], &dealers(), &options).unwrap();
                assert_eq!(complaints(&document, &dtd), "", "{name}: {document}");
            }
        }
    }
    let all: Vec<_> = table().into_iter().map(|(_, lead)| lead).collect();
    let document = write(&all, &[], &AdfOptions::default()).unwrap();
    assert_eq!(complaints(&document, &dtd), "", "all in one, without a configuration");
    assert_eq!(document.matches("<prospect ").count(), all.len());
}

#[test]
fn the_validator_would_notice() {
    let Some(dtd) = validator() else { return };
    let document = document(&lead(minimal()));
    for (sound, broken) in [
        ("<prospect status=\"new\">", "<prospect status=\"old\">"),
        ("<year>Unknown</year>\n", ""),
        ("</vendor>", ""),
    ] {
        assert!(document.contains(sound));
        assert_ne!(complaints(&document.replace(sound, broken), &dtd), "", "{broken}");
    }
}

#[test]
fn options_change_what_they_say() {
    let with_options =
        |options: AdfOptions| write(&[lead(minimal())], &dealers(), &options).unwrap();
    let plain = with_options(AdfOptions::default());
    assert!(
        plain.starts_with(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?adf version=\"1.0\"?>\n<adf>"
        )
    );

    let legacy = with_options(AdfOptions { prolog: Prolog::Legacy, ..AdfOptions::default() });
    assert!(legacy.starts_with("<?ADF VERSION \"1.0\"?>\n<?XML VERSION \"1.0\"?>\n<adf>"));
    assert_eq!(legacy.split_once("<adf>").unwrap().1, plain.split_once("<adf>").unwrap().1);

    let parts = with_options(AdfOptions { names: NameForm::Parts, ..AdfOptions::default() });
    assert!(parts.contains("<name part=\"first\" type=\"individual\">Ada</name>"));
    assert!(parts.contains("<name part=\"last\" type=\"individual\">Byron</name>"));

    let empty = with_options(AdfOptions { no_vehicle: NoVehicle::Empty, ..AdfOptions::default() });
    assert!(empty.contains("<vehicle interest=\"buy\" status=\"new\"/>"));
    let omit = with_options(AdfOptions { no_vehicle: NoVehicle::Omit, ..AdfOptions::default() });
    assert!(!omit.contains("<vehicle"));

    let dated = AdfOptions { timeframe: Timeframe::Dates, ..AdfOptions::default() };
    let dated = write(&[full()], &dealers(), &dated).unwrap();
    let dates = "<earliestdate>2026-05-03T11:00:00-07:00</earliestdate>\n        \
                 <latestdate>2026-05-03T11:45:00-07:00</latestdate>";
    assert!(dated.contains(dates) && dated.contains("<description>test drive, "), "{dated}");

    assert_eq!(write(&[], &dealers(), &AdfOptions::default()), None);
}

/// Every way to write a document, and what is against it: the prolog, the vehicle or the timeframe.
fn every_option() -> Vec<(AdfOptions, [bool; 3])> {
    let network = |url: Option<&str>| {
        LeadProvider::Network(LeadNetwork {
            name: "Acme & Leads".into(),
            url: url.map(str::to_owned),
        })
    };
    let providers = [LeadProvider::Direct, network(None), network(Some("https://leads.example"))];
    let mut all = Vec::new();
    for prolog in [Prolog::Xml, Prolog::Legacy] {
        for names in [NameForm::Full, NameForm::Parts] {
            for no_vehicle in [NoVehicle::Unknown, NoVehicle::Empty, NoVehicle::Omit] {
                for timeframe in [Timeframe::Text, Timeframe::Dates] {
                    for provider in &providers {
                        let against = [
                            prolog == Prolog::Legacy,
                            no_vehicle != NoVehicle::Unknown,
                            timeframe == Timeframe::Dates,
                        ];
                        let options = AdfOptions {
                            prolog,
                            names,
                            no_vehicle,
                            timeframe,
                            provider: provider.clone(),
                            ..AdfOptions::default()
                        };
                        all.push((options, against));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_combination_of_options_is_as_valid_as_it_says() {
    let Some(dtd) = validator() else { return };
    let mut met = [0; 2];
    for (options, [prolog, vehicle, timeframe]) in every_option() {
        for (name, lead) in [("minimal", lead(minimal())), ("full", full())] {
            // What the lead has is written in the same way, whatever stands for what it has not.
            let against = prolog || vehicle && name == "minimal" || timeframe && name == "full";
            let document = write(&[lead], &dealers(), &options).unwrap();
            let complaints = complaints(&document, &dtd);
            assert_eq!(complaints.is_empty(), !against, "{name} {options:?}: {complaints}");
            met[usize::from(against)] += 1;
        }
    }
    // Of 72 ways for two leads: 18 that suit the one that names a vehicle, and 12 the other.
    assert_eq!(met, [18 + 12, 114]);
}

#[test]
fn the_provider_is_the_agent_or_its_network() {
    let network = |url: Option<&str>| {
        LeadProvider::Network(LeadNetwork {
            name: "Acme & Leads".into(),
            url: url.map(str::to_owned),
        })
    };
    let agent = "Helper";
    let page = "https://helper.example";
    let own = "https://leads.example";
    let mut nameless = minimal();
    nameless["source_agent"] = json!({"name": " "});
    let nameless = lead(nameless);
    // The option, the lead, and name, service and url of the provider; and whether the agent's page
    // stands in the comments instead.
    let no = None;
    let brand = Some("Acme &amp; Leads");
    for (provider, lead, expected, in_comments) in [
        (LeadProvider::Direct, full(), [Some(agent), no, Some(page)], false),
        (LeadProvider::Direct, lead(minimal()), [Some(agent), no, no], false),
        (LeadProvider::Direct, nameless.clone(), [no, no, no], false),
        (network(None), full(), [brand, Some(agent), Some(page)], false),
        (network(None), lead(minimal()), [brand, Some(agent), no], false),
        (network(Some(own)), full(), [brand, Some(agent), Some(own)], true),
        (network(Some(own)), lead(minimal()), [brand, Some(agent), Some(own)], false),
        (network(Some(own)), nameless, [brand, no, Some(own)], false),
    ] {
        let options = AdfOptions { provider, ..AdfOptions::default() };
        let document = write(&[lead], &dealers(), &options).unwrap();
        let part = document.split_once("<provider>").map_or("", |(_, rest)| rest);
        let said = ["name", "service", "url"].map(|element| {
            let (_, rest) = part.split_once(&format!("<{element}"))?;
            rest.split_once('>')?.1.split_once('<').map(|(text, _)| text)
        });
        assert_eq!(said, expected, "{options:?}");
        assert_eq!(document.contains(&format!("AGENT PAGE: {page}")), in_comments, "{document}");
        // Whoever brings it is told in any case.
        let said = document.contains(&format!("SOURCE AGENT: {agent}"));
        assert_eq!(said, expected.contains(&Some(agent)), "{document}");
    }
}

#[test]
fn contact_values_without_consent_are_withheld_unless_asked_for() {
    let payload = with(
        minimal(),
        json!({"customer": {"first_name": "A", "last_name": "B",
            "email": "ada@example.com", "phone": "+14155550123"}}),
    );
    let lead = [lead(payload)];
    let consented = write(&lead, &dealers(), &AdfOptions::default()).unwrap();
    assert!(consented.contains("ada@example.com") && !consented.contains("+14155550123"));
    assert!(consented.contains("CONSENT: email only"));
    assert!(consented.contains("WITHHELD: the customer's telephone number"));
    let options = AdfOptions { contacts: ContactValues::All, ..AdfOptions::default() };
    let all = write(&lead, &dealers(), &options).unwrap();
    assert!(all.contains("ada@example.com") && all.contains("+14155550123"));
    assert!(all.contains("DO NOT USE: the customer's telephone number"));
}

#[test]
fn a_lead_without_a_usable_contact_invents_none() {
    let mut without_channel = lead(minimal());
    without_channel.submission.payload["consent"]["allowed_channels"] = json!([]);
    let document = document(&without_channel);
    assert!(!document.contains("ada@example.com"));
    assert!(document.contains("<phone>unknown</phone>"));
    assert!(document.contains("CONSENT: none on record; do not contact"));
}

#[test]
fn a_customers_text_cannot_pose_as_a_line_of_ours() {
    let document = document(&full());
    let lines: Vec<_> = document.lines().filter(|line| line.contains("CONSENT: ")).collect();
    assert_eq!(lines.len(), 2, "{document}");
    assert!(lines[0].ends_with("<comments>CONSENT: sms only"), "{}", lines[0]);
    assert!(lines[1].starts_with("&gt; CONSENT: email, phone, sms"), "{}", lines[1]);
}

#[test]
fn other_wishes_and_possible_persons_stand_in_the_comments() {
    let mut lead = full();
    let other = appointment(AppointmentType::TestDrive, AppointmentState::Proposed);
    let other = AppointmentRecord { appointment_id: "appointment-2".into(), ..other };
    lead.submission.appointment = Some(other);
    let same_person = ["lead-7".to_owned(), "lead-8".to_owned()];
    let sent = Prospect { lead: &lead, is_resent: true, same_person: &same_person };
    let document = adf::write(&[sent], &dealers(), &AdfOptions::default()).unwrap();
    for line in [
        "<prospect status=\"resend\">",
        "APPOINTMENT: test drive, requested for 2026-05-03T11:00:00-07:00; status confirmed, from \
         2026-05-03T11:00:00-07:00 to 2026-05-03T11:45:00-07:00\n",
        "ALSO ASKED FOR: test drive, requested for 2026-05-03T11:00:00-07:00; status proposed, \
         proposed 2026-05-03T12:00:00-07:00, 2026-05-04T11:00:00-07:00\n",
        "PROBABLY THE SAME PERSON AS IN: lead-7, lead-8<",
    ] {
        assert!(document.contains(line), "{line}: {document}");
    }
}

#[test]
fn an_appointment_stands_in_the_timeframe_and_in_the_comments() {
    let document = document(&full());
    let said = "test drive, requested for 2026-05-03T11:00:00-07:00, 45 minutes; status confirmed, \
                from 2026-05-03T11:00:00-07:00 to 2026-05-03T11:45:00-07:00";
    assert!(document.contains(&format!("<timeframe>{said}</timeframe>")), "{document}");
    assert!(document.contains(&format!("\nAPPOINTMENT: {said}\n")), "{document}");
    assert!(document.contains("interest=\"test-drive\""));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_anywhere_stays_well_formed(
        texts in proptest::collection::vec(any::<String>(), 8),
        channel in prop_oneof![Just("email"), Just("phone"), Just("sms")],
    ) {
        let mut record = lead(json!({
            "customer": {
                "first_name": texts[0], "last_name": texts[1], "email": texts[2],
                "phone": texts[2], "preferred_contact": texts[3],
                "address": {"address_line_1": texts[3], "state": texts[4]},
            },
            "consent": {"allowed_channels": [channel, texts[5]], "consent_text": texts[4]},
            "vehicle_of_interest": {"make": texts[5], "notes": texts[6], "photos": [texts[0]]},
            "appointment": {"appointment_type": texts[6], "notes": texts[7]},
            "message": texts[7],
            "source_agent": {"name": texts[1], "url": texts[2]},
        }));
        record.lead_id.clone_from(&texts[3]);
        record.dealer_id.clone_from(&texts[4]);
        let document = write(&[record], &dealers(), &AdfOptions::default()).unwrap();
        let mut reader = quick_xml::Reader::from_str(&document);
        reader.config_mut().check_end_names = true;
        let mut depth = 0_i32;
        let mut prospects = 0;
        loop {
            match reader.read_event() {
                Ok(quick_xml::events::Event::Start(start)) => {
                    depth += 1;
                    prospects += i32::from(start.name().as_ref() == "prospect");
                }
                Ok(quick_xml::events::Event::End(_)) => depth -= 1,
                Ok(quick_xml::events::Event::Eof) => break,
                Ok(_) => {}
                Err(error) => prop_assert!(false, "{error}: {document}"),
            }
        }
        prop_assert_eq!((depth, prospects), (0, 1));
        let forbidden = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}');
        prop_assert!(!document.contains(forbidden));
    }
}
