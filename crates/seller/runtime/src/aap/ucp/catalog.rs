//! The three operations of a catalog, over the dealer's inventory.

use jiff::Timestamp;
use serde::Deserialize;
use tradepost_aap::{Filters, ReplyData, Search, VehicleQuery};
use tradepost_dealer::inventory::{CacheKey, CurrentYear, Inventory, VehicleLookup};
use tradepost_dealer::skills::{self, tombstone_horizon};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{self, RawValue, Value, json, object};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Problems, clip};
use tradepost_server::fault::InternalError;
use tradepost_ucp::error::{UcpCode, UcpRefusal, error_response};
use tradepost_ucp::message::Message;
use tradepost_ucp::product::{LookupInput, Product};
use tradepost_ucp::request::{LookupRequest, PageRequest, ProductRequest, SearchRequest};
use tradepost_ucp::{Capability, CatalogOperation, metadata};

use super::CatalogTools;
use super::filters::{CombinedFilters, OwnFilters};
use super::product::{ProductDetail, product};
use super::refusal::CatalogError;

/// Purpose of the signature of a cursor.
const CURSOR_PURPOSE: &str = "ucp cursor";

/// Sentence about a vehicle that a catalog cannot show.
const NO_PRICE: &str =
    "the dealer names no price for this vehicle, and a product needs one; ask the dealer";

/// Sentence about a vehicle that has left the offer.
const NO_LONGER_OFFERED: &str = "this vehicle is no longer on offer";

/// An answer.
#[derive(Debug)]
pub(super) struct CatalogAnswer {
    /// The whole response.
    pub(super) document: Value,
    /// Error code, or `OK`.
    pub(super) code: &'static str,
}

/// A request that was read, with the dealer's filters.
struct ReadRequest<R> {
    request: R,
    own: OwnFilters,
}

/// A vehicle on offer.
struct OfferedVehicle {
    vehicle_id: String,
    /// The vehicle, as the dealer lists it.
    listing: Value,
}

/// What an identifier leads to.
enum ResolvedVehicle {
    /// A vehicle on offer.
    Offered(OfferedVehicle),
    /// A vehicle that has left the offer.
    Gone,
    /// Nothing.
    Unknown,
}

