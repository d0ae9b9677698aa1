//! Second factors: time-based codes of an app, which change every 30 seconds (RFC 6238), and recovery
//! codes for the case that the phone is lost.

use axum::http::StatusCode;
use jiff::Timestamp;
use qrcode::QrCode;
use qrcode::render::svg;
use totp_rs::{Builder, Secret, Totp};
use tradepost_admin::AdminError;
use tradepost_admin::people::own_account::{
    OwnAccountRefusal, ReplaceRecoveryCodes, SetSecondFactor, remove_own_second_factor,
    replace_recovery_codes, set_second_factor,
};
use tradepost_admin::people::{ResetSecondFactor, reset_second_factor};
use tradepost_dealer::consent::Sha256Hash;
use tradepost_dealer::staff::AuditAction;
use tradepost_runtime::config::SecondFactorPolicy;
use tradepost_runtime::random;
use tradepost_server::fault::InternalError;
use tradepost_store::staff::StaffMember;

use super::account::unchanged;
use super::attempts::{ProofKind, Proven, SignInAttempt};
use super::browser::CODE_WITHIN;
use super::reply::ConsoleReply;
use super::request::{ConsoleRequest, digest, proof};
use super::sign_in::{SignedInBy, TOO_OFTEN, Visitor, next, unmanaged};
use super::{Answer, Console, PATH, PageError, pages};

/// Issuer name that an app shows.
const ISSUER: &str = "Tradepost";

/// Number of bytes of a secret, as RFC 4226 recommends.
const SECRET: usize = 20;

/// Number of recovery codes that are issued at once.
const RECOVERY_CODES: usize = 10;

/// Number of bytes of a recovery code. 80 bits cannot be guessed, so a plain hash is enough.
const RECOVERY_CODE: usize = 10;

/// Message for a wrong code.
const WRONG_CODE: &str = "The code is wrong, or was used before. Wait for the next code.";

/// Creates the code generator of a secret.
fn totp(secret: &str, name: &str) -> Result<Totp, InternalError> {
    const CONTEXT: &str = "reading a second factor";
    let secret = Secret::try_from_base32(secret)
        .map_err(|error| InternalError::new(CONTEXT, error.to_string()))?;
    let builder = Builder::new().with_secret(secret).with_account_name(name);
    let built = builder.with_issuer(Some(ISSUER)).build();
    built.map_err(|error| InternalError::new(CONTEXT, error.to_string()))
}

/// Returns the number of the 30-second step of a code, if the code is currently valid.
fn step_of(totp: &Totp, code: &str, now: Timestamp) -> Option<i64> {
    let seconds = u64::try_from(now.as_second()).ok()?;
    totp.check(code, seconds).and_then(|step| i64::try_from(step).ok())
}

/// Normalises a typed code: removes spaces and dashes, and converts to lower case.
fn typed(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && *c != '-').flat_map(char::to_lowercase).collect()
}

/// Hashes a recovery code for the store.
fn recovery_hash(name: &str, code: &str) -> Sha256Hash {
    digest("recovery code", &format!("{name} {}", typed(code)))
}

/// Splits a text into groups of four characters.
fn grouped(text: &str, between: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let groups: Vec<String> = letters.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join(between)
}

fn recovery_codes() -> Result<Vec<String>, InternalError> {
    let code = |_| {
        let bytes: [u8; RECOVERY_CODE] = random::bytes()?;
        let text = Secret::new(Box::new(bytes)).to_base32().to_lowercase();
        Ok(grouped(&text, "-"))
    };
    (0..RECOVERY_CODES).map(code).collect()
}

/// Draws a QR code as an SVG image without an XML declaration.
fn qr_code(address: &str) -> Result<String, InternalError> {
    let code = QrCode::new(address)
        .map_err(|error| InternalError::new("drawing a QR code", error.to_string()))?;
    let image = code.render::<svg::Color<'_>>().min_dimensions(220, 220).build();
    let start = image.find("<svg").unwrap_or_default();
    Ok(image.get(start..).unwrap_or_default().to_owned())
}

