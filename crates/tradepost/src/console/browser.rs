//! Cookies that the console signs: one by which it knows a browser in which somebody has signed in
//! before, and one for the few minutes between the password and the code of the second factor.

use jiff::{SignedDuration, Timestamp};
use tradepost_server::fault::InternalError;
use tradepost_store::staff::StaffMember;

use super::door::SignInService;
use super::password;
use super::request::{ConsoleRequest, digest};

/// For how long a browser is known after a sign-in.
const KNOWN_FOR: SignedDuration = SignedDuration::from_hours(24 * 180);

/// For how long the code of the second factor may be given after the password.
pub(super) const CODE_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// What a signed cookie says: when it was written, a random text, and more.
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
        // A cookie of a moment to come was written under another clock.
        !passed.is_negative() && passed < age
    }
}

impl SignInService {
    /// The cookie by which a browser is known for a name. People who share a browser have one each.
    fn browser_cookie(&self, name: &str) -> String {
        let hash = tradepost_dealer::consent::hex(&digest("browser of", name));
        let short: String = hash.chars().take(12).collect();
        self.name(&format!("tradepost-browser-{short}"))
    }

    /// The id of the browser that asks, where this person has signed in in it before.
    /// A cookie from before the password was changed does not count: whoever had the old one may have it.
    pub(super) fn known_browser(
        &self,
        asked: &ConsoleRequest,
        member: &StaffMember,
    ) -> Option<String> {
        let cookie = asked.cookie(&self.browser_cookie(&member.name))?;
        let purpose = ["known browser", &member.name, &member.password];
        let text = self.seal.read(&purpose, cookie)?;
        let signed = SignedText::parse(text)?;
        let is_known = signed.is_younger_than(KNOWN_FOR, self.clock.now());
        is_known.then(|| signed.random.to_owned())
    }

    /// Whether the browser shows a cookie by which it could be known for a name. It may be forged.
    pub(super) fn shows_browser_cookie(&self, asked: &ConsoleRequest, name: &str) -> bool {
        asked.cookie(&self.browser_cookie(name)).is_some()
    }

    /// The cookie that has a browser known for a member, with the id that it had before, if any.
    pub(super) fn know_browser(
        &self,
        asked: &ConsoleRequest,
        member: &StaffMember,
    ) -> Result<String, InternalError> {
        let known = self.known_browser(asked, member);
        let id = known.map_or_else(password::token, Ok)?;
        let text = format!("{}.{id}", self.clock.now().as_second());
        let value = self.seal.write(&["known browser", &member.name, &member.password], &text);
        Ok(self.cookie(&self.browser_cookie(&member.name), &value, KNOWN_FOR.as_secs()))
    }

    /// The cookie of somebody whose password was right and whose code is still to come.
    pub(super) fn code_cookie(&self) -> String {
        self.name("tradepost-code")
    }

    /// The same cookie with its value. It is of no use once the password is another.
    pub(super) fn await_code(&self, member: &StaffMember) -> Result<String, InternalError> {
        let text =
            format!("{}.{}.{}", self.clock.now().as_second(), password::token()?, member.name);
        let value = self.seal.write(&["second factor", &member.name, &member.password], &text);
        Ok(self.cookie(&self.code_cookie(), &value, CODE_WITHIN.as_secs()))
    }

    /// The name in the cookie of somebody whose code is to come. Nothing of it is proven yet.
    pub(super) fn awaited_name<'a>(&self, asked: &'a ConsoleRequest) -> Option<&'a str> {
        let (_, text) = asked.cookie(&self.code_cookie())?.split_once('.')?;
        Some(SignedText::parse(text)?.rest)
    }

    /// Whether the cookie was given to this member a few minutes ago at most.
    pub(super) fn awaits_code_of(&self, asked: &ConsoleRequest, member: &StaffMember) -> bool {
        let purpose = ["second factor", &member.name, &member.password];
        let cookie = asked.cookie(&self.code_cookie()).unwrap_or_default();
        let signed = self.seal.read(&purpose, cookie).and_then(SignedText::parse);
        signed.is_some_and(|signed| signed.is_younger_than(CODE_WITHIN, self.clock.now()))
    }
}
