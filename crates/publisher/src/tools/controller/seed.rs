//! Things that a test wants to find. Put again in the same way, a thing stays as it is; put again in
//! another way it is refused, so that a test does not change what another one relies on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tradepost_wire::adcp::rules::typed::{self, Typed};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use super::{At, Done, Failed, Scenario, buys, need, taken};
use crate::account::Account;
use crate::agent::Billing;
use crate::creative::{Creative, Status};
use crate::forms::controller::{AccountFixture, CreativeFixture};
use crate::forms::products::Brand;
use crate::shelf::{Kind, New, Thing, own_id};
use crate::tools::plans;

/// The product that tests name when they do not look for one.
const TRIAL: &str = "test-product";

/// The price that it has besides those that were put to it.
const DEFAULT: &str = "default";

/// What a thing was put there with.
#[derive(Debug, Serialize, Deserialize)]
struct Seed {
    fixture: Map,
}

impl Thing for Seed {
    const KIND: Kind = Kind::Directive;
}

/// `seed_*`.
pub(super) fn put(at: &At<'_>, scenario: Scenario) -> Result<Done, Failed> {
    let (work, fixture) = (at.work, at.params.fixture.clone());
    let mut ids = at.params.sent.clone();
    ids.swap_remove("fixture");
    let ids = tradepost_wire::canonical::to_string(&Value::Object(ids));
    // Products and formats are the publisher's, everything else the tenant's.
    let common = matches!(
        scenario,
        Scenario::SeedProduct | Scenario::SeedPricingOption | Scenario::SeedCreativeFormat
    );
    let owner = if common { "" } else { at.tenant() };
    let place = own_id(owner, scenario.name(), &ids);
    let known = work.shelf.find::<Seed>(&place)?;
    if let Some(known) = known {
        if known.thing.fixture == fixture {
            return Ok(Done::Seeded);
        }
        let differs = |name: &&String| known.thing.fixture.get(*name) != fixture.get(*name);
        let mut names: Vec<_> =
            known.thing.fixture.keys().chain(fixture.keys()).filter(differs).collect();
        names.sort();
        names.dedup();
        let names: Vec<_> = names.into_iter().map(String::as_str).collect();
        let detail = format!("it was put there with other values of {}", names.join(", "));
        return Err(Failed::InvalidParams(detail.into()));
    }
    lay(at, scenario, &fixture)?;
    let new = New { id: &place, owner, account: None, state: "", now: work.ask.now };
    work.shelf.add(new, &Seed { fixture })?;
    Ok(Done::Seeded)
}

fn lay(at: &At<'_>, scenario: Scenario, fixture: &Map) -> Result<(), Failed> {
    let (publisher, shelf, now) = (at.work.publisher, at.work.shelf, at.work.ask.now);
    match scenario {
        Scenario::SeedProduct => Ok(publisher.seed_product(
            shelf,
            need("product_id", &at.params.product_id)?,
            fixture,
            now,
        )?),
        Scenario::SeedPricingOption => {
            let (product, option) = (
                need("product_id", &at.params.product_id)?,
                need("pricing_option_id", &at.params.pricing_option_id)?,
            );
            if !publisher.seed_price(shelf, product, option, fixture, now)? {
                return Err(Failed::NotFound);
            }
            // Tests that buy this product without having asked for prices name this one. It costs what
            // the first price costs, and stands after it.
            let product_now = publisher.product(shelf, product)?;
            if product == TRIAL
                && product_now.is_some_and(|product| product.pricing(DEFAULT).is_none())
            {
                publisher.seed_price(shelf, product, DEFAULT, fixture, now)?;
            }
            Ok(())
        }
        Scenario::SeedCreativeFormat => Ok(publisher.seed_format(
            shelf,
            need("format_id", &at.params.format_id)?,
            fixture,
            now,
        )?),
        Scenario::SeedAccount => account(at, fixture),
        Scenario::SeedCreative => creative(at, fixture),
        Scenario::SeedMediaBuy => buys::seed(at, fixture),
        Scenario::SeedPlan => {
            let (id, mut plan) = (need("plan_id", &at.params.plan_id)?, fixture.clone());
            plan.insert("plan_id".to_owned(), id.into());
            plans::put(at.work, at.tenant(), id, &plan)?;
            Ok(())
        }
        Scenario::ForceAccountStatus
        | Scenario::ForceCreativeStatus
        | Scenario::ForceMediaBuyStatus
        | Scenario::ForceSessionStatus
        | Scenario::ForceCreateMediaBuyArm
        | Scenario::ForceGetProductsArm
        | Scenario::ForceGetSignalsArm
        | Scenario::ForceTaskCompletion
        | Scenario::ForceUpstreamUnavailable
        | Scenario::SimulateDelivery
        | Scenario::SimulateBudgetSpend
        | Scenario::QueryProvenanceAuditObservations => Err(Failed::UnknownScenario),
    }
}

