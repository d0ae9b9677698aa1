//! What comes back by gRPC: frames are what was framed or are none, and the end of a call says the same
//! however often it is read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_client::grpc::{GrpcEnd, framed, messages, split};

fuzz_target!(|input: (&[u8], &str, &str, &str)| {
    let (body, status, message, details) = input;
    if let Ok((first, rest)) = split(body) {
        assert_eq!([framed(first), rest.to_vec()].concat(), body);
    }
    if let Ok(all) = messages(body) {
        assert_eq!(all.into_iter().flat_map(framed).collect::<Vec<_>>(), body);
    }
    let metadata = |name: &str| match name {
        "grpc-status" => Some(status),
        "grpc-message" => Some(message),
        "grpc-status-details-bin" => Some(details),
        _ => None,
    };
    let Some(end) = GrpcEnd::from_metadata(metadata) else { return };
    let _ = (end.status(), end.retry_delay(), end.listed());
    assert!(end.as_error().is_object());
});
