//! What the ad server is to have for a media buy, as the buy and its creatives are now.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::deals::{WantedDeal, deal};
use super::{PackageDeal, PackageInventory, RemoteOrder};
use crate::account::Account;
use crate::ad_server::{
    CreativeContent, CreativeSize, CreativeSpec, ExternalId, GoalUnit, LineItemGoal,
    LineItemPricing, LineItemSpec, OrderSpec, RemoteId,
};
use crate::buy::{MediaBuy, MediaBuyStatus, Package};
use crate::catalogue::{CreativeFormat, Product};
use crate::creative::{Creative, CreativeStatus};
use crate::money::MoneyAmount;
use crate::store::{StoreRead, Stored, own_id};

/// Maximum length of a name at an ad server in characters.
const MAX_NAME: usize = 255;

/// Settings of the publisher for its orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderTerms {
    /// The advertiser at the ad server for all orders.
    pub advertiser: Option<RemoteId>,
    /// True if buys of test accounts are made, too.
    pub test_accounts: bool,
    /// Sizes of the catalogue's formats, by the id of the format.
    pub format_sizes: BTreeMap<String, CreativeSize>,
}

impl OrderTerms {
    /// Returns the terms with the sizes of a catalogue's formats.
    #[must_use]
    pub fn with_formats(mut self, formats: &[CreativeFormat]) -> Self {
        for format in formats {
            let Some(id) = format.format_id.as_ref().and_then(|id| id.id.clone()) else { continue };
            let renders = format.renders.iter().filter_map(|render| render.dimensions.as_ref());
            let mut sizes = renders.filter_map(|size| {
                Some(CreativeSize { width: pixels(size.width)?, height: pixels(size.height)? })
            });
            if let Some(size) = sizes.next() {
                self.format_sizes.insert(id, size);
            }
        }
        self
    }
}

/// State in which an order is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedState {
    /// The ad server is not concerned.
    None,
    /// The flight is ahead or running.
    Live,
    /// Canceled or rejected.
    Canceled,
    /// The flight is over.
    Over,
}

/// An order as it is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedOrder {
    /// State.
    pub state: WantedState,
    /// True if a package is delivered by a line item: deals need no order.
    pub needs_order: bool,
    /// The order.
    pub order: OrderSpec,
    /// Its line items, in the order of the packages.
    pub line_items: Vec<WantedLineItem>,
    /// The deals, in the order of the packages.
    pub deals: Vec<WantedDeal>,
    /// The creatives that they show.
    pub creatives: BTreeMap<ExternalId, CreativeSpec>,
    /// Ids of approved creatives that have nothing that an ad server can deliver.
    pub unusable: Vec<String>,
    /// Reason for which a package cannot be described to the ad server: then deals are closed, and nothing else
    /// is done.
    pub untranslatable: Option<Untranslatable>,
}

/// A line item as it is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedLineItem {
    /// The line item.
    pub spec: LineItemSpec,
    /// True if its package was canceled.
    pub is_canceled: bool,
    /// The creatives that it shows.
    pub creatives: BTreeSet<ExternalId>,
}

/// Reason for which a package cannot be described to an ad server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untranslatable(pub String);

/// Returns what is wanted of the ad server for a media buy; `None` when the buy is gone.
///
/// # Errors
/// When the store fails.
pub fn read_wanted(
    reader: &dyn StoreRead,
    remote: &RemoteOrder,
    terms: &OrderTerms,
    now: Timestamp,
) -> Result<Option<WantedOrder>, InternalError> {
    let Some(buy) = reader.find::<MediaBuy>(&remote.media_buy_id)? else { return Ok(None) };
    let account = Account::find_for(&buy.record, reader)?;
    let ids = buy.thing.packages.iter().flat_map(|package| &package.creative_assignments);
    let ids = ids
        .filter_map(|assigned| assigned.creative_id.as_deref())
        .map(|id| own_id(&buy.record.owner, buy.record.account.as_deref().unwrap_or_default(), id));
    let creatives = reader.find_many::<Creative>(&ids.collect())?;
    let account = account.as_ref().map(|account| &account.thing);
    Ok(Some(wanted(&buy.thing, account, &creatives, remote, terms, now)))
}

