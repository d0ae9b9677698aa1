//! Handlers of the forms of publishers. The operations themselves are in [`tradepost_admin`]; here forms are read,
//! and refusals become pages.

use std::sync::Arc;

use tradepost_admin::AdminError;
use tradepost_admin::decisions::{DecideMatter, DecisionRefusal, decide_matter};
use tradepost_admin::keys::{CreateKey, KeyRefusal, RevokeKey, create_buyer_key, revoke_buyer_key};
use tradepost_admin::remote_orders::{self, OrderRefusal, RetryOrder};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_publisher::staff::{
    CreativeChangeReason, DecisionError, DecisionStep, DecisionSubject, LastDecision, SeenVersion,
};
use tradepost_runtime::adcp::seller::PublisherAgent;
use tradepost_server::auth::key::{NewApiKey, is_name};
use tradepost_store::ApiKey;

use super::pages::publisher::agents::KeyPage;
use super::pages::publisher::{ago_text, show_link};
use super::reply::ConsoleReply;
use super::sign_in::Visitor;
use super::{Answer, Console, PATH, PageError};

impl Console {
    /// Returns the visitor's publisher. Staff of dealers, also of all of them, have none.
    pub(super) fn publisher(
        &self,
        visitor: &Visitor<'_>,
    ) -> Result<Arc<PublisherAgent>, PageError> {
        let own = visitor.dealer_id().filter(|_| visitor.member.role.is_of_publisher());
        let own = own.ok_or(PageError::NotFound)?;
        let found = self.publishers.iter().find(|agent| agent.profile.id == own);
        found.cloned().ok_or(PageError::NotFound)
    }

