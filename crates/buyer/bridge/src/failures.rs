//! Errors of tools: one object with a code, every problem, whether the same call may succeed later, and a hint. It
//! never repeats an answer that could not be read.

use std::time::Duration;

use tradepost_aap::error::ReceivedRefusal;
use tradepost_client::CallFailure;
use tradepost_client::challenge::Challenge;
use tradepost_client::failure::Unsent;
use tradepost_client::refusal::{ProtocolError, RefusalForm, SellerRefusal};
use tradepost_client::text::{SENTENCE, WORD};
use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_document::problem::{MAX_LISTED, Problem, Problems};

use super::sanitize::{Cleaner, dealer_text, identifier, quoted};

mod sellers;

catalog! {
    /// Codes of the bridge; dealers and sellers add theirs.
    pub enum BridgeErrorCode {
        /// Advice for the caller.
        hint: &'static str;
        /// True when the same call may succeed later.
        retryable: bool = false,
    }
    /// The arguments do not satisfy the tool's schema or its rules.
    InvalidArguments = "INVALID_ARGUMENTS" { hint: "correct every entry of problems and call again" }
    /// The confirmation does not belong to this call: it is forged or damaged, or something has changed.
    ConfirmationInvalid = "CONFIRMATION_INVALID" {
        hint: "call again without confirmation, and show the user the new consent text"
    }
    /// The confirmation has expired.
    ConfirmationExpired = "CONFIRMATION_EXPIRED" {
        hint: "call again without confirmation, and ask the user again"
    }
    /// The person declined.
    Declined = "DECLINED" { hint: "nothing was sent; do not call again unless the user asks for it" }
    /// The person did not answer.
    PersonSilent = "PERSON_SILENT" {
        hint: "nothing was sent; call again when the user is there to answer"; retryable: true
    }
    /// The person has too many other questions to answer.
    PersonBusy = "PERSON_BUSY" {
        hint: "nothing was sent; call again when the other questions are answered"; retryable: true
    }
    /// The client's answer for the person does not fit the form.
    AnswerInvalid = "ANSWER_INVALID" {
        hint: "nothing was sent; tell the user that their client cannot ask them properly"
    }
    /// The operator requires that the client asks the person, and the client cannot.
    ElicitationRequired = "ELICITATION_REQUIRED" {
        hint: "nothing was sent; the user needs a client with elicitation of MCP 2025-06-18 or later"
    }
    /// The bridge could not connect to the dealer.
    DealerUnreachable = "DEALER_UNREACHABLE" {
        hint: "go on without this dealer, or try again later"; retryable: true
    }
    /// The bridge sent the request, and the dealer did not answer in time.
    DealerSilent = "DEALER_SILENT" { hint: "go on without this dealer, or try again later"; retryable: true }
    /// The time limit of the call passed before the bridge called the dealer.
    DealerNotAsked = "DEALER_NOT_ASKED" {
        hint: "call again with this dealer in dealers: nothing was sent to it, because others took too long";
        retryable: true
    }
    /// A directory of dealers cannot be read.
    DirectoryUnreadable = "DIRECTORY_UNREADABLE" {
        hint: "go on with the dealers that are known; the directory is read again in a minute"; retryable: true
    }
    /// A directory names more dealers than a model can choose among.
    DirectoryTooLarge = "DIRECTORY_TOO_LARGE" {
        hint: "go on with the dealers that are known; the operator can name others by their addresses"
    }
    /// The bridge cannot read the dealer's answer.
    DealerGarbled = "DEALER_GARBLED" { hint: "go on without this dealer; its operator has to fix it" }
    /// The agent does not support AAP, or names an address that may not be used.
    DealerUnusable = "DEALER_UNUSABLE" { hint: "go on without this dealer; it cannot be called" }
    /// The agent does not offer what the tool needs.
    SkillNotOffered = "SKILL_NOT_OFFERED" { hint: "see aap_dealer_information for what it offers" }
    /// The dealer refused without an error object of AAP or A2A, for example with an HTTP status.
    DealerRefused = "DEALER_REFUSED" { hint: "go on without this dealer, or try again later" }
    /// Every dealer that was asked failed; `errors` has each one's reason.
    AllDealersFailed = "ALL_DEALERS_FAILED" { hint: "see errors for the reason of each dealer" }
    /// The bridge has seen no price, so it cannot show the person what the purchase costs.
    PriceUnknown = "PRICE_UNKNOWN" {
        hint: "nothing was sent; find the product with adcp_get_products, or the media buy with \
            adcp_get_media_buys, and call again"
    }
    /// The request was sent before, and the seller may no longer recognise it.
    Forgotten = "REPETITION_FORGOTTEN" {
        hint: "nothing was sent; check whether it was done (adcp_get_media_buys, adcp_list_accounts, \
            adcp_list_creatives); to do it once more, call without confirmation and idempotency_key, and the \
            person is asked again"
    }
    /// The bridge could not connect to the seller of advertising.
    SellerUnreachable = "SELLER_UNREACHABLE" {
        hint: "go on without this seller, or try again later"; retryable: true
    }
    /// The bridge sent the request, and the seller did not answer in time.
    SellerSilent = "SELLER_SILENT" { hint: "go on without this seller, or try again later"; retryable: true }
    /// The bridge cannot read the seller's answer.
    SellerGarbled = "SELLER_GARBLED" { hint: "go on without this seller; its operator has to fix it" }
    /// The address has no AdCP seller, or may not be used.
    SellerUnusable = "SELLER_UNUSABLE" { hint: "go on without this seller; it cannot be called" }
    /// The seller refused without an error object.
    SellerRefused = "SELLER_REFUSED" { hint: "go on without this seller, or try again later" }
    /// The time limit of the call passed before the bridge called the seller.
    SellerNotAsked = "SELLER_NOT_ASKED" {
        hint: "call again with this seller in sellers: nothing was sent to it, because others took too long";
        retryable: true
    }
    /// Every seller that was asked failed.
    AllSellersFailed = "ALL_SELLERS_FAILED" { hint: "see errors for the reason of each seller" }
    /// This machine cannot send.
    BridgeFault = "BRIDGE_FAULT" { hint: "tell the user that this machine cannot send" }
}