impl Console {
    /// Returns true when the visitor has to set up a second factor before anything else. For people who
    /// sign in with a provider, the second factor is the provider's task.
    pub(super) fn must_set_up_factor(&self, visitor: &Visitor<'_>) -> Result<bool, InternalError> {
        match self.second_factor {
            SecondFactorPolicy::Optional => Ok(false),
            SecondFactorPolicy::Required => {
                Ok(visitor.has_password() && !self.store.has_second_factor(&visitor.member.name)?)
            }
        }
    }

    /// Checks a code or a recovery code, and marks it as used.
    fn use_code(&self, member: &StaffMember, given: &str) -> Result<bool, InternalError> {
        let factor = self.store.second_factor(&member.name)?;
        let Some(factor) = factor.filter(|factor| factor.confirmed_at.is_some()) else {
            return Ok(false);
        };
        let given = typed(given);
        let name = member.name.clone();
        if let Some(step) = step_of(&totp(&factor.secret, &name)?, &given, self.clock.now()) {
            // In the store, so that the code cannot be used at another process.
            return self.store.write_blocking(move |tx| tx.use_factor_step(&name, step));
        }
        let hash = recovery_hash(&name, &given);
        let mut entry = self.entry(
            member,
            member.dealer_id.as_deref(),
            AuditAction::RecoveryCodeUsed,
            Some(name.clone()),
        );
        entry.detail = Some(format!("{} left", factor.codes_left.saturating_sub(1)));
        self.store.write_blocking(move |tx| {
            let used = tx.use_recovery_code(&name, &hash)?;
            if used {
                tx.record(&entry)?;
            }
            Ok(used)
        })
    }

    fn prove_code(
        &self,
        asked: &ConsoleRequest,
        member: &StaffMember,
        given: &str,
    ) -> Result<Proven, InternalError> {
        let attempt = SignInAttempt {
            asked,
            name: &member.name,
            member: Some(member),
            means: ProofKind::Code,
        };
        self.prove(&attempt, || self.use_code(member, given))
    }

    /// Redirects to the page that asks for the code, after a correct password.
    pub(super) fn ask_for_code(&self, asked: &ConsoleRequest, member: &StaffMember) -> Answer {
        let next = next(asked).map(|page| format!("?next={page}")).unwrap_or_default();
        let cookie = self.sign_in.await_code(member)?;
        Ok(ConsoleReply::see(format!("{PATH}/sign-in/code{next}")).with_cookie(cookie))
    }

    /// Returns the person who gave the correct password at most a few minutes ago.
    fn awaited(&self, asked: &ConsoleRequest) -> Result<Option<StaffMember>, InternalError> {
        let Some(name) = self.sign_in.awaited_name(asked) else { return Ok(None) };
        let member = self.store.member(name)?;
        Ok(member.filter(|member| self.sign_in.awaits_code_of(asked, member)))
    }

    pub(super) fn code_page(
        &self,
        asked: &ConsoleRequest,
        trouble: Option<&'static str>,
    ) -> Answer {
        if self.awaited(asked)?.is_none() {
            return Ok(ConsoleReply::see(format!("{PATH}/sign-in")));
        }
        let secret = asked.cookie(&self.sign_in.code_cookie()).unwrap_or_default();
        let page = pages::account::SignInCode {
            proof: proof(secret),
            trouble,
            next: next(asked).unwrap_or_default(),
            minutes: CODE_WITHIN.as_mins(),
        };
        Ok(ConsoleReply::page(&page))
    }

    /// Signs in a person whose password and code are correct.
    pub(super) fn sign_in_with_code(&self, asked: &ConsoleRequest) -> Answer {
        let Some(member) = self.awaited(asked)? else {
            return self.refuse(asked, "The sign-in took too long. Sign in again.");
        };
        let secret = asked.cookie(&self.sign_in.code_cookie()).unwrap_or_default();
        if !asked.proves(secret) {
            return self.refuse(asked, "The sign-in took too long. Sign in again.");
        }
        match self.prove_code(asked, &member, asked.filled_in("code").unwrap_or_default())? {
            Proven::Right => {
                let done = self.sign_in.cookie(&self.sign_in.code_cookie(), "", 0);
                let reply = self.let_in(asked, member, SignedInBy::PasswordAndCode)?;
                Ok(reply.with_cookie(done))
            }
            Proven::Wrong => {
                let page = self.code_page(asked, Some(WRONG_CODE))?;
                Ok(page.with_status(StatusCode::UNAUTHORIZED))
            }
            Proven::Limited(wait) => Ok(self.code_page(asked, Some(TOO_OFTEN))?.limited(wait)),
        }
    }

