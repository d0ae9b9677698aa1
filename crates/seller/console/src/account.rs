//! The visitor's own account: facts, password and second factor.

use axum::http::StatusCode;
use tradepost_admin::AdminError;
use tradepost_admin::people::own_account::{
    ChangeOwnPassword, OwnAccountRefusal, change_own_password,
};
use tradepost_runtime::config::SecondFactorPolicy;
use tradepost_store::staff::StaffMember;

use super::attempts::{ProofKind, Proven, SignInAttempt};
use super::reply::ConsoleReply;
use super::sign_in::{TOO_OFTEN, Visitor};
use super::{Answer, Console, PATH, PageError, pages, password};

impl Console {
    pub(super) fn account(&self, visitor: &Visitor<'_>) -> Answer {
        self.account_page(visitor, &[])
    }

    /// Shows the account page again, with the reasons why a change was refused.
    pub(super) fn account_refused(&self, visitor: &Visitor<'_>, problems: &[String]) -> Answer {
        let page = self.account_page(visitor, problems)?;
        Ok(page.with_status(StatusCode::UNPROCESSABLE_ENTITY))
    }

    fn account_page(&self, visitor: &Visitor<'_>, problems: &[String]) -> Answer {
        let name = &visitor.member.name;
        let factor = match self.store.has_second_factor(name)? {
            true => self.store.second_factor(name)?,
            false => None,
        };
        let page = pages::account::AccountPage {
            frame: self.frame(visitor, "Your account")?,
            facts: self.account_facts(visitor),
            has_password: visitor.has_password(),
            shortest: password::MIN_CHARS,
            factor_since: factor
                .as_ref()
                .and_then(|factor| factor.confirmed_at.map(|at| self.account_moment(visitor, at))),
            codes_left: factor.map_or(0, |factor| factor.codes_left),
            is_required: self.second_factor == SecondFactorPolicy::Required,
            problems: problems.to_vec(),
        };
        Ok(ConsoleReply::page(&page))
    }

    /// Changes the visitor's password, and ends their other sessions.
    pub(super) fn change_password(&self, visitor: &mut Visitor<'_>) -> Answer {
        if !visitor.has_password() {
            return Err(PageError::Unusable(
                "You sign in with a provider, which manages your password.",
            ));
        }
        let asked = visitor.asked;
        let present = asked.filled_in("present").unwrap_or_default();
        let new = asked.filled_in("new").unwrap_or_default();
        let member = &visitor.member;
        // Before the comparison, so that a mistyped new password does not use an attempt.
        let mut problems = password::problems(new, &member.name);
        if asked.filled_in("again").unwrap_or_default() != new {
            problems.push("the two entries of the new password differ".to_owned());
        }
        if present == new {
            problems.push("the new password is the current one".to_owned());
        }
        if !problems.is_empty() {
            return self.account_refused(visitor, &problems);
        }
        let attempt = SignInAttempt {
            asked,
            name: &member.name,
            member: Some(member),
            means: ProofKind::Password,
        };
        let compare = || Ok(self.sign_in.judge.is_right(present, Some(&member.password)));
        match self.prove(&attempt, compare)? {
            Proven::Right => {}
            Proven::Wrong => {
                let why = "the current password is wrong".to_owned();
                return self.account_refused(visitor, &[why]);
            }
            Proven::Limited(wait) => {
                let page = self.account_refused(visitor, &[TOO_OFTEN.to_owned()])?;
                return Ok(page.limited(wait));
            }
        }
        let hashed = password::hash(new)?;
        // The cookie of a known browser is bound to the password.
        let changed = StaffMember { password: hashed.clone(), ..member.clone() };
        let browser = self.sign_in.know_browser(asked, &changed)?;
        let input = ChangeOwnPassword {
            present: member.password.clone(),
            password: hashed,
            session_id: visitor.session.id.clone(),
        };
        change_own_password(&self.admin(&[]), &visitor.actor(), input).map_err(unchanged)?;
        let cookie = self.renew(visitor)?;
        let reply = ConsoleReply::see(format!("{PATH}/account?done=password"));
        Ok(reply.with_cookie(cookie).with_cookie(browser))
    }
}

/// Returns the page for an operation on the visitor's own account that was not done.
pub(super) fn unchanged(error: AdminError<OwnAccountRefusal>) -> PageError {
    PageError::from_admin(error, |refusal| match refusal {
        // The password was changed or the session ended while this one was compared.
        OwnAccountRefusal::Outdated => PageError::SignIn,
        OwnAccountRefusal::NothingToConfirm => {
            PageError::Unusable("There is no second factor to confirm.")
        }
        OwnAccountRefusal::NoSecondFactor => {
            PageError::Unusable("Recovery codes need a second factor. Set one up first.")
        }
        // Visitors are members of the staff.
        OwnAccountRefusal::NoAccount => PageError::Forbidden,
    })
}
