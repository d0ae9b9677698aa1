//! Pages of the visitor's own account, and those that ask for a code or for the password again.

use askama::Template;
use jiff::Timestamp;

use super::{Console, PageFrame, ShownMoment, Visitor, role_name};

/// The account page.
#[derive(Debug, Template)]
#[template(path = "console/account.html")]
pub(in crate::console) struct AccountPage {
    pub(in crate::console) frame: PageFrame,
    pub(in crate::console) facts: Vec<(&'static str, String)>,
    pub(in crate::console) has_password: bool,
    pub(in crate::console) shortest: usize,
    /// Time since which the second factor is active, if there is one.
    pub(in crate::console) factor_since: Option<ShownMoment>,
    pub(in crate::console) codes_left: u64,
    pub(in crate::console) is_required: bool,
    pub(in crate::console) problems: Vec<String>,
}

/// The page on which a second factor is set up.
#[derive(Debug, Template)]
#[template(path = "console/factor.html")]
pub(in crate::console) struct SetUpFactor {
    pub(in crate::console) frame: PageFrame,
    pub(in crate::console) is_required: bool,
    /// The secret as a text in groups, and as an SVG image.
    pub(in crate::console) secret: Option<(String, String)>,
    pub(in crate::console) trouble: Option<&'static str>,
}

/// Recovery codes, which are shown once.
#[derive(Debug, Template)]
#[template(path = "console/recovery-codes.html")]
pub(in crate::console) struct RecoveryCodes {
    pub(in crate::console) frame: PageFrame,
    pub(in crate::console) codes: Vec<String>,
}

/// The page that asks for the password again.
#[derive(Debug, Template)]
#[template(path = "console/confirm.html")]
pub(in crate::console) struct ConfirmIdentity {
    pub(in crate::console) frame: PageFrame,
    /// Address of the form that was sent.
    pub(in crate::console) action: String,
    /// Fields of that form.
    pub(in crate::console) fields: Vec<(String, String)>,
    pub(in crate::console) has_password: bool,
    /// Label of the provider, and the link to it.
    pub(in crate::console) provider: Option<(String, String)>,
    pub(in crate::console) trouble: Option<&'static str>,
    pub(in crate::console) back: String,
}

/// The page that asks for the code of the second factor.
#[derive(Debug, Template)]
#[template(path = "console/sign-in-code.html")]
pub(in crate::console) struct SignInCode {
    pub(in crate::console) proof: String,
    pub(in crate::console) trouble: Option<&'static str>,
    pub(in crate::console) next: String,
    pub(in crate::console) minutes: i64,
}

impl Console {
    /// Returns the facts of the visitor's account.
    pub(in crate::console) fn account_facts(
        &self,
        visitor: &Visitor<'_>,
    ) -> Vec<(&'static str, String)> {
        let dealer = visitor.dealer_id().unwrap_or("all dealers").to_owned();
        let since = self.account_moment(visitor, visitor.session.begun_at);
        vec![
            ("Name", visitor.member.name.clone()),
            ("Role", role_name(visitor.member.role).to_owned()),
            ("Dealer", dealer),
            ("Signed in", since.ago),
        ]
    }

    /// Returns a time as pages of this visitor show it.
    pub(in crate::console) fn account_moment(
        &self,
        visitor: &Visitor<'_>,
        at: Timestamp,
    ) -> ShownMoment {
        self.local(&self.dealers(visitor)).when(at)
    }
}
