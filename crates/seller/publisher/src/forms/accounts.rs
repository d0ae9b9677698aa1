//! Accounts: `sync_accounts`, `list_accounts`, `sync_governance`.

use tradepost_document::json::Value;
use tradepost_document::typed_struct;

use super::Pagination;
use super::products::BrandRef;
use crate::account::AccountStatus;
use crate::agent::Billing;
use crate::resolve::Reference;

typed_struct! {
    /// `account/sync-accounts-request.json`.
    pub(crate) struct SyncAccounts {
        accounts: Vec<AccountRow>,
        delete_missing: bool,
        dry_run: bool,
        push_notification_config: Option<Value>,
    }

    /// Desired state of an account, named by `account` or by its natural key.
    pub(crate) struct AccountRow {
        account: Option<Reference>,
        brand: Option<BrandRef>,
        operator: Option<String>,
        sandbox: Option<bool>,
        billing: Option<Billing>,
        billing_entity: Option<Value>,
        payment_terms: Option<String>,
        notification_configs: Option<Vec<NotificationConfig>>;
        keep
        /// Natural key as sent, to be repeated in the reply.
        identity: ["brand", "operator", "sandbox"]
    }

    /// `core/notification-config.json`.
    pub(crate) struct NotificationConfig {
        subscriber_id: String,
        url: String,
        event_types: Vec<String>,
        active: Option<bool>,
        authentication: Option<Value>;
        whole sent
    }

    /// `account/list-accounts-request.json`.
    pub(crate) struct ListAccounts {
        account: Option<Reference>,
        status: Option<AccountStatus>,
        pagination: Option<Pagination>,
        sandbox: Option<bool>,
    }

    /// `account/sync-governance-request.json`.
    pub(crate) struct SyncGovernance {
        accounts: Vec<GovernanceRow>,
    }

    /// Account with its governance agents; the schema demands one.
    pub(crate) struct GovernanceRow {
        account: Reference,
        governance_agents: Vec<GovernanceAgentRequest>,
    }

    /// Governance agent, which is asked before money is committed.
    pub(crate) struct GovernanceAgentRequest {
        url: String,
        authentication: AgentAuthentication,
    }

    /// Credentials by which the governance agent recognises the seller.
    pub(crate) struct AgentAuthentication {
        credentials: String,
    }
}
