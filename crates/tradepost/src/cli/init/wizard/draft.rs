//! Configuration that the answers make: a document, checked by the reader of the configuration after each answer, and
//! written as a file with comments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tradepost_document::json::{Map, Value, json};
use tradepost_document::toml::{TomlMistake, dotted_key};
use tradepost_runtime::config::{Config, DealerConfig, PublisherConfig, read};
use tradepost_server::private_file::{create_folder, write_new};

/// Folder for secrets, beside the configuration.
pub(super) const SECRETS: &str = "secrets";

/// Keys that are secrets. The file names a file with each, under the same key with `_file`.
const SECRET_KEYS: &[&str] = &["password", "bearer", "hmac_key", "credential"];

/// Beginning of the file.
const FILE_HEADER: &str = "\
# The configuration of Tradepost, written by `tradepost init --wizard`.
# Change it as you like: `tradepost check-config` reports every mistake with its line, and a running server reads
# it again on SIGHUP. `tradepost init --path all-keys.toml` writes a file that explains every key.
";

/// Comment above a table or a key.
struct KeyComment {
    /// Key with its tables, without the positions in lists.
    key: &'static str,
    text: &'static str,
}

const COMMENTS: &[KeyComment] = &[
    KeyComment { key: "server.listen", text: "Where the server listens." },
    KeyComment {
        key: "server.trust_forwarded_for",
        text: "A proxy with TLS stands before the server and says who the client is.",
    },
    KeyComment {
        key: "server.console",
        text: "The console of your people, at /console of this address.",
    },
    KeyComment { key: "dealers", text: "The dealer: one agent with one card." },
    KeyComment {
        key: "dealers.id",
        text: "Its id in the database and in commands. Do not change it later.",
    },
    KeyComment { key: "dealers.name", text: "The name on the agent card." },
    KeyComment { key: "dealers.public_url", text: "Where agents reach the dealer." },
    KeyComment { key: "dealers.provider", text: "Who operates the agent." },
    KeyComment { key: "dealers.rooftops", text: "A physical store." },
    KeyComment { key: "dealers.rooftops.phones", text: "With + and the country code." },
    KeyComment {
        key: "dealers.rooftops.timezone",
        text: "The time zone of the opening hours and of appointments.",
    },
    KeyComment {
        key: "dealers.rooftops.schedules",
        text: "Opening hours by department. A day that is not named is closed.",
    },
    KeyComment {
        key: "dealers.rooftops.appointments",
        text: "The appointments that the server confirms by itself, within the opening hours.",
    },
    KeyComment { key: "dealers.feeds", text: "Where the inventory comes from (docs/feeds.md)." },
    KeyComment {
        key: "dealers.deliveries",
        text: "Where leads are delivered to (docs/deliveries.md).",
    },
    KeyComment {
        key: "publishers",
        text: "The publisher: one agent with one card (docs/publisher.md).",
    },
    KeyComment {
        key: "publishers.id",
        text: "Its id in the database and in commands. Do not change it later.",
    },
    KeyComment { key: "publishers.name", text: "The name on the agent card." },
    KeyComment { key: "publishers.domain", text: "The domain whose advertising space it sells." },
    KeyComment { key: "publishers.public_url", text: "Where buyers reach it." },
    KeyComment { key: "publishers.provider", text: "Who operates the agent." },
    KeyComment {
        key: "publishers.catalogue",
        text: "What it sells: `tradepost publisher catalogue import` puts a spreadsheet into it.",
    },
    KeyComment {
        key: "publishers.approvals.four_eyes_above",
        text: "The amount above which two people approve a media buy.",
    },
    KeyComment {
        key: "publishers.spend_limits",
        text: "The most that may be committed on one account in a day.",
    },
    KeyComment {
        key: "publishers.onboarding",
        text: "Whether agents may buy that are not listed below.",
    },
    KeyComment { key: "publishers.upstream", text: "Where the ad server says what is sold out." },
    KeyComment {
        key: "publishers.ad_server",
        text: "The ad server that media buys are carried into (docs/ad-server.md).",
    },
    KeyComment {
        key: "publishers.deliveries",
        text: "Where your people are told what was sold and what waits.",
    },
    KeyComment {
        key: "publishers.agents",
        text: "A buyer agent, with the names of its keys (`tradepost keys create`).",
    },
];

/// Answers so far.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    document: Value,
}

/// Files that a draft was written to.
#[derive(Debug)]
pub(super) struct WrittenDraft {
    /// The configuration.
    pub(super) config: PathBuf,
    /// Files with one secret each.
    pub(super) secrets: Vec<PathBuf>,
}

impl Draft {
    /// Creates the configuration of a dealer about whom nothing is known.
    pub(super) fn new() -> Self {
        Self { document: json!({"server": {}, "dealers": [{}]}) }
    }

    /// Creates the configuration of a publisher about whom nothing is known.
    pub(super) fn new_publisher() -> Self {
        Self { document: json!({"server": {}, "publishers": [{}]}) }
    }

