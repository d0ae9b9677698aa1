//! An ad server in the test's own process, which does what it is told to do wrong. It makes another object
//! for each creation, whatever our id: who asks twice gets two.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::civil::Date;
use tokio::sync::Notify;
use tradepost_ad_server::{
    AdServer, AdServerError, AdServerResult, Availability, InventoryItem, PackageProblem,
    RefusalReason, RemoteStateChange,
};
use tradepost_publisher::ad_server::{
    AdServerCapabilities, CreativeSpec, DealSpec, ExternalId, LineItemSpec, OrderSpec,
    RemoteDelivery, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
};

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Our process dies before the request is sent.
    CrashBefore,
    /// Our process dies after the request had its effect.
    CrashAfter,
    /// The request is not sent.
    Unsent,
    /// 500, and it was not done.
    LostAnswer,
    /// 500, and it was done.
    DoneAnswer,
    /// Done, and the answer cannot be read.
    Garbled,
    /// 429.
    NotYet,
    /// 200, and nothing was done.
    Nothing,
}

impl Fault {
    /// All that may be repeated without end.
    pub const PASSING: [Self; 7] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Unsent,
        Self::LostAnswer,
        Self::DoneAnswer,
        Self::Garbled,
        Self::NotYet,
    ];
}

/// An order that was made.
#[derive(Debug, Clone)]
pub struct MadeOrder {
    pub spec: OrderSpec,
    pub state: RemoteState,
}

/// A line item that was made.
#[derive(Debug, Clone)]
pub struct MadeLineItem {
    pub order: String,
    pub spec: LineItemSpec,
    pub state: RemoteState,
    pub creatives: BTreeSet<RemoteId>,
}

/// A deal that was sent.
#[derive(Debug, Clone)]
pub struct MadeDeal {
    pub spec: DealSpec,
    pub is_closed: bool,
}

/// What it has.
#[derive(Debug)]
pub struct Made {
    /// Time that a call takes which changes something.
    pub pace: std::time::Duration,
    /// The deals by their ids: the same id again replaces what was sent.
    pub deals: BTreeMap<String, MadeDeal>,
    /// State that it gives to deals.
    pub deal_state: Option<RemoteState>,
    pub orders: BTreeMap<String, MadeOrder>,
    pub line_items: BTreeMap<String, MadeLineItem>,
    pub creatives: BTreeMap<String, CreativeSpec>,
    pub calls: Vec<String>,
    pub delivery: Vec<RemoteDelivery>,
    /// What it has against an order before it is made; no answer at all when `None`.
    pub objections: Option<Vec<PackageProblem>>,
    /// What it says of the inventory; it makes no forecasts when `None`.
    pub forecast: Option<Result<Availability, AdServerError>>,
    faults: VecDeque<Fault>,
    refusals: BTreeMap<&'static str, RefusalReason>,
    approval: Option<RemoteState>,
    number: u32,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            pace: std::time::Duration::ZERO,
            deals: BTreeMap::new(),
            deal_state: None,
            orders: BTreeMap::new(),
            line_items: BTreeMap::new(),
            creatives: BTreeMap::new(),
            calls: Vec::new(),
            delivery: Vec::new(),
            objections: Some(Vec::new()),
            forecast: None,
            faults: VecDeque::new(),
            refusals: BTreeMap::new(),
            approval: None,
            number: 0,
        }
    }
}

/// The ad server.
#[derive(Debug, Clone, Default)]
pub struct ScriptedAdServer {
    made: Arc<Mutex<Made>>,
    crashed: Arc<Notify>,
    capabilities: AdServerCapabilities,
}

