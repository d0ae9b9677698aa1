//! Signed cookies of the console: one that identifies a browser in which a person has signed in before,
//! and one for the minutes between the password and the code of the second factor.

use jiff::{SignedDuration, Timestamp};
use tradepost_runtime::random;
use tradepost_server::fault::InternalError;
use tradepost_store::staff::StaffMember;

use super::request::{ConsoleRequest, digest};
use super::sign_in::SignInService;

/// Time for which a browser is known after a sign-in.
const BROWSER_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 180);

/// Time within which the code of the second factor has to follow the password.
pub(super) const CODE_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// Content of a signed cookie: the time of writing, a random text, and more.
struct SignedText<'t> {
    written_at: Timestamp,
    random: &'t str,
    rest: &'t str,
}

impl<'t> SignedText<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let seconds = parts.next()?.parse().ok()?;
        Some(Self {
            written_at: Timestamp::from_second(seconds).ok()?,
            random: parts.next()?,
            rest: parts.next().unwrap_or_default(),
        })
    }

    fn is_younger_than(&self, age: SignedDuration, now: Timestamp) -> bool {
        let passed = now.duration_since(self.written_at);
        // A cookie from the future was written under another clock.
        !passed.is_negative() && passed < age
    }
}

impl SignInService {
    /// Returns the name of the cookie for a browser and a person. People who share a browser have one each.
    fn browser_cookie(&self, name: &str) -> String {
        let hash = tradepost_dealer::consent::hex(&digest("browser of", name));
        let short: String = hash.chars().take(12).collect();
        self.name(&format!("tradepost-browser-{short}"))
    }

    /// Returns the id of the browser if this person has signed in with it before. A cookie from before a
    /// password change is not valid, because someone with the old password may have it.
    pub(super) fn known_browser(
        &self,
        asked: &ConsoleRequest,
        member: &StaffMember,
    ) -> Option<String> {
        let cookie = asked.cookie(&self.browser_cookie(&member.name))?;
        let purpose = ["known browser", &member.name, &member.password];
        let text = self.seal.read(&purpose, cookie)?;
        let signed = SignedText::parse(text)?;
        let is_known = signed.is_younger_than(BROWSER_LIFETIME, self.clock.now());
        is_known.then(|| signed.random.to_owned())
    }

    /// Returns true when the browser sends a cookie for this name, which may be forged.
    pub(super) fn shows_browser_cookie(&self, asked: &ConsoleRequest, name: &str) -> bool {
        asked.cookie(&self.browser_cookie(name)).is_some()
    }

    /// Writes the cookie that makes this browser known for a member, with its earlier id if there is one.
    pub(super) fn know_browser(
        &self,
        asked: &ConsoleRequest,
        member: &StaffMember,
    ) -> Result<String, InternalError> {
        let known = self.known_browser(asked, member);
        let id = known.map_or_else(random::token, Ok)?;
        let text = format!("{}.{id}", self.clock.now().as_second());
        let value = self.seal.write(&["known browser", &member.name, &member.password], &text);
        Ok(self.cookie(&self.browser_cookie(&member.name), &value, BROWSER_LIFETIME.as_secs()))
    }

    /// Returns the name of the cookie between password and code.
    pub(super) fn code_cookie(&self) -> String {
        self.name("tradepost-code")
    }

    /// Writes that cookie. It is invalid once the password changes.
    pub(super) fn await_code(&self, member: &StaffMember) -> Result<String, InternalError> {
        let text = format!("{}.{}.{}", self.clock.now().as_second(), random::token()?, member.name);
        let value = self.seal.write(&["second factor", &member.name, &member.password], &text);
        Ok(self.cookie(&self.code_cookie(), &value, CODE_WITHIN.as_secs()))
    }

    /// Returns the name in that cookie, which is not verified.
    pub(super) fn awaited_name<'a>(&self, asked: &'a ConsoleRequest) -> Option<&'a str> {
        let (_, text) = asked.cookie(&self.code_cookie())?.split_once('.')?;
        Some(SignedText::parse(text)?.rest)
    }

    /// Returns true when the cookie is valid for this member and at most a few minutes old.
    pub(super) fn awaits_code_of(&self, asked: &ConsoleRequest, member: &StaffMember) -> bool {
        let purpose = ["second factor", &member.name, &member.password];
        let cookie = asked.cookie(&self.code_cookie()).unwrap_or_default();
        let signed = self.seal.read(&purpose, cookie).and_then(SignedText::parse);
        signed.is_some_and(|signed| signed.is_younger_than(CODE_WITHIN, self.clock.now()))
    }
}
