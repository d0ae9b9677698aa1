//! The dealer of the tests: two rooftops, the vehicles of the published examples and a few more.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use tradepost_aap::lead::AppointmentType;
use tradepost_aap::vehicle::Vocabularies;
use tradepost_aap::{Skill, Vehicle, Version};
use tradepost_dealer::calendar::CalendarFeedDetail;
use tradepost_dealer::import::{FeedListing, PricePolicy};
use tradepost_dealer::settings::{
    AppointmentPolicy, DealerSettings as Terms, LeadPolicy, RooftopSettings, SearchPolicy,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_runtime::config::{
    AuthSettings, Config, DealerConfig, RateLimitConfig, ServerConfig,
};
use tradepost_store::Store;

use super::at;

pub const ID: &str = "demo-auto-group";

/// On offer at the rooftop in San Francisco, and in the published examples.
pub const LISTED_VIN: &str = "1HGCY2F57RA000001";
/// Sold: a tombstone.
pub const SOLD_VIN: &str = "5YJ3E1EA7KF000316";
/// Never seen.
pub const UNKNOWN_VIN: &str = "1M8GDM9AXKP042788";

pub fn config() -> Config {
    let minutes = SignedDuration::from_mins;
    let hours = SignedDuration::from_hours;
    Config {
        privacy: tradepost_runtime::config::Privacy::default(),
        server: ServerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            max_body_bytes: 256 * 1024,
            read_timeout: SignedDuration::from_secs(10),
            max_connections: 256,
            shutdown_grace: SignedDuration::from_secs(5),
            log_json: true,
            log_filter: "off".to_owned(),
            ..ServerConfig::default()
        },
        publishers: Vec::new(),
        alerts: None,
        traces: None,
        dealers: vec![DealerConfig {
            terms: Terms {
                id: ID.to_owned(),
                name: "Demo Auto Group".to_owned(),
                welcome_message: Some("Welcome.".to_owned()),
                versions: vec![Version::V1_0, Version::V1_1],
                skills: Skill::ALL.to_vec(),
                rooftops: vec![
                    rooftop("Demo Toyota San Francisco", "+14155550100", AppointmentType::ALL),
                    rooftop("Demo Honda Oakland", "+15105550100", &[AppointmentType::Sales]),
                ],
                search: SearchPolicy { default_limit: 20, max_limit: 100 },
                leads: LeadPolicy {
                    clock_skew: minutes(5),
                    consent_lifetime: Some(hours(24 * 365)),
                    test_drive_needs_vehicle: true,
                    duplicate_window: hours(24),
                    idempotency_lifetime: hours(48),
                    strict_appointments: false,
                    proposed_times: 3,
                    ..LeadPolicy::default()
                },
                tombstone_lifetime: hours(24 * 90),
                price_truth: PricePolicy::Warn,
            },
            hosts: Vec::new(),
            public_url: Some("https://demo-toyota.example.com".to_owned()),
            description: "A dealer group that exists only in tests.".to_owned(),
            agent_version: "1.0.0".to_owned(),
            provider: Some(("Tests".to_owned(), "https://tests.example".to_owned())),
            documentation_url: None,
            rate_limit: RateLimitConfig { requests: 0, window: minutes(1), http_429: false },
            require_version: false,
            mcp: true,
            ucp: true,
            http_json: false,
            strict_output_modes: false,
            listed: true,
            auth: AuthSettings::default(),
            card_signing: None,
            deliveries: Vec::new(),
            feeds: Vec::new(),
        }],
    }
}