impl ScriptedAdServer {
    /// Looks at what it has, or changes it.
    pub fn with<T>(&self, look: impl FnOnce(&mut Made) -> T) -> T {
        look(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What goes wrong with the next calls that change something, one after the other.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.with(|made| made.faults = faults.into_iter().collect());
    }

    /// Refuses a kind of call from now on, or no longer.
    pub fn refuse(&self, call: &'static str, reason: Option<RefusalReason>) {
        self.with(|made| match reason {
            Some(reason) => drop(made.refusals.insert(call, reason)),
            None => drop(made.refusals.remove(call)),
        });
    }

    /// What an approval leads to.
    pub fn approve_to(&self, state: RemoteState) {
        self.with(|made| made.approval = Some(state));
    }

    /// Resolves when our process dies in the middle of a call.
    pub async fn crashed(&self) {
        self.crashed.notified().await;
    }

    /// Does something that changes the ad server, as well as it is told to.
    async fn act<T>(
        &self,
        call: &'static str,
        about: &str,
        pretend: impl FnOnce(&mut Made) -> T + Send,
        work: impl FnOnce(&mut Made) -> Result<T, AdServerError> + Send,
    ) -> Result<T, AdServerError> {
        let fault = self.with(|made| {
            made.calls.push(format!("{call} {about}"));
            made.faults.pop_front().unwrap_or(Fault::None)
        });
        if let Some(reason) = self.with(|made| made.refusals.get(call).copied()) {
            return Err(refused(reason));
        }
        let pace = self.with(|made| made.pace);
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        match fault {
            Fault::None => self.with(work),
            Fault::CrashBefore => self.die().await,
            Fault::CrashAfter => {
                drop(self.with(work));
                self.die().await
            }
            Fault::Unsent => Err(AdServerError::Unsent),
            Fault::LostAnswer => Err(AdServerError::Unanswered),
            Fault::DoneAnswer => self.with(work).and(Err(AdServerError::Unanswered)),
            Fault::Garbled => {
                self.with(work).and(Err(AdServerError::Garbled { detail: "cut off".to_owned() }))
            }
            Fault::NotYet => Err(AdServerError::NotYet { retry_after: None }),
            Fault::Nothing => Ok(self.with(pretend)),
        }
    }

    async fn die<T>(&self) -> T {
        self.crashed.notify_one();
        std::future::pending().await
    }
}

/// A refusal.
pub fn refused(reason: RefusalReason) -> AdServerError {
    AdServerError::Refused { reason, detail: format!("{reason:?} says the ad server") }
}

fn missing() -> AdServerError {
    refused(RefusalReason::Missing)
}

impl Made {
    fn id(&mut self, prefix: &str) -> String {
        self.number += 1;
        format!("{prefix}{}", self.number)
    }

    fn object(&mut self, prefix: &str, external_id: &ExternalId) -> RemoteObject {
        let id = RemoteId(self.id(prefix));
        RemoteObject { id, external_id: Some(external_id.clone()), state: None }
    }

    /// The orders with our id.
    pub fn orders_named(&self, name: &str) -> Vec<(&String, &MadeOrder)> {
        self.orders.iter().filter(|(_, order)| order.spec.external_id.0 == name).collect()
    }

    /// The line items of a package.
    pub fn line_items_of(&self, package_id: &str) -> Vec<&MadeLineItem> {
        self.line_items.values().filter(|item| item.spec.package_id == package_id).collect()
    }
}

impl AdServer for ScriptedAdServer {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn capabilities(&self) -> &AdServerCapabilities {
        &self.capabilities
    }

    fn check(&self) -> AdServerResult<'_, String> {
        Box::pin(async { Ok("scripted".to_owned()) })
    }