    /// Sets a key of the table at a JSON Pointer.
    pub(super) fn set(&mut self, table: &str, key: &str, value: Value) {
        let table = self.document.pointer_mut(table).and_then(Value::as_object_mut);
        if let Some(members) = table {
            members.insert(key.to_owned(), value);
        }
    }

    /// Removes a key of the table at a JSON Pointer.
    pub(super) fn remove(&mut self, table: &str, key: &str) {
        let table = self.document.pointer_mut(table).and_then(Value::as_object_mut);
        if let Some(members) = table {
            members.shift_remove(key);
        }
    }

    /// Returns the text of a key of the table at a JSON Pointer.
    pub(super) fn text_at(&self, table: &str, key: &str) -> Option<&str> {
        self.document.pointer(&format!("{table}/{key}"))?.as_str()
    }

    /// Adds a table to a list of the table at a JSON Pointer, and returns the pointer of the new one.
    pub(super) fn add(&mut self, table: &str, list: &str) -> String {
        let mut place = 0;
        if let Some(members) = self.document.pointer_mut(table).and_then(Value::as_object_mut) {
            let tables = members.entry(list).or_insert_with(|| Value::Array(Vec::new()));
            if let Some(tables) = tables.as_array_mut() {
                place = tables.len();
                tables.push(Value::Object(Map::new()));
            }
        }
        format!("{table}/{list}/{place}")
    }

    /// Returns the mistakes in the values at these JSON Pointers, as the reader of the configuration finds them.
    fn mistakes(&self, pointers: &[String]) -> Vec<String> {
        let Err(found) = read::read(&self.text(), &[]) else { return Vec::new() };
        let keys: Vec<String> = pointers.iter().map(|pointer| dotted_key(pointer)).collect();
        let is_meant = |mistake: &TomlMistake| {
            mistake.key.is_empty() || keys.iter().any(|key| is_within(&mistake.key, key))
        };
        let mut messages: Vec<String> = Vec::new();
        for mistake in found.into_iter().filter(is_meant) {
            // Five days with the same hours have the same mistake.
            if !messages.contains(&mistake.message) {
                messages.push(mistake.message);
            }
        }
        messages
    }

    /// Makes a candidate the draft, unless the reader of the configuration refuses its values at these JSON Pointers.
    ///
    /// # Errors
    /// Returns the mistakes in them.
    pub(super) fn accept(
        &mut self,
        candidate: Self,
        pointers: &[String],
    ) -> Result<(), Vec<String>> {
        let mistakes = candidate.mistakes(pointers);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        *self = candidate;
        Ok(())
    }

    /// Sets a key of the table at a JSON Pointer, unless the reader of the configuration refuses its value.
    ///
    /// # Errors
    /// Returns the mistakes in it.
    pub(super) fn set_accepted(
        &mut self,
        table: &str,
        key: &str,
        value: Value,
    ) -> Result<(), Vec<String>> {
        let mut candidate = self.clone();
        candidate.set(table, key, value);
        self.accept(candidate, &[format!("{table}/{key}")])
    }

    /// Returns the dealer of a draft that has all required answers.
    ///
    /// # Errors
    /// Returns every mistake.
    pub(super) fn dealer(&self) -> Result<DealerConfig, Vec<String>> {
        self.config()?.dealers.pop().ok_or_else(Vec::new)
    }

    /// Returns the publisher of a draft that has all required answers.
    ///
    /// # Errors
    /// Returns every mistake.
    pub(super) fn publisher(&self) -> Result<PublisherConfig, Vec<String>> {
        self.config()?.publishers.pop().ok_or_else(Vec::new)
    }

    fn config(&self) -> Result<Config, Vec<String>> {
        let read = read::read(&self.text(), &[]);
        read.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect())
    }

    /// Writes the draft as a configuration file, with the secrets in it.
    pub(super) fn text(&self) -> String {
        let mut out = FILE_HEADER.to_owned();
        write_table(&mut out, &self.document, "");
        out
    }

    /// Writes the configuration into a folder, and each secret to a file of its own there. All of them can be read
    /// by their owner alone. A configuration that is there already is replaced; a file with a secret never is.
    ///
    /// # Errors
    /// Fails when a file cannot be written; what was written is removed again.
    pub(super) fn write(mut self, folder: &Path, config: &Path) -> io::Result<WrittenDraft> {
        fs::create_dir_all(folder)?;
        let mut secrets = Vec::new();
        let written = self.write_files(folder, config, &mut secrets);
        if let Err(error) = written {
            for path in secrets {
                let _ = fs::remove_file(path);
            }
            return Err(error);
        }
        Ok(WrittenDraft { config: config.to_owned(), secrets })
    }

    fn write_files(
        &mut self,
        folder: &Path,
        config: &Path,
        secrets: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        for list in ["/dealers/0/deliveries", "/publishers/0/deliveries"] {
            let owners = self.document.pointer_mut(list);
            for owner in owners.and_then(Value::as_array_mut).into_iter().flatten() {
                put_secrets_aside(owner, folder, secrets)?;
            }
        }
        if let Some(owner) = self.document.pointer_mut("/publishers/0/ad_server") {
            put_secrets_aside(owner, folder, secrets)?;
        }
        // Beside the file that is replaced, so that no reader sees a half of it.
        let next = config.with_extension("toml.new");
        let _ = fs::remove_file(&next);
        write_new(&next, self.text().as_bytes())?;
        fs::rename(&next, config)
    }
}

