//! Activation proof of subscribers (`sync_accounts`, "Activation proof"): each address must answer
//! a challenge before it is used. Challenges are sent before the transaction that stores the
//! addresses.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::json;

use super::notifications;
use crate::account::Account;
use crate::admit::Admitted;
use crate::forms::accounts::{AccountRow, NotificationConfig, SyncAccounts};
use crate::publisher::Publisher;
use crate::refusals::{self, ToolError};
use crate::resolve::NaturalKey;
use crate::services::SubscriberChallenge;
use crate::store::{ReadExtent, StoreRead, Stored};
use crate::tool_call::AdcpToolCall;
use crate::tool_context::{Prepared, Proofs};

/// Maximum number of addresses challenged for one request.
const MOST: usize = 32;

/// Challenges the addresses that a request activates and that have not been proven before.
pub(in crate::tools) async fn prepare(
    publisher: &Publisher,
    call: &AdcpToolCall,
    form: &SyncAccounts,
    admitted: &Admitted,
) -> Result<Prepared, ToolError> {
    let mut proofs = Proofs::default();
    let subscribes = form.accounts.iter().any(|row| row.notification_configs.is_some());
    // A dry run sends no challenges.
    if form.dry_run || !subscribes {
        return Ok(Prepared::default());
    }
    let mut asked: Vec<(String, SubscriberChallenge)> = Vec::new();
    let known =
        publisher.look(call, ReadExtent::Pages, |reader| named(form, admitted, reader)).await?;
    for (place, (row, known)) in form.accounts.iter().zip(known).enumerate() {
        let configs = row.notification_configs.as_deref().unwrap_or_default();
        // An invalid row is refused anyway and is not challenged.
        if configs.is_empty() || !notifications::problems(publisher, configs).is_empty() {
            continue;
        }
        let account_id = match &known {
            Some(account) => account.thing.account_id.clone(),
            None if row.account.is_some() => continue,
            None => {
                // The account is created later, in the transaction. Its id is assigned now because
                // the challenge contains it.
                let id = publisher.services.fresh_id("acc");
                proofs.opened.insert(place, id.clone());
                id
            }
        };
        for subscriber in configs.iter().filter(|config| config.is_active()) {
            let proof = subscriber.proof(&account_id);
            let is_known = known.as_ref().is_some_and(|known| known.thing.proofs.contains(&proof));
            // Addresses above the limit count as not proven: one request must not make us call an
            // arbitrary number of hosts.
            if !is_known && asked.len() < MOST {
                asked.push((proof, challenge(publisher, &account_id, subscriber)));
            }
        }
    }
    let (digests, challenges): (Vec<String>, Vec<SubscriberChallenge>) = asked.into_iter().unzip();
    if !challenges.is_empty() {
        let answers = publisher.services.challenge(challenges).await;
        let shown = digests.into_iter().zip(answers).filter(|(_, is_shown)| *is_shown);
        proofs.shown.extend(shown.map(|(digest, _)| digest));
    }
    Ok(Prepared { proofs, ..Prepared::default() })
}

/// Returns the existing account of each row.
fn named(
    form: &SyncAccounts,
    admitted: &Admitted,
    reader: &dyn StoreRead,
) -> Result<Vec<Option<Stored<Account>>>, ToolError> {
    let tenant = &admitted.reach.tenant;
    let find = |row: &AccountRow| match &row.account {
        Some(reference) => {
            // Problems of the reference are reported when the row is stored.
            match admitted.reach.rights().account(tenant, reference, "account", reader) {
                Err(ToolError::Broken(broken)) => Err(ToolError::Broken(broken)),
                Err(ToolError::Refused(_)) => Ok(None),
                Ok(found) => Ok(found),
            }
        }
        None => {
            let key = NaturalKey::new(row.brand.as_ref(), row.operator.as_deref(), row.sandbox);
            let mut own =
                admitted.reach.rights().accounts_led_to_by(&key, tenant, reader)?.into_iter();
            Ok(own.find(|stored| {
                stored.record.owner == *tenant && !stored.thing.is_over() && key.is(&stored.thing)
            }))
        }
    };
    form.accounts.iter().map(find).collect()
}

/// Creates the challenge that an address of a subscriber has to answer.
fn challenge(
    publisher: &Publisher,
    account_id: &str,
    subscriber: &NotificationConfig,
) -> SubscriberChallenge {
    let word = publisher.services.fresh_id("challenge");
    let body = json!({
        "type": "webhook.challenge",
        "challenge": word,
        "account_id": account_id,
        "subscriber_id": subscriber.subscriber_id,
        "seller_agent_url": publisher.services.agent_url(),
        "delivery_auth": subscriber.delivery_auth(),
        "event_types": subscriber.events(),
    });
    SubscriberChallenge { url: subscriber.url.clone(), word, body: body.to_string() }
}

/// Returns the proofs of a row's active subscribers, and the problems of those that have not answered
/// their challenge.
pub(super) fn shown(
    account: &Account,
    configs: &[NotificationConfig],
    proofs: &Proofs,
) -> (Vec<String>, Vec<AdcpError>) {
    let mut proven = Vec::new();
    let mut problems = Vec::new();
    for (index, subscriber) in configs.iter().enumerate().filter(|(_, config)| config.is_active()) {
        let proof = subscriber.proof(&account.account_id);
        if account.proofs.contains(&proof) || proofs.shown.contains(&proof) {
            proven.push(proof);
            continue;
        }
        let message = "the address did not say the challenge back; have it answer, or send the \
                       subscriber with active: false";
        let field = format!("notification_configs[{index}].url");
        problems.push(refusals::at(AdcpCode::ValidationError, &field, message));
    }
    (proven, problems)
}
