//! Arguments of `comply_test_controller`. They are not checked against the schema before, because the
//! controller has its own error codes: a member that does not fit the schema is treated as absent.

use tradepost_document::json::{Map, Value};
use tradepost_document::typed_struct;

use crate::agent::Billing;
use crate::money::MoneyAmount;
use crate::{account, creative};

typed_struct! {
    /// `compliance/comply-test-controller-request.json`.
    pub(crate) struct Comply {
        scenario: Option<String>,
        params: Option<Params>,
    }

    /// Parameters of all scenarios; each scenario checks for those that it requires.
    pub(crate) struct Params {
        creative_id: Option<String>,
        account_id: Option<String>,
        media_buy_id: Option<String>,
        session_id: Option<String>,
        product_id: Option<String>,
        pricing_option_id: Option<String>,
        plan_id: Option<String>,
        format_id: Option<String>,
        task_id: Option<String>,
        fixture: Map,
        status: Option<String>,
        rejection_reason: Option<String>,
        reason_code: Option<String>,
        termination_reason: Option<String>,
        spend_percentage: Option<MoneyAmount>,
        arm: Option<String>,
        message: Option<String>,
        tool: Option<String>,
        upstream_name: Option<String>,
        result: Option<Value>;
        whole sent
    }

    /// Members that a fixture of an account may have. They are not in the schema; defaults replace
    /// missing ones.
    pub(super) struct AccountFixture {
        brand: Option<Value>,
        operator: Option<String>,
        billing: Option<Billing>,
        sandbox: Option<bool>,
        name: Option<String>,
        status: Option<account::AccountStatus>,
        funds: Option<Value>,
    }

    /// Members of a creative fixture that are about its review; the rest is the creative itself.
    pub(super) struct CreativeFixture {
        status: Option<creative::CreativeStatus>,
        rejection_reason: Option<String>;
        whole given
    }
}