impl CatalogTools<'_> {
    /// Answers an operation. `at` is the place of the request in what was sent.
    pub(super) async fn answer(
        &self,
        operation: CatalogOperation,
        request: &Value,
        at: &DocumentPlace<'_>,
    ) -> Result<CatalogAnswer, CatalogError> {
        match operation {
            CatalogOperation::SearchCatalog => {
                let read = read(request, at, false, SearchRequest::read)?;
                self.search(read, request, at).await
            }
            CatalogOperation::LookupCatalog => {
                let too_large = LookupRequest::is_too_large(request);
                self.look_up(read(request, at, too_large, LookupRequest::read)?).await
            }
            CatalogOperation::GetProduct => {
                self.get_product(read(request, at, false, ProductRequest::read)?).await
            }
        }
    }

    async fn search(
        &self,
        ReadRequest { request, own }: ReadRequest<SearchRequest>,
        sent: &Value,
        at: &DocumentPlace<'_>,
    ) -> Result<CatalogAnswer, CatalogError> {
        let now = self.agent.clock.now();
        let inventory = self.agent.inventory.inventory().await?;
        let skip = self.skip(&request.page, sent, at)?;
        let terms = &self.agent.dealer.terms;
        let SearchRequest { query, filters, page, context } = request;
        let combined = own.combined(&filters, &context);
        let limit = Some(page.limit.min(terms.search.max_limit));
        let with = |filters: Filters| {
            let filters = Filters { query: query.clone(), ..filters };
            let search = Search { filters, skip, limit, sort: None };
            CacheKey::Search(search, terms.search, CurrentYear::from_timestamp(now))
        };
        let reply = skills::repeat(&inventory, &with(combined.shown()));
        let reply = reply.map_err(InternalError::on(skills::LOOKING))?;
        if let Some(reading) = &reply.nothing_found {
            let asked = with(combined.asked.clone());
            self.agent.note_empty_search(&asked, reading, now);
        }
        let found = FoundPage::read(&reply.data)?;
        let shown = found.vehicles.len();
        let products: Vec<_> =
            found.vehicles.iter().filter_map(|listing| self.brief(listing)).collect();
        let mut messages = combined.warnings;
        // An empty result has no notice (UCP catalog, "Empty Search").
        if let Some(note) = reply.message.filter(|_| query.is_some() && !products.is_empty()) {
            messages.push(Message::info("search_note", note));
        }
        let next = u64::from(skip).saturating_add(shown as u64);
        let has_next = shown > 0 && next < found.total;
        let cursor = has_next.then(|| self.cursor(next, sent));
        let pagination = object!({
            "cursor"?: cursor, "has_next_page": has_next, "total_count": found.total,
        });
        Ok(success(object!({
            "ucp": metadata(Capability::Search, "success"),
            "products": products,
            "pagination": pagination,
            "messages"?: (!messages.is_empty()).then_some(messages),
        })))
    }

    async fn look_up(
        &self,
        ReadRequest { request, own }: ReadRequest<LookupRequest>,
    ) -> Result<CatalogAnswer, CatalogError> {
        let now = self.agent.clock.now();
        let inventory = self.agent.inventory.inventory().await?;
        let combined = own.combined(&request.filters, &request.context);
        let mut messages = Vec::new();
        let mut products: Vec<Product> = Vec::new();
        for id in request.ids {
            let input = LookupInput { id: id.clone(), resolution: "exact" };
            match self.resolve(&inventory, &id, now)? {
                ResolvedVehicle::Offered(OfferedVehicle { vehicle_id, listing }) => {
                    let known = products.iter_mut().find(|product| product.id == vehicle_id);
                    // A product is there once, with every identifier that leads to it.
                    let product = known.is_none().then(|| self.brief(&listing)).flatten();
                    match (known, product) {
                        (Some(known), _) => add_input(known, input),
                        (None, Some(mut product)) => {
                            add_input(&mut product, input);
                            products.push(product);
                        }
                        (None, None) => messages.push(about(&id, "item_unavailable", NO_PRICE)),
                    }
                }
                ResolvedVehicle::Gone => {
                    messages.push(about(&id, "item_unavailable", NO_LONGER_OFFERED))
                }
                // The text is the identifier (UCP catalog, "Identifiers Not Found").
                ResolvedVehicle::Unknown => messages.push(Message::info("not_found", clip(&id))),
            }
        }
        let ids: Vec<_> = products.iter().map(|product| product.id.as_str()).collect();
        let fitting = inventory.fitting(&ids, &combined.asked, CurrentYear::from_timestamp(now));
        let products = products.into_iter().zip(fitting).filter(|(_, fits)| *fits);
        let products: Vec<_> = products.map(|(product, _)| product).collect();
        messages.extend(combined.warnings);
        Ok(success(object!({
            "ucp": metadata(Capability::Lookup, "success"),
            "products": products,
            "messages"?: (!messages.is_empty()).then_some(messages),
        })))
    }

    async fn get_product(
        &self,
        ReadRequest { request, own }: ReadRequest<ProductRequest>,
    ) -> Result<CatalogAnswer, CatalogError> {
        let now = self.agent.clock.now();
        let inventory = self.agent.inventory.inventory().await?;
        let CombinedFilters { asked, warnings } = own.combined(&request.filters, &request.context);
        let offered = match self.resolve(&inventory, &request.id, now)? {
            ResolvedVehicle::Offered(offered) => offered,
            ResolvedVehicle::Gone => {
                return Ok(absent(UcpCode::ItemUnavailable, NO_LONGER_OFFERED, None));
            }
            ResolvedVehicle::Unknown => {
                let content = format!("no vehicle has this identifier: {}", clip(&request.id));
                return Ok(absent(UcpCode::NotFound, &content, None));
            }
        };
        let OfferedVehicle { vehicle_id, listing } = offered;
        if inventory.fitting(&[&vehicle_id], &asked, CurrentYear::from_timestamp(now)) != [true] {
            let content = "the product does not match the filters";
            return Ok(absent(UcpCode::NotFound, content, None));
        }
        let dealer = &self.agent.dealer.terms.name;
        let Some(product) = product(&listing, dealer, ProductDetail::Full) else {
            let page = listing.get("vdp_url").and_then(Value::as_str);
            return Ok(absent(UcpCode::ItemUnavailable, NO_PRICE, page));
        };
        let note = Message::info("contact_dealer", self.endpoint.lead_note.clone());
        let messages: Vec<_> = std::iter::once(note).chain(warnings).collect();
        Ok(success(json!({
            "ucp": metadata(Capability::Lookup, "success"),
            "product": product,
            "messages": messages,
        })))
    }

    fn brief(&self, listing: &Value) -> Option<Product> {
        product(listing, &self.agent.dealer.terms.name, ProductDetail::Brief)
    }

    /// Finds the vehicle of an identifier: the dealer's id, a stock number or a VIN.
    fn resolve(
        &self,
        inventory: &Inventory,
        id: &str,
        now: Timestamp,
    ) -> Result<ResolvedVehicle, InternalError> {
        let query = VehicleQuery {
            vin: Some(id.to_ascii_uppercase()),
            stock: Some(id.to_owned()),
            vehicle_id: Some(id.to_owned()),
        };
        let horizon = tombstone_horizon(&self.agent.dealer.terms, now);
        let found = inventory.find(&query, horizon);
        Ok(match found.map_err(InternalError::on(skills::LOOKING))? {
            VehicleLookup::Listed(found) => ResolvedVehicle::Offered(OfferedVehicle {
                listing: parsed(found.json.as_json())?,
                vehicle_id: found.vehicle_id,
            }),
            VehicleLookup::Gone(_) => ResolvedVehicle::Gone,
            VehicleLookup::Unknown => ResolvedVehicle::Unknown,
        })
    }

    /// Returns the number of products before a page.
    fn skip(
        &self,
        page: &PageRequest,
        sent: &Value,
        at: &DocumentPlace<'_>,
    ) -> Result<u32, UcpRefusal> {
        let Some(cursor) = &page.cursor else { return Ok(0) };
        let digest = digest(sent);
        let skip = self.endpoint.seal.read(&self.purpose(&digest), cursor);
        skip.and_then(|skip| skip.parse().ok()).ok_or_else(|| {
            let mut problems = Problems::new();
            let place = at.key("pagination");
            let message = "is none of this search; leave it out to begin again, and repeat query and filters with it";
            parse::reject(&place.key("cursor"), &mut problems, message);
            UcpRefusal::from_problems(problems, false)
        })
    }

    /// Returns the cursor of the page after `next` products, for this search alone.
    fn cursor(&self, next: u64, sent: &Value) -> String {
        let digest = digest(sent);
        self.endpoint.seal.write(&self.purpose(&digest), &next.to_string())
    }

    fn purpose<'p>(&'p self, digest: &'p str) -> [&'p str; 3] {
        [CURSOR_PURPOSE, &self.agent.dealer.terms.id, digest]
    }
}