/// Party that a failure is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FailureParty {
    #[default]
    Dealer,
    Seller,
    Directory,
}

/// Origin of a failure's code and message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Wording {
    /// The bridge wrote both.
    #[default]
    Ours,
    /// The bridge chose the code, and the message repeats the words of the dealer or seller.
    TheirMessage,
    /// The dealer or seller wrote both.
    Theirs,
}

/// Credentials that a dealer or seller requires of its callers.
#[derive(Debug, Clone)]
struct WantedCredentials {
    challenges: Vec<Challenge>,
}

impl WantedCredentials {
    fn from_refusal(refused: &SellerRefusal) -> Option<Box<Self>> {
        let challenges = refused.challenges();
        (!challenges.is_empty()).then(|| Box::new(Self { challenges }))
    }
}

/// Error of a tool, or of one dealer or seller within it.
#[derive(Debug, Clone, Default)]
pub struct BridgeError {
    code: Box<str>,
    wording: Wording,
    party: FailureParty,
    message: Box<str>,
    problems: Vec<Value>,
    total: u32,
    retryable: bool,
    retry_after: Option<Duration>,
    hint: Box<str>,
    /// Name of the dealer, seller or directory.
    name: Option<Box<str>>,
    error_id: Option<Box<str>>,
    details: Option<Box<Value>>,
    is_in_doubt: bool,
    /// Idempotency key of a request in doubt.
    key: Option<Box<str>>,
    /// Authentication that the dealer or seller requires.
    wanted: Option<Box<WantedCredentials>>,
    errors: Vec<Self>,
}

/// Converts a number of problems, up to the maximum that a [`BridgeError`] counts.
fn counted(problems: usize) -> u32 {
    u32::try_from(problems).unwrap_or(u32::MAX)
}

