//! Report in HTML: one self-contained file, in light and dark, with all text of the agent escaped. Failures come
//! first; every verdict has a word beside its colour.

use std::fmt::Write as _;

use tradepost_document::catalog::Vocabulary as _;

use super::badge;
use super::check::{CheckVerdict, RequirementLevel};
use super::exchange::RecordedExchange;
use super::grade::Grade;
use super::report::{AgentReport, CheckFinding, FindingCounts, words};

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// Renders the report.
#[must_use]
pub fn write(report: &AgentReport) -> String {
    let mut out = String::with_capacity(256 * 1024);
    let title = if report.agent.is_empty() { &report.address } else { &report.agent };
    // The policy lets the file load nothing: even if an agent's text became markup, it could not send requests.
    let _ = writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>",
        escape(title),
        report.verdict()
    );
    head(&mut out, report, title);
    fixes(&mut out, report);
    summary(&mut out, report);
    filters(&mut out, report);
    findings(&mut out, report);
    let _ = writeln!(
        out,
        "<footer>Made by <code>tradepost probe</code>. A check accepts every answer that the \
         specification permits; warnings are never counted.</footer>\n</main>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>"
    );
    out
}

fn head(out: &mut String, report: &AgentReport, title: &str) {
    let letter = report.grade.map_or('–', Grade::letter);
    let class = report.grade.map(|grade| format!(" g{}", grade.letter())).unwrap_or_default();
    let _ = write!(
        out,
        "<header>\n<div class=\"grade{class}\" role=\"img\" aria-label=\"{}\">{letter}</div>\n\
         <div>\n<h1>{}</h1>\n<p class=\"meaning\">{}</p>\n<p class=\"facts\"><code>{}</code>",
        report.verdict(),
        escape(title),
        escape(&report.meaning()),
        escape(&report.card_url)
    );
    if !report.agent_version.is_empty() {
        let _ = write!(out, " · version {}", escape(&report.agent_version));
    }
    let moment = report.probed_at.to_string();
    let moment =
        moment.split('.').next().unwrap_or_default().trim_end_matches('Z').replace('T', " ");
    let _ = writeln!(out, " · {} UTC · {} requests</p>", escape(&moment), report.requests);
    let _ = writeln!(out, "<p class=\"badge\">{}</p>", badge::svg(report).trim_end());
    if let Some(why) = &report.stopped {
        let _ = writeln!(out, "<p class=\"meaning\">ended early: {}</p>", escape(why));
    }
    let measured = report.measured.iter().map(ToString::to_string);
    let unjudged = report.unjudged();
    let unseen = unjudged.iter().filter(|group| group.by_agent).map(|group| {
        let checks = if group.checks == 1 { "check" } else { "checks" };
        format!("{} {checks} not looked at: {}", group.checks, group.reason)
    });
    let besides: Vec<String> =
        unseen.chain(report.left_out.iter().cloned()).chain(measured).collect();
    if !besides.is_empty() {
        out.push_str("<ul class=\"left\">");
        for text in &besides {
            let _ = write!(out, "<li>{}</li>", escape(text));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</div>\n</header>\n");
}

/// Renders the failures, MUSTs first, each with advice and a link to its requests and answers.
fn fixes(out: &mut String, report: &AgentReport) {
    let failures = report.failures();
    if failures.is_empty() {
        return;
    }
    out.push_str("<section class=\"fixes\">\n<h2>What to fix</h2>\n<ol>\n");
    for finding in failures {
        let check = finding.check;
        let level = check.level.name();
        let class = level_class(finding);
        let _ = writeln!(
            out,
            "<li class=\"{class}\"><p><b class=\"word {class}\">{level} {}</b> {} \
             <code>{}</code> on {}</p><p>found: {}</p><p>fix: {}</p></li>",
            words(finding),
            escape(check.title),
            escape(check.id),
            escape(&finding.on),
            escape(finding.verdict.text()),
            escape(check.fix)
        );
    }
    out.push_str("</ol>\n</section>\n");
}

/// Returns the CSS class of a finding: by level for a failure, by verdict otherwise.
fn level_class(finding: &CheckFinding) -> &'static str {
    if finding.waived.is_some() {
        return "waived";
    }
    let failed = matches!(finding.verdict, CheckVerdict::Fail(_));
    if failed { failed_class(finding.check.level) } else { finding.verdict.name() }
}

fn failed_class(level: RequirementLevel) -> &'static str {
    match level {
        RequirementLevel::Must => "fail",
        RequirementLevel::Should => "should",
        RequirementLevel::May => "may",
    }
}

