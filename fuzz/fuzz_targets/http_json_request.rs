//! A request of the HTTP+JSON binding, from method, path, query and body to a typed request. The
//! first line of the input is the method and the target, what follows it is the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_a2a::http_json::{self, MatchedRoute};
use tradepost_a2a::request;

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (line, rest) = input.split_at(end);
    let Ok(line) = std::str::from_utf8(line) else { return };
    let (method, target) = line.split_once(' ').unwrap_or(("GET", line));
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let Some(target) = http_json::find(path) else { return };
    found_again(&target);
    let Some(operation) = target.operation(method) else {
        assert!(!target.allowed().is_empty(), "the caller is told what to use");
        return;
    };
    let body = rest.get(1..).filter(|_| method == "POST");
    let read = http_json::params(operation, &target, query, body);
    let read = read.and_then(|(params, _)| request::read(operation, Some(&params)));
    match read {
        Ok(request) => assert_eq!(request.operation(), operation),
        Err(refusal) => {
            tradepost_document::json::to_string(&refusal).expect("a refusal serialises");
        }
    }
});

/// Whatever a path means, it means it when it is written without a tenant and fully encoded.
fn found_again(target: &MatchedRoute) {
    let encode =
        |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let path = target.members.iter().fold(target.template().to_owned(), |path, (name, value)| {
        path.replacen(&format!("{{{name}}}"), &encode(value), 1)
    });
    let again = http_json::find(&path).expect("the template is a path");
    assert_eq!((again.template(), &again.members), (target.template(), &target.members));
}