    /// Shows the page on which a second factor is set up.
    pub(super) fn factor_page(&self, visitor: &Visitor<'_>) -> Answer {
        self.show_factor(visitor, None)
    }

    fn show_factor(&self, visitor: &Visitor<'_>, trouble: Option<&'static str>) -> Answer {
        if !visitor.has_password() {
            return Err(PageError::Unusable("Your provider manages your second factor."));
        }
        let name = &visitor.member.name;
        let factor = self.store.second_factor(name)?;
        if factor.as_ref().is_some_and(|factor| factor.confirmed_at.is_some()) {
            return Ok(ConsoleReply::see(format!("{PATH}/account")));
        }
        let secret = match &factor {
            None => None,
            Some(factor) => {
                let address = totp(&factor.secret, name)?.to_url();
                let address = address.map_err(|error| {
                    InternalError::new("writing a second factor", error.to_string())
                })?;
                Some((grouped(&factor.secret, " "), qr_code(&address)?))
            }
        };
        let page = pages::account::SetUpFactor {
            frame: self.frame(visitor, "Second factor")?,
            is_required: self.must_set_up_factor(visitor)?,
            secret,
            trouble,
        };
        Ok(ConsoleReply::page(&page))
    }

    /// Creates a secret, which is active once a code has confirmed it.
    pub(super) fn begin_factor(&self, visitor: &Visitor<'_>) -> Answer {
        if !visitor.has_password() {
            return Err(PageError::Unusable("Your provider manages your second factor."));
        }
        let bytes: [u8; SECRET] = random::bytes()?;
        let secret = Secret::new(Box::new(bytes)).to_base32();
        let name = visitor.member.name.clone();
        let now = self.clock.now();
        self.store.write_blocking(move |tx| tx.begin_second_factor(&name, &secret, now))?;
        Ok(ConsoleReply::see(format!("{PATH}/account/factor")))
    }

    /// Activates a second factor by a code of the app, and shows the recovery codes once.
    pub(super) fn confirm_factor(&self, visitor: &mut Visitor<'_>) -> Answer {
        let name = &visitor.member.name;
        let factor = self.store.second_factor(name)?;
        let factor = factor.filter(|factor| factor.confirmed_at.is_none());
        let factor = factor.ok_or(PageError::Unusable("There is no second factor to confirm."))?;
        let context = self.admin(&[]);
        let given = typed(visitor.asked.filled_in("code").unwrap_or_default());
        let Some(step) = step_of(&totp(&factor.secret, name)?, &given, context.now) else {
            let page = self.show_factor(visitor, Some(WRONG_CODE))?;
            return Ok(page.with_status(StatusCode::UNPROCESSABLE_ENTITY));
        };
        let codes = recovery_codes()?;
        let code_hashes = codes.iter().map(|code| recovery_hash(name, code)).collect();
        let session_id = visitor.session.id.clone();
        let input = SetSecondFactor { step, code_hashes, session_id };
        match set_second_factor(&context, &visitor.actor(), input) {
            Ok(()) => {}
            // Another request has confirmed it meanwhile.
            Err(AdminError::Refused(OwnAccountRefusal::NothingToConfirm)) => {
                return Ok(ConsoleReply::see(format!("{PATH}/account?done=nothing")));
            }
            Err(error) => return Err(unchanged(error)),
        }
        let cookie = self.renew(visitor)?;
        Ok(self.codes_page(visitor, codes)?.with_cookie(cookie))
    }

