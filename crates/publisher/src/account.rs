//! Accounts of advertisers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::profile::{Authorization, Billing};
use crate::shelf::{Kind, Thing};

/// An account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Its id.
    pub account_id: String,
    /// Its name for people.
    pub name: String,
    /// How it stands.
    pub status: Status,
    /// The advertiser's brand, as it was given (`brand-ref`).
    pub brand: Value,
    /// The domain of who buys for it.
    pub operator: String,
    /// Who is billed.
    pub billing: Billing,
    /// What it was asked to be paid by, when another than the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_terms: Option<String>,
    /// Whether it is for tests.
    pub sandbox: bool,
    /// What has to be done before it can be used (`setup` of an account).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Value>,
    /// The governance agent that is asked before money is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governance: Option<Governance>,
    /// Where notifications about it go, as they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_configs: Vec<Value>,
    /// How much may be spent in all, in the account's currency, when there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub funds: Option<Funds>,
    /// What each tenant may do with it that is restricted; the owner too, if it is here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grants: BTreeMap<String, Authorization>,
}

/// How an account stands (`account-status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It can be used.
    Active,
    /// The publisher has to approve it.
    PendingApproval,
    /// The publisher has declined it.
    Rejected,
    /// Something is due.
    PaymentRequired,
    /// Paused by the publisher.
    Suspended,
    /// Over.
    Closed,
}

/// The governance agent of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Governance {
    /// Its endpoint.
    pub url: String,
    /// The bearer credential that it accepts from us. Never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

/// What an account may spend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Funds {
    /// The limit.
    pub limit: f64,
    /// What is committed already.
    pub committed: f64,
    /// ISO 4217.
    pub currency: String,
}

impl Thing for Account {
    const KIND: Kind = Kind::Account;
}

impl Account {
    /// What others may see of it (`core/account.json`).
    #[must_use]
    pub fn published(&self) -> Value {
        let mut shown = json!({
            "account_id": self.account_id,
            "name": self.name,
            "status": self.status,
            "brand": self.brand,
            "operator": self.operator,
            "billing": self.billing,
            "sandbox": self.sandbox,
        });
        if let Some(members) = shown.as_object_mut() {
            let mut add = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    members.insert(name.to_owned(), value);
                }
            };
            add("payment_terms", self.payment_terms.clone().map(Value::from));
            add("setup", self.setup.clone());
            let governed = self.governance.as_ref();
            add("governance_agents", governed.map(|agent| json!([{"url": agent.url}])));
        }
        shown
    }
}
