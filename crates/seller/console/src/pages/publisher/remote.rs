//! What the pages of a publisher show of its ad server.

use tradepost_admin::AdminOperation;
use tradepost_admin::remote_orders::{ListOrders, count_orders, find_order, list_orders};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::remote_order::{RemoteOrder, RemotePhase, RemoteProblem};
use tradepost_publisher::staff::DecisionSubject;

use super::super::{Console, Local, PageError, ShownMoment, Visitor, headed};
use super::{Fields, MAX_COUNTED, amount, show_link, state_class};

/// A media buy at the ad server.
#[derive(Debug)]
pub(super) struct RemoteSection {
    pub(super) phase: &'static str,
    pub(super) class: &'static str,
    /// Id of the order there.
    pub(super) order: Option<String>,
    /// True if an order is to be made: deals need none.
    pub(super) needs_order: bool,
    /// State of the order there.
    pub(super) state: Option<String>,
    pub(super) problem: Option<ProblemRow>,
    /// Creatives that it has refused, with its words.
    pub(super) refusals: Vec<String>,
    /// Time of the next step or report.
    pub(super) next_at: Option<String>,
    /// Time of the last report.
    pub(super) reported_at: Option<ShownMoment>,
    /// Steps done, the latest first.
    pub(super) steps: Vec<StepRow>,
    /// True when the visitor may have it worked on again.
    pub(super) may_retry: bool,
    /// True when it stopped, something was refused, or people at the ad server have to approve it.
    pub(super) is_unsettled: bool,
    /// True while people at the ad server have to approve it.
    pub(super) waits: bool,
}

/// What a person has to look at.
#[derive(Debug)]
pub(super) struct ProblemRow {
    pub(super) text: String,
    pub(super) remedy: &'static str,
    pub(super) when: ShownMoment,
}

/// A step that was done.
#[derive(Debug)]
pub(super) struct StepRow {
    pub(super) what: String,
    pub(super) when: ShownMoment,
}

/// Line item or deal of a package.
#[derive(Debug)]
pub(super) struct LineItemRow {
    pub(super) kind: &'static str,
    /// Its id at the ad server.
    pub(super) id: String,
    pub(super) state: Option<String>,
    pub(super) class: &'static str,
    /// What a deal has spent of its budget.
    pub(super) spent: Option<String>,
    /// True when that is all of it, and bids for it are still made.
    pub(super) has_to_be_paused: bool,
}

/// A media buy that the ad server does not take until a person acts.
#[derive(Debug)]
pub(super) struct StoppedBuy {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) text: String,
    pub(super) remedy: &'static str,
    pub(super) when: Option<ShownMoment>,
}

impl RemoteSection {
    /// Creates the section about the ad server of a media buy's page.
    pub(super) fn new(
        order: &RemoteOrder,
        needs_order: bool,
        visitor: &Visitor<'_>,
        here: &Local,
    ) -> Self {
        let refusals = order.creatives.iter().filter_map(|(id, creative)| {
            let refusal = creative.refusal.as_ref()?;
            Some(format!("The creative {id} was refused: {refusal}"))
        });
        let refused_lines = order.line_items.iter().flat_map(|(package, line_item)| {
            let creatives = line_item.refused.iter();
            creatives.map(move |creative| {
                format!("The creative {} was refused for the package {package}.", creative.0)
            })
        });
        let refused_deals = order.deals.iter().filter_map(|(package, deal)| {
            let refusal = deal.refusal.as_ref()?;
            let what = if deal.close_refused { "Closing the deal" } else { "The deal" };
            Some(format!("{what} of the package {package} was refused: {refusal}"))
        });
        let remote = order.order.as_ref();
        let refusals: Vec<_> = refusals.chain(refused_lines).chain(refused_deals).collect();
        let steps = order.done.iter().rev();
        let waits = order.phase == RemotePhase::Waits;
        Self {
            is_unsettled: waits || order.problem.is_some() || !refusals.is_empty(),
            waits,
            phase: phase_text(order.phase),
            class: phase_class(order.phase),
            order: remote.map(|remote| remote.id.0.clone()),
            needs_order,
            state: remote.and_then(|remote| remote.state).map(|state| headed(state.name())),
            problem: order.problem.as_ref().map(|problem| ProblemRow {
                text: problem_text(problem),
                remedy: problem.kind.remedy(),
                when: here.when(problem.at),
            }),
            refusals,
            next_at: order.next_at().map(|at| here.spoken(at)),
            reported_at: order.reported_at.map(|at| here.when(at)),
            steps: steps
                .map(|step| StepRow { what: step.step.clone(), when: here.when(step.at) })
                .collect(),
            may_retry: AdminOperation::RetryOrder.permission().is_of(visitor.member.role),
        }
    }
}