impl BridgeError {
    pub(super) fn new(code: BridgeErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.name().into(),
            message: message.into().into(),
            retryable: code.retryable(),
            hint: code.hint().into(),
            ..Self::default()
        }
    }

    /// Creates the error of invalid arguments.
    pub(super) fn arguments(problems: &Problems) -> Self {
        let mut bridge_error = Self::new(BridgeErrorCode::InvalidArguments, "");
        let listed = problems.listed().iter().map(of_problem).collect();
        bridge_error.add_problems(listed, problems.total());
        bridge_error
    }

    /// Creates the error of a call that no dealer answered; with a single dealer it is that dealer's error.
    pub(super) fn all(errors: Vec<Self>) -> Self {
        Self::none_of(errors, BridgeErrorCode::AllDealersFailed, "dealers")
    }

    fn none_of(mut errors: Vec<Self>, code: BridgeErrorCode, parties: &str) -> Self {
        if errors.len() == 1
            && let Some(only) = errors.pop()
        {
            return only;
        }
        let message = format!("none of {} {parties} gave an answer", errors.len());
        // One dealer that may answer later makes a retry worthwhile.
        let retryable = errors.iter().any(|error| error.retryable);
        Self { retryable, errors, ..Self::new(code, message) }
    }

    /// Creates the error of a failed call to a dealer.
    pub(super) fn from_failure(failure: &CallFailure) -> Self {
        let message = dealer_text(&failure.to_string(), SENTENCE);
        match failure {
            CallFailure::Unsent(unsent) => of_unsent(unsent, message),
            CallFailure::Unanswered(_) => Self::new(BridgeErrorCode::DealerSilent, message),
            CallFailure::Garbled(_) => Self::new(BridgeErrorCode::DealerGarbled, message),
            CallFailure::Refused(refused) => of_refused(refused, message),
        }
    }

    /// Creates the error of a dealer that took longer than the tool may wait.
    pub(super) fn too_slow(limit: Duration) -> Self {
        Self::new(BridgeErrorCode::DealerSilent, late(limit))
    }

    /// Names the dealer.
    pub(super) fn at(mut self, dealer: &str) -> Self {
        self.name = Some(dealer.into());
        self
    }

    /// Names the seller.
    pub(super) fn at_seller(self, seller: &str) -> Self {
        Self { party: FailureParty::Seller, ..self.at(seller) }
    }

    /// Names the directory of dealers.
    pub(super) fn at_directory(self, directory: &str) -> Self {
        Self { party: FailureParty::Directory, ..self.at(directory) }
    }

    /// Returns true when no answer came in time.
    pub(super) fn is_silence(&self) -> bool {
        [BridgeErrorCode::DealerSilent, BridgeErrorCode::SellerSilent]
            .iter()
            .any(|code| *self.code == *code.name())
    }

    /// Returns true when the error may repeat words of a dealer or seller.
    pub(super) fn has_words_of_others(&self) -> bool {
        self.name.is_some() || self.errors.iter().any(Self::has_words_of_others)
    }

    /// Adds problems of the arguments; `total` also counts those that are not listed.
    pub(super) fn add_problems(&mut self, more: Vec<Value>, total: usize) {
        self.problems.extend(more);
        self.problems.truncate(MAX_LISTED);
        self.total = self.total.saturating_add(counted(total));
        let noun = if self.total == 1 { "problem" } else { "problems" };
        self.message = format!("the arguments have {} {noun}", self.total).into();
    }

    /// Replaces the hint.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into().into();
        self
    }

    /// Marks a lead as in doubt: it may have arrived. Sent again with the same key, it cannot become a second one.
    pub(super) fn in_doubt(self, key: &str) -> Self {
        let hint = format!(
            "the lead may have arrived, under the idempotency_key {key}; call again with exactly the same \
             arguments, which sends that key again and cannot make a second one"
        );
        Self { is_in_doubt: true, retryable: true, key: Some(key.into()), ..self }.hint(hint)
    }

    /// Marks a lead that the dealer may have stored without its appointment. Sending it again would get the same
    /// answer.
    pub(super) fn received_without_appointment(self, key: &str) -> Self {
        let hint = "the dealer may have received the lead all the same, without the appointment: tell the \
                    user, and do not send it again; for another time ask the user first, and say in the \
                    message that a lead was sent before";
        Self { is_in_doubt: true, key: Some(key.into()), ..self }.hint(hint)
    }

    /// Returns the number of problems that are counted and not listed.
    fn unlisted(&self) -> u32 {
        self.total.saturating_sub(counted(self.problems.len()))
    }

    fn party_kind(&self) -> &'static str {
        match self.party {
            FailureParty::Dealer => "dealer",
            FailureParty::Seller => "seller",
            FailureParty::Directory => "directory",
        }
    }

    /// Returns the error as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        let party = self.party_kind();
        let named = |kind| self.name.as_ref().filter(|_| party == kind);
        let errors: Vec<_> = self.errors.iter().map(Self::document).collect();
        let wanted = self.wanted.iter().flat_map(|wanted| &wanted.challenges);
        let wanted = wanted.map(|challenge| Cleaner::brief().clean(&challenge.document()));
        let challenges: Vec<_> = wanted.collect();
        object!({
            "code": self.code,
            "from": (if self.wording == Wording::Theirs { party } else { "bridge" }),
            "dealer"?: named("dealer"),
            "seller"?: named("seller"),
            "directory"?: named("directory"),
            "message": self.message,
            "problems": self.problems,
            "problems_in_all"?: (self.unlisted() > 0).then_some(self.total),
            "retryable": self.retryable,
            "retry_after_ms"?: self.retry_after.map(|delay| RetryAfter::new(delay).milliseconds()),
            "in_doubt"?: self.is_in_doubt.then_some(true),
            // Older name of `in_doubt`; without it, older programs would take a call in doubt for a failed one.
            "may_have_acted"?: self.is_in_doubt.then_some(true),
            "idempotency_key"?: self.key,
            "challenges"?: Some(challenges).filter(|challenges| !challenges.is_empty()),
            "hint": self.hint,
            "error_id"?: self.error_id,
            "details"?: self.details,
            "errors"?: Some(errors).filter(|errors| !errors.is_empty()),
        })
    }

    /// Returns the error as text for models and people.
    #[must_use]
    pub fn text(&self) -> String {
        // Words of a dealer or seller are quoted.
        let quote = |text: &str| {
            if self.wording != Wording::Ours {
                format!("\"{}\"", quoted(text, SENTENCE))
            } else {
                text.to_owned()
            }
        };
        let mut out = format!("{}: {}", self.code, quote(&self.message));
        if let Some(name) = &self.name {
            out.push_str(&format!(" ({} {name})", self.party_kind()));
        }
        for problem in &self.problems {
            let field = match member(problem, "field") {
                "" => "the arguments",
                field => field,
            };
            out.push_str(&format!("\n- {field}: {}", quote(member(problem, "problem"))));
        }
        if self.unlisted() > 0 {
            out.push_str(&format!("\n- and {} more", self.unlisted()));
        }
        for error in &self.errors {
            out.push_str(&format!("\n- {}", error.text().replace('\n', "\n  ")));
        }
        for challenge in self.wanted.iter().flat_map(|wanted| &wanted.challenges) {
            let wanted = quoted(&dealer_text(&challenge.to_string(), SENTENCE), SENTENCE);
            out.push_str(&format!("\nauthentication that is wanted: \"{wanted}\""));
        }
        let waiting = self.retry_after.map(|delay| format!(" after {} s", delay.as_secs_f64()));
        out.push_str(if self.retryable {
            "\nretry: the same call may succeed later"
        } else {
            "\nretry: no, the same call would fail again"
        });
        out.push_str(&waiting.unwrap_or_default());
        out.push_str(&format!("\nhint: {}", self.hint));
        out
    }
}

