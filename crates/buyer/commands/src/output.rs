//! One printer for all commands, and the exit codes.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | internal error of this program or its machine; of `leads` and `privacy`: done except for data that cannot be read |
//! | 2 | usage: the command line, the configuration or an input file is wrong |
//! | 3 | the seller refused: the request is invalid (JSON-RPC -32600, -32602, AAP validation codes); of `sandbox`: the buyer made a mistake |
//! | 4 | the seller refused: not found or no longer available |
//! | 5 | the seller refused: consent is missing or invalid |
//! | 6 | the seller refused: conflict (idempotency key, appointment time) |
//! | 7 | the seller refused: try again later (rate limited, internal error) |
//! | 8 | the seller refused: skill, operation or version not supported |
//! | 9 | the seller refused for another reason; of `adcp call`: rows failed |
//! | 10 | no usable answer: unreachable, timed out, or not of the protocol; of `probe`: a MUST is broken |
//! | 11 | the card is not trusted: not signed, by no trusted key, or forged |
//! | 12 | of `call --text` and `adcp call`: the agent waits for an answer or a credential |
//! | 13 | of `call --text` and `adcp call`: the task is still running |
//! | 14 | of `probe`: no grade, because fewer than half of the MUSTs could be checked |
//! | 15 | of `doctor`: a check found a problem |
//! | 130 | of `call`, `adcp call` and `probe`: stopped by a signal; results so far and requests in doubt are reported |

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use tradepost_client::text::escape_json;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json, object};
use tradepost_server::fault::{InternalError, chain};
use tradepost_server::private_file::write_new;

pub mod seller;
pub mod table;

use super::nearest;
use table::{Cells, TableWidth};

/// Exit code for an untrusted card.
pub const UNTRUSTED: u8 = 11;

/// Exit code for a task that waits for its caller.
pub const WAITS: u8 = 12;

/// Exit code for a task that is still running.
pub const GOES_ON: u8 = 13;

/// Exit code of a probe with too few checks for a grade.
pub const UNGRADED: u8 = 14;

/// Exit code of checks that found a problem.
pub const AMISS: u8 = 15;

/// Exit code of a call that a signal ended, as shells have it for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Returns the members of a document that say whether the request may have acted. `may_have_acted`
/// is the older name: a program that reads only that would retry a request in doubt if the member
/// disappeared.
pub fn in_doubt(is_in_doubt: bool) -> Value {
    json!({"in_doubt": is_in_doubt, "may_have_acted": is_in_doubt})
}

/// Format of a command's output.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
}

/// Failure of a command.
#[derive(Debug, Clone)]
pub struct CommandFailure {
    /// Exit code, from the table above.
    pub exit: u8,
    /// Message: a lowercase fragment without a full stop.
    pub message: String,
    /// Advice for the user.
    pub hint: Option<String>,
    /// Further lines for people, such as every problem of a request.
    pub lines: Vec<String>,
    /// Further members of the `error` object for programs.
    pub data: Option<Value>,
    /// True when the command has printed everything already, so that only the exit code is left.
    pub already_shown: bool,
}

impl CommandFailure {
    /// Creates a failure with an exit code and a message.
    #[must_use]
    pub fn new(exit: u8, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
            lines: Vec::new(),
            data: None,
            already_shown: false,
        }
    }

    /// Creates a usage mistake.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(2, message)
    }

    /// Creates an internal failure, with the causes of the error.
    #[must_use]
    pub fn fault(error: impl std::error::Error + 'static) -> Self {
        Self::new(1, chain(&error))
    }

    /// Returns the message for people. A refusal's message repeats its first problems for clients
    /// that show nothing else; when the lines below list them, it ends before them.
    fn headline(&self) -> &str {
        let first = self.lines.first().and_then(|line| Some(line.rsplit_once(" (")?.0));
        let repeated = first.and_then(|problem| self.message.rfind(&format!(": {problem}")));
        repeated.and_then(|at| self.message.get(..at)).unwrap_or(&self.message)
    }

    /// Creates the failure of a command that has printed the problem itself.
    #[must_use]
    pub fn already_shown(exit: u8, message: impl Into<String>) -> Self {
        Self { already_shown: true, ..Self::new(exit, message) }
    }

    /// Adds members for programs, and replaces those of the same name.
    #[must_use]
    pub fn with_facts(mut self, facts: Value) -> Self {
        match (&mut self.data, facts) {
            (Some(Value::Object(data)), Value::Object(facts)) => data.extend(facts),
            (data, facts) => *data = Some(facts),
        }
        self
    }

    /// Marks the failure of a request that only read: it cannot have had an effect.
    #[must_use]
    pub fn without_effect(self) -> Self {
        self.with_facts(in_doubt(false))
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds lines for people.
    #[must_use]
    pub fn lines(self, lines: Vec<String>) -> Self {
        Self { lines, ..self }
    }

    /// Adds members for programs.
    #[must_use]
    pub fn data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }
}

