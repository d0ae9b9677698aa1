//! What the guard reads is what the client would connect to, and nothing inside the network.

#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use tradepost_client::Url;
use tradepost_document::http::address;
use tradepost_server::egress::{Egress, Resolver};

fuzz_target!(|text: &str| {
    for loopback in [false, true] {
        let resolver = Resolver::new(|_| Box::pin(async { Ok(Vec::new()) }));
        let Ok(read) = Egress::new(resolver, loopback).read(text) else {
            continue;
        };
        let url = Url::parse(text).expect("what is read is an address");
        assert_eq!(url, read.url);
        assert!(url.username().is_empty() && url.password().is_none());
        let host = url.host_str().expect("a web address has a host");
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        let here = literal.map_or(host == "localhost", |ip| ip.is_loopback());
        assert!(url.scheme() == "https" || (loopback && here));
        match literal {
            Some(ip) => assert!(address::is_public(ip) || (loopback && ip.is_loopback())),
            None => assert!(host.contains('.') && !host.ends_with('.') || (loopback && here)),
        }
    }
});
