//! Report for a terminal: failed checks with their reasons and fixes.

use tradepost_client::text::{SENTENCE, WORD, plain};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_probe::check::{CheckVerdict, RequirementLevel};
use tradepost_probe::rehearsal::Rehearsal;
use tradepost_probe::report::{AgentReport, CheckFinding};

/// Formats the report as text. The exchanges are in the other formats.
pub(super) fn summary(report: &AgentReport) -> String {
    let mut out = Vec::new();
    let name = if report.agent.is_empty() { &report.address } else { &report.agent };
    out.push(format!("{}: {}", plain(name, WORD), report.verdict()));
    out.push(format!("  {}", plain(&report.meaning(), SENTENCE)));
    if let Some(why) = &report.stopped {
        out.push(format!("  ended early: {why}"));
    }
    for level in [RequirementLevel::Must, RequirementLevel::Should, RequirementLevel::May] {
        let counts = report.counts(Some(level));
        let kept = counts.pass + counts.warn;
        let judged = kept + counts.fail + counts.waived;
        let mut line = format!("  {:<7} {kept} of {judged} kept", level.name());
        for (count, what) in [
            (counts.warn, "with a warning"),
            (counts.waived, "waived"),
            (counts.not_looked_at, "not looked at"),
            (counts.skipped, "skipped"),
            (counts.not_applicable, "not applicable"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {count} {what}"));
            }
        }
        out.push(line);
    }
    for text in &report.left_out {
        out.push(format!("  left out: {}", plain(text, SENTENCE)));
    }
    for measured in &report.measured {
        out.push(format!("  measured: {}", plain(&measured.to_string(), SENTENCE)));
    }
    let failures = report.failures();
    if !failures.is_empty() {
        out.push(String::new());
    }
    for finding in failures {
        let check = finding.check;
        let on = plain(&finding.on, WORD);
        out.push(format!("{} {} on {on}", check.level.name(), check.id));
        out.push(format!("  {} ({})", check.title, check.section));
        out.push(format!("  found: {}", plain(finding.verdict.text(), SENTENCE)));
        out.push(format!("  fix:   {}", check.fix));
    }
    others(&mut out, report, "warnings", |finding| {
        matches!(finding.verdict, CheckVerdict::Warn(_))
    });
    others(&mut out, report, "not looked at, which counts against the grade", |finding| {
        matches!(finding.verdict, CheckVerdict::NotLookedAt(_))
    });
    others(&mut out, report, "skipped", |finding| {
        matches!(finding.verdict, CheckVerdict::Skipped(_))
    });
    waived(&mut out, report);
    out.push(String::new());
    let requests = report.requests;
    out.push(format!("{requests} requests; requests and answers are in --format html or json"));
    out.join("\n") + "\n"
}

/// Describes what would be sent: each request by its first line and the beginning of its body.
pub(super) fn rehearsal(rehearsal: &Rehearsal) -> String {
    let mut out = Vec::new();
    let sending = rehearsal.steps.iter().filter(|step| !step.requests.is_empty()).count();
    let rate = match rehearsal.rate {
        0 => "each after the answer to the one before".to_owned(),
        rate => format!("at most {rate} per second"),
    };
    out.push(format!("{}: only a GET of the card was sent", rehearsal.card_url));
    out.push(format!("  User-Agent: {}", rehearsal.user_agent));
    out.push(format!("  at most {} requests, one at a time, {rate}", rehearsal.budget));
    out.push(format!(
        "  {sending} of {} checks begin with these requests; their later requests depend on the answers",
        rehearsal.steps.len()
    ));
    for text in &rehearsal.left_out {
        out.push(format!("  left out: {}", plain(text, SENTENCE)));
    }
    for step in &rehearsal.steps {
        out.push(String::new());
        let on = plain(&step.on, WORD);
        out.push(format!("{} {} on {on}", step.check.level.name(), step.check.id));
        for sent in &step.requests {
            let url = plain(&sent.url, SENTENCE);
            out.push(format!("  {} {url} {}", sent.method, plain(&sent.body, SENTENCE)));
        }
        if let Some(why) = &step.nothing {
            out.push(format!("  nothing: {}", plain(why, SENTENCE)));
        }
    }
    out.join("\n") + "\n"
}

/// Adds a line for each reason, with the checks that have it.
fn others(
    out: &mut Vec<String>,
    report: &AgentReport,
    heading: &str,
    wanted: fn(&CheckFinding) -> bool,
) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for finding in report.findings.iter().filter(|finding| wanted(finding)) {
        let name = format!("{} on {}", finding.check.id, plain(&finding.on, WORD));
        match reasons.iter_mut().find(|(reason, _)| *reason == finding.verdict.text()) {
            Some((_, names)) => names.push(name),
            None => reasons.push((finding.verdict.text(), vec![name])),
        }
    }
    if !reasons.is_empty() {
        out.push(format!("\n{heading}:"));
    }
    for (reason, names) in reasons {
        let names = match names.as_slice() {
            [only] => only.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
            [] => String::new(),
        };
        out.push(format!("  {names}: {}", plain(reason, SENTENCE)));
    }
}

fn waived(out: &mut Vec<String>, report: &AgentReport) {
    let waived: Vec<_> =
        report.findings.iter().filter(|finding| finding.waived.is_some()).collect();
    if !waived.is_empty() {
        out.push("\nwaived:".to_owned());
    }
    for finding in waived {
        let reason = plain(finding.waived.as_deref().unwrap_or_default(), SENTENCE);
        out.push(format!("  {} on {}: {reason}", finding.check.id, plain(&finding.on, WORD)));
    }
}