fn read<T: Typed>(fixture: &Map) -> Result<T, Fault> {
    let broken = || Fault::new("reading a fixture", "it is not in the form that it has");
    T::read(&Value::Object(fixture.clone())).ok_or_else(broken)
}

/// An account for tests; what the fixture leaves open is filled in.
fn account(at: &At<'_>, fixture: &Map) -> Result<(), Failed> {
    let (shelf, id) = (at.work.shelf, need("account_id", &at.params.account_id)?);
    if shelf.whose(Kind::Account, id)?.is_some() {
        return Err(taken());
    }
    let given: AccountFixture = read(fixture)?;
    let brand = given.brand.unwrap_or_else(|| json!({"domain": "test.example"}));
    let domain = Brand::read(&brand).and_then(|brand| brand.domain).unwrap_or_default();
    let billing = given.billing.unwrap_or(Billing::Operator);
    let mut account = Account::new(id, brand, given.operator.as_ref().unwrap_or(&domain), billing);
    account.sandbox = given.sandbox.unwrap_or(true);
    account.name = given.name.unwrap_or(account.name);
    account.status = given.status.unwrap_or(account.status);
    account.funds = given.funds.and_then(|funds| tradepost_wire::json::from_value(funds).ok());
    account.open(shelf, at.tenant(), at.work.ask.now)?;
    Ok(())
}

/// A creative of the named account; approved, unless the fixture says otherwise.
fn creative(at: &At<'_>, fixture: &Map) -> Result<(), Failed> {
    let (work, id) = (at.work, need("creative_id", &at.params.creative_id)?);
    let account = work.admitted.account.as_ref();
    let account =
        account.ok_or(Failed::InvalidParams("account has to name one for tests".into()))?;
    let (owner, of) = (account.record.owner.as_str(), account.record.id.as_str());
    let place = own_id(owner, of, id);
    if work.shelf.whose(Kind::Creative, &place)?.is_some() {
        return Err(taken());
    }
    let CreativeFixture { status, rejection_reason, mut given } = read(fixture)?;
    given.retain(|name, _| name != "status" && name != "rejection_reason");
    given.insert("creative_id".to_owned(), id.into());
    given.entry("name").or_insert_with(|| id.into());
    given.entry("assets").or_insert_with(|| json!({}));
    if !given.contains_key("format_id") && !given.contains_key("format_kind") {
        let formats = work.publisher.formats(work.shelf)?;
        let format = formats.into_iter().next().and_then(|format| format.format_id);
        let absent = || Failed::InvalidParams("params.fixture has to name a format_id".into());
        given.insert("format_id".to_owned(), format.ok_or_else(absent)?.given.into());
    }
    let creative = Creative {
        asked: Vec::new(),
        creative_id: id.to_owned(),
        status: status.unwrap_or(Status::Approved),
        rejection_reason,
        offline: None,
        review_ends_at: None,
        given: typed::read(given)
            .ok_or_else(|| Fault::new("reading a fixture", "it is no creative"))?,
        assigned: BTreeMap::new(),
        observations: Vec::new(),
    };
    let new = New { id: &place, owner, account: Some(of), state: "", now: work.ask.now };
    work.shelf.add(new, &creative)?;
    Ok(())
}
