//! `tradepost init --wizard`: asks for what a dealer needs to be online, tests each answer, and writes one
//! configuration file. Nothing is written before the last question, so that whoever stops leaves nothing behind.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use tradepost_admin::people::{AddMember, StaffEmployer, add_member};
use tradepost_console::password;
use tradepost_dealer::staff::StaffRole;
use tradepost_document::json::{Value, json};
use tradepost_runtime::random;

use self::draft::{Draft, WrittenDraft};
use self::prompt::{Dialogue, Question};
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::CommandFailure;
use crate::cli::store_location::StoreOptions;
use crate::cli::{Context, Outcome, check_config, console, data_folder, dealers};

mod destination;
mod draft;
mod feed;
mod hours;
mod leads;
mod prompt;
pub(super) mod publisher;

/// The dealer of the draft.
const DEALER: &str = "/dealers/0";

/// Its rooftops.
const ROOFTOPS: &str = "/dealers/0/rooftops";

/// Department whose opening hours are asked for.
struct DepartmentHours {
    name: &'static str,
    text: &'static str,
    /// Appointments that need its hours.
    appointments: &'static [&'static str],
}

const DEPARTMENTS: &[DepartmentHours] = &[
    DepartmentHours {
        name: "sales",
        text: "Opening hours of sales, such as Mo-Fr 9-18, Sa 10-16 (empty: none)",
        appointments: &["sales", "test_drive", "trade_in"],
    },
    DepartmentHours {
        name: "service",
        text: "Opening hours of service (empty: none)",
        appointments: &["service"],
    },
];

/// Answer that leaves something out where an empty line has another meaning.
const NONE: &str = "none";

/// First member of the console.
struct FirstMember {
    name: String,
    password: String,
    /// True when the password was made here, and has to be shown.
    is_made: bool,
}

/// Runs the wizard for a folder.
///
/// # Errors
/// Fails when the input ends, or a file or the store cannot be written.
pub(super) fn run(folder: &Path, force: bool, context: &Context) -> Outcome {
    let folder = std::path::absolute(folder).map_err(CommandFailure::fault)?;
    let config = folder.join(dealers::CONFIG);
    let mut dialogue = Dialogue::new(context.output);
    let shown = config.display();
    dialogue.say(format!("This asks what a dealer needs to be online, and writes {shown}."));
    dialogue.say(
        "An empty line takes the answer in [brackets]. Ctrl-C stops, and leaves nothing behind.",
    );
    if config.exists()
        && !force
        && !dialogue.confirm("The file exists. Replace it in the end?", false)?
    {
        return Err(CommandFailure::usage("nothing was written")
            .hint("name another folder: tradepost init --wizard DIR"));
    }
    let mut draft = Draft::new();
    dialogue.say("\n1 of 5: who you are");
    ask_identity(&mut dialogue, &mut draft)?;
    dialogue.say("\n2 of 5: where you are, and when you are open");
    ask_rooftops(&mut dialogue, &mut draft)?;
    dialogue.say("\n3 of 5: what you sell");
    feed::ask(&mut dialogue, &mut draft)?;
    dialogue.say("\n4 of 5: where leads go");
    leads::ask(&mut dialogue, &mut draft)?;
    dialogue.say("\n5 of 5: how you are reached");
    ask_addresses(&mut dialogue, &mut draft)?;
    let has_console = draft.text_at("/server/console", "listen").is_some();
    let member = match has_console {
        true => ask_member(&mut dialogue)?,
        false => None,
    };
    if !dialogue.confirm("\nWrite the configuration?", true)? {
        return Err(CommandFailure::usage("nothing was written"));
    }
    let dealer_id = draft.text_at(DEALER, "id").unwrap_or_default().to_owned();
    let next = NextSteps::new(&draft, &folder);
    let written = draft.write(&folder, &config).map_err(|error| {
        CommandFailure::usage(format!("cannot write into {}: {}", folder.display(), error.kind()))
            .hint("name a folder that you may write to: tradepost init --wizard DIR")
    })?;
    report_files(&dialogue, &written);
    check_config::run(check_config::Arguments::from_path(config.clone()), context)?;
    if let Some(member) = member {
        add_first_member(&folder, &config, &dealer_id, member, context)?;
    }
    next.print(&dialogue);
    Ok(())
}

