//! The engine as one function from a document to a document, for programs in other languages: an answer and what
//! is known of its request go in, the failure and the advice come out. `vectors/` has examples of both.

use tradepost_document::json::{self, Value, json};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Problems};

mod input;
mod output;

use input::AdviceRequest;

/// Returns the failure in an answer and the advice on it; both are null when the answer is no failure. For a
/// document that is not understood, returns every problem instead, as `problems`.
#[must_use]
pub fn advise_document(document: &Value) -> Value {
    match AdviceRequest::read(document) {
        Ok(request) => {
            let failure = request.failure();
            output::document(failure.as_ref(), &request.attempt, &request.budget)
        }
        Err(problems) => refused(&problems),
    }
}

/// Returns the answer to a document in JSON, as JSON.
#[must_use]
pub fn advise_json(text: &[u8]) -> String {
    // The parser bounds the depth of nesting.
    let document = match json::from_slice::<Value>(text) {
        Ok(document) => advise_document(&document),
        Err(_) => {
            let mut problems = Problems::new();
            let message = "is not valid JSON, or nested too deeply";
            parse::reject(&DocumentPlace::Root, &mut problems, message);
            refused(&problems)
        }
    };
    document.to_string()
}

/// Writes the problems of a document.
fn refused(problems: &Problems) -> Value {
    let written = problems.listed().iter().map(|problem| {
        json!({"pointer": problem.pointer, "keyword": problem.keyword, "message": problem.message})
    });
    json!({"problems": written.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests;