/// Hint about a server whose certificate is not trusted.
const CERTIFICATE_HINT: &str = "nothing was sent; go on without it, and tell the user that its certificate is not \
                                trusted: whoever runs this bridge can trust its issuer with --ca";

/// Hint about a proxy that refuses the connection.
const PROXY_HINT: &str =
    "nothing was sent; tell the user that the proxy of this machine lets nothing through";

fn late(limit: Duration) -> String {
    format!("no complete answer within {} s", limit.as_secs_f64())
}

fn member<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Converts a problem: `field`, `problem`, `keyword` and details that help to correct it.
fn of_problem(problem: &Problem) -> Value {
    let mut out = Map::new();
    out.insert("field".into(), problem.pointer.as_str().into());
    out.insert("problem".into(), problem.message.as_str().into());
    if let Ok(Value::Object(unit)) = tradepost_document::json::to_value(problem) {
        out.extend(
            unit.into_iter()
                .filter(|(name, _)| !matches!(name.as_str(), "instanceLocation" | "error")),
        );
    }
    out.into()
}

/// Returns the hint for the operator when a card leads to an origin that the token is not for.
fn token_hint(endpoint: &str) -> String {
    format!(
        "if the token is for it, the operator of this bridge can say so with --token-for {endpoint}"
    )
}

