//! One printer for all commands, and the exit codes.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | we failed: a fault of this program or its machine; of `leads` and `privacy`: done but for what cannot be read |
//! | 2 | usage: the command line, the configuration or an input file is wrong |
//! | 3 | the seller refused: the request is invalid (JSON-RPC -32600, -32602, AAP validation codes); of `sandbox`: the buyer did something wrong |
//! | 4 | the seller refused: not found or no longer available |
//! | 5 | the seller refused: consent is missing or invalid |
//! | 6 | the seller refused: conflict (idempotency key, appointment time) |
//! | 7 | the seller refused: try again later (rate limited, internal error) |
//! | 8 | the seller refused: skill, operation or version not supported |
//! | 9 | the seller refused for another reason; of `adcp call`: rows failed |
//! | 10 | no usable answer: unreachable, timed out, or not of the protocol; of `probe`: a MUST is broken |
//! | 11 | the card is not to be trusted: not signed, by no trusted key, or forged |
//! | 12 | of `call --text` and `adcp call`: the agent waits for an answer or a credential |
//! | 13 | of `call --text` and `adcp call`: the task goes on |
//! | 14 | of `probe`: no grade, because fewer than half of the MUSTs could be looked at |
//! | 15 | of `doctor`: something is amiss |
//! | 130 | of `call`, `adcp call` and `probe`: stopped by a signal; what may have happened, or was seen, is said all the same |

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use tradepost_buyer::text::escape_json;
use tradepost_server::fault::{InternalError, chain};
use tradepost_wire::catalog::Vocabulary;
use tradepost_wire::json::{Value, json};

pub mod seller;
pub mod table;

use table::{Cells, TableWidth};

/// The exit code for a card that is not to be trusted.
pub const UNTRUSTED: u8 = 11;

/// The exit code for a task that waits for its caller.
pub const WAITS: u8 = 12;

/// The exit code for a task that goes on.
pub const GOES_ON: u8 = 13;

/// The exit code of a probe that saw too little for a grade.
pub const UNGRADED: u8 = 14;

/// The exit code of a look that has found something amiss.
pub const AMISS: u8 = 15;

/// The exit code of a call that a signal ended, as shells have it for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Whether it is unknown if the other side has acted, as documents say it. `may_have_acted` is the older name: a
/// program that looks for it alone would send again what is in doubt, were it gone without notice.
pub fn in_doubt(is_in_doubt: bool) -> Value {
    json!({"in_doubt": is_in_doubt, "may_have_acted": is_in_doubt})
}

/// Where a command's output goes, and in which form.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
}

/// Why a command failed.
#[derive(Debug, Clone)]
pub struct CommandFailure {
    /// The exit code, from the table above.
    pub exit: u8,
    /// What went wrong: a lowercase fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Further lines for people, such as every problem of a request.
    pub lines: Vec<String>,
    /// What programs get besides the message, merged into the `error` object.
    pub data: Option<Value>,
    /// Whether the command has said everything already, so that only the exit code is left.
    pub already_shown: bool,
}

impl CommandFailure {
    /// A failure with an exit code and a message.
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

    /// A usage mistake.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(2, message)
    }

    /// A fault of ours, with its causes.
    #[must_use]
    pub fn fault(error: impl std::error::Error + 'static) -> Self {
        Self::new(1, chain(&error))
    }

    /// The message for people. A refusal's message repeats its first problems for clients that
    /// show nothing else; where they follow line by line it ends before them.
    fn headline(&self) -> &str {
        let first = self.lines.first().and_then(|line| Some(line.rsplit_once(" (")?.0));
        let repeated = first.and_then(|problem| self.message.rfind(&format!(": {problem}")));
        repeated.and_then(|at| self.message.get(..at)).unwrap_or(&self.message)
    }

    /// The end of a command that has said itself what is wrong.
    #[must_use]
    pub fn already_shown(exit: u8, message: impl Into<String>) -> Self {
        Self { already_shown: true, ..Self::new(exit, message) }
    }

    /// Adds facts for programs, in place of those of the same name.
    #[must_use]
    pub fn with_facts(mut self, facts: Value) -> Self {
        match (&mut self.data, facts) {
            (Some(Value::Object(data)), Value::Object(facts)) => data.extend(facts),
            (data, facts) => *data = Some(facts),
        }
        self
    }

    /// Of a request that only read: however it ended, it cannot have had an effect.
    #[must_use]
    pub fn without_effect(self) -> Self {
        self.with_facts(in_doubt(false))
    }

    /// Adds what to do about it.
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

    /// Adds what programs get.
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

/// That a new file cannot be written, with what to do where there is one already.
pub(super) fn unwritten(path: &Path, error: &io::Error, hint: &str) -> CommandFailure {
    let name = path.display();
    if error.kind() == ErrorKind::AlreadyExists {
        return CommandFailure::usage(format!("{name} exists already")).hint(hint);
    }
    CommandFailure::usage(format!("cannot write {name}: {error}"))
}

/// For `map_err`: a file of the user's that cannot be read.
pub fn unreadable(path: &Path) -> impl Fn(io::Error) -> CommandFailure {
    move |error| CommandFailure::usage(format!("cannot read {}: {error}", path.display()))
}

