//! Test fixtures. Seeding the same fixture twice changes nothing; seeding a different one under the
//! same ids is refused, so that one test does not change the data of another.

use std::collections::BTreeSet;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed::Typed;

use super::arguments::{AccountFixture, CreativeFixture};
use super::{Scenario, ScenarioContext, ScenarioFailed, invalid, need, not_found, taken};
use crate::account::Account;
use crate::agent::Billing;
use crate::creative::{Creative, CreativeStatus};
use crate::forms::products::BrandRef;
use crate::store::{EntityKind, Stored, kept, own_id};
use crate::tools::plans;

/// Product that tests use without searching for one.
const TRIAL: &str = "test-product";

/// Additional price of that product.
const DEFAULT: &str = "default";

kept! {
    /// Fixture that a record was seeded with.
    struct Seed: Directive {
        fixture: Map,
    }
}

/// `seed_*`: creates a record of an owner, unless it was seeded before.
pub(super) fn put(
    at: &ScenarioContext<'_>,
    owner: &str,
    scenario: Scenario,
    create: fn(&ScenarioContext<'_>, &Map) -> Result<(), ScenarioFailed>,
) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let fixture = at.params.fixture.clone();
    let mut members = at.params.sent.clone();
    members.swap_remove("fixture");
    let key = tradepost_document::canonical::to_string(&Value::Object(members));
    let record_id = own_id(owner, scenario.name(), &key);
    if let Some(Stored { thing: Seed { fixture: known }, .. }) = work.reader.find(&record_id)? {
        if known == fixture {
            return Ok(json!({"success": true}));
        }
        let names = known.keys().chain(fixture.keys());
        let differ = names.filter(|name| known.get(*name) != fixture.get(*name));
        let differ: BTreeSet<_> = differ.map(String::as_str).collect();
        let differ = differ.into_iter().collect::<Vec<_>>().join(", ");
        return Err(invalid(format!("it was put there with other values of {differ}")));
    }
    create(at, &fixture)?;
    work.add(&record_id, (owner, None), "", &Seed { fixture })?;
    Ok(json!({"success": true}))
}

/// `seed_product`.
pub(super) fn product(at: &ScenarioContext<'_>, fixture: &Map) -> Result<(), ScenarioFailed> {
    Ok(at.finisher().seed_product(need("product_id", &at.params.product_id)?, fixture)?)
}

/// `seed_creative_format`.
pub(super) fn format(at: &ScenarioContext<'_>, fixture: &Map) -> Result<(), ScenarioFailed> {
    Ok(at.finisher().seed_format(need("format_id", &at.params.format_id)?, fixture)?)
}

/// `seed_pricing_option`.
pub(super) fn price(at: &ScenarioContext<'_>, fixture: &Map) -> Result<(), ScenarioFailed> {
    let finisher = at.finisher();
    let product = need("product_id", &at.params.product_id)?;
    let option = need("pricing_option_id", &at.params.pricing_option_id)?;
    if !finisher.seed_price(product, option, fixture)? {
        return Err(not_found());
    }
    // Tests that buy this product without asking for prices use this one. It costs the same as the
    // first seeded price and is listed after it.
    let priced = finisher.publisher.product(finisher.tx, product)?;
    if product == TRIAL && priced.is_some_and(|priced| priced.pricing(DEFAULT).is_none()) {
        finisher.seed_price(product, DEFAULT, fixture)?;
    }
    Ok(())
}

/// `seed_plan`.
pub(super) fn plan(at: &ScenarioContext<'_>, fixture: &Map) -> Result<(), ScenarioFailed> {
    let id = need("plan_id", &at.params.plan_id)?;
    let mut plan = fixture.clone();
    plan.insert("plan_id".to_owned(), id.into());
    plans::put(at.work, at.tenant(), id, &plan)?;
    Ok(())
}

fn read<T: Typed>(fixture: &Map) -> Result<T, InternalError> {
    let broken = || InternalError::new("reading a fixture", "it is not in the form that it has");
    T::read(&Value::Object(fixture.clone())).ok_or_else(broken)
}

/// Creates a test account; defaults replace missing members of the fixture.
pub(super) fn account(at: &ScenarioContext<'_>, fixture: &Map) -> Result<(), ScenarioFailed> {
    let tx = at.work.tx;
    let id = need("account_id", &at.params.account_id)?;
    if tx.owner_of(EntityKind::Account, id)?.is_some() {
        return Err(taken());
    }
    let given: AccountFixture = read(fixture)?;
    let brand = given.brand.unwrap_or_else(|| json!({"domain": "test.example"}));
    let domain = BrandRef::read(&brand).and_then(|brand| brand.domain).unwrap_or_default();
    let billing = given.billing.unwrap_or(Billing::Operator);
    let mut account = Account::new(id, brand, given.operator.as_ref().unwrap_or(&domain), billing);
    account.sandbox = given.sandbox.unwrap_or(true);
    account.name = given.name.unwrap_or(account.name);
    account.status = given.status.unwrap_or(account.status);
    account.funds = given.funds.and_then(|funds| tradepost_document::json::from_value(funds).ok());
    account.open(tx, at.tenant(), at.work.call.now)?;
    Ok(())
}

/// Creates a creative of the named account; it is approved unless the fixture says otherwise.
pub(super) fn creative(at: &ScenarioContext<'_>, fixture: &Map) -> Result<(), ScenarioFailed> {
    let work = at.work;
    let id = need("creative_id", &at.params.creative_id)?;
    let account = at.account()?;
    let owner = account.record.owner.as_str();
    let account_id = account.record.id.as_str();
    let place = own_id(owner, account_id, id);
    if work.reader.owner_of(EntityKind::Creative, &place)?.is_some() {
        return Err(taken());
    }
    let CreativeFixture { status, rejection_reason, mut given } = read(fixture)?;
    given.retain(|name, _| name != "status" && name != "rejection_reason");
    given.insert("creative_id".to_owned(), id.into());
    given.entry("name").or_insert_with(|| id.into());
    given.entry("assets").or_insert_with(|| json!({}));
    if !given.contains_key("format_id") && !given.contains_key("format_kind") {
        let formats = work.publisher.formats(work.reader)?;
        let format = formats.into_iter().next().and_then(|format| format.format_id);
        let absent = || invalid("params.fixture has to name a format_id");
        given.insert("format_id".to_owned(), format.ok_or_else(absent)?.given.into());
    }
    let creative = Creative::new(id, read(&given)?, status.unwrap_or(CreativeStatus::Approved));
    let creative = Creative { rejection_reason, ..creative };
    Ok(work.add(&place, (owner, Some(account_id)), "", &creative)?)
}
