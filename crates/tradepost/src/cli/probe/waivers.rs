//! The file of waivers: which failures are known, and why each is accepted.

use std::path::Path;

use toml::de::{DeTable, DeValue};
use tradepost_buyer::text::{WORD, plain};
use tradepost_probe::{Waiver, checks};

use crate::cli::output::Failure;

/// Reads the file. Every mistake in it is reported at once.
pub(super) fn read(path: &Path) -> Result<Vec<Waiver>, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    parse(&text).map_err(|lines| {
        let mut failure = Failure::usage(format!("{name} is no list of waivers"))
            .hint("write [[waivers]] with check and reason for each; see docs/probe.md");
        failure.data = Some(tradepost_wire::json::json!({"problems": lines}));
        failure.lines = lines;
        failure
    })
}

fn parse(text: &str) -> Result<Vec<Waiver>, Vec<String>> {
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(error) => {
            let text = error.to_string();
            return Err(vec![text.split_whitespace().collect::<Vec<_>>().join(" ")]);
        }
    };
    let mut problems = Vec::new();
    for key in table.keys().map(|key| key.get_ref()).filter(|key| *key != "waivers") {
        problems.push(format!("unknown key {}", plain(key, WORD)));
    }
    let listed = table.get("waivers").map(|value| value.get_ref().as_array());
    if let Some(None) = listed {
        problems.push("waivers must be a list of tables".to_owned());
    }
    let entries = listed.flatten().into_iter().flatten();
    let mut waivers = Vec::new();
    for (index, entry) in entries.enumerate() {
        match waiver(entry.get_ref()) {
            Ok(waiver) => waivers.push(waiver),
            Err(found) => {
                problems.extend(found.into_iter().map(|text| format!("waivers[{index}]: {text}")));
            }
        }
    }
    if problems.is_empty() { Ok(waivers) } else { Err(problems) }
}

fn waiver(entry: &DeValue<'_>) -> Result<Waiver, Vec<String>> {
    let Some(table) = entry.as_table() else {
        return Err(vec!["must be a table".to_owned()]);
    };
    let mut problems = Vec::new();
    let keys = table.keys().map(|key| key.get_ref().as_ref());
    for key in keys.filter(|key: &&str| !matches!(*key, "check" | "reason")) {
        problems.push(format!("unknown key {}", plain(key, WORD)));
    }
    let text = |name: &str| {
        let value = table.get(name).and_then(|value| value.get_ref().as_str()).map(str::trim);
        value.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let (check, reason) = (text("check"), text("reason"));
    match &check {
        None => problems.push("check is missing".to_owned()),
        Some(id) if !checks().any(|check| check.id == id) => {
            let near = |check: &&str| strsim::damerau_levenshtein(check, id);
            let nearest = checks().map(|check| check.id).min_by_key(near);
            let hint = nearest.map(|id| format!("; did you mean {id}?")).unwrap_or_default();
            problems.push(format!("there is no check {}{hint}", plain(id, WORD)));
        }
        Some(_) => {}
    }
    if reason.is_none() {
        problems.push("reason is missing; say why the failure is accepted".to_owned());
    }
    match (check, reason) {
        (Some(check), Some(reason)) if problems.is_empty() => Ok(Waiver { check, reason }),
        _ => Err(problems),
    }
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
        assert_eq!(
            parse(text).unwrap_err(),
            [
                "unknown key other",
                "waivers[0]: there is no check a2a.card.etags; did you mean a2a.card.etag?",
                "waivers[0]: reason is missing; say why the failure is accepted",
                "waivers[1]: unknown key until",
                "waivers[1]: check is missing",
            ]
        );
        assert!(parse("waivers = 5").is_err());
        assert!(parse("[[waivers").is_err());
    }
}
