//! Pages of the visitor's own account, and those that ask for a code or for the password again.

use askama::Template;
use jiff::Timestamp;

use super::{Console, PageFrame, ShownMoment, Visitor, role_name};

/// The account page.
#[derive(Debug, Template)]
#[template(path = "account.html")]
pub(crate) struct AccountPage {
    pub(crate) frame: PageFrame,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) has_password: bool,
    pub(crate) shortest: usize,
    /// Time since which the second factor is active, if there is one.
    pub(crate) factor_since: Option<ShownMoment>,
    pub(crate) codes_left: u64,
    pub(crate) is_required: bool,
    pub(crate) problems: Vec<String>,
}

/// The page on which a second factor is set up.
#[derive(Debug, Template)]
#[template(path = "factor.html")]
pub(crate) struct SetUpFactor {
    pub(crate) frame: PageFrame,
    pub(crate) is_required: bool,
    /// The secret as a text in groups, and as an SVG image.
    pub(crate) secret: Option<(String, String)>,
    pub(crate) trouble: Option<&'static str>,
}

/// Recovery codes, which are shown once.
#[derive(Debug, Template)]
#[template(path = "recovery-codes.html")]
pub(crate) struct RecoveryCodes {
    pub(crate) frame: PageFrame,
    pub(crate) codes: Vec<String>,
}

/// The page that asks for the password again.
#[derive(Debug, Template)]
#[template(path = "confirm.html")]
pub(crate) struct ConfirmIdentity {
    pub(crate) frame: PageFrame,
    /// Address of the form that was sent.
    pub(crate) action: String,
    /// Fields of that form.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) has_password: bool,
    /// Label of the provider, and the link to it.
    pub(crate) provider: Option<(String, String)>,
    pub(crate) trouble: Option<&'static str>,
    pub(crate) back: String,
}

/// The page that asks for the code of the second factor.
#[derive(Debug, Template)]
#[template(path = "sign-in-code.html")]
pub(crate) struct SignInCode {
    pub(crate) proof: String,
    pub(crate) trouble: Option<&'static str>,
    pub(crate) next: String,
    pub(crate) minutes: i64,
}

impl Console {
    /// Returns the facts of the visitor's account.
    pub(crate) fn account_facts(&self, visitor: &Visitor<'_>) -> Vec<(&'static str, String)> {
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
    pub(crate) fn account_moment(&self, visitor: &Visitor<'_>, at: Timestamp) -> ShownMoment {
        self.local(&self.dealers(visitor)).when(at)
    }
}
