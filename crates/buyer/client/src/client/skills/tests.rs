use tradepost_aap::Version;
use tradepost_aap::inventory::{SortField, SortOrder};
use tradepost_aap::lead::{Channel, SourceAgent};
use tradepost_aap::vehicle::{ListingStatus, VehicleCondition};
use tradepost_document::catalog::WireName;

use super::*;
use crate::client::tests::{client as with_two_skills, result};
use crate::client::uncorrected;
use crate::fake::{CannedReply, Fake, Virtual};
use crate::lead::LeadConsent;
use crate::replies::Facet;
use crate::retry::{RetryLimits, Sizes};

fn client(fake: &Fake) -> SkillClient {
    let mut client = with_two_skills(fake);
    client.choice.skills = Skill::ALL.to_vec();
    client
}

fn answer(kind: &str, data: &Value) -> CannedReply {
    let part = json!({"data": {"type": kind, "data": data, "x-more": true}});
    CannedReply::http(200, &[], result(&part.to_string()))
}

fn sent(fake: &Fake) -> Vec<Value> {
    let body = |request: String| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        tradepost_document::json::from_str::<Value>(body).unwrap()
    };
    let part = |mut body: Value| body["params"]["message"]["parts"][0]["data"].take();
    fake.requests().into_iter().map(body).map(part).collect()
}

fn a_lead() -> Lead {
    let moment = "2026-05-01T10:00:00Z".parse().unwrap();
    let agent = SourceAgent { name: "shop".to_owned(), url: None, agent_card_url: None };
    let consent = LeadConsent::new(moment, "You may.", [Channel::Email]);
    Lead::new("key-1", agent, consent, moment).email("a@b.example").unwrap()
}

#[test]
fn every_filter_is_written_as_dealers_read_it() {
    let search = Search {
        filters: Filters {
            make: vec!["Honda".into()],
            model: vec!["CR-V".into()],
            trim: vec!["EX".into()],
            condition: vec![VehicleCondition::Used, VehicleCondition::Cpo],
            transmission: vec!["automatic".into()],
            fuel: vec!["gas".into()],
            driveline: vec!["awd".into()],
            body: vec!["suv".into()],
            exterior_color: vec!["white".into()],
            interior_color: vec!["gray".into()],
            rooftops: vec!["Main".into()],
            year_min: Some(2020),
            year_max: Some(2024),
            price_min: Some(0),
            price_max: Some(30_000),
            mileage_max: Some(50_000),
            vin: Some("1HGCY2F57RA000001".into()),
            stock: Some("DT-1".into()),
            query: Some("sunroof".into()),
        },
        skip: 20,
        limit: Some(10),
        sort: Some(Sort { field: SortField::Price, order: SortOrder::Desc }),
    };
    for search in [search, Search::default()] {
        for version in [Version::V1_0, Version::V1_1] {
            let terms = DealerTerms {
                now: Timestamp::UNIX_EPOCH,
                clock_skew: SignedDuration::ZERO,
                consent_lifetime: None,
            };
            let read = |skill, payload| aap::parse(skill, version, &payload, &terms).unwrap();
            let aap::AapRequest::InventorySearch(found) =
                read(Skill::InventorySearch, search_payload(&search))
            else {
                panic!()
            };
            assert_eq!(found, search);
            let payload = facets_payload(&search.filters);
            let aap::AapRequest::InventoryFacets(found) = read(Skill::InventoryFacets, payload)
            else {
                panic!()
            };
            assert_eq!(found, search.filters);
        }
    }
    let bare = json!({"type": "inventory.search.request"});
    assert_eq!(search_payload(&Search::default()), bare);
}

