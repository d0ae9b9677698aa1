//! `comply_test_controller`. Nobody has checked it when it is read: the controller says in its own
//! words what is wrong with it, so that whatever is not as the rules have it is as if it were not
//! there.

use tradepost_wire::form;
use tradepost_wire::json::{Map, Value};

use crate::agent::Billing;
use crate::money::MoneyAmount;
use crate::{account, creative};

form! {
    /// `compliance/comply-test-controller-request.json`.
    pub(crate) struct Comply {
        scenario: Option<String>,
        params: Option<Params>,
    }

    /// What the scenarios are about; which of them needs what, the rules and the scenarios know.
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

    /// What a fixture may say of an account; it is no part of the rules, and the rest is filled in.
    pub(crate) struct AccountFixture {
        brand: Option<Value>,
        operator: Option<String>,
        billing: Option<Billing>,
        sandbox: Option<bool>,
        name: Option<String>,
        status: Option<account::AccountStatus>,
        funds: Option<Value>,
    }

    /// What a fixture may say of a creative; everything else is the creative itself.
    pub(crate) struct CreativeFixture {
        status: Option<creative::CreativeStatus>,
        rejection_reason: Option<String>;
        whole given
    }
}