impl From<InternalError> for CommandFailure {
    fn from(fault: InternalError) -> Self {
        Self::fault(fault)
    }
}

/// Returns the failure to write a new file, with `hint` when one exists already.
pub fn unwritten(path: &Path, error: &io::Error, hint: &str) -> CommandFailure {
    let name = path.display();
    if error.kind() == ErrorKind::AlreadyExists {
        return CommandFailure::usage(format!("{name} exists already")).hint(hint);
    }
    CommandFailure::usage(format!("cannot write {name}: {error}"))
}

/// Converts the error of reading a user's file, for `map_err`.
pub fn unreadable(path: &Path) -> impl Fn(io::Error) -> CommandFailure {
    move |error| CommandFailure::usage(format!("cannot read {}: {error}", path.display()))
}

/// Reads a user's file as text.
pub fn read_text(path: &Path) -> Result<String, CommandFailure> {
    std::fs::read_to_string(path).map_err(|error| {
        CommandFailure::usage(format!("cannot read {}: {}", path.display(), error.kind()))
    })
}

/// Parses a word of a vocabulary as the value of an option.
pub fn word<T: Vocabulary>(text: &str) -> Result<T, String> {
    T::from_name(text).ok_or_else(|| {
        let nearest = nearest::nearest(text, T::NAMES.iter().copied());
        let hint = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        format!("must be one of {}{hint}", T::NAMES.join(", "))
    })
}

/// Does the same, and `--help` lists the words.
pub fn one_of<T: Vocabulary + Send + Sync>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::NAMES).try_map(|text| word(&text))
}

/// Does the same, and `--help` explains each word.
pub fn explained<T: Vocabulary + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let value = |word: &T| {
        let docs = word.docs().split_whitespace().collect::<Vec<_>>().join(" ");
        PossibleValue::new(word.name()).help(docs.trim_end_matches('.').to_owned())
    };
    PossibleValuesParser::new(T::ALL.iter().map(value)).try_map(|text| word(&text))
}

/// Writes data to a new file that only its owner can read, or to standard output when no file is
/// named.
///
/// # Errors
/// Fails when the file exists already, or it or standard output cannot be written.
pub fn save(file: Option<&Path>, bytes: &[u8], output: Output) -> Result<(), CommandFailure> {
    let Some(path) = file else { return output.hand_over(bytes) };
    write_new(path, bytes).map_err(unsaved(path))
}

/// Converts the error of writing a file of data, for `map_err`.
pub fn unsaved(path: &Path) -> impl Fn(io::Error) -> CommandFailure {
    move |error| {
        let is_there = error.kind() == ErrorKind::AlreadyExists;
        let why = if is_there { "it exists already".to_owned() } else { error.kind().to_string() };
        let name = path.display();
        CommandFailure::usage(format!("cannot write {name}: {why}")).hint("name another file")
    }
}

impl Output {
    /// Creates output for programs when `json`, and for people otherwise.
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Returns true when the output is for programs.
    #[must_use]
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Writes a line of data to standard output.
    pub fn line(self, line: impl AsRef<str>) {
        // A reader that closes the pipe early is no failure.
        let _ = writeln!(anstream::stdout().lock(), "{}", line.as_ref());
    }