fn report_files(dialogue: &Dialogue, written: &WrittenDraft) {
    dialogue.say(format!("\nwrote {}", written.config.display()));
    for secret in &written.secrets {
        dialogue.say(format!("wrote {}, which only you can read", secret.display()));
    }
}

/// What is told after the files are written.
struct NextSteps {
    folder: String,
    /// Where the console listens, if there is one.
    console: Option<String>,
    /// Mail box that gets the leads, if they go by mail.
    mail_box: Option<String>,
}

impl NextSteps {
    fn new(draft: &Draft, folder: &Path) -> Self {
        let text = |table: &str, key: &str| draft.text_at(table, key).map(str::to_owned);
        Self {
            folder: folder.display().to_string(),
            console: text("/server/console", "listen"),
            mail_box: text(&format!("{DEALER}/deliveries/0"), "to/0"),
        }
    }

    /// Prints the next steps.
    fn print(&self, dialogue: &Dialogue) {
        let Self { folder, console, mail_box } = self;
        dialogue.say(format!("\nnext, start the server:\n  cd {folder} && tradepost serve"));
        if let Some(console) = console {
            dialogue.say(format!("sign in to the console at http://{console}/console"));
        }
        dialogue.say("then test every step from outside, in another terminal:");
        dialogue.say(format!("  cd {folder} && tradepost doctor --test-lead you@example.com"));
        dialogue.say("it sends a lead whose customer has this address, which is yours");
        if let Some(mail_box) = mail_box {
            dialogue.say(format!("the lead arrives, marked as a test, at {mail_box}"));
        }
    }
}

fn ask_identity(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    let name =
        Question::new("Name of the dealership, as buyers read it", "write up to 200 characters");
    ask_checked(dialogue, draft, DEALER, "name", &name)?;
    let name = draft.text_at(DEALER, "name").unwrap_or_default().to_owned();
    let id = Question::new(
        "Id, for commands and addresses",
        "write small letters, digits and hyphens; it is hard to change later",
    );
    ask_checked(dialogue, draft, DEALER, "id", &id.with_default(slug(&name)))?;
    let site = Question::new("Web site (empty: none)", "write it with https://");
    let convert = |answer: &str| {
        let scheme = if answer.contains("://") { "" } else { "https://" };
        Ok(json!({"organization": name, "url": format!("{scheme}{answer}")}))
    };
    let field = DraftField { table: DEALER, key: "provider" };
    ask_with(dialogue, draft, field, &site, AnswerNeed::Optional, convert)?;
    Ok(())
}

fn ask_rooftops(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    loop {
        ask_rooftop(dialogue, draft)?;
        if !dialogue.confirm("Is there another rooftop?", false)? {
            return Ok(());
        }
    }
}

fn ask_rooftop(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    let dealer_name = draft.text_at(DEALER, "name").unwrap_or_default().to_owned();
    let site = draft.text_at(&format!("{DEALER}/provider"), "url").map(str::to_owned);
    let rooftop = &draft.add(DEALER, "rooftops");
    let is_first = rooftop.ends_with("/0");
    let name = Question::new(
        "Name of the rooftop, which is one physical store",
        "each rooftop needs a name of its own",
    );
    let name = if is_first { name.with_default(dealer_name) } else { name };
    ask_checked(dialogue, draft, rooftop, "name", &name)?;
    if let Some(site) = site {
        draft.set(rooftop, "website", json!(site));
    }
    let phone = Question::new(
        "Telephone number, with + and country code (empty: none)",
        "begin with + and the country code, such as +1 415 555 0123",
    );
    let field = DraftField { table: rooftop, key: "phones" };
    let digits = |answer: &str| {
        let is_kept = |c: &char| !c.is_whitespace() && !"()-./".contains(*c);
        Ok(json!([answer.chars().filter(is_kept).collect::<String>()]))
    };
    ask_with(dialogue, draft, field, &phone, AnswerNeed::Optional, digits)?;
    ask_address(dialogue, draft, rooftop)?;
    let zone = Question::new("Time zone, by its IANA name", "write a name such as America/Chicago");
    let zone = zone.with_default(local_zone());
    ask_checked(dialogue, draft, rooftop, "timezone", &zone)?;
    ask_hours(dialogue, draft, rooftop)
}