    fn validate<'a>(
        &'a self,
        _: &'a OrderSpec,
        _: &'a [LineItemSpec],
    ) -> AdServerResult<'a, Vec<PackageProblem>> {
        Box::pin(async {
            let objections = self.with(|made| {
                made.calls.push("validate".to_owned());
                made.objections.clone()
            });
            match objections {
                Some(objections) => Ok(objections),
                None => std::future::pending().await,
            }
        })
    }

    fn availability<'a>(&'a self, _: &'a LineItemSpec) -> AdServerResult<'a, Availability> {
        Box::pin(async {
            self.with(|made| {
                made.calls.push("availability".to_owned());
                made.forecast.clone().unwrap_or(Err(refused(RefusalReason::Unsupported)))
            })
        })
    }

    fn find_order<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let object = |made: &mut Made| {
                let found = made.orders_named(&id.0);
                found.first().map(|(id, order)| RemoteObject {
                    id: RemoteId((*id).clone()),
                    external_id: Some(order.spec.external_id.clone()),
                    state: Some(order.state),
                })
            };
            Ok(self.with(object))
        })
    }

    fn line_items<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteObject>> {
        Box::pin(async move {
            let views = self.inspect(order).await?;
            Ok(views.into_iter().map(|view| view.object).collect())
        })
    }

    fn inspect<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteLineItemView>> {
        Box::pin(async move {
            let views = |made: &mut Made| {
                let items = made.line_items.iter().filter(|(_, item)| item.order == order.0);
                let view = |(id, item): (&String, &MadeLineItem)| RemoteLineItemView {
                    object: RemoteObject {
                        id: RemoteId(id.clone()),
                        external_id: Some(item.spec.external_id.clone()),
                        state: Some(item.state),
                    },
                    start_time: Some(item.spec.start_time),
                    end_time: Some(item.spec.end_time),
                    budget: Some(item.spec.budget),
                    creatives: Some(item.creatives.clone()),
                };
                items.map(view).collect()
            };
            Ok(self.with(views))
        })
    }

    fn find_creative<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>> {
        Box::pin(async move {
            let found = |made: &mut Made| {
                let mut all = made.creatives.iter();
                all.find(|(_, spec)| spec.external_id == *id).map(|(found, _)| RemoteObject {
                    id: RemoteId(found.clone()),
                    external_id: Some(id.clone()),
                    state: None,
                })
            };
            Ok(self.with(found))
        })
    }

    fn create_order<'a>(&'a self, order: &'a OrderSpec) -> AdServerResult<'a, RemoteObject> {
        let make = |made: &mut Made| made.object("o", &order.external_id);
        Box::pin(self.act("create_order", &order.external_id.0, make, move |made| {
            let object = make(made);
            let new = MadeOrder { spec: order.clone(), state: RemoteState::Draft };
            made.orders.insert(object.id.0.clone(), new);
            Ok(object)
        }))
    }

    fn change_order<'a>(
        &'a self,
        id: &'a RemoteId,
        order: &'a OrderSpec,
    ) -> AdServerResult<'a, ()> {
        Box::pin(self.act(
            "change_order",
            &order.external_id.0,
            |_| (),
            move |made| {
                made.orders.get_mut(&id.0).ok_or_else(missing)?.spec = order.clone();
                Ok(())
            },
        ))
    }

    fn create_line_item<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        let make = |made: &mut Made| made.object("l", &line_item.external_id);
        Box::pin(self.act("create_line_item", &line_item.package_id, make, move |made| {
            if !made.orders.contains_key(&order.0) {
                return Err(missing());
            }
            let object = make(made);
            let new = MadeLineItem {
                order: order.0.clone(),
                spec: line_item.clone(),
                state: RemoteState::Draft,
                creatives: BTreeSet::new(),
            };
            made.line_items.insert(object.id.0.clone(), new);
            Ok(object)
        }))
    }

    fn change_line_item<'a>(
        &'a self,
        _: &'a RemoteId,
        id: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        let external_id = Some(line_item.external_id.clone());
        let object = RemoteObject { id: id.clone(), external_id, state: None };
        let same = object.clone();
        Box::pin(self.act(
            "change_line_item",
            &line_item.package_id,
            |_| same,
            move |made| {
                made.line_items.get_mut(&id.0).ok_or_else(missing)?.spec = line_item.clone();
                Ok(object)
            },
        ))
    }

    fn create_creative<'a>(
        &'a self,
        creative: &'a CreativeSpec,
    ) -> AdServerResult<'a, RemoteObject> {
        let make = |made: &mut Made| made.object("c", &creative.external_id);
        Box::pin(self.act("create_creative", &creative.name, make, move |made| {
            let object = make(made);
            made.creatives.insert(object.id.0.clone(), creative.clone());
            Ok(object)
        }))
    }

    fn associate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(self.act(
            "associate",
            &creative.0,
            |_| (),
            move |made| {
                if !made.creatives.contains_key(&creative.0) {
                    return Err(missing());
                }
                let item = made.line_items.get_mut(&line_item.0).ok_or_else(missing)?;
                item.creatives.insert(creative.clone());
                Ok(())
            },
        ))
    }

    fn dissociate_creative<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()> {
        Box::pin(self.act(
            "dissociate",
            &creative.0,
            |_| (),
            move |made| {
                let item = made.line_items.get_mut(&line_item.0).ok_or_else(missing)?;
                item.creatives.remove(creative);
                Ok(())
            },
        ))
    }

    fn change_order_state<'a>(
        &'a self,
        order: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        let call = match change {
            RemoteStateChange::Approve => "approve_order",
            RemoteStateChange::Cancel => "cancel_order",
            RemoteStateChange::Pause | RemoteStateChange::Resume => "other",
        };
        let false_result = match change {
            RemoteStateChange::Cancel => RemoteState::Canceled,
            RemoteStateChange::Approve | RemoteStateChange::Pause | RemoteStateChange::Resume => {
                RemoteState::Ready
            }
        };
        Box::pin(self.act(
            call,
            &order.0,
            move |_| false_result,
            move |made| {
                let state = match change {
                    RemoteStateChange::Cancel => RemoteState::Canceled,
                    RemoteStateChange::Approve => made.approval.unwrap_or(RemoteState::Ready),
                    RemoteStateChange::Pause | RemoteStateChange::Resume => return Err(missing()),
                };
                made.orders.get_mut(&order.0).ok_or_else(missing)?.state = state;
                for item in made.line_items.values_mut().filter(|item| item.order == order.0) {
                    item.state = match (state, item.spec.is_paused) {
                        (RemoteState::Ready, true) => RemoteState::Paused,
                        (state, _) => state,
                    };
                }
                Ok(state)
            },
        ))
    }

    fn change_line_item_state<'a>(
        &'a self,
        _: &'a RemoteId,
        line_item: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState> {
        let state = match change {
            RemoteStateChange::Approve => RemoteState::Ready,
            RemoteStateChange::Resume => RemoteState::Delivering,
            RemoteStateChange::Pause => RemoteState::Paused,
            RemoteStateChange::Cancel => RemoteState::Canceled,
        };
        Box::pin(self.act(
            "line_item_state",
            &line_item.0,
            move |_| state,
            move |made| {
                made.line_items.get_mut(&line_item.0).ok_or_else(missing)?.state = state;
                Ok(state)
            },
        ))
    }

    fn order_state<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, RemoteState> {
        Box::pin(async move {
            self.with(|made| made.orders.get(&order.0).map(|order| order.state).ok_or_else(missing))
        })
    }

    fn delivery<'a>(
        &'a self,
        order: &'a RemoteId,
        from: Date,
        to: Date,
    ) -> AdServerResult<'a, Vec<RemoteDelivery>> {
        Box::pin(async move {
            Ok(self.with(|made| {
                let is_wanted = |row: &&RemoteDelivery| {
                    let item = made.line_items.get(&row.line_item.0);
                    item.is_some_and(|item| item.order == order.0) && (from..=to).contains(&row.day)
                };
                made.delivery.iter().filter(is_wanted).cloned().collect()
            }))
        })
    }

    fn inventory(&self) -> AdServerResult<'_, Vec<InventoryItem>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn put_deal<'a>(&'a self, deal: &'a DealSpec) -> AdServerResult<'a, RemoteObject> {
        let object = |made: &mut Made| RemoteObject {
            id: RemoteId(deal.external_id.0.clone()),
            external_id: Some(deal.external_id.clone()),
            state: made.deal_state,
        };
        Box::pin(self.act("put_deal", &deal.external_id.0, object, move |made| {
            let known = made.deals.get(&deal.external_id.0);
            assert!(known.is_none_or(|known| !known.is_closed), "a closed deal stays closed");
            let new = MadeDeal { spec: deal.clone(), is_closed: false };
            made.deals.insert(deal.external_id.0.clone(), new);
            Ok(object(made))
        }))
    }

    fn close_deal<'a>(&'a self, deal: &'a RemoteId) -> AdServerResult<'a, ()> {
        Box::pin(self.act(
            "close_deal",
            &deal.0,
            |_| (),
            move |made| {
                made.deals.get_mut(&deal.0).ok_or_else(missing)?.is_closed = true;
                Ok(())
            },
        ))
    }
}