fn of_unsent(unsent: &Unsent, message: String) -> BridgeError {
    match unsent {
        Unsent::Unreachable(_) => BridgeError::new(BridgeErrorCode::DealerUnreachable, message),
        Unsent::Certificate { .. } => {
            let bridge_error = BridgeError::new(BridgeErrorCode::DealerUnreachable, message);
            BridgeError { retryable: false, ..bridge_error }.hint(CERTIFICATE_HINT)
        }
        Unsent::Proxy { .. } => {
            BridgeError::new(BridgeErrorCode::BridgeFault, message).hint(PROXY_HINT)
        }
        Unsent::Address(_) | Unsent::NotAap(_) | Unsent::NoInterface => {
            BridgeError::new(BridgeErrorCode::DealerUnusable, message)
        }
        Unsent::TokenForOther { endpoint, .. } => {
            BridgeError::new(BridgeErrorCode::DealerUnusable, message).hint(token_hint(endpoint))
        }
        Unsent::SkillNotOffered { offered, .. } => {
            let offered: Vec<_> = offered.iter().map(|skill| skill.name()).collect();
            let details = Some(Box::new(json!({"offered": offered})));
            BridgeError { details, ..BridgeError::new(BridgeErrorCode::SkillNotOffered, message) }
        }
        Unsent::Invalid(refusal) => {
            let mut bridge_error = BridgeError::arguments(&refusal.problems);
            bridge_error.message = message.into();
            if refusal.problems.is_empty() {
                bridge_error.hint = refusal.code.hint().into();
            }
            bridge_error
        }
        Unsent::Setup(_)
        | Unsent::Credential(_)
        | Unsent::Arguments(_)
        | Unsent::NotPermitted { .. } => BridgeError::new(BridgeErrorCode::BridgeFault, message),
    }
}

fn of_refused(refused: &SellerRefusal, message: String) -> BridgeError {
    let mut bridge_error = match &refused.by {
        RefusalForm::Aap { error, .. } => of_received(error),
        RefusalForm::Protocol(error) => of_protocol(error),
        RefusalForm::Http(_) => BridgeError::new(BridgeErrorCode::DealerRefused, message),
        RefusalForm::Adcp(_) | RefusalForm::Grpc { .. } | RefusalForm::Words { .. } => {
            BridgeError {
                wording: Wording::TheirMessage,
                ..BridgeError::new(BridgeErrorCode::DealerRefused, message)
            }
        }
    };
    bridge_error.retryable = refused.is_retryable();
    bridge_error.retry_after = refused.retry_after;
    bridge_error.wanted = WantedCredentials::from_refusal(refused);
    bridge_error
}

/// Returns the message of a refusal; its code is a member of its own.
fn refusal_message(message: &str) -> String {
    let message = dealer_text(message, SENTENCE);
    if message.is_empty() { "no reason is given".to_owned() } else { message }
}

/// Hint about an unknown code of a dealer or seller.
const NEW_CODE: &str = "act on what the dealer says; the code is new to this bridge";

fn of_received(error: &ReceivedRefusal) -> BridgeError {
    let hint = error.code.known().map_or(NEW_CODE, |code| code.hint());
    let problems = error.problems().take(MAX_LISTED).map(|(field, keyword, problem)| {
        json!({
            "field": dealer_text(field, 2 * WORD), "problem": dealer_text(problem, SENTENCE),
            "keyword": identifier(keyword.name()),
        })
    });
    let mut details = error.details.clone();
    if let Some(members) = details.as_object_mut() {
        members.shift_remove("errors");
    }
    let error_id = identifier(&error.error_id);
    let said_more = details.as_object().is_some_and(|members| !members.is_empty());
    BridgeError {
        code: identifier(error.code.name()).into(),
        wording: Wording::Theirs,
        problems: problems.collect(),
        total: counted(error.problems().count()),
        error_id: (!error_id.is_empty()).then(|| error_id.into()),
        details: said_more.then(|| Box::new(Cleaner::brief().clean(&details))),
        ..BridgeError::new(BridgeErrorCode::DealerRefused, refusal_message(&error.message))
            .hint(hint)
    }
}

fn of_protocol(error: &ProtocolError) -> BridgeError {
    let hint = error.code.known().map_or(NEW_CODE, |code| code.hint());
    let problems = error.violations.iter().take(MAX_LISTED).map(|violation| {
        json!({
            "field": dealer_text(&violation.field, 2 * WORD),
            "problem": dealer_text(&violation.description, SENTENCE),
        })
    });
    BridgeError {
        code: identifier(error.code.name()).into(),
        wording: Wording::Theirs,
        problems: problems.collect(),
        total: counted(error.violations.len()),
        ..BridgeError::new(BridgeErrorCode::DealerRefused, refusal_message(&error.message))
            .hint(hint)
    }
}