fn ask_address(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    rooftop: &str,
) -> Result<(), CommandFailure> {
    let questions = [
        ("address_line_1", "Street and number (empty: none)"),
        ("city", "City (empty: none)"),
        ("state", "State or region (empty: none)"),
        ("zip", "Postal code (empty: none)"),
    ];
    draft.set(rooftop, "address", json!({}));
    let address = format!("{rooftop}/address");
    for (key, text) in questions {
        ask_optional(dialogue, draft, &address, key, &Question::new(text, ""))?;
    }
    let country = Question::new("Country, as its two letters", "write two letters, such as US");
    ask_checked(dialogue, draft, &address, "country", &country.with_default("US"))
}

fn ask_hours(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    rooftop: &str,
) -> Result<(), CommandFailure> {
    draft.set(rooftop, "schedules", json!({}));
    let schedules = format!("{rooftop}/schedules");
    let mut types = Vec::new();
    for department in DEPARTMENTS {
        let question = Question::new(department.text, hours::HINT);
        let field = DraftField { table: &schedules, key: department.name };
        if ask_with(dialogue, draft, field, &question, AnswerNeed::Optional, hours::week)? {
            types.extend_from_slice(department.appointments);
        }
    }
    if types.is_empty() {
        draft.remove(rooftop, "schedules");
        return Ok(());
    }
    let text = "Shall the server confirm visits and test drives within these hours by itself?";
    if dialogue.confirm(text, true)?
        && let Err(mistakes) = draft.set_accepted(rooftop, "appointments", json!({"types": types}))
    {
        dialogue.reject(&mistakes, "your staff confirms them");
    }
    Ok(())
}

fn ask_addresses(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    let listen = Question::new(
        "Where the server listens: address and port",
        "127.0.0.1 is for this machine and a proxy on it, 0.0.0.0 for every address",
    );
    ask_checked(dialogue, draft, "/server", "listen", &listen.with_default("127.0.0.1:8080"))?;
    let public = Question::new(
        "Public address, at which agents reach it (empty: not yet)",
        "write it with https://, such as https://cars.example.com",
    );
    ask_optional(dialogue, draft, DEALER, "public_url", &public)?;
    let is_https =
        draft.text_at(DEALER, "public_url").is_some_and(|url| url.starts_with("https://"));
    if is_https
        && dialogue.confirm("Does a proxy with TLS on this machine pass requests on?", true)?
    {
        draft.set("/server", "trust_forwarded_for", json!(true));
    }
    let console = Question::new(
        "Where the console of your staff listens (none: no console)",
        "127.0.0.1 is for this machine; another address needs TLS (docs/console.md)",
    );
    let console = console.with_default("127.0.0.1:8090");
    dialogue.until_accepted(console.hint, |dialogue| {
        let answer = dialogue.ask(&console)?;
        if answer.eq_ignore_ascii_case(NONE) {
            return Ok(());
        }
        Ok(draft.set_accepted("/server", "console", json!({"listen": answer}))?)
    })
}

/// Asks for the first member of the console, a manager.
fn ask_member(dialogue: &mut Dialogue) -> Result<Option<FirstMember>, CommandFailure> {
    let question = Question::new("Sign-in name of the first manager (none: later)", "");
    let question = question.with_default("manager");
    let name = dialogue.until_accepted(question.hint, |dialogue| {
        let answer = dialogue.ask(&question)?;
        if answer.eq_ignore_ascii_case(NONE) {
            return Ok(None);
        }
        Ok(Some(console::name(&answer).map_err(|reason| vec![reason])?))
    })?;
    let Some(name) = name else { return Ok(None) };
    let member = dialogue.until_accepted("use three or four unrelated words", |dialogue| {
        let name = name.clone();
        let text = "Password, of 12 characters or more (empty: one is made)";
        let first = dialogue.ask_secret(text)?;
        if first.is_empty() {
            let password = random::token().map_err(CommandFailure::from)?;
            return Ok(FirstMember { name, password, is_made: true });
        }
        let mut problems = password::problems(&first, &name);
        if problems.is_empty() && dialogue.ask_secret("The same password again")? != first {
            problems.push("the two passwords differ".to_owned());
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        Ok(FirstMember { name, password: first, is_made: false })
    })?;
    Ok(Some(member))
}

/// Adds the first member to the store in the folder of the configuration.
fn add_first_member(
    folder: &Path,
    config: &Path,
    dealer_id: &str,
    member: FirstMember,
    context: &Context,
) -> Outcome {
    let FirstMember { name, password, is_made } = member;
    let place = StoreOptions::folder(&folder.join(data_folder::DATA));
    let place = place.with_config(Some(PathBuf::from(config)));
    let store = place.create(None, context)?;
    let input = AddMember {
        name: name.clone(),
        employer: StaffEmployer::Dealer(dealer_id.to_owned()),
        role: StaffRole::Manager,
        password: password::hash(&password)?,
    };
    let added = add_member(&admin(&store, &[]), &operator(context), input);
    added.map_err(|error| failure(error, console::refused))?;
    context.output.line(format!("manager {name} can sign in to the console"));
    if is_made {
        context.output.line(format!("password, which is shown only this time: {password}"));
    }
    Ok(())
}

/// Key of the draft that an answer sets.
#[derive(Debug, Clone, Copy)]
struct DraftField<'a> {
    /// JSON Pointer of its table.
    table: &'a str,
    key: &'a str,
}

