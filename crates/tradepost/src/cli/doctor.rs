//! `tradepost doctor`: checks the configuration against the running environment, and with `--test-lead` the whole way
//! of a lead.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use tokio::runtime::Builder;
use tokio::time::timeout;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format;
use tradepost_document::json::{Value, json};
use tradepost_runtime::hosting::Fixed;
use tradepost_server::clock::Clock;

use super::context::runtime;
use super::output::table::{self, TableColumn, TableWidth};
use super::output::{AMISS, CommandFailure};
use super::store_location::StoreOptions;
use super::{Context, Outcome};
use crate::doctor::{DoctorFinding, Examiner, FindingState, Keeping};

mod steps;

/// Arguments of `tradepost doctor`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: StoreOptions,
    /// Timeout of each answer in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = RangedU64ValueParser::<u64>::new().range(1..=300))]
    timeout: u64,
    /// Also fail on warnings.
    #[arg(long)]
    strict: bool,
    /// Also test the steps that bring a dealer online, while the server runs: send a lead with this
    /// e-mail address to the dealer's public address, wait until the destinations have it, and
    /// erase it. It is marked as a test. Where callers need a credential, TRADEPOST_TOKEN has it.
    #[arg(long, value_name = "EMAIL", value_parser = email)]
    test_lead: Option<String>,
    /// With --test-lead: the dealer, if the configuration has several.
    #[arg(long, value_name = "ID", requires = "test_lead")]
    dealer: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// Fails when the configuration cannot be read, or a check finds a problem.
pub fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let mut config = arguments.place.load_config(context)?;
    let keeping = match arguments.place.database(Some(&config), context)? {
        Some(url) => Keeping::Database(Box::new(url)),
        None => Keeping::Folder(arguments.place.data.clone()),
    };
    let runtime = runtime(Builder::new_multi_thread())?;
    let check_timeout = Duration::from_secs(arguments.timeout);
    // Keys that cannot be read are a finding among others, not a reason to stop.
    let keys = arguments.place.keys(Some(&config), context).map_err(|failure| failure.message);
    if config.server.hosting {
        let keeping = keeping.clone();
        let fixed = Fixed::from_config(&config);
        let read = runtime.spawn_blocking(move || keeping.hosted(&fixed));
        // A failure here is reported by the storage checks too.
        if let Ok(Ok(Ok(hosted))) = runtime.block_on(async { timeout(check_timeout, read).await }) {
            config.dealers.extend(hosted);
        }
    }
    let tested = match arguments.test_lead.as_deref() {
        None => Vec::new(),
        Some(email) => {
            let dealer = arguments.dealer.as_deref();
            steps::examine(&config, dealer, email, &arguments.place, context)?
        }
    };
    let examiner = Examiner::new(config, keeping, keys, check_timeout, Clock::system());
    let mut findings = runtime.block_on(examiner.examine());
    findings.extend(tested);
    // DNS lookups run on threads that cannot be stopped.
    runtime.shutdown_background();
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let bad = count(FindingState::Bad);
    let warnings = count(FindingState::Warning);
    if context.output.is_json() {
        context.output.document(&json!({
            "ok": count(FindingState::Ok),
            "warnings": warnings,
            "bad": bad,
            "findings": findings.iter().map(document).collect::<Vec<_>>(),
        }));
    } else {
        show(&findings, context);
        let plural =
            |number, noun| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
        context.output.talk(format!(
            "{bad} bad, {}, {} ok",
            plural(warnings, "warning"),
            count(FindingState::Ok)
        ));
    }
    if bad > 0 || arguments.strict && warnings > 0 {
        return Err(CommandFailure::already_shown(AMISS, "a check found a problem"));
    }
    Ok(())
}

/// Reads the e-mail address of a test lead.
fn email(text: &str) -> Result<String, String> {
    let is_email = format::is_email(text);
    is_email.then(|| text.to_owned()).ok_or_else(|| "must be an e-mail address".to_owned())
}

fn document(finding: &DoctorFinding) -> Value {
    json!({
        "area": finding.area.name(),
        "subject": finding.subject,
        "state": finding.state.name(),
        "message": finding.says,
        "hint": finding.hint,
    })
}

/// Prints a table of all findings, and below it the advice for problems.
fn show(findings: &[DoctorFinding], context: &Context) {
    let columns = ["state", "area", "what", "finding"].map(TableColumn::Text);
    let row = |finding: &DoctorFinding| {
        let state = finding.state.name().to_owned();
        let area = finding.area.name().to_owned();
        vec![state, area, finding.subject.clone(), finding.says.clone()]
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    let table = table::rows(TableWidth::Terminal, &columns, &rows);
    // Coloured after the table is formatted: escapes in its cells would count as width.
    for line in table.lines() {
        context.output.line(coloured(line));
    }
    let cyan = anstyle::AnsiColor::Cyan.on_default().bold();
    let mut reported = BTreeSet::new();
    for finding in findings {
        let DoctorFinding { area, subject, hint, .. } = finding;
        if let Some(hint) = hint
            && reported.insert((area, subject, hint))
        {
            let subject = tradepost_client::text::plain(subject, tradepost_client::text::SENTENCE);
            context.output.talk(format!("{cyan}hint:{cyan:#} {area} {subject}: {hint}"));
        }
    }
}

/// Colours the state in a line of the table.
fn coloured(line: &str) -> String {
    let colour = |state: FindingState| match state {
        FindingState::Ok => anstyle::AnsiColor::Green,
        FindingState::Warning => anstyle::AnsiColor::Yellow,
        FindingState::Bad => anstyle::AnsiColor::Red,
    };
    let state = FindingState::ALL.iter().find_map(|state| {
        let rest = line.strip_prefix(state.name())?;
        rest.starts_with(' ').then_some((*state, rest))
    });
    let Some((state, rest)) = state else { return line.to_owned() };
    let style = colour(state).on_default().bold();
    format!("{style}{}{style:#}{rest}", state.name())
}