/// An order as it would be made of a media buy that is not sold yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedOrder {
    /// The order.
    pub(crate) order: OrderSpec,
    /// Line items of the packages that go on, by the index of the package.
    pub(crate) line_items: BTreeMap<usize, Result<LineItemSpec, Untranslatable>>,
    /// Whether packages that go on can be sent as deals, by the index of the package.
    pub(crate) deals: BTreeMap<usize, Result<(), Untranslatable>>,
}

/// Returns the order that a media buy would become; `None` when the ad server is not concerned.
pub(crate) fn planned(
    buy: &MediaBuy,
    account: Option<&Account>,
    terms: &OrderTerms,
) -> Option<PlannedOrder> {
    if !is_concerned(account, terms) || buy.status.is_terminal() {
        return None;
    }
    let name = &buy.media_buy_id;
    let mut line_items = BTreeMap::new();
    let mut deals = BTreeMap::new();
    for (index, package) in buy.packages.iter().enumerate() {
        let Some(inventory) = package.ad_server.as_ref().filter(|_| package.is_live()) else {
            continue;
        };
        if package.is_deal() {
            deals.insert(index, super::deals::check(package));
        } else {
            line_items.insert(index, line_item(buy, package, inventory, name, terms));
        }
    }
    let order = order(buy, account, name, terms);
    let is_carried = !line_items.is_empty() || !deals.is_empty();
    is_carried.then_some(PlannedOrder { order, line_items, deals })
}

/// Returns true if buys of an account are made at the ad server.
fn is_concerned(account: Option<&Account>, terms: &OrderTerms) -> bool {
    terms.test_accounts || !account.is_some_and(|account| account.sandbox)
}

/// Returns the order of a media buy under this name.
fn order(buy: &MediaBuy, account: Option<&Account>, name: &str, terms: &OrderTerms) -> OrderSpec {
    let advertiser_name = account.map(|account| account.name.clone()).unwrap_or_default();
    let live = buy.packages.iter().filter(|package| package.is_live());
    let carried = live.filter(|package| package.ad_server.is_some() && !package.is_deal());
    OrderSpec {
        external_id: ExternalId::from_order(name),
        name: short(&format!("{advertiser_name} {}", buy.media_buy_id)),
        advertiser: terms.advertiser.clone(),
        advertiser_name: short(&advertiser_name),
        budget: carried.map(|package| package.budget).sum(),
        currency: buy.currency.clone(),
        start_time: buy.start_time,
        end_time: buy.end_time,
    }
}