impl LineItemRow {
    /// Returns the line item of a package, once it was made.
    pub(super) fn from_package(order: &RemoteOrder, package_id: &str) -> Option<Self> {
        let line_item = order.line_items.get(package_id)?;
        let state = line_item.state.map(|state| state.name());
        Some(Self {
            kind: "line item",
            id: line_item.id.0.clone(),
            state: state.map(headed),
            class: state.map(state_class).unwrap_or_default(),
            spent: None,
            has_to_be_paused: false,
        })
    }

    /// Returns the deal of a package that is sold as one, in this currency.
    pub(super) fn from_deal(package: Fields<'_>, currency: &str) -> Option<Self> {
        let deal = Fields::new(package.get("deal")?);
        let state = deal.or_empty("state");
        let class = match state.as_str() {
            "refused" => "bad",
            // A deal is closed when its flight is over.
            "closed" => "",
            other => state_class(other),
        };
        let is_running =
            !matches!(state.as_str(), "paused" | "completed" | "rejected" | "refused" | "closed");
        let spent = amount(&deal.or_empty("spent"));
        let budget = amount(&deal.or_empty("budget"));
        Some(Self {
            kind: "deal",
            id: deal.or_empty("id"),
            state: Some(headed(&state)),
            class,
            spent: Some(format!("{spent} of {budget} {currency} spent")),
            has_to_be_paused: deal.is("budget_spent") && is_running,
        })
    }
}

impl Console {
    /// Returns what there is of a media buy at the ad server.
    pub(super) fn remote_order(
        &self,
        visitor: &Visitor<'_>,
        publisher: &Publisher,
        media_buy_id: &str,
    ) -> Result<Option<RemoteOrder>, PageError> {
        let found = find_order(&self.admin(&[]), &visitor.actor(), publisher, media_buy_id);
        found.map_err(Self::order_refused)
    }

    /// Returns the number of media buys for which a person has to act because of the ad server.
    pub(super) fn stopped_count(
        &self,
        visitor: &Visitor<'_>,
        publisher: &Publisher,
    ) -> Result<usize, PageError> {
        let phase = RemotePhase::Stopped;
        let stopped = count_orders(&self.admin(&[]), &visitor.actor(), publisher, phase);
        Ok(usize::try_from(stopped.map_err(Self::order_refused)?).unwrap_or(usize::MAX))
    }

    /// Returns the media buys for which a person has to act because of the ad server, the oldest first.
    pub(super) fn stopped_buys(
        &self,
        visitor: &Visitor<'_>,
        publisher: &Publisher,
        here: &Local,
    ) -> Result<Vec<StoppedBuy>, PageError> {
        let input = ListOrders { publisher, phase: Some(RemotePhase::Stopped), limit: MAX_COUNTED };
        let stopped = list_orders(&self.admin(&[]), &visitor.actor(), input);
        let stopped = stopped.map_err(Self::order_refused)?;
        let row = |order: &RemoteOrder| {
            let problem = order.problem.as_ref();
            StoppedBuy {
                id: order.media_buy_id.clone(),
                href: show_link(DecisionSubject::Buy, &order.media_buy_id, None, None),
                text: problem.map(problem_text).unwrap_or_default(),
                remedy: problem.map(|problem| problem.kind.remedy()).unwrap_or_default(),
                when: problem.map(|problem| here.when(problem.at)),
            }
        };
        Ok(stopped.iter().map(|order| row(&order.thing)).collect())
    }
}

fn problem_text(problem: &RemoteProblem) -> String {
    format!("{}: {}", headed(&problem.step), problem.detail)
}

fn phase_text(phase: RemotePhase) -> &'static str {
    match phase {
        RemotePhase::Due => "In progress",
        RemotePhase::Waits => "Waits for approval there",
        RemotePhase::Stopped => "Needs a person",
        RemotePhase::Settled => "As sold",
    }
}

fn phase_class(phase: RemotePhase) -> &'static str {
    match phase {
        RemotePhase::Due => "",
        RemotePhase::Waits => "warning",
        RemotePhase::Stopped => "bad",
        RemotePhase::Settled => "good",
    }
}
