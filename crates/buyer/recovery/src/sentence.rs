//! Sentences for people about failures, from the catalogs.

use tradepost_adcp::error::{AdcpError, Recovery};
use tradepost_document::catalog::{Vocabulary as _, WireName};

use crate::failure::{CallFailure, Unsent};
use crate::refusal::RefusalForm;

impl CallFailure {
    /// Returns a sentence for people about the failure: that of the code if the catalog has it, else that of
    /// the failure's class.
    #[must_use]
    pub fn sentence(&self) -> String {
        if let Some(error) = self.adcp() {
            return of_code(error);
        }
        let sentence = match self {
            Self::Unsent(Unsent::Arguments(error)) => return of_code(error),
            Self::Unsent(_) => "Nothing was sent.",
            Self::Unanswered(_) => "The seller did not answer.",
            Self::Garbled(_) => "The seller's answer cannot be understood.",
            Self::Refused(refused) => match &refused.by {
                RefusalForm::Aap { error, .. } => {
                    error.code.known().map_or(REFUSED, |code| code.docs())
                }
                RefusalForm::Protocol(error) => {
                    error.code.known().map_or(REFUSED, |code| code.docs())
                }
                RefusalForm::Adcp(_)
                | RefusalForm::Grpc { .. }
                | RefusalForm::Http(_)
                | RefusalForm::Words { .. } => REFUSED,
            },
        };
        in_one_line(sentence)
    }
}

const REFUSED: &str = "The seller says no.";

/// Returns the sentence of an error object.
#[must_use]
pub fn of_code(error: &AdcpError) -> String {
    in_one_line(match &error.code {
        WireName::Known(code) => code.docs(),
        WireName::Other(_) => match error.class() {
            Recovery::Transient => "The seller cannot do this at the moment.",
            Recovery::Correctable => "The seller wants the request to be changed.",
            Recovery::Terminal => "The seller says no, and a person has to settle it.",
        },
    })
}

/// Joins the lines of a sentence from a catalog.
fn in_one_line(sentence: &str) -> String {
    sentence.split_whitespace().collect::<Vec<_>>().join(" ")
}