    pub(super) fn approve_buy(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Task, DecisionStep::Approve)
    }

    pub(super) fn decline_buy(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Task, DecisionStep::Decline)
    }

    pub(super) fn pause_buy(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Buy, DecisionStep::Pause)
    }

    pub(super) fn resume_buy(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Buy, DecisionStep::Resume)
    }

    /// Cancels a media buy, after the person has ticked the confirmation.
    pub(super) fn cancel_buy(&self, visitor: &Visitor<'_>) -> Answer {
        if visitor.asked.filled_in("sure") != Some("yes") {
            return Err(PageError::Unusable("Tick the box to confirm that you are sure."));
        }
        self.decide(visitor, DecisionSubject::Buy, DecisionStep::Cancel)
    }

    /// Has a media buy carried into the ad server again.
    pub(super) fn retry_order(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let id = visitor.asked.filled_in("id").ok_or(PageError::NotFound)?;
        let publisher = agent.publisher();
        let input = RetryOrder { publisher: &publisher, media_buy_id: id.to_owned() };
        remote_orders::retry_order(&self.admin(&[]), &visitor.actor(), input)
            .map_err(Self::order_refused)?;
        agent.orders.iter().for_each(|orders| orders.wake());
        Ok(ConsoleReply::see(show_link(DecisionSubject::Buy, id, None, Some("retried"))))
    }

    /// Returns the page for an operation on an order that was refused. Answers 404 to anyone who is
    /// not on the publisher's staff, as for an unknown id.
    pub(super) fn order_refused(error: AdminError<OrderRefusal>) -> PageError {
        PageError::from_admin(error, |refusal| match refusal {
            OrderRefusal::Stranger | OrderRefusal::Unknown => PageError::NotFound,
        })
    }

    pub(super) fn approve_creative(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Creative, DecisionStep::Approve)
    }

    pub(super) fn decline_creative(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Creative, DecisionStep::Decline)
    }

    pub(super) fn suspend_creative(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Creative, DecisionStep::Suspend)
    }

    pub(super) fn resume_creative(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Creative, DecisionStep::Resume)
    }

    pub(super) fn approve_account(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Account, DecisionStep::Approve)
    }

    pub(super) fn decline_account(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Account, DecisionStep::Decline)
    }

    pub(super) fn suspend_account(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Account, DecisionStep::Suspend)
    }

    pub(super) fn resume_account(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Account, DecisionStep::Resume)
    }

    /// Closes an account, after the person has ticked the confirmation.
    pub(super) fn close_account(&self, visitor: &Visitor<'_>) -> Answer {
        if visitor.asked.filled_in("sure") != Some("yes") {
            return Err(PageError::Unusable("Tick the box to confirm that you are sure."));
        }
        self.decide(visitor, DecisionSubject::Account, DecisionStep::Close)
    }

    pub(super) fn demand_payment(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Account, DecisionStep::PaymentDue)
    }

    pub(super) fn settle_payment(&self, visitor: &Visitor<'_>) -> Answer {
        self.decide(visitor, DecisionSubject::Account, DecisionStep::PaymentSettled)
    }

    /// Decides on what a form names, as long as it stands as the page has shown it.
    fn decide(&self, visitor: &Visitor<'_>, matter: DecisionSubject, step: DecisionStep) -> Answer {
        let agent = self.publisher(visitor)?;
        let asked = visitor.asked;
        let id = asked.filled_in("id").ok_or(PageError::NotFound)?;
        let account = asked.filled_in("account").map(str::to_owned);
        let code = asked.filled_in("code").map(|name| {
            CreativeChangeReason::from_name(name)
                .ok_or(PageError::Unusable("Choose a code of the list."))
        });
        let publisher = agent.publisher();
        let input = DecideMatter {
            publisher: &publisher,
            matter,
            id: id.to_owned(),
            account: account.clone(),
            step,
            reason: asked.filled_in("reason").map(str::to_owned),
            why: asked.filled_in("why").map(str::to_owned),
            code: code.transpose()?,
            seen: seen(visitor, matter),
        };
        let done = decide_matter(&self.admin(&[]), &visitor.actor(), input);
        let done = done.map_err(|error| self.undecided(error, matter))?;
        if !done.is_changed {
            let told = self.decided_text(done.decided.as_ref());
            let text = format!("The {} was {} already. {told}", matter_name(matter), done.after);
            return Err(PageError::Conflict(text));
        }
        // The buyer is told by the running sender, and colleagues by theirs.
        agent.notices.wake();
        self.deliveries.wake();
        let word = if done.awaits_second { "first_approval" } else { step.done() };
        Ok(ConsoleReply::see(show_link(matter, id, account.as_deref(), Some(word))))
    }

    /// Says who made the latest decision, and when.
    fn decided_text(&self, decided: Option<&LastDecision>) -> String {
        let Some(decided) = decided else {
            return "Open it again to see how it stands.".to_owned();
        };
        let done = match decided.step {
            DecisionStep::Approve => "approved",
            DecisionStep::Decline => "declined",
            DecisionStep::Suspend => "suspended",
            DecisionStep::Resume => "resumed",
            DecisionStep::Close => "closed",
            DecisionStep::PaymentDue => "asked for a payment of",
            DecisionStep::PaymentSettled => "noted a payment of",
            DecisionStep::Pause => "paused",
            DecisionStep::Cancel => "canceled",
        };
        let when = ago_text(decided.at, self.clock.now());
        format!("{} {done} it {when}. Your decision has not been carried out.", decided.by)
    }

    /// Returns the page for a decision that was not carried out.
    fn undecided(&self, error: AdminError<DecisionRefusal>, matter: DecisionSubject) -> PageError {
        let name = matter_name(matter);
        PageError::from_admin(error, |refusal| {
            let denied = match refusal {
                // Answers 404 to anyone who is not on the publisher's staff, as for an unknown id.
                DecisionRefusal::Stranger => return PageError::NotFound,
                DecisionRefusal::Undecided(denied) => denied,
            };
            match denied {
                DecisionError::Absent => PageError::NotFound,
                DecisionError::Broken(fault) => PageError::Broken(fault),
                DecisionError::Ambiguous(_) => PageError::Conflict(format!(
                    "Several accounts have a {name} with this id. Open it from the list of its account."
                )),
                DecisionError::Impossible { from, decided, .. } => PageError::Conflict(format!(
                    "The {name} is {from} now, so this is not possible. {}",
                    self.decided_text(decided.as_ref())
                )),
                DecisionError::Changed { from, decided } => PageError::Conflict(format!(
                    "The {name} has changed since you opened the page: it is {from}. {}",
                    self.decided_text(decided.as_ref())
                )),
                DecisionError::SamePerson(first) => PageError::Conflict(format!(
                    "You have approved it {}. Above this amount another approver has to approve it, \
                     too.",
                    ago_text(first.at, self.clock.now())
                )),
                DecisionError::Objections(errors) => {
                    let texts: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
                    PageError::Conflict(format!(
                        "The media buy could not be made now, and still waits: {}.",
                        texts.join("; ")
                    ))
                }
                DecisionError::Invalid(problems) => {
                    let problems: Vec<_> = problems.into_iter().map(|one| capital(&one)).collect();
                    PageError::Invalid(format!("{}.", problems.join(". ")))
                }
            }
        })
    }

    /// Creates the key of a buyer agent, and shows it once.
    pub(super) fn create_agent_key(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let name = visitor.asked.filled_in("name").unwrap_or_default();
        let mut known = agent.profile.agents.iter();
        // A key of another name would be a caller that no agent is configured for.
        if !is_name(name) || !known.any(|agent| agent.principals.contains(name)) {
            return Err(PageError::Unusable("Choose one of the credentials of the agents."));
        }
        let fresh = NewApiKey::generate()?;
        let key = ApiKey {
            id: fresh.id,
            agent_id: agent.profile.id.clone(),
            name: name.to_owned(),
            hash: fresh.hash,
            scopes: None,
            created_at: self.clock.now(),
            expires_at: None,
            revoked_at: None,
            last_used_on: None,
        };
        // The name is that of a configured agent, whose data further keys share.
        let input = CreateKey { key, same_caller: true };
        create_buyer_key(&self.admin(&[]), &visitor.actor(), input).map_err(unkeyed)?;
        let frame = self.frame(visitor, "API key")?;
        Ok(ConsoleReply::page(&KeyPage { frame, name: name.to_owned(), key: fresh.text }))
    }

    pub(super) fn revoke_agent_key(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let id = visitor.asked.filled_in("id").ok_or(PageError::NotFound)?.to_owned();
        let own = &agent.profile.id;
        let revoked = revoke_buyer_key(&self.admin(&[]), &visitor.actor(), own, RevokeKey { id });
        let word = if revoked.map_err(unkeyed)?.is_changed { "key_revoked" } else { "nothing" };
        Ok(ConsoleReply::see(format!("{PATH}/ad-agents?done={word}")))
    }
}