/// Reads a request of UCP and the dealer's own filters, with the problems of both.
fn read<R>(
    request: &Value,
    at: &DocumentPlace<'_>,
    too_large: bool,
    reader: impl FnOnce(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<R>,
) -> Result<ReadRequest<R>, UcpRefusal> {
    let mut problems = Problems::new();
    let read = reader(request, at, &mut problems);
    let own = OwnFilters::read(request, at, &mut problems);
    let both = read.zip(own).map(|(request, own)| ReadRequest { request, own });
    problems.into_result(both).map_err(|problems| UcpRefusal::from_problems(problems, too_large))
}

/// Returns what a cursor belongs to: a search without its page.
fn digest(sent: &Value) -> String {
    let member = |name: &str| sent.get(name).cloned().unwrap_or_default();
    canonical::to_string(&json!([member("query"), member("filters"), member("context")]))
}

fn add_input(product: &mut Product, input: LookupInput) {
    if let Some(variant) = product.variants.first_mut() {
        variant.inputs.push(input);
    }
}

fn about(id: &str, code: &'static str, content: &str) -> Message {
    Message::info(code, format!("{}: {content}", clip(id)))
}

fn success(document: Value) -> CatalogAnswer {
    CatalogAnswer { document, code: "OK" }
}

/// Returns the answer for a product that cannot be shown.
fn absent(code: UcpCode, content: &str, page: Option<&str>) -> CatalogAnswer {
    let messages = [Message::error(code, content)];
    let document = error_response(Capability::Lookup, &messages, page);
    CatalogAnswer { document, code: code.name() }
}

fn parsed(text: &str) -> Result<Value, InternalError> {
    json::from_str(text).map_err(InternalError::on("reading a listing"))
}

/// A page of a search.
struct FoundPage {
    total: u64,
    vehicles: Vec<Value>,
}

/// Members of a page that has been written before.
#[derive(Deserialize)]
struct WrittenUcpPage<'p> {
    total: u64,
    #[serde(borrow)]
    vehicles: Vec<&'p RawValue>,
}

impl FoundPage {
    fn read(data: &ReplyData) -> Result<Self, InternalError> {
        match data {
            ReplyData::Page(page) => {
                let vehicles = page.vehicles.iter().map(|vehicle| parsed(vehicle.as_json()));
                Ok(Self { total: page.total as u64, vehicles: vehicles.collect::<Result<_, _>>()? })
            }
            ReplyData::Written(written) => {
                let page: WrittenUcpPage<'_> = json::from_str(written.as_json())
                    .map_err(InternalError::on("reading a page"))?;
                let vehicles = page.vehicles.iter().map(|vehicle| parsed(vehicle.get()));
                Ok(Self { total: page.total, vehicles: vehicles.collect::<Result<_, _>>()? })
            }
            ReplyData::Dealer(_)
            | ReplyData::Facets(_)
            | ReplyData::Vehicle(_)
            | ReplyData::Lead(_) => unreachable!("a search is answered with a page"),
        }
    }
}
