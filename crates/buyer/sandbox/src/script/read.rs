//! Reads a script and reports every mistake at once, with its line.

use jiff::SignedDuration;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Map, Value};
use tradepost_document::parse::{self, of_text, read_object};
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};
use tradepost_document::toml::{self, TomlMistake, Variables, parse_duration};

use super::{
    AskedFor, BodyKind, Garbage, RefusalWords, RequestBudget, RuleAction, RuleCondition, Script,
    ScriptRule, SellerKind,
};

/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// Maximum length of a sentence.
const MAX_TEXT: usize = 2_000;

/// Maximum number of rules: each request is compared with all of them.
const MAX_RULES: usize = 1_000;

/// Reads a script's text.
///
/// # Errors
/// Every mistake, in the order of the file.
pub fn read(text: &str) -> Result<Script, Vec<TomlMistake>> {
    toml::read(text, Variables::default(), script)
}

fn script(value: &Value, problems: &mut Problems) -> Option<Script> {
    // The seller decides which codes a rule may use. An unknown seller is reported below.
    let seller = value.get("seller").and_then(Value::as_str).and_then(SellerKind::from_name);
    let seller = seller.unwrap_or(SellerKind::Dealer);
    read_object!(value, &DocumentPlace::Root, problems, closed {
        required "name" => name: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            parse::text_of(v, at, p, 1, Some(MAX_NAME))
        },
        optional "description" => description: sentence,
        optional "seller" => _named: parse::word::<SellerKind>,
        optional "budget" => limits: budget,
        optional "rules" => rules: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            parse::list(v, at, p, (0, Some(MAX_RULES)), |v, at, p| rule(seller, v, at, p))
        },
    });
    for (index, rule) in rules.iter().flatten().enumerate() {
        fits(seller, rule, &DocumentPlace::Root.key("rules").index(index), problems);
    }
    Some(Script {
        name: name?,
        description: description.unwrap_or_default(),
        seller,
        budget: limits.unwrap_or_default(),
        rules: rules.unwrap_or_default(),
    })
}

/// Reports the parts of a rule that this kind of seller does not support.
fn fits(seller: SellerKind, rule: &ScriptRule, at: &DocumentPlace<'_>, problems: &mut Problems) {
    let mut say = |key: &str, message: &str| {
        parse::reject(&at.key(key), problems, message);
    };
    if rule.when.on.iter().any(|target| !seller.has(*target)) {
        say(
            "on",
            match seller {
                SellerKind::Dealer => "names what a dealer does not have: it has a card and skills",
                SellerKind::Agent => {
                    "names what an agent does not have: it has a card and operations, such as SendMessage"
                }
                SellerKind::Publisher => {
                    "names what a publisher does not have: it has tools, such as create_media_buy"
                }
            },
        );
    }
    let of_others = match &rule.act {
        RuleAction::Refuse(_) if seller == SellerKind::Agent => Some("refuse"),
        RuleAction::Inject(_) if seller == SellerKind::Agent => Some("inject"),
        RuleAction::Sell(_) => Some("sell"),
        RuleAction::Garbage(Garbage::OtherSkill) => Some("garbage"),
        RuleAction::Protocol(_) if seller == SellerKind::Publisher => Some("protocol"),
        RuleAction::Refuse(_)
        | RuleAction::Fail(_)
        | RuleAction::Answer
        | RuleAction::Protocol(_)
        | RuleAction::Http(..)
        | RuleAction::Drop
        | RuleAction::Truncate
        | RuleAction::Garbage(_)
        | RuleAction::Inject(_)
        | RuleAction::Redirect => None,
    };
    match (seller, of_others) {
        (SellerKind::Agent, Some(key)) => {
            say(key, "is for dealers; an agent says no by protocol or http");
        }
        (SellerKind::Publisher, Some(key)) => {
            say(key, "is not for publishers, who say no by refuse or http");
        }
        (SellerKind::Dealer, _) | (SellerKind::Agent | SellerKind::Publisher, None) => {}
    }
    if seller == SellerKind::Publisher && rule.words.retryable.is_some() {
        say("retryable", "is for dealers; a publisher's code says how to recover");
    }
}

