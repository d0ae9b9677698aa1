//! Answers that are given again: two publishers that are the same, but that one of them cannot know whether
//! anything has changed, and works everything out. They say the same, keep the same, and count the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{Account, AccountGrant, AccountStatus};
use tradepost_publisher::agent::{AccountRights, AgentStanding, Billing, BuyerAgent};
use tradepost_publisher::catalogue::{Catalogue, ProductTerms};
use tradepost_publisher::profile::{Onboarding, PublisherProfile};
use tradepost_publisher::services::{BoxFuture, RateClass, Stale, Supply, Unavailable};
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{
    EntityKind, Job, New, PublisherStore, Query, ReadExtent, StoreRead,
};

use crate::support::{Harness, profile, shop};

/// A store in memory that counts who reads it.
#[derive(Debug, Default)]
struct Watched {
    store: MemoryPublisherStore,
    reads: AtomicUsize,
    /// Whether it tells that nothing has changed.
    tells: bool,
}

impl PublisherStore for Watched {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.store.read(extent, job)
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        self.store.write(job)
    }

    fn version(&self) -> Option<u64> {
        self.store.version().filter(|_| self.tells)
    }
}

/// What is sold: of `gazette` some leaves the offer soon, some has prices for one account.
fn catalogue(which: usize) -> Catalogue {
    let mut catalogue = demo::catalogue();
    let now: Timestamp = crate::support::NOW.parse().unwrap();
    let ends = |hours| Some(now + SignedDuration::from_hours(hours));
    let price = || shop::fixed(8.0, "USD");
    let end = |id: &str, hours| {
        shop::product(
            id,
            price(),
            json!({}),
            ProductTerms { expires_at: ends(hours), ..ProductTerms::default() },
        )
    };
    catalogue.products.push(end("an-hour", 1));
    catalogue.products.push(end("a-week", 170));
    if which == 1 {
        catalogue.products.truncate(5);
    }
    if which == 2 {
        catalogue.proposals = None;
    }
    catalogue
}

/// One of the two.
fn publisher(tells: bool) -> (Harness, Arc<Watched>) {
    let store = Arc::new(Watched { tells, ..Watched::default() });
    let onboarding = Onboarding { implicit: true, ..Onboarding::default() };
    let harness = Harness::on(
        PublisherProfile { catalogue: catalogue(0), onboarding, ..profile() },
        store.clone(),
    );
    let now = harness.now;
    harness.put(move |tx| {
        for (id, owner) in [("acc_acme", "agent:acme"), ("acc_nova", "agent:nova")] {
            let brand = json!({"domain": format!("{id}.example").replace('_', "-")});
            let account = Account::new(id, brand, "pinnacle.example", Billing::Operator);
            tx.add(New { id, owner, account: Some(id), state: "", now }, &account)?;
        }
        Ok(())
    });
    (harness, store)
}

/// What is asked.
const QUESTIONS: usize = 12;

