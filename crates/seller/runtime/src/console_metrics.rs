//! Counters of sign-ins to the console and of refused requests. No label contains a name or an address.

use std::fmt;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tradepost_dealer::staff::StaffRole;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::words;

words! {
    /// Result of an attempt to sign in, or to confirm the own password.
    pub enum SignInOutcome {
        /// Signed in.
        SignedIn = "signed_in",
        /// The name or the password was wrong.
        WrongPassword = "wrong_password",
        /// The code of the second factor was wrong or used before.
        WrongCode = "wrong_code",
        /// Too many attempts had failed, so nothing was compared.
        Limited = "limited",
        /// The OpenID provider did not vouch for the person.
        ProviderFailed = "provider_failed",
    }
}

impl EncodeLabelValue for SignInOutcome {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        EncodeLabelValue::encode(&self.name(), encoder)
    }
}

/// Label of the counter of sign-ins.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignInLabel {
    outcome: SignInOutcome,
}

/// Label of the counter of refused requests: the visitor's role.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RoleLabel {
    role: &'static str,
}

/// Counters of a process's console. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ConsoleMetrics {
    sign_ins: Family<SignInLabel, Counter>,
    refused_actions: Family<RoleLabel, Counter>,
}

impl ConsoleMetrics {
    /// Adds the counters to a registry.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Attempts to sign in to the console, by how they ended";
        registry.register("console_sign_ins", help, self.sign_ins.clone());
        let help = "Requests to the console for what the role does not permit";
        registry.register("console_refused_actions", help, self.refused_actions.clone());
    }

    /// Creates every counter with the value zero, when there is a console.
    pub fn begin(&self) {
        for outcome in SignInOutcome::ALL {
            self.sign_ins.get_or_create(&SignInLabel { outcome: *outcome }).inc_by(0);
        }
        for role in StaffRole::ALL {
            self.refused_actions.get_or_create(&RoleLabel { role: role.name() }).inc_by(0);
        }
    }

    /// Counts an attempt to sign in.
    pub fn count_sign_in(&self, outcome: SignInOutcome) {
        self.sign_ins.get_or_create(&SignInLabel { outcome }).inc();
    }

    /// Counts a request that the role does not permit.
    pub fn count_refused_action(&self, role: StaffRole) {
        self.refused_actions.get_or_create(&RoleLabel { role: role.name() }).inc();
    }
}
