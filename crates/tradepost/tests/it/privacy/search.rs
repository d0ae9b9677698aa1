//! Searching leads in the console: the same is found in SQLite and in PostgreSQL, with encrypted personal
//! data and without.

use tradepost_dealer::staff::LeadNote;
use tradepost_store::staff::{HistoryLimits, LeadFilter, LeadHistories, SEARCHED_LEADS};

use super::*;
use crate::support::postgres::Scratch;

/// A lead of the table of searches.
struct SearchedLead {
    name: &'static str,
    payload: Value,
    note: Option<&'static str>,
}

fn searched_lead(
    name: &'static str,
    first: &str,
    last: &str,
    phone: &str,
    more: &[(&str, Value)],
) -> SearchedLead {
    let changes = [
        ("/customer/first_name", json!(first)),
        ("/customer/last_name", json!(last)),
        ("/customer/email", json!(format!("{name}@buyer.example"))),
        ("/customer/phone", json!(phone)),
        ("/consent/consent_text", json!("Larkspur may answer my question.")),
    ];
    SearchedLead { name, payload: with(with(lead(), &changes), more), note: None }
}

fn searched_leads() -> Vec<SearchedLead> {
    let vehicle = |vehicle: Value| [("/vehicle_of_interest", vehicle)];
    let camry = json!({"year": 2021, "make": "Toyota", "model": "Camry"});
    let civic = json!({"year": 2019, "make": "Honda", "model": "Civic"});
    let crv = json!({"year": 2020, "make": "Honda", "model": "CR-V", "stock": "ZZ-9917"});
    let mut leads = vec![
        searched_lead("zoe", "Zoë", "Çelik-Müller", "+19165550101", &vehicle(camry)),
        searched_lead("bob", "Bob", "O’Brien", "+14155550123", &vehicle(crv)),
        searched_lead(
            "soren",
            "Søren",
            "Strauß",
            "+4917122233344",
            &[("/trade_in", civic), ("/message", json!("Is it still there? 100% sure."))],
        ),
        searched_lead(
            "listed",
            "Дарья",
            "Иванова",
            "+14155559999",
            &vehicle(json!({"vin": LISTED_VIN})),
        ),
    ];
    leads[1].note = Some("Comes on FRIDAY with his café partner.");
    leads
}

/// What somebody types, and the leads that it finds.
const SEARCHES: &[(&str, &[&str])] = &[
    ("Zoë Çelik-Müller", &["zoe"]),
    ("zoe celik", &["zoe"]),
    ("ZOË", &["zoe"]),
    ("ZOE MULLER", &["zoe"]),
    ("Muller, Zoe", &["zoe"]),
    ("Zoe\u{308}", &["zoe"]),
    ("bob obrien", &["bob"]),
    ("O'BRIEN", &["bob"]),
    ("bob zoe", &[]),
    ("soren strauss", &["soren"]),
    ("STRAUß", &["soren"]),
    ("дарья", &["listed"]),
    ("ИВАНОВА ДАРЬЯ", &["listed"]),
    ("(916) 555-01", &["zoe"]),
    ("916.555.0101", &["zoe"]),
    ("+1 (916) 555-0101", &["zoe"]),
    ("5550101", &["zoe"]),
    ("0101", &["zoe"]),
    ("555", &["zoe", "bob", "listed"]),
    ("0171 222 33344", &["soren"]),
    ("0049 171 22233344", &["soren"]),
    ("toyota camry", &["zoe"]),
    ("2021 toyota", &["zoe"]),
    ("honda", &["bob", "soren", "listed"]),
    ("honda civic 2019", &["soren"]),
    ("crv", &["bob", "listed"]),
    ("CR-V", &["bob", "listed"]),
    ("zz9917", &["bob"]),
    ("ZZ-9917", &["bob"]),
    ("DT-2611", &["listed"]),
    ("1HGCV1F30LA0", &[]),
    ("friday", &["bob"]),
    ("bob cafe", &["bob"]),
    ("zoe@buyer", &["zoe"]),
    ("still there", &["soren"]),
    ("100%", &["soren"]),
    ("_", &[]),
    ("%", &[]),
    ("larkspur may answer", &[]),
    ("lead.submit", &[]),
    ("nobody", &[]),
];

fn check_searches(server: &TestServer) {
    let leads = searched_leads();
    let ids: Vec<String> = leads.iter().map(|lead| send(server, &lead.payload)).collect();
    for (lead, id) in leads.iter().zip(&ids) {
        let Some(text) = lead.note else { continue };
        let text = Some(text.to_owned());
        let note = LeadNote { at: at(NOW), author: "dora".to_owned(), text };
        add_note(server, id, note);
    }
    let filter = LeadFilter { limit: 50, oldest_first: true, ..LeadFilter::default() };
    let found = |filter: &LeadFilter<'_>, text: &str| -> Vec<&str> {
        let found = server.store.find_leads(filter, text).unwrap();
        assert!(!found.is_cut, "there are fewer than {SEARCHED_LEADS}");
        let name = |id: &String| {
            let place = ids.iter().position(|other| other == id).unwrap();
            leads[place].name
        };
        found.leads.iter().map(|one| name(&one.lead.lead_id)).collect()
    };
    let mut failures = Vec::new();
    for (text, expected) in SEARCHES {
        let found = found(&filter, text);
        if found != *expected {
            failures.push(format!("{text} finds {found:?} and not {expected:?}"));
        }
    }
    assert_eq!(failures, [""; 0]);
    assert_eq!(found(&filter, &ids[2]), ["soren"], "a lead id");
    let first = LeadFilter { limit: 1, ..filter };
    let first = server.store.find_leads(&first, "555").unwrap().leads;
    let page = LeadFilter { limit: 1, after: Some(first[0].cursor()), ..filter };
    assert_eq!(found(&page, "555"), ["bob"]);
    let latest = LeadFilter { limit: 2, oldest_first: false, ..filter };
    assert_eq!(found(&latest, "555"), ["listed", "bob"]);
    let exported = |returned, searched| {
        let limits = HistoryLimits { returned, searched };
        server.store.lead_histories(&filter, Some("555"), limits).unwrap()
    };
    assert!(matches!(exported(3, 4), LeadHistories::All(leads) if leads.len() == 3));
    assert!(matches!(exported(2, 4), LeadHistories::TooMany));
    assert!(matches!(exported(3, 3), LeadHistories::NotAllSearched));
    let others = LeadFilter { dealer_id: Some("nobody"), ..filter };
    assert_eq!(found(&others, "555"), [""; 0]);
}

fn search_on(store: Store, key: &str) {
    if !key.is_empty() {
        assert!(store.unlock(&keys(key), true, at(NOW)).unwrap());
    }
    let config = dealer::config();
    dealer::stock(&store, &config);
    check_searches(&start_on(store, config));
}

#[test]
fn leads_are_found_alike_with_and_without_a_key() {
    for key in ["", FIRST] {
        let folder = tempfile::tempdir().unwrap();
        search_on(Store::open(folder.path()).unwrap(), key);
    }
}

#[test]
fn leads_are_found_alike_on_postgresql() {
    for key in ["", FIRST] {
        let Some(scratch) = Scratch::new() else { return };
        search_on(scratch.store(), key);
    }
}