/// The text of a file of the user's.
pub(super) fn read_text(path: &Path) -> Result<String, CommandFailure> {
    std::fs::read_to_string(path).map_err(|error| {
        CommandFailure::usage(format!("cannot read {}: {}", path.display(), error.kind()))
    })
}

/// A word of a vocabulary, as the value of an option.
pub(super) fn word<T: Vocabulary>(text: &str) -> Result<T, String> {
    T::from_name(text).ok_or_else(|| format!("must be one of {}", T::NAMES.join(", ")))
}

/// The same where `--help` lists the words.
pub(super) fn one_of<T: Vocabulary + Send + Sync>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::NAMES).try_map(|text| word(&text))
}

/// The same where `--help` says of each word what it means.
pub(super) fn explained<T: Vocabulary + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let value = |word: &T| {
        let docs = word.docs().split_whitespace().collect::<Vec<_>>().join(" ");
        PossibleValue::new(word.name()).help(docs.trim_end_matches('.').to_owned())
    };
    PossibleValuesParser::new(T::ALL.iter().map(value)).try_map(|text| word(&text))
}

/// Creates a file that only its owner can read and write; nothing is ever overwritten.
///
/// # Errors
/// When there is such a file already, or it cannot be created.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Writes data to a new file, which is its owner's alone from its first moment; nothing is ever overwritten.
///
/// # Errors
/// When there is such a file already, or it cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_new(path)?;
    file.write_all(bytes)?;
    // A key that a power cut takes away after something was sealed with it is lost for good.
    file.sync_all()
}

/// Writes data to a new file that only its owner can read, or to standard output where none is named.
///
/// # Errors
/// When there is such a file already, or it or standard output cannot be written.
pub fn save(file: Option<&Path>, bytes: &[u8], output: Output) -> Result<(), CommandFailure> {
    let Some(path) = file else { return output.hand_over(bytes) };
    write_new(path, bytes).map_err(unsaved(path))
}

/// For `map_err`: a file that data was to be saved in, and cannot be written.
pub fn unsaved(path: &Path) -> impl Fn(io::Error) -> CommandFailure {
    move |error| {
        let is_there = error.kind() == ErrorKind::AlreadyExists;
        let why = if is_there { "it exists already".to_owned() } else { error.kind().to_string() };
        let name = path.display();
        CommandFailure::usage(format!("cannot write {name}: {why}")).hint("name another file")
    }
}

impl Output {
    /// Output for programs when `json`, for people otherwise.
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether programs read it.
    #[must_use]
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Writes a line of data to standard output.
    pub fn line(self, line: impl AsRef<str>) {
        // Whoever reads may have seen enough and closed the pipe, which is no failure.
        let _ = writeln!(anstream::stdout().lock(), "{}", line.as_ref());
    }

    /// Writes data to standard output as it is.
    pub fn raw(self, bytes: &[u8]) {
        let _ = io::stdout().lock().write_all(bytes);
    }

    /// Writes data to standard output that somebody counts on having: a delivery or an export.
    ///
    /// # Errors
    /// When not all of it could be written, also because nobody reads any more.
    pub fn hand_over(self, bytes: &[u8]) -> Result<(), CommandFailure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| {
            let message = format!("cannot write to standard output: {}", error.kind());
            let failure =
                CommandFailure::new(1, message).hint("see that there is room, and a reader");
            // Programs look for failures where nothing can be written.
            let _ = Self::new(false).fail(&failure);
            CommandFailure { already_shown: true, ..failure }
        })
    }

    /// Writes a document for programs. It may hold what a seller wrote, so it is made fit for a
    /// terminal without changing its value.
    pub fn document<T: Serialize>(self, value: &T) {
        if let Ok(text) = tradepost_wire::json::to_string_pretty(value) {
            self.json_text(&text);
        }
    }

    /// Writes what a command has to say: a document for programs, or a line for people.
    pub fn answer<T: Serialize>(self, document: &T, line: impl AsRef<str>) {
        if self.json { self.document(document) } else { self.line(line) }
    }

    /// The same where people are only told of it.
    pub fn note<T: Serialize>(self, document: &T, line: impl AsRef<str>) {
        if self.json { self.document(document) } else { self.talk(line) }
    }

    /// Writes a list: documents for programs, and a table for people, who are told when it is empty.
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
            self.line(table::of(TableWidth::Terminal, found, columns));
        }
    }

    /// Writes JSON as it came, except for what could disturb a terminal, which is escaped.
    pub fn json_text(self, json: &str) {
        self.raw(escape_json(json).as_bytes());
        self.raw(b"\n");
    }

    /// Tells people something on standard error.
    pub fn talk(self, line: impl AsRef<str>) {
        let _ = writeln!(anstream::stderr().lock(), "{}", line.as_ref());
    }

    /// Says what people read as data, where standard output is for programs' documents alone.
    pub fn say(self, line: impl AsRef<str>) {
        if self.json { self.talk(line) } else { self.line(line) }
    }

    /// Reports a failure and gives its exit code.
    #[must_use]
    pub fn fail(self, failure: &CommandFailure) -> ExitCode {
        if failure.already_shown {
            return ExitCode::from(failure.exit);
        }
        if self.json {
            let mut error = json!({
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