/// Returns what is wanted of the ad server for a media buy.
pub(super) fn wanted(
    buy: &MediaBuy,
    account: Option<&Account>,
    library: &[Stored<Creative>],
    remote: &RemoteOrder,
    terms: &OrderTerms,
    now: Timestamp,
) -> WantedOrder {
    let name = remote.external_name();
    let carried =
        buy.packages.iter().filter_map(|package| Some((package, package.ad_server.as_ref()?)));
    let carried: Vec<(&Package, &PackageInventory)> = carried.collect();
    let state = match buy.status_at(now) {
        _ if carried.is_empty() || !is_concerned(account, terms) => WantedState::None,
        MediaBuyStatus::Canceled | MediaBuyStatus::Rejected => WantedState::Canceled,
        MediaBuyStatus::Completed => WantedState::Over,
        MediaBuyStatus::PendingCreatives
        | MediaBuyStatus::PendingStart
        | MediaBuyStatus::Active
        | MediaBuyStatus::Paused => WantedState::Live,
    };
    let order = order(buy, account, &name, terms);
    let mut creatives = BTreeMap::new();
    let mut unusable = BTreeSet::new();
    let mut line_items = Vec::new();
    let mut deals = Vec::new();
    let mut untranslatable = None;
    let needs_order = carried.iter().any(|(package, _)| !package.is_deal());
    for (package, inventory) in carried {
        if let Some(of_deal) = inventory.deal.as_ref().filter(|_| state != WantedState::None) {
            let spec = deal(buy, package, &inventory.inventory, of_deal, account);
            let is_canceled = state == WantedState::Canceled || !package.is_live();
            let is_open = state == WantedState::Live && !is_canceled && now < spec.end_time;
            // A deal is closed by its id, whatever it is.
            if is_open && let Err(why) = super::deals::check(package) {
                untranslatable = Some(why);
            }
            let package_id = package.package_id.clone();
            deals.push(WantedDeal { package_id, spec, is_open, is_canceled });
        }
        if package.is_deal() || state != WantedState::Live {
            continue;
        }
        let mut shown = BTreeSet::new();
        for assigned in &package.creative_assignments {
            let known = library.iter().find(|creative| assigned.is(&creative.thing.creative_id));
            let known =
                known.filter(|stored| stored.thing.status_at(now) == CreativeStatus::Approved);
            let Some(known) = known else { continue };
            match creative(known, terms) {
                Some(spec) => {
                    shown.insert(spec.external_id.clone());
                    creatives.insert(spec.external_id.clone(), spec);
                }
                None => {
                    unusable.insert(known.thing.creative_id.clone());
                }
            }
        }
        match line_item(buy, package, inventory, &name, terms) {
            Ok(spec) => {
                let is_canceled = !package.is_live();
                line_items.push(WantedLineItem { spec, is_canceled, creatives: shown });
            }
            Err(why) => untranslatable = Some(why),
        }
    }
    let unusable = unusable.into_iter().collect();
    WantedOrder {
        state,
        needs_order,
        order,
        line_items,
        deals,
        creatives,
        unusable,
        untranslatable,
    }
}

/// Translates a package into the specification of a line item.
fn line_item(
    buy: &MediaBuy,
    package: &Package,
    inventory: &PackageInventory,
    order: &str,
    terms: &OrderTerms,
) -> Result<LineItemSpec, Untranslatable> {
    let model = package.price.pricing_model.as_deref().unwrap_or_default();
    let Some(pricing) = LineItemPricing::from_name(model) else {
        let package_id = &package.package_id;
        return Err(Untranslatable(format!(
            "package {package_id} is priced by {model:?}, which line items do not have"
        )));
    };
    let bid = package.shown.bid_price;
    let rate = package.price.fixed_price.or(bid).or(package.price.floor_price).unwrap_or_default();
    let mut sizes = inventory.sizes.clone();
    for size in inventory.formats.iter().filter_map(|id| terms.format_sizes.get(id)) {
        if !sizes.contains(size) {
            sizes.push(*size);
        }
    }
    let targeting = package.shown.targeting_overlay.clone().unwrap_or_default();
    Ok(LineItemSpec {
        external_id: ExternalId::from_line_item(order, &package.package_id),
        name: short(&format!("{} {}", package.product_id, package.package_id)),
        package_id: package.package_id.clone(),
        inventory: inventory.inventory.clone(),
        is_guaranteed: inventory.is_guaranteed,
        pricing,
        rate,
        currency: buy.currency.clone(),
        budget: package.budget,
        goal: goal(pricing, package.budget, rate),
        start_time: package.start_time.unwrap_or(buy.start_time),
        end_time: package.end_time.unwrap_or(buy.end_time),
        targeting,
        sizes,
        is_paused: package.paused || buy.is_paused(),
    })
}