fn rooftop(name: &str, phone: &str, types: &[AppointmentType]) -> RooftopSettings {
    let day = json!({"open": "09:00", "close": "19:00"});
    let week = json!({
        "monday": day, "tuesday": day, "wednesday": day, "thursday": day, "friday": day,
        "saturday": {"open": "10:00", "close": "18:00"}, "sunday": {"open": "11:00", "close": "16:00"},
    });
    let profile = json!({
        "name": name, "phones": [{"name": "Sales", "value": phone}],
        "address": {"country": "US", "state": "CA"}, "timezone": "America/Los_Angeles",
        "schedules": [{"name": "sales", "value": week}, {"name": "service", "value": {
            "monday": {"open": "07:30", "close": "18:00"}, "tuesday": null, "wednesday": null,
            "thursday": null, "friday": null, "saturday": null, "sunday": null,
        }}],
    });
    RooftopSettings {
        profile: tradepost_document::json::from_value(profile).unwrap(),
        feed_names: Vec::new(),
        time_zone: TimeZone::get("America/Los_Angeles").unwrap(),
        fees: Vec::new(),
        appointments: AppointmentPolicy {
            types: types.to_vec(),
            slot_minutes: 30,
            capacity: 2,
            notice: SignedDuration::from_hours(2),
            horizon_days: 14,
            closed_on: vec!["2026-05-25".parse().unwrap()],
            calendar_feed: CalendarFeedDetail::Vehicle,
        },
    }
}

/// Puts the vehicles into the store, in two steps, so that one of them is gone.
pub fn stock(store: &Store, config: &Config) {
    let yesterday = at("2026-04-29T09:00:00Z");
    let today = at("2026-04-30T09:00:00Z");
    for dealer in &config.dealers {
        store.replace_inventory(&dealer.terms.id, &listings(true), yesterday, false).unwrap();
        store.replace_inventory(&dealer.terms.id, &listings(false), today, false).unwrap();
    }
}

/// The feed, with or without the unit that was sold yesterday.
pub fn listings(with_sold: bool) -> Vec<FeedListing> {
    let base = |id: &str, stock: &str, make: &str, model: &str| {
        json!({
            "dealer_id": ID, "vehicle_id": id, "stock": stock, "make": make, "model": model,
            "rooftop": "Demo Toyota San Francisco", "condition": "used", "status": "available",
            "updated_at": "2026-04-30T08:00:00Z", "body": "suv", "fuel": "gas",
        })
    };
    let extend = |mut value: Value, more: Value| {
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    };
    let mut listings = vec![
        extend(
            base("veh_dt_2451", "DT-2451", "Honda", "CR-V"),
            json!({"vin": "2HKRW2H89PH123456", "year": 2023, "trim": "EX", "price": 29495,
                   "list_price": 27995, "msrp": 32450, "mileage": 28450, "transmission": "automatic",
                   "driveline": "awd", "updated_at": "2026-04-30T07:15:00Z"}),
        ),
        extend(
            base("veh_dt_2611", "DT-2611", "Honda", "CR-V"),
            json!({"vin": LISTED_VIN, "year": 2024, "trim": "EX-L", "price": 32995,
                   "list_price": 31495, "msrp": 35450, "mileage": 14820, "transmission": "automatic",
                   "driveline": "awd", "updated_at": "2026-04-30T08:42:00Z"}),
        ),
        extend(
            base("veh_ho_1001", "HO-1001", "Toyota", "RAV4"),
            json!({"year": 2026, "condition": "new", "status": "intransit",
                   "rooftop": "Demo Honda Oakland"}),
        ),
        extend(
            base("veh_ho_1002", "HO-1002", "Chevrolet", "Bolt EV"),
            json!({"vin": "1G1FY6S07N4100001", "year": 2022, "condition": "cpo", "status": "pending",
                   "fuel": "bev", "body": "hatchback", "price": 18990, "electric_range_mi": 259,
                   "rooftop": "Demo Honda Oakland"}),
        ),
    ];
    if with_sold {
        listings.push(extend(
            base("veh_dt_0316", "DT-0316", "Honda", "CR-V"),
            json!({"vin": SOLD_VIN, "year": 2019, "price": 21000}),
        ));
    }
    listings.iter().map(|listing| FeedListing { vehicle: read(listing), sold: false }).collect()
}

fn read(listing: &Value) -> Vehicle {
    let mut problems = Problems::new();
    let version = Version::V1_1;
    let vehicle =
        Vehicle::read(listing, &DocumentPlace::Root, &mut problems, version, Vocabularies::Sale);
    problems.into_result(vehicle).unwrap()
}