fn question(which: usize) -> Value {
    let brief = |text: &str, more: Value| {
        let mut request = json!({"buying_mode": "brief", "brief": text});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    let acme = json!({"account_id": "acc_acme"});
    let implied = json!({"brand": {"domain": "new.example"}, "operator": "pinnacle.example"});
    match which {
        0 => brief("banners beside hiking stories", json!({})),
        1 => brief("video, $50K", json!({"account": acme})),
        2 => brief("video, $50K", json!({"account": acme, "adcp_version": "3.0"})),
        3 => brief("audio", json!({"account": {"account_id": "acc_nova"}})),
        4 => brief("audio", json!({"account": implied})),
        5 => json!({"buying_mode": "wholesale"}),
        6 => json!({"buying_mode": "wholesale", "pagination": {"max_results": 2}}),
        7 => json!({"buying_mode": "wholesale", "account": implied, "brief": "remarked"}),
        8 => brief("news", json!({"filters": {"channels": ["display"]}, "fields": ["channels"]})),
        9 => brief("news", json!({"idempotency_key": "one-key-for-all-0001"})),
        10 => brief("", json!({})),
        _ => brief("news", json!({"ext": {"api_key": "secret-of-acme-7421"}})),
    }
}

/// Question or other step of a random run.
#[derive(Debug, Clone)]
enum Action {
    Ask {
        principal: usize,
        question: usize,
        context: u8,
    },
    /// Refines the first proposal in the store.
    Refine,
    Wait {
        seconds: i64,
    },
    Sell {
        catalogue: usize,
    },
    Supply {
        kind: usize,
    },
    Limit {
        is_full: bool,
    },
    Stand {
        suspended: bool,
    },
    Account {
        status: usize,
    },
    Grant {
        tasks: usize,
    },
    Control {
        scenario: usize,
    },
    Buy,
}

fn action() -> impl Strategy<Value = Action> {
    let seconds = [1, 11, 3_500, 3_600 * 25, 3_600 * 24 * 8, -60];
    prop_oneof![
        24 => (0..4_usize, 0..QUESTIONS, 0..3_u8).prop_map(|(principal, question, context)| {
            Action::Ask { principal, question, context }
        }),
        1 => Just(Action::Refine),
        3 => (0..seconds.len()).prop_map(move |at| Action::Wait { seconds: seconds[at] }),
        1 => (0..3_usize).prop_map(|catalogue| Action::Sell { catalogue }),
        2 => (0..4_usize).prop_map(|kind| Action::Supply { kind }),
        1 => any::<bool>().prop_map(|is_full| Action::Limit { is_full }),
        1 => any::<bool>().prop_map(|suspended| Action::Stand { suspended }),
        1 => (0..3_usize).prop_map(|status| Action::Account { status }),
        1 => (0..3_usize).prop_map(|tasks| Action::Grant { tasks }),
        2 => (0..3_usize).prop_map(|scenario| Action::Control { scenario }),
        1 => Just(Action::Buy),
    ]
}

/// Performs an action, and returns the text of the answer, if there is one.
fn perform(harness: &mut Harness, action: &Action, number: usize) -> String {
    let answer_text = |harness: &Harness, who: &str, tool, arguments: Value| {
        let answer = harness.ask_as(&harness.caller(who), tool, arguments);
        assert_eq!(answer.text().read(), Some(answer.document()));
        format!("{} {} {:?}", answer.text(), answer.message, answer.errors)
    };
    match action {
        Action::Ask { principal, question: which, context } => {
            let mut arguments = question(*which);
            let members = arguments.as_object_mut().unwrap();
            // One asks without, and two with a context of their own.
            if *context > 0 {
                members.insert("context".to_owned(), json!({"n": [context, number]}));
            }
            let who = ["acme", "nova", "tester", "nobody"][*principal];
            answer_text(harness, who, AdcpTool::GetProducts, arguments)
        }
        Action::Refine => {
            let listed: Result<_, InternalError> =
                harness.store.look(|reader| reader.list(EntityKind::Proposal, &Query::default()));
            let Some(id) = listed.unwrap().first().map(|record| record.id.clone()) else {
                return String::new();
            };
            let entry = json!({"scope": "proposal", "proposal_id": id, "ask": "more video"});
            let refine = json!({"buying_mode": "refine", "refine": [entry]});
            answer_text(harness, "acme", AdcpTool::GetProducts, refine)
        }
        Action::Wait { seconds } => {
            harness.now += SignedDuration::from_secs(*seconds);
            String::new()
        }
        Action::Sell { catalogue: which } => {
            harness.publisher = harness.publisher.selling(catalogue(*which));
            String::new()
        }
        Action::Supply { kind } => {
            let stale = |upstream: &str| {
                Some(Stale { upstream: upstream.to_owned(), freshness_target_seconds: 60 })
            };
            let sold_out = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
            *harness.services.supply.lock().unwrap() = Some(match kind {
                0 => Ok(Supply { sold_out: Vec::new(), age_seconds: number as u64, stale: None }),
                1 => Ok(Supply {
                    sold_out: sold_out(&["news_display"]),
                    age_seconds: 0,
                    stale: None,
                }),
                2 => Ok(Supply {
                    sold_out: sold_out(&["news_display"]),
                    age_seconds: number as u64,
                    stale: stale("ad-server"),
                }),
                _ => Err(Unavailable::Down { retry_after: Some(Duration::from_secs(3)) }),
            });
            String::new()
        }
        Action::Limit { is_full } => {
            *harness.services.full.lock().unwrap() = is_full.then_some(RateClass::Read);
            String::new()
        }
        Action::Stand { suspended } => {
            let standing =
                if *suspended { AgentStanding::Suspended } else { AgentStanding::Active };
            let mut changed = PublisherProfile::clone(&harness.publisher.profile);
            for agent in &mut changed.agents {
                if agent.id == "acme" {
                    *agent = Arc::new(BuyerAgent { standing, ..BuyerAgent::clone(agent) });
                }
            }
            harness.publisher.profile = Arc::new(changed);
            String::new()
        }
        Action::Account { status } => {
            let status =
                [AccountStatus::Active, AccountStatus::Suspended, AccountStatus::PaymentRequired]
                    [*status];
            let now = harness.now;
            harness.put(move |tx| {
                let mut account = tx.find::<Account>("acc_acme")?.unwrap();
                account.thing.status = status;
                account.thing.sandbox = status == AccountStatus::PaymentRequired;
                tx.change(&mut account, now)
            });
            String::new()
        }
        Action::Grant { tasks } => {
            let tasks: &[&str] = [&["get_products"][..], &["list_accounts"], &[]][*tasks];
            let allowed = tasks.iter().map(|task| (*task).to_owned()).collect();
            let authorization =
                AccountRights { allowed_tasks: Some(allowed), ..AccountRights::default() };
            let now = harness.now;
            let account_id = "acc_acme".to_owned();
            harness.put(move |tx| {
                AccountGrant {
                    account_id: account_id.clone(),
                    authorization: authorization.clone(),
                }
                .put(tx, "agent:nova", now)
            });
            String::new()
        }
        Action::Control { scenario } => {
            let (scenario, params) = match scenario {
                0 => ("force_get_products_arm", json!({"arm": "submitted", "message": "wait"})),
                1 => ("force_upstream_unavailable", json!({"tool": "get_products"})),
                _ => (
                    "seed_product",
                    json!({"product_id": format!("seeded-{number}"), "fixture": {}}),
                ),
            };
            let request =
                json!({"account": {"sandbox": true}, "scenario": scenario, "params": params});
            answer_text(harness, "acme", AdcpTool::ComplyTestController, request)
        }
        Action::Buy => {
            let mut order = shop::Shop::order(json!({"brand": {"domain": "acc-acme.example"}}));
            let members = order.as_object_mut().unwrap();
            members.insert("account".to_owned(), json!({"account_id": "acc_acme"}));
            members.insert("idempotency_key".to_owned(), format!("buy-number-{number:08}").into());
            answer_text(harness, "acme", AdcpTool::CreateMediaBuy, order)
        }
    }
}

/// Everything that is kept.
fn everything(harness: &Harness) -> String {
    let look = |reader: &dyn StoreRead| -> Result<String, InternalError> {
        let kinds = EntityKind::ALL.iter();
        let listed: Result<Vec<_>, InternalError> =
            kinds.map(|kind| reader.list(*kind, &Query::default())).collect();
        Ok(format!("{:?}", listed?))
    };
    harness.store.look(look).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_from_memory_equals_the_one_worked_out_anew(
        actions in prop::collection::vec(action(), 1..60)
    ) {
        let (mut with_cache, _) = publisher(true);
        let (mut without_cache, _) = publisher(false);
        for (number, action) in actions.iter().enumerate() {
            let one = perform(&mut with_cache, action, number);
            let other = perform(&mut without_cache, action, number);
            prop_assert_eq!(one, other, "{}: {:?}", number, action);
        }
        prop_assert_eq!(everything(&with_cache), everything(&without_cache));
        let counted = |harness: &Harness| harness.services.counted.load(Ordering::Relaxed);
        prop_assert_eq!(counted(&with_cache), counted(&without_cache));
    }
}

/// What is asked again is not looked for again, and only then.
#[test]
fn what_was_found_once_is_told_again_until_something_changes() {
    let (mut harness, store) = publisher(true);
    let reads = || store.reads.swap(0, Ordering::Relaxed);
    let ask = |harness: &Harness, who: &str, context: u8| {
        let mut arguments = question(1);
        arguments["context"] = json!({"n": context});
        harness.ask_as(&harness.caller(who), AdcpTool::GetProducts, arguments).document()
    };
    let drafted = ask(&harness, "acme", 1);
    assert_eq!(ask(&harness, "acme", 1), drafted);
    assert!(reads() > 0, "the first keeps drafts, the second finds them");
    let mut again = ask(&harness, "acme", 2);
    assert_eq!((again["context"].clone(), reads()), (json!({"n": 2}), 0));
    again["context"] = json!({"n": 1});
    assert_eq!(again, drafted);
    assert_eq!(ask(&harness, "nova", 2)["adcp_error"]["code"], "ACCOUNT_NOT_FOUND");
    assert!(reads() > 0, "another asks");
    ask(&harness, "acme", 2);
    assert_eq!(reads(), 0, "what is refused changes nothing");

    type Change = Box<dyn Fn(&mut Harness)>;
    let mut changes: Vec<(&str, Change)> = vec![
        (
            "a word is kept",
            Box::new(|harness| harness.put(|tx| tx.remove(EntityKind::Task, "x").map(drop))),
        ),
        (
            "a product leaves the offer",
            Box::new(|harness| harness.now += SignedDuration::from_hours(1)),
        ),
        ("the clock is set back", Box::new(|harness| harness.now -= SignedDuration::from_secs(1))),
        (
            "another catalogue",
            Box::new(|harness| harness.publisher = harness.publisher.selling(catalogue(1))),
        ),
    ];
    changes.push((
        "the ad server has less",
        Box::new(|harness| {
            let sold_out = vec!["gazette_tv".to_owned()];
            let supply = Supply { sold_out, age_seconds: 0, stale: None };
            *harness.services.supply.lock().unwrap() = Some(Ok(supply));
        }),
    ));
    for (what, change) in changes {
        ask(&harness, "acme", 3);
        let _ = reads();
        ask(&harness, "acme", 3);
        assert_eq!(reads(), 0, "before: {what}");
        change(&mut harness);
        ask(&harness, "acme", 3);
        assert!(reads() > 0, "{what}");
    }
}
