//! Confirmation by password before actions that are final or give access. The page that asks for the
//! password contains the form that was sent, so that it continues afterwards.

use axum::http::StatusCode;
use jiff::SignedDuration;
use tradepost_dealer::staff::AuditAction;
use tradepost_runtime::random;
use tradepost_server::fault::InternalError;

use super::attempts::{ProofKind, Proven, SignInAttempt};
use super::reply::ConsoleReply;
use super::request::{PROOF, session_hash};
use super::sign_in::{TOO_OFTEN, Visitor};
use super::{Console, PATH, PageError, pages};

/// Time for which a password is valid as a confirmation, from the sign-in or the last confirmation.
const CONFIRMATION_LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// Name of the password field.
const PASSWORD_FIELD: &str = "confirm_password";

/// Name of the field that tells a password manager whose password is asked for.
const USERNAME_FIELD: &str = "username";

/// Result of a confirmation.
pub(super) enum Confirmation {
    /// The password was given a short time ago.
    Recent,
    /// The password came with this request. The value is the cookie of the renewed session.
    Renewed(String),
    /// The password has to be asked for, with this page.
    Asked(ConsoleReply),
}

impl Console {
    /// Checks that the person has given the password within the last few minutes.
    pub(super) fn confirm_identity(
        &self,
        visitor: &mut Visitor<'_>,
    ) -> Result<Confirmation, PageError> {
        let passed = visitor.session.proven_at.map(|at| self.clock.now().duration_since(at));
        if passed.is_some_and(|passed| !passed.is_negative() && passed < CONFIRMATION_LIFETIME) {
            return Ok(Confirmation::Recent);
        }
        let given = visitor.asked.filled_in(PASSWORD_FIELD);
        let Some(given) = given else {
            return self.ask_again(visitor, None);
        };
        if !visitor.has_password() {
            return self.ask_again(visitor, None);
        }
        let member = &visitor.member;
        let attempt = SignInAttempt {
            asked: visitor.asked,
            name: &member.name,
            member: Some(member),
            means: ProofKind::Password,
        };
        let compare = || Ok(self.sign_in.judge.is_right(given, Some(&member.password)));
        match self.prove(&attempt, compare)? {
            Proven::Right => {
                let entry =
                    self.entry(member, visitor.dealer_id(), AuditAction::IdentityConfirmed, None);
                self.store.record_all(vec![entry])?;
                Ok(Confirmation::Renewed(self.renew(visitor)?))
            }
            Proven::Wrong => self.ask_again(visitor, Some("The password is wrong.")),
            Proven::Limited(wait) => {
                let reply = self.confirm_page(visitor, Some(TOO_OFTEN))?;
                Ok(Confirmation::Asked(reply.limited(wait)))
            }
        }
    }

    fn ask_again(
        &self,
        visitor: &Visitor<'_>,
        trouble: Option<&'static str>,
    ) -> Result<Confirmation, PageError> {
        let page = self.confirm_page(visitor, trouble)?;
        Ok(Confirmation::Asked(page.with_status(StatusCode::UNAUTHORIZED)))
    }

    fn confirm_page(
        &self,
        visitor: &Visitor<'_>,
        trouble: Option<&'static str>,
    ) -> Result<ConsoleReply, PageError> {
        let back = page_before(&visitor.asked.path);
        let provider = self.provider.as_ref().filter(|_| !visitor.has_password());
        let provider = provider.map(|provider| {
            (provider.settings.label.clone(), format!("{PATH}/sign-in/oidc?again=yes&next={back}"))
        });
        let page = pages::account::ConfirmIdentity {
            frame: self.frame(visitor, "Confirm your identity")?,
            action: format!("{PATH}/{}", visitor.asked.path),
            fields: visitor.asked.fields_without(&[PROOF, PASSWORD_FIELD, USERNAME_FIELD]),
            has_password: visitor.has_password(),
            provider,
            trouble,
            back,
        };
        Ok(ConsoleReply::page(&page))
    }

    /// Gives the visitor's session a new id and secret, and marks it as confirmed now. Returns the cookie.
    pub(super) fn renew(&self, visitor: &mut Visitor<'_>) -> Result<String, PageError> {
        let secret = random::token()?;
        let new_id = uuid::Uuid::new_v4().simple().to_string();
        let old = visitor.session.id.clone();
        let new = new_id.clone();
        let hash = session_hash(&secret);
        let now = self.clock.now();
        let renewed: Result<bool, InternalError> =
            self.store.write_blocking(move |tx| tx.renew_session(&old, &new, &hash, now));
        if !renewed? {
            return Err(PageError::SignIn);
        }
        let left = visitor.session.expires_at.duration_since(now).as_secs();
        let cookie = self.sign_in.cookie(&self.sign_in.session_cookie(), &secret, left);
        visitor.session.id = new_id;
        visitor.session.proven_at = Some(now);
        visitor.secret = secret;
        Ok(cookie)
    }
}

/// Returns the page from which a form was sent.
fn page_before(path: &str) -> String {
    let mut steps = path.split('/');
    let page = match (steps.next(), steps.next()) {
        (Some("leads"), Some("export")) => format!("{PATH}/leads"),
        (Some("leads"), Some(id)) => format!("{PATH}/leads/{id}"),
        (Some("members"), _) => format!("{PATH}/people"),
        (Some("calendar-feeds"), _) => format!("{PATH}/appointments"),
        (Some("ad-agents"), _) => format!("{PATH}/ad-agents"),
        (Some("account"), _) => format!("{PATH}/account"),
        _ => PATH.to_owned(),
    };
    if super::sign_in::is_page(&page) { page } else { PATH.to_owned() }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::*;
    use crate::route::{self, ConsoleRoute, TABLE};

    #[test]
    fn back_without_changes_returns_to_the_page_of_the_form() {
        let asking = TABLE.iter().filter(|route| route.asks_password);
        let pages: Vec<(&str, String)> = asking
            .map(|route| (route.path, page_before(&route.path.replace("{id}", "17"))))
            .collect();
        for (path, page) in &pages {
            let below = route::path(page).unwrap();
            assert!(ConsoleRoute::find(&Method::GET, below).is_some(), "{path}: {page}");
        }
        let pages: Vec<_> = pages.iter().map(|(path, page)| (*path, page.as_str())).collect();
        assert_eq!(
            pages,
            [
                ("leads/export", "/console/leads"),
                ("leads/{id}/evidence", "/console/leads/17"),
                ("leads/{id}/erase", "/console/leads/17"),
                ("calendar-feeds", "/console/appointments"),
                ("ad-agents/keys", "/console/ad-agents"),
                ("ad-agents/keys/revoke", "/console/ad-agents"),
                ("account/factor", "/console/account"),
                ("account/factor/confirm", "/console/account"),
                ("account/factor/off", "/console/account"),
                ("account/codes", "/console/account"),
                ("members/{id}/factor/reset", "/console/people"),
            ]
        );
    }
}
