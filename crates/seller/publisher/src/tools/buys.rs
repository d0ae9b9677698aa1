//! Media buys: `create_media_buy`, `update_media_buy` and `get_media_buys`.

use std::cell::RefCell;

use jiff::Timestamp;
use tradepost_adcp::error::{AdcpCode, AdcpError, AdcpRelease};
use tradepost_document::json::Map;

use crate::account::Account;
use crate::admit::Admitted;
use crate::catalogue::Product;
use crate::creative::verdict::{self, CreativeVerdict, Verification, VerifierQuestion};
use crate::forms::buys::{CreateMediaBuy, UpdateMediaBuy};
use crate::inventory::InventoryContext;
use crate::money::MoneyAmount;
use crate::profile::PublisherProfile;
use crate::publisher::Publisher;
use crate::refusals::{self, ToolError};
use crate::resolve::CallerReach;
use crate::services::Supply;
use crate::store::{ReadExtent, StoreRead, Stored};
use crate::tool_call::AdcpToolCall;
use crate::tool_context::{Prepared, ToolContext};
use crate::{availability, spending};

mod amend;
mod create;
mod deal;
mod draft;
mod governance;
pub(super) mod list;
mod order_check;
mod package;
mod package_targeting;
mod reporting;
mod terms;
mod update;

use governance::GovernanceQuestion;
use order_check::OrderCheck;

pub(super) use create::perform as create;
pub(super) use list::perform as list;
pub(super) use update::perform as update;

/// Collects what a purchase needs from other services. A request that would be refused anyway is
/// refused here, before any of them is called.
pub(super) async fn prepare_purchase(
    publisher: &Publisher,
    call: &AdcpToolCall,
    form: &CreateMediaBuy,
    admitted: &Admitted,
) -> Result<Prepared, ToolError> {
    // The ad server is asked before the governance agent: sold-out products are refused without a
    // check.
    let supply = Some(availability::ask(publisher).await?);
    prepared(publisher, call, admitted, supply, |context| create::questions(context, form)).await
}

/// Collects what a change needs from other services.
pub(super) async fn prepare_change(
    publisher: &Publisher,
    call: &AdcpToolCall,
    form: &UpdateMediaBuy,
    admitted: &Admitted,
) -> Result<Prepared, ToolError> {
    // A change without new packages does not depend on the ad server.
    let supply = match form.new_packages {
        Some(_) => Some(availability::ask(publisher).await?),
        None => None,
    };
    prepared(publisher, call, admitted, supply, |context| update::questions(context, form)).await
}

/// Questions about a request that has no problem so far.
struct BuyQuestions {
    /// To the account's governance agent.
    governance: Option<GovernanceQuestion>,
    /// To the ad server.
    order: Option<OrderCheck>,
}

/// Asks the ad server, then the creative verifiers and then the governance agent: nobody is asked about what
/// was refused before.
async fn prepared(
    publisher: &Publisher,
    call: &AdcpToolCall,
    admitted: &Admitted,
    supply: Option<Supply>,
    questions: impl FnOnce(&BuyContext<'_>) -> Result<BuyQuestions, ToolError>,
) -> Result<Prepared, ToolError> {
    let look = |reader: &dyn StoreRead| {
        let verifiers = RefCell::default();
        let offer = publisher.products(reader)?;
        let asked = Verifiers::Asked(&verifiers);
        let context =
            BuyContext::new(publisher, call, admitted, reader, &offer, supply.as_ref(), asked);
        let questions = questions(&context)?;
        Ok::<_, ToolError>((questions, verifiers.into_inner()))
    };
    let (BuyQuestions { governance: question, order }, verifiers) =
        publisher.look(call, ReadExtent::Pages, look).await?;
    order_check::ask(publisher, order).await?;
    let verifications = verdict::ask(publisher, verifiers).await;
    let refused = verifications
        .iter()
        .any(|verification| matches!(verification.verdict, CreativeVerdict::Contradicted(_)));
    let governance = governance::answer(publisher, question.filter(|_| !refused)).await?;
    Ok(Prepared { supply, governance, verifications, ..Prepared::default() })
}

/// Context of a request about a media buy.
#[derive(Clone, Copy)]
pub(super) struct BuyContext<'a> {
    publisher: &'a Publisher,
    reader: &'a dyn StoreRead,
    /// All products on sale.
    offer: &'a [Product],
    reach: &'a CallerReach,
    account: Option<&'a Stored<Account>>,
    supply: Option<&'a Supply>,
    verifiers: Verifiers<'a>,
    /// AdCP release of the reply.
    release: AdcpRelease,
    now: Timestamp,
}

/// Stage of creative verification.
#[derive(Clone, Copy)]
enum Verifiers<'a> {
    /// Before it: collects the questions to ask.
    Asked(&'a RefCell<Vec<(String, VerifierQuestion)>>),
    /// After it: the results.
    Answered(&'a [Verification]),
}

impl<'a> BuyContext<'a> {
    fn profile(&self) -> &'a PublisherProfile {
        &self.publisher.profile
    }

    /// Returns an error when the account may not commit this much more today.
    fn beyond_today(&self, more: MoneyAmount, currency: &str, field: &str) -> Option<AdcpError> {
        let agent = self.reach.rights().agent();
        let account = &self.account?.thing;
        spending::beyond(self.profile(), agent, account, more, currency, field, self.now)
    }

    /// Returns true when the account is for tests.
    fn is_for_tests(&self) -> bool {
        self.account.is_some_and(|account| account.thing.sandbox)
    }

    /// Returns what inventory is counted by.
    fn inventory(&self) -> InventoryContext<'a> {
        InventoryContext::new(self.profile(), self.offer, self.is_for_tests(), self.now)
    }

    /// Returns the product with this id.
    fn product(&self, id: &str) -> Option<&'a Product> {
        self.offer.iter().find(|product| product.id() == id)
    }

    fn new(
        publisher: &'a Publisher,
        call: &AdcpToolCall,
        admitted: &'a Admitted,
        reader: &'a dyn StoreRead,
        offer: &'a [Product],
        supply: Option<&'a Supply>,
        verifiers: Verifiers<'a>,
    ) -> Self {
        let Admitted { account, reach } = admitted;
        let account = account.as_ref();
        let release = publisher.release(&call.arguments);
        let now = call.now;
        Self { publisher, reader, offer, reach, account, supply, verifiers, release, now }
    }

    fn from_work(work: &'a ToolContext<'_>, offer: &'a [Product]) -> Self {
        let ToolContext { publisher, call, admitted, prepared, reader, .. } = work;
        let answered = Verifiers::Answered(&prepared.verifications);
        Self::new(publisher, call, admitted, *reader, offer, prepared.supply.as_ref(), answered)
    }
}

/// Returns the error of a member that this seller does not support.
fn not_done(field: &str) -> AdcpError {
    refusals::at(
        AdcpCode::UnsupportedFeature,
        field,
        "this seller does not do that; leave the field out",
    )
}

/// Returns an error for each unsupported member; `place` is the path of their object, empty for the
/// request.
fn all_not_done(members: &Map, place: &str) -> impl Iterator<Item = AdcpError> {
    members.keys().map(move |name| match place {
        "" => not_done(name),
        place => not_done(&format!("{place}.{name}")),
    })
}
