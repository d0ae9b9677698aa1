//! Questions on the terminal: one on each line, with the default in brackets. A program may answer them through a
//! pipe, one answer on each line.

use std::io::{self, BufRead as _, IsTerminal as _, StdinLock, Write as _};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use tradepost_document::fault::InternalError;

use crate::cli::output::{CommandFailure, Output};

/// Ctrl-C as a character, as which a line that is not shown receives it.
const INTERRUPT: u8 = 3;

/// A question to the person at the terminal.
#[derive(Debug, Clone, Default)]
pub(super) struct Question<'a> {
    /// Text of the question, with a short explanation of the answer.
    pub(super) text: &'a str,
    /// Answer for an empty line; empty when there is none.
    pub(super) default: String,
    /// Advice after an answer that is not accepted.
    pub(super) hint: &'a str,
}

impl<'a> Question<'a> {
    /// Creates a question without a default.
    pub(super) fn new(text: &'a str, hint: &'a str) -> Self {
        Self { text, default: String::new(), hint }
    }

    /// Sets the answer for an empty line.
    pub(super) fn with_default(self, default: impl Into<String>) -> Self {
        Self { default: default.into(), ..self }
    }
}

/// Reason for which there is no answer yet.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The answer is not accepted, for these reasons; another is asked for.
    Rejected(Vec<String>),
    /// The command ends.
    Failed(CommandFailure),
}

impl From<Vec<String>> for NoAnswer {
    fn from(reasons: Vec<String>) -> Self {
        Self::Rejected(reasons)
    }
}

impl From<CommandFailure> for NoAnswer {
    fn from(failure: CommandFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<InternalError> for NoAnswer {
    fn from(error: InternalError) -> Self {
        Self::Failed(error.into())
    }
}

/// Questions and answers on standard output and standard input.
pub(super) struct Dialogue {
    input: StdinLock<'static>,
    is_terminal: bool,
    output: Output,
}

impl Dialogue {
    /// Creates the dialogue of a command.
    pub(super) fn new(output: Output) -> Self {
        let input = io::stdin().lock();
        let is_terminal = input.is_terminal();
        Self { input, is_terminal, output }
    }

    /// Returns the output of the command, for what writes more than a line.
    pub(super) fn output(&self) -> Output {
        self.output
    }

    /// Writes a line.
    pub(super) fn say(&self, line: impl AsRef<str>) {
        self.output.line(line);
    }

    /// Says why an answer is not accepted, and what to do about it.
    pub(super) fn reject(&self, reasons: &[String], hint: &str) {
        for reason in reasons {
            self.say(format!("  not accepted: {reason}"));
        }
        if !hint.is_empty() {
            self.say(format!("  hint: {hint}"));
        }
    }

    /// Asks until an answer is accepted, and says after each other one why it is not.
    ///
    /// # Errors
    /// Fails when `ask` does, such as at the end of the input.
    pub(super) fn until_accepted<T>(
        &mut self,
        hint: &str,
        mut ask: impl FnMut(&mut Self) -> Result<T, NoAnswer>,
    ) -> Result<T, CommandFailure> {
        loop {
            match ask(self) {
                Ok(answer) => return Ok(answer),
                Err(NoAnswer::Rejected(reasons)) => self.reject(&reasons, hint),
                Err(NoAnswer::Failed(failure)) => return Err(failure),
            }
        }
    }

    /// Asks a question once. Returns the answer without spaces around it, or the default.
    ///
    /// # Errors
    /// Fails when the input has ended.
    pub(super) fn ask(&mut self, question: &Question<'_>) -> Result<String, CommandFailure> {
        self.write_prompt(question.text, &question.default)?;
        let mut line = String::new();
        let count = self.input.read_line(&mut line).map_err(CommandFailure::fault)?;
        if count == 0 {
            self.say("");
            return Err(ended());
        }
        let answer = line.trim();
        let answer = if answer.is_empty() { question.default.as_str() } else { answer };
        if !self.is_terminal {
            // A terminal shows what is typed; the transcript of a pipe would lack the answers.
            self.say(answer);
        }
        Ok(answer.to_owned())
    }

    /// Asks a question that is answered by yes or no, until it is.
    ///
    /// # Errors
    /// Fails when the input has ended.
    pub(super) fn confirm(&mut self, text: &str, default: bool) -> Result<bool, CommandFailure> {
        let question = Question::new(text, "").with_default(if default { "yes" } else { "no" });
        self.until_accepted("", |dialogue| match dialogue.ask(&question)?.to_lowercase().as_str() {
            "y" | "yes" => Ok(true),
            "n" | "no" => Ok(false),
            _ => Err(vec!["must be yes or no".to_owned()].into()),
        })
    }

    /// Asks for a secret, which the terminal does not show.
    ///
    /// # Errors
    /// Fails when the input has ended.
    pub(super) fn ask_secret(&mut self, text: &str) -> Result<String, CommandFailure> {
        self.write_prompt(text, "")?;
        let line = match self.is_terminal {
            true => self.read_hidden().map_err(CommandFailure::fault)?,
            false => self.read_until_break().map_err(CommandFailure::fault)?,
        };
        self.say("");
        let line = line.ok_or_else(ended)?;
        let line = String::from_utf8_lossy(&line);
        Ok(line.trim().to_owned())
    }

    fn write_prompt(&self, text: &str, default: &str) -> Result<(), CommandFailure> {
        let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        self.output.raw(format!("{text}{shown}: ").as_bytes());
        io::stdout().flush().map_err(CommandFailure::fault)
    }

    /// Reads a line while the terminal shows nothing. Ctrl-C arrives as a character, so that the terminal is put
    /// back before the command ends.
    fn read_hidden(&mut self) -> io::Result<Option<Vec<u8>>> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        let line = self.read_until_break();
        tcsetattr(io::stdin(), OptionalActions::Now, &before)?;
        line
    }

    /// Reads up to a line break. Returns `None` at the end of the input, and after Ctrl-C.
    fn read_until_break(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let available = self.input.fill_buf()?;
            let Some(byte) = available.first().copied() else {
                return Ok(Some(line).filter(|line| !line.is_empty()));
            };
            self.input.consume(1);
            match byte {
                b'\n' => return Ok(Some(line)),
                INTERRUPT => return Ok(None),
                byte => line.push(byte),
            }
        }
    }
}

/// Returns the failure of a dialogue whose input has ended.
fn ended() -> CommandFailure {
    CommandFailure::usage("the input ended before the last question; nothing was written")
        .hint("run `tradepost init --wizard` again, and answer all questions")
}
