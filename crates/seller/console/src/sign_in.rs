//! Sign-in, sessions and sign-out.

use jiff::{SignedDuration, Timestamp};
use tradepost_admin::people::provider_members::add_provider_member;
use tradepost_admin::people::{EndSession, StaffRefusal, end_session, stored_name};
use tradepost_admin::{Actor, AdminError};
use tradepost_dealer::staff::AuditAction;
use tradepost_runtime::config::ConsoleConfig as Settings;
use tradepost_runtime::console_metrics::SignInOutcome;
use tradepost_runtime::random;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::signed_text::{Seal, Secrets};
use tradepost_store::staff::{StaffMember, StaffSession};

use super::attempts::{ProofKind, Proven, SignInAttempt, SignInLimiter};
use super::password::Judge;
use super::reply::ConsoleReply;
use super::request::{ConsoleRequest, proof, session_hash};
use super::{Answer, Console, PATH, PageError, pages};

/// Precision with which the last use of a session is stored.
const LAST_USE_PRECISION: SignedDuration = SignedDuration::from_mins(1);

/// Lifetime in seconds of the sign-in form.
const FORM_SECONDS: i64 = 3600;

/// Message after too many attempts.
pub(super) const TOO_OFTEN: &str = "Too many attempts. Wait a few minutes, then try again.";

/// Message for a wrong name or password.
const WRONG_NAME_OR_PASSWORD: &str = "The name or the password is wrong.";

/// Checks sign-ins and sessions.
#[derive(Debug)]
pub(super) struct SignInService {
    pub(super) judge: Judge,
    pub(super) limiter: SignInLimiter,
    /// Signs cookies, with a key that all processes on the store share.
    pub(super) seal: Seal,
    pub(super) clock: Clock,
    lifetime: SignedDuration,
    idle: SignedDuration,
    /// True when browsers use TLS, so that cookies are never sent without it.
    is_secure: bool,
}

/// Method of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignedInBy {
    /// With a password alone.
    Password,
    /// With a password and a code of the second factor.
    PasswordAndCode,
    /// With the provider; the time of the authentication there, if the provider reports it.
    Provider(Option<Timestamp>),
}

impl SignedInBy {
    /// Returns the time at which the person last proved their identity.
    fn proven_at(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Password | Self::PasswordAndCode => Some(now),
            Self::Provider(at) => at.filter(|at| *at <= now),
        }
    }
}

/// A person who is signed in, with their request.
#[derive(Debug)]
pub(super) struct Visitor<'a> {
    pub(super) member: StaffMember,
    pub(super) session: StaffSession,
    /// Value of the session cookie.
    pub(super) secret: String,
    pub(super) asked: &'a ConsoleRequest,
    /// Id in the path, for example of a lead or a session.
    pub(super) id: &'a str,
}

impl Visitor<'_> {
    /// Returns who acts, for operations.
    pub(super) fn actor(&self) -> Actor {
        Actor::from_member(&self.member)
    }

    /// Returns the proof that the forms of this session contain.
    pub(super) fn proof(&self) -> String {
        proof(&self.secret)
    }

    /// Returns true when the person signs in with a password, and not with a provider.
    pub(super) const fn has_password(&self) -> bool {
        !self.member.password.is_empty()
    }

    /// Returns the visitor's dealer or publisher; `None` for all dealers.
    pub(super) fn dealer_id(&self) -> Option<&str> {
        self.member.dealer_id.as_deref()
    }
}

impl SignInService {
    pub(super) fn new(
        settings: &Settings,
        has_tls: bool,
        clock: &Clock,
        secrets: &dyn Secrets,
    ) -> Result<Self, InternalError> {
        let proxied = settings.public_url.as_ref();
        Ok(Self {
            judge: Judge::new()?,
            limiter: SignInLimiter::new(clock),
            seal: Seal::open(secrets, "console cookies")?,
            clock: clock.clone(),
            lifetime: settings.session_lifetime,
            idle: settings.session_idle,
            is_secure: has_tls || proxied.is_some_and(|url| url.starts_with("https://")),
        })
    }

    /// Returns a cookie's name. With the prefix, browsers only accept it from this host and over TLS.
    pub(super) fn name(&self, plain: &str) -> String {
        if self.is_secure { format!("__Host-{plain}") } else { plain.to_owned() }
    }

    pub(super) fn session_cookie(&self) -> String {
        self.name("tradepost-console")
    }

    fn form_cookie(&self) -> String {
        self.name("tradepost-form")
    }