/// Meaning of an empty answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerNeed {
    /// It is checked like any other.
    Required,
    /// It leaves the key out.
    Optional,
}

/// Asks until the reader of the configuration accepts the answer. `convert` makes the value of the key. Returns false
/// when it was left out.
fn ask_with(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    field: DraftField<'_>,
    question: &Question<'_>,
    need: AnswerNeed,
    convert: impl Fn(&str) -> Result<Value, String>,
) -> Result<bool, CommandFailure> {
    let DraftField { table, key } = field;
    dialogue.until_accepted(question.hint, |dialogue| {
        let answer = dialogue.ask(question)?;
        if answer.is_empty() && need == AnswerNeed::Optional {
            return Ok(false);
        }
        let value = convert(&answer).map_err(|reason| vec![reason])?;
        draft.set_accepted(table, key, value)?;
        Ok(true)
    })
}

/// Asks for a text that is required.
fn ask_checked(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    table: &str,
    key: &str,
    question: &Question<'_>,
) -> Result<(), CommandFailure> {
    let field = DraftField { table, key };
    let text = |answer: &str| Ok(Value::from(answer));
    ask_with(dialogue, draft, field, question, AnswerNeed::Required, text).map(|_| ())
}

/// Asks for a text that may be left out. Returns false when it was.
fn ask_optional(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    table: &str,
    key: &str,
    question: &Question<'_>,
) -> Result<bool, CommandFailure> {
    let field = DraftField { table, key };
    ask_with(dialogue, draft, field, question, AnswerNeed::Optional, |answer| {
        Ok(Value::from(answer))
    })
}

/// Asks for the only item of a list.
fn ask_checked_list(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    table: &str,
    key: &str,
    question: &Question<'_>,
) -> Result<(), CommandFailure> {
    let field = DraftField { table, key };
    let list = |answer: &str| Ok(json!([answer]));
    ask_with(dialogue, draft, field, question, AnswerNeed::Required, list).map(|_| ())
}

/// Asks for a whole number. Anything else is left to the reader of the configuration to refuse.
fn ask_checked_number(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    table: &str,
    key: &str,
    question: &Question<'_>,
) -> Result<(), CommandFailure> {
    let field = DraftField { table, key };
    let number = |answer: &str| {
        Ok(answer.parse::<i64>().map_or_else(|_| json!(answer), |number| json!(number)))
    };
    ask_with(dialogue, draft, field, question, AnswerNeed::Required, number).map(|_| ())
}

/// Asks for a secret that is required.
fn ask_checked_secret(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
    table: &str,
    key: &str,
    text: &str,
) -> Result<(), CommandFailure> {
    dialogue.until_accepted("Ctrl-C stops, if the user was wrong", |dialogue| {
        let mut candidate = draft.clone();
        candidate.set(table, key, Value::from(dialogue.ask_secret(text)?));
        // A password that may not be sent is reported at the user that it belongs to.
        Ok(draft.accept(candidate, &[format!("{table}/{key}"), format!("{table}/user")])?)
    })
}

/// Returns the time zone of this machine, unless it is UTC, in which servers are and dealers are not.
fn local_zone() -> String {
    let zone = TimeZone::system();
    let name = zone.iana_name().filter(|name| !name.ends_with("UTC"));
    name.unwrap_or_default().to_owned()
}

/// Makes an id from a name.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let dashed: String = name.chars().map(plain).collect();
    let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-").chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_from_a_name() {
        assert_eq!(slug("Larkspur Motors, Inc."), "larkspur-motors-inc");
        assert_eq!(slug("  "), "");
    }
}