/// Returns the number of units that a budget buys; `None` where the price has no unit.
fn goal(pricing: LineItemPricing, budget: MoneyAmount, rate: MoneyAmount) -> Option<LineItemGoal> {
    let thousand = MoneyAmount::whole(1_000);
    let one = MoneyAmount::whole(1);
    let (unit, per) = match pricing {
        LineItemPricing::Cpm => (GoalUnit::Impressions, thousand),
        LineItemPricing::Vcpm => (GoalUnit::ViewableImpressions, thousand),
        LineItemPricing::Cpc => (GoalUnit::Clicks, one),
        LineItemPricing::Cpcv => (GoalUnit::CompletedViews, one),
        LineItemPricing::FlatRate => return None,
    };
    let amount = budget.portion(per, rate, one).count().filter(|amount| *amount > 0)?;
    Some(LineItemGoal { unit, amount })
}

/// Returns a creative as it is to be made; `None` when it has nothing that an ad server can deliver.
fn creative(stored: &Stored<Creative>, terms: &OrderTerms) -> Option<CreativeSpec> {
    let creative = &stored.thing;
    let placed = creative.given.placed("");
    let content = placed.iter().find_map(|one| {
        let url = || one.asset.url.clone();
        match one.asset.asset_type.as_deref()? {
            "image" => Some(CreativeContent::Image { url: url()? }),
            "video" => Some(CreativeContent::Video { url: url()? }),
            "vast" => match url() {
                Some(url) => Some(CreativeContent::Vast { url }),
                None => Some(CreativeContent::Markup { markup: one.asset.text()?.to_owned() }),
            },
            "html" | "javascript" => {
                let markup = one.asset.text()?.to_owned();
                Some(CreativeContent::Markup { markup })
            }
            _ => None,
        }
    })?;
    // Only an address that is one for clicks: that of an asset is never taken for it.
    let click_url = placed.iter().find_map(|one| {
        let is_link = one.asset.asset_type.as_deref() == Some("url")
            && one
                .sent
                .get("url_type")
                .and_then(Value::as_str)
                .is_none_or(|kind| kind == "clickthrough");
        is_link.then(|| one.asset.url.clone()).flatten()
    });
    let format = creative.given.format_id.as_ref();
    let size = |width: Option<MoneyAmount>, height: Option<MoneyAmount>| {
        Some(CreativeSize { width: pixels(width)?, height: pixels(height)? })
    };
    let of_format = format.and_then(|format| size(format.width, format.height));
    let of_catalogue = || terms.format_sizes.get(creative.format()).copied();
    let of_asset = || placed.iter().find_map(|one| size(one.asset.width, one.asset.height));
    Some(CreativeSpec {
        external_id: creative.external_id(&stored.record),
        name: short(if creative.name().is_empty() {
            &creative.creative_id
        } else {
            creative.name()
        }),
        advertiser: terms.advertiser.clone(),
        format_id: creative.format().to_owned(),
        size: of_format.or_else(of_catalogue).or_else(of_asset),
        content,
        click_url,
    })
}

impl PackageInventory {
    /// Returns the inventory of a product, if it names any.
    #[must_use]
    pub fn from_product(product: &Product) -> Option<Self> {
        let terms = product.terms.ad_server.as_ref()?;
        let sizes = product.formats().iter().filter_map(|format| {
            let width = pixels(format.width)?;
            let height = pixels(format.height)?;
            Some(CreativeSize { width, height })
        });
        let formats = product.formats().iter().filter_map(|format| format.id.clone());
        let deal = terms.deal.as_ref().map(|deal| PackageDeal {
            id: None,
            auction: deal.auction,
            seats: deal.seats.clone(),
        });
        Some(Self {
            deal,
            formats: formats.collect(),
            inventory: terms.inventory.clone(),
            is_guaranteed: product.is_guaranteed(),
            sizes: sizes.collect(),
        })
    }
}

/// Returns a measure in pixels.
fn pixels(measure: Option<MoneyAmount>) -> Option<u32> {
    measure.and_then(MoneyAmount::count).and_then(|count| u32::try_from(count).ok())
}

/// Returns a name that fits an ad server.
pub(super) fn short(name: &str) -> String {
    name.trim().chars().take(MAX_NAME).collect()
}