/// Renders a bar for each level.
fn summary(out: &mut String, report: &AgentReport) {
    out.push_str("<section class=\"levels\">\n");
    for level in RequirementLevel::ALL.iter().copied() {
        let counts = report.counts(Some(level));
        let checked = counts.pass + counts.fail + counts.warn + counts.waived;
        let left = counts.not_applicable + counts.skipped + counts.not_looked_at;
        if checked + left == 0 {
            continue;
        }
        let kept = counts.pass + counts.warn;
        let unseen = match counts.not_looked_at {
            0 => String::new(),
            count => format!(", {count} not looked at"),
        };
        let _ = write!(
            out,
            "<div class=\"level\"><h2>{}</h2><p><b>{kept}</b> of {checked} kept{unseen}</p>\
             <div class=\"bar\" role=\"img\" aria-label=\"{kept} kept, {} failed, {} not looked at\">",
            level.name(),
            counts.fail,
            counts.not_looked_at
        );
        let parts = [
            ("pass", counts.pass),
            ("warn", counts.warn),
            ("waived", counts.waived),
            (failed_class(level), counts.fail),
            ("not_looked_at", counts.not_looked_at),
        ];
        for (class, count) in parts.iter().filter(|(_, count)| *count > 0) {
            let _ = write!(out, "<span class=\"{class}\" style=\"flex:{count}\"></span>");
        }
        out.push_str("</div></div>\n");
    }
    out.push_str("</section>\n");
}

fn filters(out: &mut String, report: &AgentReport) {
    let FindingCounts { pass, waived, warn, not_applicable, skipped, not_looked_at, .. } =
        report.counts(None);
    let failed = |level| report.counts(Some(level)).fail;
    out.push_str("<nav class=\"filters\" aria-label=\"verdicts\">\n");
    for (name, label, count) in [
        ("fail", "MUST broken", failed(RequirementLevel::Must)),
        ("should", "SHOULD not kept", failed(RequirementLevel::Should)),
        ("may", "MAY not done", failed(RequirementLevel::May)),
        ("warn", "warnings", warn),
        ("waived", "waived", waived),
        ("pass", "kept", pass),
        ("not_looked_at", "not looked at", not_looked_at),
        ("skipped", "skipped", skipped),
        ("not_applicable", "does not apply", not_applicable),
    ] {
        if count > 0 {
            let _ = writeln!(
                out,
                "<button type=\"button\" data-filter=\"{name}\" aria-pressed=\"true\" \
                 class=\"{name}\">{label} <b>{count}</b></button>"
            );
        }
    }
    out.push_str(
        "<input type=\"search\" id=\"find\" placeholder=\"find a check, a requirement, a word\" \
         aria-label=\"find\">\n</nav>\n",
    );
}

fn findings(out: &mut String, report: &AgentReport) {
    for (on, group) in report.by_place() {
        let heading = match on {
            "card" => "The agent card",
            "run" => "Everything seen",
            other => other,
        };
        let _ = writeln!(out, "<section class=\"group\">\n<h2>{}</h2>", escape(heading));
        for finding in group {
            row(out, finding);
        }
        out.push_str("</section>\n");
    }
}

fn row(out: &mut String, finding: &CheckFinding) {
    let check = finding.check;
    let class = level_class(finding);
    let open = if finding.is_failure() { " open" } else { "" };
    let _ = writeln!(
        out,
        "<details class=\"check {class}\" data-verdict=\"{class}\"{open}>\n<summary>\
         <span class=\"mark\"></span><span class=\"word {class}\">{}</span>\
         <span class=\"title\">{}</span>\
         <span class=\"tag\">{}</span><code class=\"id\">{}</code></summary>\n<div class=\"body\">",
        words(finding),
        escape(check.title),
        check.level.name(),
        escape(check.id)
    );
    if !finding.verdict.text().is_empty() {
        let _ = writeln!(out, "<p class=\"said\">{}</p>", escape(finding.verdict.text()));
    }
    if let Some(reason) = &finding.waived {
        let _ = writeln!(out, "<p class=\"said\">waived: {}</p>", escape(reason));
    }
    let _ = writeln!(
        out,
        "<dl><dt>why</dt><dd>{}</dd><dt>fix</dt><dd>{}</dd><dt>source</dt><dd>{} · {}</dd></dl>",
        escape(check.why),
        escape(check.fix),
        escape(check.section),
        escape(&check.requirements.join(", "))
    );
    for exchange in &finding.exchanges {
        show(out, exchange);
    }
    out.push_str("</div>\n</details>\n");
}

fn show(out: &mut String, exchange: &RecordedExchange) {
    let lines = |headers: &[(String, String)]| {
        headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect::<String>()
    };
    let sent = &exchange.request;
    let request =
        format!("{} {}\n{}\n{}", sent.method, sent.url, lines(&sent.headers), pretty(&sent.body));
    let answer = match (&exchange.answer, &exchange.failure) {
        (Some(answer), _) => {
            format!("HTTP {}\n{}\n{}", answer.status, lines(&answer.headers), pretty(&answer.body))
        }
        (None, Some(failure)) => failure.clone(),
        (None, None) => "no answer".to_owned(),
    };
    let _ = writeln!(
        out,
        "<div class=\"exchange\"><div><h3>sent</h3><pre>{}</pre></div>\
         <div><h3>came back</h3><pre>{}</pre></div></div>",
        escape(&request),
        escape(&answer)
    );
}

/// Formats JSON with indentation; other text stays unchanged.
fn pretty(body: &str) -> String {
    let value: Option<tradepost_document::json::Value> =
        tradepost_document::json::from_str(body).ok();
    value
        .filter(|value| value.is_object() || value.is_array())
        .and_then(|value| tradepost_document::json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| body.to_owned())
}

/// Returns true for control characters, and for characters that are invisible or change the direction of text.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes text for HTML; hidden characters are shown as escapes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            other if is_hidden(other) => {
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out
}