/// Writes the secrets of a table to files, and names the files in their place.
fn put_secrets_aside(
    owner: &mut Value,
    folder: &Path,
    written: &mut Vec<PathBuf>,
) -> io::Result<()> {
    // An ad server has no name.
    let name = owner.get("name").and_then(Value::as_str).unwrap_or("ad-server").to_owned();
    let Some(members) = owner.as_object_mut() else { return Ok(()) };
    for key in SECRET_KEYS {
        let Some(Value::String(secret)) = members.get(*key).cloned() else { continue };
        let folder = folder.join(SECRETS);
        create_folder(&folder)?;
        let path = write_secret(&folder, &format!("{name}-{}", key.replace('_', "-")), &secret)?;
        written.push(path.clone());
        members.shift_remove(*key);
        members.insert(format!("{key}_file"), Value::String(path.display().to_string()));
    }
    Ok(())
}

/// Writes a secret to a new file; an earlier one keeps its name.
fn write_secret(folder: &Path, name: &str, secret: &str) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{name}{suffix}"));
        match write_new(&path, format!("{secret}\n").as_bytes()) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Returns true for a key, and for the keys below it.
fn is_within(key: &str, above: &str) -> bool {
    let rest = key.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Writes a table: first its values, because a header ends them, then the tables in it.
fn write_table(out: &mut String, table: &Value, path: &str) {
    let members = table.as_object().into_iter().flatten();
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    for (key, value) in members.clone().filter(|(_, value)| !is_table(value)) {
        write_comment(out, &below(key));
        out.push_str(&format!("{key} = {}\n", written(value)));
    }
    for (key, value) in members.filter(|(_, value)| is_table(value)) {
        let path = below(key);
        let header = if value.is_array() { format!("[[{path}]]") } else { format!("[{path}]") };
        for table in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
            out.push('\n');
            write_comment(out, &path);
            out.push_str(&format!("{header}\n"));
            write_table(out, table, &path);
        }
    }
}

/// Returns true for a table and for a list of tables, which have headers.
fn is_table(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.first().is_some_and(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn write_comment(out: &mut String, key: &str) {
    if let Some(comment) = COMMENTS.iter().find(|comment| comment.key == key) {
        out.push_str(&format!("# {}\n", comment.text));
    }
}

/// Writes a value. What JSON escapes in a text, TOML reads, except for one control character that JSON leaves.
fn written(value: &Value) -> String {
    if let Some(items) = value.as_array() {
        return format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "));
    }
    value.to_string().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_reads_back_as_the_configuration_that_it_describes() {
        let mut draft = Draft::new();
        draft.set("/server", "listen", json!("127.0.0.1:0"));
        draft.set("/dealers/0", "id", json!("bare"));
        let odd = "Bare \"Motors\" \\ \u{e9}";
        draft.set("/dealers/0", "name", json!(odd));
        let rooftop = draft.add("/dealers/0", "rooftops");
        draft.set(&rooftop, "name", json!("Downtown"));
        draft.set(&rooftop, "schedules", json!({"sales": {"monday": "09:00-18:00"}}));
        let dealer = draft.dealer().unwrap();
        assert_eq!((dealer.terms.id.as_str(), dealer.terms.name.as_str()), ("bare", odd));
        assert_eq!(dealer.terms.rooftops[0].profile.schedules.len(), 1);
    }

    #[test]
    fn only_mistakes_in_the_answered_key_are_reported() {
        let mut draft = Draft::new();
        draft.set("/dealers/0", "id", json!("Bare Motors"));
        let found = draft.mistakes(&["/dealers/0/id".to_owned()]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a-z, 0-9"), "{found:?}");
        // The name is missing too, and has not been asked for yet.
        assert!(draft.mistakes(&["/dealers/0/hosts".to_owned()]).is_empty());
        draft.set("/dealers/0", "name", json!("with\u{7f}control"));
        assert!(!draft.mistakes(&["/dealers/0/name".to_owned()]).is_empty());
    }

    #[test]
    fn secrets_go_to_files_of_their_own_and_replace_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("tradepost.toml");
        let write = || {
            let mut draft = Draft::new();
            let delivery = draft.add("/dealers/0", "deliveries");
            draft.set(&delivery, "name", json!("crm"));
            draft.set(&delivery, "password", json!("open sesame"));
            draft.write(folder.path(), &config).unwrap()
        };
        let first = write();
        let second = write();
        assert_ne!(first.secrets, second.secrets);
        for path in first.secrets.iter().chain(&second.secrets).chain([&config]) {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{path:?}");
        }
        assert_eq!(fs::read_to_string(&first.secrets[0]).unwrap(), "open sesame\n");
        let text = fs::read_to_string(&config).unwrap();
        assert!(text.contains("password_file = ") && !text.contains("sesame"), "{text}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no half of a file is left");
    }
}