    /// Writes data to standard output unchanged.
    pub fn raw(self, bytes: &[u8]) {
        let _ = io::stdout().lock().write_all(bytes);
    }

    /// Writes data to standard output that must arrive completely: a delivery or an export.
    ///
    /// # Errors
    /// Fails when not all of it could be written, also because the pipe is closed.
    pub fn hand_over(self, bytes: &[u8]) -> Result<(), CommandFailure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| {
            let message = format!("cannot write to standard output: {}", error.kind());
            let failure = CommandFailure::new(1, message)
                .hint("check the free space, and that a program reads the output");
            // Programs read failures from standard output, which cannot be written here.
            let _ = Self::new(false).fail(&failure);
            CommandFailure { already_shown: true, ..failure }
        })
    }

    /// Writes a document for programs. It may contain a seller's text, so it is escaped for a
    /// terminal without changing its value.
    pub fn document<T: Serialize>(self, value: &T) {
        if let Ok(text) = tradepost_document::json::to_string_pretty(value) {
            self.json_text(&text);
        }
    }

    /// Writes the result of a command: a document for programs, or a line for people.
    pub fn answer<T: Serialize>(self, document: &T, line: impl AsRef<str>) {
        if self.json { self.document(document) } else { self.line(line) }
    }

    /// Does the same, with the line for people on standard error.
    pub fn note<T: Serialize>(self, document: &T, line: impl AsRef<str>) {
        if self.json { self.document(document) } else { self.talk(line) }
    }

    /// Writes a list: documents for programs, and a table for people, or a note when it is empty.
    pub fn list<T, D: Serialize>(
        self,
        found: &[T],
        document: impl Fn(&T) -> D,
        nothing: &str,
        columns: &[Cells<'_, T>],
    ) {
        if self.json {
            self.document(&found.iter().map(document).collect::<Vec<_>>());
        } else if found.is_empty() {
            self.talk(nothing);
        } else {
            self.line(table::items(TableWidth::Terminal, found, columns));
        }
    }

    /// Writes JSON unchanged, except that characters that could disturb a terminal are escaped.
    pub fn json_text(self, json: &str) {
        self.raw(escape_json(json).as_bytes());
        self.raw(b"\n");
    }

    /// Writes a message for people to standard error.
    pub fn talk(self, line: impl AsRef<str>) {
        let _ = writeln!(anstream::stderr().lock(), "{}", line.as_ref());
    }

    /// Writes a line that is data for people, but a message when standard output is for documents
    /// only.
    pub fn say(self, line: impl AsRef<str>) {
        if self.json { self.talk(line) } else { self.line(line) }
    }

    /// Reports a failure and returns its exit code.
    #[must_use]
    pub fn fail(self, failure: &CommandFailure) -> ExitCode {
        if failure.already_shown {
            return ExitCode::from(failure.exit);
        }
        if self.json {
            let mut error = object!({
                "message": failure.message, "exit_code": failure.exit, "hint"?: failure.hint,
            });
            let data = failure.data.as_ref().and_then(Value::as_object);
            if let Some((members, data)) = error.as_object_mut().zip(data) {
                members.extend(data.clone());
            }
            self.document(&json!({"error": error}));
        } else {
            let red = anstyle::AnsiColor::Red.on_default().bold();
            let cyan = anstyle::AnsiColor::Cyan.on_default().bold();
            self.talk(format!("{red}error:{red:#} {}", failure.headline()));
            for line in &failure.lines {
                self.talk(format!("  {line}"));
            }
            if let Some(hint) = &failure.hint {
                self.talk(format!("{cyan}hint:{cyan:#} {hint}"));
            }
        }
        ExitCode::from(failure.exit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_each_problem_once() {
        let mut failure = CommandFailure::new(3, "CODE: it failed: /a: must be x; /b: must be y");
        assert_eq!(failure.headline(), failure.message);
        failure.lines = vec!["/a: must be x (enum)".into(), "/b: must be y (type)".into()];
        assert_eq!(failure.headline(), "CODE: it failed");
        failure.lines = vec!["error id: err_1".into()];
        assert_eq!(failure.headline(), failure.message);
    }
}
