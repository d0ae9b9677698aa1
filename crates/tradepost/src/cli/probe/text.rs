//! The report for a terminal: what failed, why and how to mend it.

use tradepost_buyer::text::{SENTENCE, WORD, plain};
use tradepost_probe::check::{Level, Verdict};
use tradepost_probe::rehearsal::Rehearsal;
use tradepost_probe::report::{Finding, Report};

/// The report in words. The exchanges are in the other formats.
pub(super) fn summary(report: &Report) -> String {
    let mut out = String::new();
    let name = if report.agent.is_empty() { &report.address } else { &report.agent };
    push(&mut out, &format!("{}: {}", plain(name, WORD), report.verdict()));
    push(&mut out, &format!("  {}", report.meaning()));
    if let Some(why) = &report.stopped {
        push(&mut out, &format!("  ended early: {why}"));
    }
    for level in [Level::Must, Level::Should, Level::May] {
        let counts = report.counts(Some(level));
        let kept = counts.pass + counts.warn;
        let judged = kept + counts.fail + counts.waived;
        let mut line = format!("  {:<7} {kept} of {judged} kept", level.name());
        for (count, what) in [
            (counts.warn, "with a warning"),
            (counts.waived, "waived"),
            (counts.skipped, "skipped"),
            (counts.not_applicable, "not applicable"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {count} {what}"));
            }
        }
        push(&mut out, &line);
    }
    for text in &report.left_out {
        push(&mut out, &format!("  left out: {}", plain(text, SENTENCE)));
    }
    for measured in &report.measured {
        push(&mut out, &format!("  measured: {}", plain(&measured.to_string(), SENTENCE)));
    }
    let failures = report.failures();
    if !failures.is_empty() {
        push(&mut out, "");
    }
    for finding in failures {
        let check = finding.check;
        push(
            &mut out,
            &format!("{} {} on {}", check.level.name(), check.id, plain(&finding.on, WORD)),
        );
        push(&mut out, &format!("  {} ({})", check.title, check.section));
        push(&mut out, &format!("  found: {}", plain(finding.verdict.text(), SENTENCE)));
        push(&mut out, &format!("  mend:  {}", check.mend));
    }
    others(&mut out, report, "warnings", |finding| matches!(finding.verdict, Verdict::Warn(_)));
    others(&mut out, report, "skipped", |finding| matches!(finding.verdict, Verdict::Skipped(_)));
    waived(&mut out, report);
    push(&mut out, "");
    push(
        &mut out,
        &format!("{} requests; requests and answers are in --format html or json", report.requests),
    );
    out
}

/// What would be sent, in words: each request by its first line and the beginning of its body.
pub(super) fn rehearsal(rehearsal: &Rehearsal) -> String {
    let mut out = String::new();
    let sending = rehearsal.steps.iter().filter(|step| !step.requests.is_empty()).count();
    let rate = match rehearsal.rate {
        0 => "as fast as answers come".to_owned(),
        rate => format!("at most {rate} in a second"),
    };
    push(&mut out, &format!("{}: nothing was sent but a GET of the card", rehearsal.card_url));
    push(&mut out, &format!("  User-Agent: {}", rehearsal.user_agent));
    push(&mut out, &format!("  at most {} requests, one at a time, {rate}", rehearsal.budget));
    push(
        &mut out,
        &format!(
            "  {sending} of {} checks begin with these requests; what they send then depends on the \
             answers",
            rehearsal.steps.len()
        ),
    );
    for text in &rehearsal.left_out {
        push(&mut out, &format!("  left out: {}", plain(text, SENTENCE)));
    }
    for step in &rehearsal.steps {
        push(&mut out, "");
        let on = plain(&step.on, WORD);
        push(&mut out, &format!("{} {} on {on}", step.check.level.name(), step.check.id));
        for sent in &step.requests {
            let url = plain(&sent.url, SENTENCE);
            push(&mut out, &format!("  {} {url} {}", sent.method, plain(&sent.body, SENTENCE)));
        }
        if let Some(why) = &step.nothing {
            push(&mut out, &format!("  nothing: {}", plain(why, SENTENCE)));
        }
    }
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// One line for each reason, with the checks that have it.
fn others(out: &mut String, report: &Report, heading: &str, wanted: fn(&Finding) -> bool) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for finding in report.findings.iter().filter(|finding| wanted(finding)) {
        let name = format!("{} on {}", finding.check.id, plain(&finding.on, WORD));
        match reasons.iter_mut().find(|(reason, _)| *reason == finding.verdict.text()) {
            Some((_, names)) => names.push(name),
            None => reasons.push((finding.verdict.text(), vec![name])),
        }
    }
    if !reasons.is_empty() {
        push(out, &format!("\n{heading}:"));
    }
    for (reason, names) in reasons {
        let names = match names.as_slice() {
            [only] => only.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
            [] => String::new(),
        };
        push(out, &format!("  {names}: {}", plain(reason, SENTENCE)));
    }
}

fn waived(out: &mut String, report: &Report) {
    let waived: Vec<_> = report.findings.iter().filter(|it| it.waived.is_some()).collect();
    if !waived.is_empty() {
        push(out, "\nwaived:");
    }
    for finding in waived {
        let reason = plain(finding.waived.as_deref().unwrap_or_default(), SENTENCE);
        push(out, &format!("  {} on {}: {reason}", finding.check.id, plain(&finding.on, WORD)));
    }
}