    fn codes_page(
        &self,
        visitor: &Visitor<'_>,
        codes: Vec<String>,
    ) -> Result<ConsoleReply, PageError> {
        let page =
            pages::account::RecoveryCodes { frame: self.frame(visitor, "Recovery codes")?, codes };
        Ok(ConsoleReply::page(&page))
    }

    /// Replaces the recovery codes, and shows the new ones once.
    pub(super) fn new_recovery_codes(&self, visitor: &Visitor<'_>) -> Answer {
        let name = &visitor.member.name;
        let codes = recovery_codes()?;
        let code_hashes = codes.iter().map(|code| recovery_hash(name, code)).collect();
        let input = ReplaceRecoveryCodes { code_hashes };
        replace_recovery_codes(&self.admin(&[]), &visitor.actor(), input).map_err(unchanged)?;
        self.codes_page(visitor, codes)
    }

    /// Removes the visitor's second factor, by one of its codes.
    pub(super) fn remove_factor(&self, visitor: &Visitor<'_>) -> Answer {
        // Before the code is checked, which may count as a failed attempt.
        if !self.store.has_second_factor(&visitor.member.name)? {
            return Err(PageError::Unusable("You have no second factor."));
        }
        if self.second_factor == SecondFactorPolicy::Required {
            let why = "Your organisation requires a second factor. A manager can reset it, so that you \
                       can set up another.";
            return Err(PageError::Unusable(why));
        }
        let given = visitor.asked.filled_in("code").unwrap_or_default();
        match self.prove_code(visitor.asked, &visitor.member, given)? {
            Proven::Right => {}
            Proven::Wrong => return self.account_refused(visitor, &[WRONG_CODE.to_owned()]),
            Proven::Limited(wait) => {
                let page = self.account_refused(visitor, &[TOO_OFTEN.to_owned()])?;
                return Ok(page.limited(wait));
            }
        }
        match remove_own_second_factor(&self.admin(&[]), &visitor.actor()) {
            // Another request may have removed it meanwhile.
            Ok(()) | Err(AdminError::Refused(OwnAccountRefusal::NoSecondFactor)) => {
                Ok(ConsoleReply::see(format!("{PATH}/account?done=factor_off")))
            }
            Err(error) => Err(unchanged(error)),
        }
    }

    /// Removes the second factor of a person whom the visitor manages, and ends that person's sessions.
    pub(super) fn reset_factor(&self, visitor: &Visitor<'_>) -> Answer {
        let input = ResetSecondFactor { name: visitor.id.to_owned() };
        reset_second_factor(&self.admin(&[]), &visitor.actor(), input).map_err(unmanaged)?;
        Ok(ConsoleReply::see(format!("{PATH}/people?done=factor_reset")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_rfc_6238_and_hold_for_ninety_seconds() {
        // RFC 6238, appendix B, SHA-1: at 1111111111 seconds the last six digits are 050471.
        let totp = totp("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "dora").unwrap();
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let step = Some(1_111_111_111 / 30);
        assert_eq!(step_of(&totp, "050471", at(1_111_111_111)), step);
        assert_eq!(step_of(&totp, "050471", at(1_111_111_111 + 30)), step);
        assert_eq!(step_of(&totp, "050471", at(1_111_111_111 + 90)), None);
        assert_eq!(step_of(&totp, "+50471", at(1_111_111_111)), None);
    }

    #[test]
    fn recovery_codes_are_read_as_people_type_them() {
        let codes = recovery_codes().unwrap();
        assert_eq!(codes.len(), RECOVERY_CODES);
        let code = &codes[0];
        assert_eq!((code.len(), code.matches('-').count()), (19, 3), "{code}");
        let loud = code.to_uppercase().replace('-', " ");
        assert_eq!(recovery_hash("dora", code), recovery_hash("dora", &loud));
        assert_ne!(recovery_hash("dora", code), recovery_hash("maria", code));
    }

    #[test]
    fn a_qr_code_is_an_image_without_script_or_style() {
        let image = qr_code("otpauth://totp/Tradepost:dora?secret=GEZD").unwrap();
        assert!(image.starts_with("<svg") && image.ends_with("</svg>"), "{image}");
        assert!(!image.contains("style") && !image.contains("script"), "{image}");
    }
}