/// Reads the code of a refusal from the catalog of the seller.
fn refusal(
    seller: SellerKind,
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<RuleAction> {
    match seller {
        SellerKind::Dealer | SellerKind::Agent => {
            parse::word(value, at, problems).map(RuleAction::Refuse)
        }
        SellerKind::Publisher => parse::word(value, at, problems).map(RuleAction::Fail),
    }
}

fn budget(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<RequestBudget> {
    read_object!(value, at, problems, closed {
        optional "attempts" => attempts: at_least_one,
        optional "elapsed" => elapsed: duration,
        optional "retries" => retries: parse::count,
        optional "pause" => pause: duration,
        optional "patience" => patience: duration,
    });
    let usual = RequestBudget::default();
    Some(RequestBudget {
        attempts: attempts.map_or(usual.attempts, |n| u32::try_from(n).unwrap_or(u32::MAX)),
        elapsed: elapsed.unwrap_or(usual.elapsed),
        retries: retries.unwrap_or(usual.retries),
        pause: pause.unwrap_or(usual.pause),
        patience: patience.unwrap_or(usual.patience),
    })
}

/// Keys of a rule's effects: one for each kind of action, and the delay.
const EFFECTS: &[&str] = &[
    "refuse", "protocol", "http", "drop", "truncate", "garbage", "inject", "sell", "redirect",
    LATENCY,
];

const LATENCY: &str = "latency";

fn rule(
    seller: SellerKind,
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<ScriptRule> {
    let before = problems.total();
    read_object!(value, at, problems, closed {
        optional "on" => on: targets,
        optional "nth" => nth: positions,
        optional "every" => every: at_least_one,
        optional "first" => first: at_least_one,
        optional "per" => per: parse::word,
        optional "after" => after: duration,
        optional "until" => until: duration,
        optional "latency" => latency: duration,
        optional "refuse" => refuse: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            refusal(seller, v, at, p)
        },
        optional "protocol" => protocol: parse::word,
        optional "http" => http: status,
        optional "drop" => drop: moment,
        optional "truncate" => truncate: only_true,
        optional "garbage" => garbage: parse::word,
        optional "inject" => inject: parse::word,
        optional "sell" => sell: parse::word,
        optional "redirect" => redirect: only_true,
        optional "body" => body: parse::word::<BodyKind>,
        optional "acted" => acted: parse::boolean,
        optional "details" => details: table,
        optional "message" => message: sentence,
        optional "retryable" => retryable: parse::boolean,
        optional "retry_after" => retry_after: header,
        optional "status" => answer_status: status,
    });
    let members = value.as_object()?;
    let acts = EFFECTS.iter().filter(|name| **name != LATENCY);
    let named: Vec<_> = acts.clone().filter(|name| members.contains_key(**name)).collect();
    if named.len() > 1 {
        let acts = acts.copied().collect::<Vec<_>>().join(", ");
        let message = format!("does {} things; one rule does one of {acts}", named.len());
        parse::push(at, problems, Keyword::MaxItems, message, ProblemDetail::Limit(1));
    }
    if named.is_empty() && !members.contains_key(LATENCY) {
        parse::none_of(at, problems, EFFECTS);
    }
    let act = named.first().map_or("", |name| name);
    for (key, acts) in MODIFIERS {
        if members.contains_key(*key) && named.len() < 2 && !acts.contains(&act) {
            let message = format!("only goes with {}", acts.join(", "));
            parse::reject(&at.key(key), problems, message);
        }
    }
    if problems.total() > before {
        return None;
    }
    let dropped_after = drop == Some(DropMoment::After);
    let act = [
        refuse,
        protocol.map(RuleAction::Protocol),
        http.map(|status| RuleAction::Http(status, body.unwrap_or(BodyKind::Empty))),
        drop.map(|_| RuleAction::Drop),
        truncate.map(|()| RuleAction::Truncate),
        garbage.map(RuleAction::Garbage),
        inject.map(RuleAction::Inject),
        sell.map(RuleAction::Sell),
        redirect.map(|()| RuleAction::Redirect),
    ];
    let act = act.into_iter().flatten().next().unwrap_or_default();
    let shows_the_answer = match &act {
        RuleAction::Answer
        | RuleAction::Truncate
        | RuleAction::Garbage(_)
        | RuleAction::Inject(_)
        | RuleAction::Sell(_) => true,
        RuleAction::Drop => dropped_after,
        RuleAction::Refuse(_)
        | RuleAction::Fail(_)
        | RuleAction::Protocol(_)
        | RuleAction::Http(..)
        | RuleAction::Redirect => false,
    };
    Some(ScriptRule {
        when: RuleCondition {
            on: on.unwrap_or_default(),
            nth: nth.unwrap_or_default(),
            every,
            first,
            per,
            after: after.unwrap_or_default(),
            until,
        },
        act,
        latency: latency.unwrap_or_default(),
        words: RefusalWords {
            details: details.unwrap_or_default(),
            message,
            retryable,
            retry_after,
            status: answer_status,
        },
        acted: acted.unwrap_or(shows_the_answer),
    })
}

/// Keys that modify an action, each with the actions that it fits.
const MODIFIERS: &[(&str, &[&str])] = &[
    ("body", &["http"]),
    ("acted", &["refuse", "protocol", "http"]),
    ("details", &["refuse"]),
    ("message", &["refuse", "protocol"]),
    ("retryable", &["refuse"]),
    ("retry_after", &["refuse", "protocol", "http"]),
    ("status", &["refuse", "protocol"]),
];

/// Moment at which a connection ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DropMoment {
    Before,
    After,
}

fn moment(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<DropMoment> {
    match value.as_str() {
        Some("before") => Some(DropMoment::Before),
        Some("after") => Some(DropMoment::After),
        Some(_) | None => {
            parse::not_one_of(at, problems, &["before", "after"]);
            None
        }
    }
}

fn only_true(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<()> {
    if value.as_bool() == Some(true) {
        return Some(());
    }
    let message = "must be true; leave it out otherwise";
    parse::push(at, problems, Keyword::Const, message, ProblemDetail::Only("true"));
    None
}

fn targets(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<AskedFor>> {
    let one = |value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems| {
        const HINT: &str = "must be card, dealer.information, inventory.facets, \
                            inventory.search, inventory.vehicle or lead.submit; with \
                            seller = \"agent\" card or an operation of A2A; with \
                            seller = \"publisher\" a tool of AdCP";
        of_text((value, at, problems), HINT, AskedFor::from_name)
    };
    if value.is_string() {
        return one(value, at, problems).map(|target| vec![target]);
    }
    parse::list(value, at, problems, (1, None), one)
}

fn positions(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Vec<u64>> {
    if value.is_number() {
        return at_least_one(value, at, problems).map(|position| vec![position]);
    }
    parse::list(value, at, problems, (1, None), at_least_one)
}

fn at_least_one(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<u64> {
    parse::integer(value, at, problems, 1, None).map(i64::unsigned_abs)
}

/// Reads an HTTP error status.
fn status(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<u16> {
    let number = parse::integer(value, at, problems, 400, Some(599))?;
    u16::try_from(number).ok()
}

fn duration(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<SignedDuration> {
    const HINT: &str = "must be a duration such as \"250ms\", \"10s\" or \"15m\"";
    of_text((value, at, problems), HINT, parse_duration)
}

fn sentence(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    parse::text_of(value, at, problems, 1, Some(MAX_TEXT))
}

fn table(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Map> {
    let members = value.as_object();
    if members.is_none() {
        parse::wrong_type(at, problems, "object");
    }
    members.cloned()
}

/// Reads a header value; a number is written in digits.
fn header(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must have no characters but those that a header may have";
    if let Some(number) = value.as_number() {
        return Some(number.to_string());
    }
    of_text((value, at, problems), HINT, |text| {
        axum::http::HeaderValue::from_str(text).is_ok().then(|| text.to_owned())
    })
}
