//! Pages of a sign-in with an OpenID provider: to the provider and back.

use std::sync::Arc;

use axum::http::StatusCode;
use jiff::SignedDuration;
use tradepost_admin::people::provider_members::{RemoveProviderMember, remove_provider_member};
use tradepost_runtime::console_metrics::SignInOutcome;
use tradepost_server::limit::network;

use super::{AUTH_TIME_LEEWAY, RedeemFailure, SIGN_IN_TIMEOUT, StartedSignIn, Vouched};
use crate::reply::ConsoleReply;
use crate::request::ConsoleRequest;
use crate::sign_in::{self, SignedInBy};
use crate::{Answer, Console, PATH, PageError, pages};

/// Messages for sign-ins that failed.
const UNAVAILABLE: &str = "The provider is unavailable. Try again later, or use a password.";
const AGAIN: &str = "The sign-in failed, or took too long. Start again.";
const NOT_ANEW: &str =
    "The provider did not ask you to sign in again, so your identity is not confirmed.";
const NOTHING: &str =
    "The provider confirmed your identity, but gives you no role in this console.";

impl Console {
    /// Redirects a browser to the provider.
    pub(crate) async fn leave_for_provider(self: Arc<Self>, asked: Arc<ConsoleRequest>) -> Answer {
        let provider = self.provider.as_ref().ok_or(PageError::NotFound)?;
        let renews = if asked.asked_for("again").is_some() {
            let session_to_renew = |console: &Self, asked: &ConsoleRequest| {
                console.visitor(asked, "").map(|visitor| visitor.session.id.clone())
            };
            match self.in_turn(&asked, session_to_renew).await? {
                Ok(session) => Some(session),
                Err(PageError::SignIn) => return Ok(ConsoleReply::see(format!("{PATH}/sign-in"))),
                Err(stop) => return Err(stop),
            }
        } else {
            None
        };
        let next = sign_in::next(&asked).unwrap_or_default();
        let begun = StartedSignIn::fresh(self.clock.now(), &next, renews)?;
        match provider.address(&begun).await {
            Ok(address) => {
                // Sealed, so that the browser cannot forge the time from which the authentication has to
                // be new.
                let sealed = self.sign_in.seal.write(&["oidc"], &begun.cookie);
                Ok(ConsoleReply::see(address)
                    .with_cookie(self.sign_in.passing(&sealed, SIGN_IN_TIMEOUT)))
            }
            Err(cause) => {
                tracing::warn!(cause = cause.reason(), "the provider of sign-ins cannot be used");
                self.refuse(&asked, UNAVAILABLE)
            }
        }
    }

    /// Signs in a person who comes back from the provider, if it confirms them.
    pub(crate) async fn back_from_provider(self: Arc<Self>, asked: Arc<ConsoleRequest>) -> Answer {
        let provider = self.provider.as_ref().ok_or(PageError::NotFound)?;
        let wait = self.address_wait(&asked);
        if wait > SignedDuration::ZERO {
            self.metrics.count_sign_in(SignInOutcome::Limited);
            return self.refuse_for(&asked, wait);
        }
        let now = self.clock.now();
        let cookie = asked.cookie(&self.sign_in.passing_cookie());
        let cookie = cookie.and_then(|sealed| self.sign_in.seal.read(&["oidc"], sealed));
        let begun = cookie.and_then(|cookie| StartedSignIn::read(cookie, now));
        let parameters = asked.asked_for("state").zip(asked.asked_for("code"));
        let Some((begun, (state, code))) = begun.zip(parameters) else {
            return self.refuse(&asked, AGAIN);
        };
        let address = network(asked.address).to_string();
        let vouched = match provider.redeem(&address, &begun, state, code).await {
            Ok(vouched) => vouched,
            Err(RedeemFailure::NotOurs(reason)) => {
                tracing::info!(reason, "somebody could not sign in with the provider");
                return self.refuse(&asked, AGAIN);
            }
            // The provider's failure does not use up an attempt of the address.
            Err(RedeemFailure::ProviderAway(cause)) => {
                self.metrics.count_sign_in(SignInOutcome::ProviderFailed);
                tracing::warn!(cause, "the provider of sign-ins cannot be used");
                let page = self.sign_in_page(&asked, Some(UNAVAILABLE))?;
                return Ok(page.with_status(StatusCode::SERVICE_UNAVAILABLE));
            }
            Err(RedeemFailure::Refused(reason)) => {
                tracing::info!(reason, "somebody could not sign in with the provider");
                return self.count_and_refuse(&asked, AGAIN).await;
            }
        };
        let admit = move |console: &Self, asked: &ConsoleRequest| {
            console.admit_vouched(asked, &vouched, &begun)
        };
        self.in_turn(&asked, admit).await?
    }

    /// Counts a sign-in that the provider did not confirm, and shows the reason. Runs on a thread that
    /// may block.
    async fn count_and_refuse(
        self: &Arc<Self>,
        asked: &Arc<ConsoleRequest>,
        why: &'static str,
    ) -> Answer {
        let count = move |console: &Self, asked: &ConsoleRequest| {
            console.count_provider_failure(asked)?;
            console.refuse(asked, why)
        };
        self.in_turn(asked, count).await?
    }

    /// Signs in a person whom the provider confirms, if they have a role.
    fn admit_vouched(
        &self,
        asked: &ConsoleRequest,
        vouched: &Vouched,
        begun: &StartedSignIn,
    ) -> Answer {
        let now = self.clock.now();
        // A person without a role any more loses all sessions, and not only this one.
        let Some(member) = vouched.member(now) else {
            let input = RemoveProviderMember { name: vouched.name.clone() };
            remove_provider_member(&self.admin(&[]), input)?;
            self.count_provider_failure(asked)?;
            return self.refuse(asked, NOTHING);
        };
        let is_page = sign_in::is_page(&begun.next);
        let target = if is_page { begun.next.clone() } else { PATH.to_owned() };
        let mut signed_in_at = vouched.signed_in_at;
        if let Some(session) = begun.renews.clone() {
            let earliest = begun.at.saturating_sub(AUTH_TIME_LEEWAY).unwrap_or(begun.at);
            if signed_in_at.is_none_or(|at| at < earliest) {
                tracing::info!("the provider did not ask somebody to sign in anew");
                self.metrics.count_sign_in(SignInOutcome::ProviderFailed);
                return self.refuse(asked, NOT_ANEW);
            }
            signed_in_at = Some(now);
            let name = vouched.name.clone();
            self.store.write_blocking(move |tx| tx.end_session_of(&session, &name))?;
        }
        let by = SignedInBy::Provider(signed_in_at);
        let Some(session) = self.begin(asked, member, by)? else {
            return self.refuse(asked, AGAIN);
        };
        // Browsers do not send `SameSite=Strict` cookies after a redirect from another site, so this page
        // loads the next one.
        Ok(ConsoleReply::page(&pages::SignedIn { target })
            .with_cookie(session)
            .with_cookie(self.sign_in.passing("", SignedDuration::ZERO)))
    }
}
