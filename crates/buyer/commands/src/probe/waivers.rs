//! File of waivers: known failures, each with the reason why it is accepted.

use std::path::Path;

use tradepost_client::text::{WORD, plain};
use tradepost_document::json::Value;
use tradepost_document::parse::{self, of_text, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_document::toml::{self, TomlMistake, Variables};
use tradepost_probe::{Waiver, checks};

use crate::output::{CommandFailure, unreadable};
use crate::toml_file;

/// Reads the file, and reports every mistake in it at once.
pub(super) fn read(path: &Path) -> Result<Vec<Waiver>, CommandFailure> {
    let text = std::fs::read_to_string(path).map_err(unreadable(path))?;
    parse(&text).map_err(|mistakes| {
        toml_file::failure(path, &mistakes)
            .hint("write [[waivers]] with check and reason for each; see docs/probe.md")
    })
}

fn parse(text: &str) -> Result<Vec<Waiver>, Vec<TomlMistake>> {
    toml::read(text, Variables::default(), |value, problems| {
        read_object!(value, &DocumentPlace::Root, problems, closed {
            optional "waivers" => waivers: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
                parse::list(v, at, p, (0, None), waiver)
            },
        });
        Some(waivers.unwrap_or_default())
    })
}

fn waiver(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Waiver> {
    read_object!(value, at, problems, closed {
        required "check" => check: known_check,
        required "reason" => reason: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            of_text((v, at, p), "must say why the failure is accepted", |text| {
                Some(text.trim().to_owned()).filter(|text| !text.is_empty())
            })
        },
    });
    Some(Waiver { check: check?, reason: reason? })
}

fn known_check(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    let id = parse::str(value, at, problems)?.trim();
    if checks().any(|check| check.id == id) {
        return Some(id.to_owned());
    }
    let near = |check: &&str| strsim::damerau_levenshtein(check, id);
    let nearest = checks().map(|check| check.id).min_by_key(near);
    let hint = nearest.map(|id| format!("; did you mean {id}?")).unwrap_or_default();
    parse::reject(at, problems, format!("there is no check {}{hint}", plain(id, WORD)));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiver_is_a_check_and_a_reason() {
        let text = "[[waivers]]\ncheck = \"a2a.card.etag\"\nreason = \"behind a cache\"\n";
        let waivers = parse(text).unwrap();
        assert_eq!(waivers.len(), 1);
        assert_eq!(waivers[0].check, "a2a.card.etag");
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn every_mistake_in_a_list_of_waivers_is_reported() {
        let text = "other = 1\n[[waivers]]\ncheck = \"a2a.card.etags\"\nreason = \" \"\n\
                    [[waivers]]\nreason = \"x\"\nuntil = 2027\n";
        let lines = |mistake: &TomlMistake| format!("{:?} {mistake}", mistake.line);
        let found: Vec<_> = parse(text).unwrap_err().iter().map(lines).collect();
        assert_eq!(
            found,
            [
                "Some(1) other: unknown key; the keys here are waivers",
                "Some(3) waivers[0].check: there is no check a2a.card.etags; did you mean \
                 a2a.card.etag?",
                "Some(4) waivers[0].reason: must say why the failure is accepted",
                "Some(5) waivers[1].check: is missing; it has no default",
                "Some(7) waivers[1].until: unknown key; the keys here are check, reason",
            ]
        );
        assert!(parse("waivers = 5").is_err());
        assert!(parse("[[waivers").is_err());
    }
}
