//! The arguments of an AdCP tool against its rules: the first byte chooses the tool, what follows it is
//! JSON. What is refused is refused in an error that is small and repeats no text of the caller's.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_adcp::error::MAX_BYTES;
use tradepost_adcp::rules::{self, Internals};
use tradepost_adcp::{AdcpTool, credentials};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

/// Shorter text may stand in a message by chance, as a word of ours.
const LONG: usize = 24;

fuzz_target!(|input: &[u8]| {
    let Some((first, text)) = input.split_first() else { return };
    let tools = AdcpTool::ALL;
    let tool = tools[usize::from(*first) % tools.len()];
    let Ok(arguments) = tradepost_document::json::from_slice::<Value>(text) else { return };
    for pointer in credentials::find(&arguments) {
        assert!(arguments.pointer(&pointer).is_some(), "{pointer} leads nowhere");
    }
    for internals in [Internals::Off, Internals::On] {
        let Err(issues) = rules::check(tool, &arguments, internals) else { continue };
        assert!(issues.total() >= issues.listed().len() && issues.total() > 0);
        let error = issues.into_error();
        let written = tradepost_document::json::to_string(&error).expect("an error serialises");
        assert!(written.len() <= MAX_BYTES, "{} bytes", written.len());
        let mut said = vec![error.message.as_str()];
        said.extend(error.issues.iter().map(|issue| issue.message.as_str()));
        let said = said.join("\n");
        each_text(&arguments, &mut |value| assert!(!said.contains(value), "{value} is repeated"));
    }
});

/// Every long text in a value. Names of members are no values: pointers have to say them.
fn each_text(value: &Value, look: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) if text.len() >= LONG && !is_word(text) => look(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, look)),
        Value::Object(members) => members.values().for_each(|member| each_text(member, look)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Words of this form are in the rules themselves, which may name them.
fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.'))
}