fn unkeyed(error: AdminError<KeyRefusal>) -> PageError {
    PageError::from_admin(error, |refusal| match refusal {
        KeyRefusal::UnknownKey => PageError::NotFound,
        KeyRefusal::NameTaken => PageError::Unusable("Another caller has or had this name."),
        KeyRefusal::Expired => PageError::Unusable("The key would have expired already."),
    })
}

/// Returns the version that the page has shown. Accounts change with every purchase, so that only their status
/// counts.
fn seen(visitor: &Visitor<'_>, matter: DecisionSubject) -> Option<SeenVersion> {
    let shown = visitor.asked.filled_in("seen")?;
    match matter {
        DecisionSubject::Account => Some(SeenVersion::Status(shown.to_owned())),
        DecisionSubject::Creative | DecisionSubject::Task | DecisionSubject::Buy => {
            // An unreadable number matches no version.
            Some(SeenVersion::Revision(shown.parse().unwrap_or(0)))
        }
    }
}

const fn matter_name(matter: DecisionSubject) -> &'static str {
    match matter {
        DecisionSubject::Account => "account",
        DecisionSubject::Creative => "creative",
        DecisionSubject::Task | DecisionSubject::Buy => "media buy",
    }
}

/// Writes a sentence with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.map(|first| first + letters.as_str()).unwrap_or_default()
}