#[test]
fn the_five_skills_answer_as_the_protocol_defines() {
    let vehicle = json!({"vin": "1HGCY2F57RA000001", "vehicle_id": "v1", "stock": "S1", "year": 2024.0,
        "make": "Honda", "model": "CR-V", "condition": "used", "status": "pending", "price": 32995,
        "list_price": 31495, "mileage": 14820, "rooftop": "Main", "x-own": [1]});
    let fake = Fake::start(vec![
        answer(
            "dealer.information.response",
            &json!({"name": "Demo", "rooftops": [{"name": "Main", "x": 1}]}),
        ),
        answer(
            "inventory.facets.response",
            &json!({"makes": [{"value": "Honda", "count": 2}, {"value": "?"}],
            "years": [{"value": 2024, "count": 1}], "price_range": {"min": 1, "max": 9}}),
        ),
        answer(
            "inventory.search.response",
            &json!({"total": 7, "skip": 0, "limit": 2,
            "vehicles": [vehicle, {"status": "sold"}]}),
        ),
        answer("inventory.vehicle.response", &vehicle),
        answer(
            "lead.submit.response",
            &json!({"lead_id": "l1", "status": "received", "appointment":
            {"appointment_id": "a1", "status": "proposed", "proposed_times": ["2026-05-03T18:00:00Z"]}}),
        ),
    ]);
    fake.run(async {
        let client = client(&fake);
        let dealer = client.dealer_information().await.unwrap();
        assert_eq!(
            (dealer.name(), dealer.information().unwrap().rooftops.len()),
            (Some("Demo"), 1)
        );
        assert_eq!(dealer.data()["rooftops"][0]["x"], 1);
        let counts = client.facets(&Filters::default()).await.unwrap();
        assert_eq!(counts.values(Facet::Makes), [(&json!("Honda"), 2)]);
        assert_eq!(counts.values(Facet::Years), [(&json!(2024), 1)]);
        assert_eq!(counts.values(Facet::Fuels), []);
        assert_eq!((counts.prices(), counts.mileages()), (Some((1, 9)), None));
        let page = client.search(&Search { limit: Some(2), ..Search::default() }).await.unwrap();
        assert_eq!((page.total(), page.skip(), page.limit()), (Some(7), Some(0), Some(2)));
        let listings = page.listings();
        assert_eq!(listings.len(), 1);
        assert_eq!(listings[0].year(), Some(2024));
        let query = VehicleQuery { vehicle_id: Some("v1".into()), ..VehicleQuery::default() };
        let found = client.vehicle(&query).await.unwrap();
        let listing = found.listing();
        assert_eq!(listing.status(), Some(WireName::Known(ListingStatus::Pending)));
        assert_eq!(listing.condition(), Some(WireName::Known(VehicleCondition::Used)));
        assert_eq!((listing.price(), listing.get("x-own")), (Some(32_995), Some(&json!([1]))));
        assert_eq!(found.payload["x-more"], true);
        let receipt = client.submit_lead(&a_lead()).await.unwrap();
        assert_eq!((receipt.lead_id(), receipt.is_taken()), (Some("l1"), true));
        assert_eq!(receipt.proposed_times().len(), 1);
        assert_eq!(receipt.receipt().unwrap().appointment.unwrap().appointment_id, "a1");
    });
    let sent = sent(&fake);
    assert_eq!(sent[0], json!({"type": "dealer.information.request"}));
    assert_eq!(sent[1], json!({"type": "inventory.facets.request"}));
    assert_eq!(sent[2], json!({"type": "inventory.search.request", "pagination": {"limit": 2}}));
    assert_eq!(sent[3], json!({"type": "inventory.vehicle.request", "vehicle_id": "v1"}));
    assert_eq!(sent[4], a_lead().payload(Version::V1_1));
}

#[test]
fn an_answer_of_other_types_gives_nothing_and_is_kept() {
    let odd =
        json!({"name": 5, "rooftops": "x", "makes": {"value": 1}, "total": -1, "vehicles": 3});
    let fake = Fake::start(vec![
        answer("dealer.information.response", &odd),
        answer("inventory.facets.response", &odd),
        answer("inventory.search.response", &odd),
        answer("lead.submit.response", &odd),
    ]);
    fake.run(async {
        let client = client(&fake);
        let dealer = client.dealer_information().await.unwrap();
        assert!(dealer.name().is_none() && dealer.information().is_none());
        assert_eq!(dealer.data(), &odd);
        assert_eq!(client.facets(&Filters::default()).await.unwrap().values(Facet::Makes), []);
        let page = client.search(&Search::default()).await.unwrap();
        assert_eq!((page.total(), page.listings().len()), (None, 0));
        let receipt = client.submit_lead(&a_lead()).await.unwrap();
        assert!(!receipt.is_taken() && receipt.receipt().is_none());
    });
}

#[test]
fn r_card_12_requests_a_dealer_would_refuse_never_leave() {
    let fake = Fake::start(vec![]);
    fake.run(async {
        let failure = with_two_skills(&fake).submit_lead(&a_lead()).await.unwrap_err();
        assert!(
            matches!(failure, CallFailure::Unsent(Unsent::SkillNotOffered { .. })),
            "{failure:?}"
        );
        let client = client(&fake);
        let filters = Filters { year_min: Some(3), vin: Some("x".into()), ..Filters::default() };
        match client.search(&Search { limit: Some(5_000), filters, ..Search::default() }).await {
            Err(CallFailure::Unsent(Unsent::Invalid(refusal))) => {
                assert_eq!(refusal.problems.total(), 3, "{refusal:?}");
            }
            other => panic!("{other:?}"),
        }
        let failure = client.vehicle(&VehicleQuery::default()).await.unwrap_err();
        assert!(matches!(failure, CallFailure::Unsent(Unsent::Invalid(_))), "{failure:?}");
        // The moment of the client's terms takes precedence over that of the lead.
        let later = || DealerTerms {
            now: "2026-05-01T09:00:00Z".parse().unwrap(),
            clock_skew: SignedDuration::ZERO,
            consent_lifetime: None,
        };
        let failure = client.checking(later).submit_lead(&a_lead()).await.unwrap_err();
        assert!(matches!(failure, CallFailure::Unsent(Unsent::Invalid(_))), "{failure:?}");
    });
}

#[test]
fn r_ld_14_one_lead_has_one_key_throughout() {
    let taken = || answer("lead.submit.response", &json!({"lead_id": "l1", "status": "received"}));
    let fake = Fake::start(vec![
        CannedReply::http(503, &[], ""),
        CannedReply::Bytes(vec![]),
        taken(),
        taken(),
    ]);
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    let lead = a_lead();
    fake.run(async {
        let client = client(&fake);
        let call = client.submit_lead_with_recovery(&lead, &recoverer, uncorrected);
        let recovered = call.await.unwrap();
        assert_eq!((recovered.spent.attempts, recovered.answer.lead_id()), (3, Some("l1")));
        client.submit_lead(&lead).await.unwrap();
        assert_ne!(client.new_key(), client.new_key());
    });
    let sent = sent(&fake);
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().all(|payload| payload["idempotency_key"] == "key-1"));
}