    pub(super) fn cookie(&self, name: &str, value: &str, seconds: i64) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }

    /// Returns the name of the cookie for the time at the provider.
    pub(super) fn passing_cookie(&self) -> String {
        self.name("tradepost-passing")
    }

    /// Writes that cookie. Browsers also send it when another site redirects back, which the other
    /// cookies exclude.
    pub(super) fn passing(&self, value: &str, lifetime: SignedDuration) -> String {
        let cookie = self.cookie(&self.passing_cookie(), value, lifetime.as_secs());
        cookie.replace("SameSite=Strict", "SameSite=Lax")
    }

    fn is_over(&self, session: &StaffSession, now: Timestamp) -> bool {
        now >= session.expires_at || now.duration_since(session.seen_at) > self.idle
    }
}

impl Console {
    /// Returns the visitor of a request.
    pub(super) fn visitor<'a>(
        &self,
        asked: &'a ConsoleRequest,
        id: &'a str,
    ) -> Result<Visitor<'a>, PageError> {
        let Some(secret) = asked.cookie(&self.sign_in.session_cookie()) else {
            return Err(PageError::SignIn);
        };
        // The store has only the hash, so that reading the store does not give access.
        let found = self.store.session(&session_hash(secret))?;
        let now = self.clock.now();
        let Some((session, member)) =
            found.filter(|(session, _)| !self.sign_in.is_over(session, now))
        else {
            return Err(PageError::SignIn);
        };
        // An automatic refresh of a page does not count as activity.
        if !asked.is_automatic && now.duration_since(session.seen_at) >= LAST_USE_PRECISION {
            let id = session.id.clone();
            self.store.write_blocking(move |tx| tx.touch_session(&id, now))?;
        }
        Ok(Visitor { member, session, secret: secret.to_owned(), asked, id })
    }

    /// Shows the sign-in page, with the error of the last attempt.
    pub(super) fn sign_in_page(
        &self,
        asked: &ConsoleRequest,
        trouble: Option<&'static str>,
    ) -> Answer {
        if trouble.is_none() && self.visitor(asked, "").is_ok() {
            return Ok(ConsoleReply::see(PATH.to_owned()));
        }
        // One secret for all forms of a browser, so that a second tab does not invalidate the first.
        let known = asked.cookie(&self.sign_in.form_cookie()).map(str::to_owned);
        let secret = known.map_or_else(random::token, Ok)?;
        let page = pages::SignIn {
            proof: proof(&secret),
            trouble,
            next: next(asked).unwrap_or_default(),
            provider: self.provider.as_ref().map(|provider| provider.settings.label.clone()),
        };
        let cookie = self.sign_in.cookie(&self.sign_in.form_cookie(), &secret, FORM_SECONDS);
        Ok(ConsoleReply::page(&page).with_cookie(cookie))
    }

    /// Signs a person in. The error is the same for a wrong name and a wrong password.
    pub(super) fn sign_in(&self, asked: &ConsoleRequest) -> Answer {
        // Otherwise another site could sign a person in under a foreign name, and read what they write.
        let proven =
            asked.cookie(&self.sign_in.form_cookie()).is_some_and(|secret| asked.proves(secret));
        if !proven {
            let why = "This page was open for too long, or its cookie is missing. Try again.";
            return self.refuse(asked, why);
        }
        let name = stored_name(asked.filled_in("name").unwrap_or_default());
        let given = asked.filled_in("password").unwrap_or_default();
        if let Some(wait) = self.early_wait(asked, &name) {
            return self.refuse_for(asked, wait);
        }
        let member = self.store.member(&name)?;
        let attempt = SignInAttempt {
            asked,
            name: &name,
            member: member.as_ref(),
            means: ProofKind::Password,
        };
        let kept = member.as_ref().map(|member| member.password.as_str());
        let proven = self.prove(&attempt, || Ok(self.sign_in.judge.is_right(given, kept)))?;
        let member = match proven {
            Proven::Right => member,
            Proven::Wrong => None,
            Proven::Limited(wait) => return self.refuse_for(asked, wait),
        };
        let Some(member) = member else {
            return self.refuse(asked, WRONG_NAME_OR_PASSWORD);
        };
        if self.store.has_second_factor(&member.name)? {
            return self.ask_for_code(asked, &member);
        }
        self.let_in(asked, member, SignedInBy::Password)
    }

    /// Begins the session of a member whose proof was correct, unless the password or the second factor
    /// has changed since.
    pub(super) fn let_in(
        &self,
        asked: &ConsoleRequest,
        member: StaffMember,
        by: SignedInBy,
    ) -> Answer {
        let browser = self.sign_in.know_browser(asked, &member)?;
        let Some(session) = self.begin(asked, member, by)? else {
            return self.refuse(asked, WRONG_NAME_OR_PASSWORD);
        };
        let form = self.sign_in.cookie(&self.sign_in.form_cookie(), "", 0);
        let target = next(asked).unwrap_or_else(|| PATH.to_owned());
        Ok(ConsoleReply::see(target).with_cookie(session).with_cookie(browser).with_cookie(form))
    }

    /// Shows the sign-in page to a person who has to wait before the next attempt.
    pub(super) fn refuse_for(&self, asked: &ConsoleRequest, wait: SignedDuration) -> Answer {
        Ok(self.sign_in_page(asked, Some(TOO_OFTEN))?.limited(wait))
    }

    pub(super) fn refuse(&self, asked: &ConsoleRequest, why: &'static str) -> Answer {
        let page = self.sign_in_page(asked, Some(why))?;
        Ok(page.with_status(axum::http::StatusCode::UNAUTHORIZED))
    }

    /// Begins a session and returns its cookie. A person confirmed by a provider is added as a member.
    /// Returns `None` when the proof is no longer valid.
    pub(super) fn begin(
        &self,
        asked: &ConsoleRequest,
        member: StaffMember,
        by: SignedInBy,
    ) -> Result<Option<String>, InternalError> {
        let now = self.clock.now();
        let secret = random::token()?;
        let session = StaffSession {
            // Used in lists and to end the session; it does not give access.
            id: uuid::Uuid::new_v4().simple().to_string(),
            name: member.name.clone(),
            begun_at: now,
            seen_at: now,
            expires_at: now.saturating_add(self.sign_in.lifetime).unwrap_or(Timestamp::MAX),
            browser: asked.browser.clone(),
            proven_at: by.proven_at(now),
        };
        let has_code = by == SignedInBy::PasswordAndCode;
        let is_vouched_for = !has_code && by != SignedInBy::Password;
        let dealer_id = member.dealer_id.as_deref();
        let id = Some(session.id.clone());
        let mut entry = self.entry(&member, dealer_id, AuditAction::SignedIn, id);
        entry.detail = is_vouched_for.then(|| "oidc".to_owned());
        let hash = session_hash(&secret);
        let has_begun = self.store.write_blocking(move |tx| {
            if is_vouched_for {
                add_provider_member(tx, &member, now)?;
            } else if !tx.still_signs_in_with(&member, has_code)? {
                return Ok(false);
            }
            tx.begin_session(&session, &hash)?;
            tx.record(&entry)?;
            Ok(true)
        })?;
        if !has_begun {
            return Ok(None);
        }
        self.metrics.count_sign_in(SignInOutcome::SignedIn);
        let seconds = self.sign_in.lifetime.as_secs();
        Ok(Some(self.sign_in.cookie(&self.sign_in.session_cookie(), &secret, seconds)))
    }

    pub(super) fn sign_out(&self, visitor: &Visitor<'_>) -> Answer {
        let id = visitor.session.id.clone();
        let member = &visitor.member;
        let subject = Some(id.clone());
        let entry = self.entry(member, visitor.dealer_id(), AuditAction::SignedOut, subject);
        self.store.write_blocking(move |tx| {
            if tx.end_session(&id)? {
                tx.record(&entry)?;
            }
            Ok(())
        })?;
        let gone = self.sign_in.cookie(&self.sign_in.session_cookie(), "", 0);
        Ok(ConsoleReply::see(format!("{PATH}/sign-in")).with_cookie(gone))
    }

    /// Ends a session of the visitor, or as a manager one of their people's.
    pub(super) fn end_session(&self, visitor: &Visitor<'_>) -> Answer {
        if visitor.id == visitor.session.id {
            return self.sign_out(visitor);
        }
        let input = EndSession { session_id: visitor.id.to_owned() };
        end_session(&self.admin(&[]), &visitor.actor(), input).map_err(unmanaged)?;
        Ok(ConsoleReply::see(format!("{PATH}/people?done=session")))
    }
}

