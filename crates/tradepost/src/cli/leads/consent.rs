//! `tradepost leads erase` and `verify`: erases a customer's data, and checks the consent records.

use std::collections::BTreeSet;

use tradepost_admin::audit::{RecordRefusal, VerifyConsents, verify_consents};
use tradepost_admin::leads::{EraseCustomer, LeadRefusal, erase_customer};
use tradepost_dealer::consent::{self, ConsentCheck, ConsentFault, Sha256Hash, hex};
use tradepost_document::format;
use tradepost_document::json::json;
use tradepost_store::{CustomerLeads, Store};

use super::{StoreOptions, refused};
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::CommandFailure;
use crate::cli::{Context, Outcome, dealers};

/// Customer, by contact or by lead.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub(in crate::cli) struct CustomerOptions {
    /// Leads with this e-mail address.
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// Leads with this telephone number, in E.164 such as +14155550123.
    #[arg(long, value_name = "NUMBER", value_parser = phone)]
    phone: Option<String>,
    /// Lead id, also of a lead that cannot be read. Repeatable.
    #[arg(long = "lead", value_name = "ID", conflicts_with = "dealer")]
    pub(in crate::cli) leads: Vec<String>,
}

/// Arguments of `tradepost leads erase`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Erase {
    #[command(flatten)]
    customer: CustomerOptions,
    /// Only leads of this dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    #[command(flatten)]
    place: StoreOptions,
}

impl CustomerOptions {
    /// Returns the customer's contacts in the form in which they are compared.
    pub(in crate::cli) fn contacts(&self) -> Vec<String> {
        let email = self.email.as_ref();
        let email = email.map(|email| format!("email:{}", email.trim().to_lowercase()));
        let phone = self.phone.as_ref().map(|phone| format!("phone:{phone}"));
        email.into_iter().chain(phone).collect()
    }
}

fn phone(text: &str) -> Result<String, String> {
    let number: String = text.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')')).collect();
    if format::is_e164(&number) {
        return Ok(number);
    }
    Err("write the number in E.164, such as +14155550123".to_owned())
}

/// Reads a hash that was noted earlier.
pub(super) fn head(text: &str) -> Result<Sha256Hash, String> {
    consent::from_hex(text).ok_or_else(|| "a hash is 64 hexadecimal digits".to_owned())
}

/// Erases a customer.
pub(in crate::cli) fn erase(arguments: &Erase, context: &Context) -> Outcome {
    let Erase { customer, dealer, place } = arguments;
    let store = place.open(None, context)?;
    dealers::check_known(dealer.as_deref(), &store, place, context)?;
    let input = EraseCustomer {
        lead_ids: customer.leads.clone(),
        contacts: customer.contacts(),
        dealer_id: dealer.clone(),
    };
    let erased = erase_customer(&admin(&store, &[]), &operator(context), input);
    let CustomerLeads { leads: erased, unreadable } = erased.map_err(|error| {
        failure(error, |refusal| {
            let LeadRefusal::NotFound(id) = &refusal else { return refused(refusal) };
            // One of several, which the other failures need not say.
            CommandFailure::usage(format!("there is no lead {id}"))
                .hint("`tradepost leads list` lists the leads")
        })
    })?;
    let unreadable: BTreeSet<String> = unreadable.into_iter().collect();
    if context.output.is_json() {
        context.output.document(&json!({"erased": erased, "unreadable": unreadable}));
        return despite(unreadable, context);
    }
    erased.iter().for_each(|id| context.output.line(format!("erased {id}")));
    context.output.talk(match erased.is_empty() {
        true => "no lead names this customer, except erased ones",
        false => "the hashes of the consents stay; backups, exports and the CRM are not changed",
    });
    despite(unreadable, context)
}

/// Ends a command that did what was possible, but could not read these leads.
pub(in crate::cli) fn despite(unreadable: BTreeSet<String>, context: &Context) -> Outcome {
    if unreadable.is_empty() {
        return Ok(());
    }
    let count = unreadable.len();
    let message = format!("{count} of the leads cannot be read, so their customers are unknown");
    let hint = "`tradepost leads show ID` shows the reason; a backup may still have them, and \
                `tradepost leads erase --lead ID` erases one";
    let failure =
        CommandFailure::new(1, message).hint(hint).lines(unreadable.into_iter().collect());
    // Programs find them in the document.
    Err(CommandFailure { already_shown: context.output.is_json(), ..failure })
}

/// Checks the audit chains.
pub(super) fn verify(
    store: &Store,
    dealer: Option<&str>,
    head: Option<Sha256Hash>,
    context: &Context,
) -> Outcome {
    let input = VerifyConsents { dealer_id: dealer, expected: head };
    let checks = verify_consents(&admin(store, &[]), &operator(context), input);
    let checks = checks.map_err(|error| {
        failure(error, |refusal| match refusal {
            RecordRefusal::UnknownChain(id) => {
                CommandFailure::usage(format!("there is no dealer {id:?}"))
            }
        })
    })?;
    let document = json!({"chains": checks.iter().map(chain).collect::<Vec<_>>()});
    let lines: Vec<String> = checks.iter().flat_map(complaints).collect();
    let is_unknown = head.is_some() && !checks.iter().any(|check| check.has_expected == Some(true));
    if lines.is_empty() && !is_unknown {
        if context.output.is_json() {
            context.output.document(&document);
            return Ok(());
        }
        for ConsentCheck { dealer_id, records, head, .. } in &checks {
            let noun = if *records == 1 { "record" } else { "records" };
            context.output.line(format!("{dealer_id}: {records} {noun}, head {}", hex(head)));
        }
        return Ok(());
    }
    let message = if lines.is_empty() {
        "the hash is in no chain: the records after some point are missing"
    } else {
        "the stored consents do not match their hashes"
    };
    let hint = "compare with a backup, and do not change this database";
    Err(CommandFailure::new(1, message).hint(hint).data(document).lines(lines))
}

fn chain(check: &ConsentCheck) -> tradepost_document::json::Value {
    let fault_document =
        |(seq, fault): &(i64, ConsentFault)| json!({"seq": seq, "fault": fault.summary()});
    json!({
        "dealer": check.dealer_id,
        "records": check.records,
        "head": hex(&check.head),
        "faults": check.faults.iter().map(fault_document).collect::<Vec<_>>(),
    })
}

fn complaints(check: &ConsentCheck) -> Vec<String> {
    let ConsentCheck { dealer_id, faults, .. } = check;
    let line = |(seq, fault): &(i64, ConsentFault)| {
        format!("{dealer_id} record {seq}: {}", fault.summary())
    };
    faults.iter().map(line).collect()
}