/// Returns the page for an operation on staff that was not done.
pub(super) fn unmanaged(error: AdminError<StaffRefusal>) -> PageError {
    PageError::from_admin(error, |refusal| match refusal {
        // People of others are answered as not found.
        StaffRefusal::UnknownMember(_)
        | StaffRefusal::NoSecondFactor(_)
        | StaffRefusal::NoPassword(_)
        | StaffRefusal::UnknownSession => PageError::NotFound,
        StaffRefusal::OwnSecondFactor => PageError::Unusable(
            "Another manager or the server's operator can reset your second factor.",
        ),
        StaffRefusal::NameTaken => PageError::Unusable("Somebody has this name."),
        StaffRefusal::WrongRole { .. } => PageError::Unusable("That is no role there."),
    })
}

/// Returns the page to show after the sign-in, if it is a page of the console.
pub(super) fn next(asked: &ConsoleRequest) -> Option<String> {
    let wanted = asked.filled_in("next").or_else(|| asked.asked_for("next"))?;
    is_page(wanted).then(|| wanted.to_owned())
}

/// Returns true when a path is that of a page of the console.
pub(super) fn is_page(path: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_".contains(&b);
    let is_ours = path == PATH || path.starts_with("/console/");
    // A path that begins with two slashes would lead to another site.
    is_ours && path.bytes().all(plain) && !path.contains("//")
}
