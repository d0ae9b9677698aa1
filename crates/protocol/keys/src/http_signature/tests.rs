use super::*;

#[test]
fn an_address_has_one_form_in_which_it_is_signed() {
    for (url, uri, authority) in [
        ("HTTPS://Seller.Example/a", "https://seller.example/a", "seller.example"),
        ("https://seller.example", "https://seller.example/", "seller.example"),
        ("https://seller.example?x=1", "https://seller.example/?x=1", "seller.example"),
        ("https://seller.example:443/a", "https://seller.example/a", "seller.example"),
        ("http://seller.example:80/a", "http://seller.example/a", "seller.example"),
        ("http://seller.example:443/a", "http://seller.example:443/a", "seller.example:443"),
        ("https://seller.example:/a", "https://seller.example/a", "seller.example"),
        ("https://seller.example:8443/a", "https://seller.example:8443/a", "seller.example:8443"),
        ("https://seller.example./a", "https://seller.example/a", "seller.example"),
        ("https://ada:secret@seller.example/a", "https://seller.example/a", "seller.example"),
        ("https://[2001:DB8::7]:443/a", "https://[2001:db8::7]/a", "[2001:db8::7]"),
        ("http://[::1]:8443/a", "http://[::1]:8443/a", "[::1]:8443"),
        ("http://127.0.0.1:9/a#there", "http://127.0.0.1:9/a", "127.0.0.1:9"),
        ("https://s.example/a/./b/../c", "https://s.example/a/c", "s.example"),
        ("https://s.example/../a", "https://s.example/a", "s.example"),
        ("https://s.example/a/..", "https://s.example/", "s.example"),
        ("https://s.example/a/.", "https://s.example/a/", "s.example"),
        ("https://s.example//a/.//b", "https://s.example//a//b", "s.example"),
        ("https://s.example/a//../b", "https://s.example/a/b", "s.example"),
        (
            "https://s.example/%7ea%2fb%41%e2%98%83",
            "https://s.example/~a%2FbA%E2%98%83",
            "s.example",
        ),
        ("https://s.example/%%2", "https://s.example/%%2", "s.example"),
        ("https://s.example/a?b=%7e&a=1+2", "https://s.example/a?b=%7e&a=1+2", "s.example"),
        ("https://s.example/a?", "https://s.example/a?", "s.example"),
    ] {
        let target = TargetUri::read(url).unwrap();
        assert_eq!((target.uri().as_str(), target.authority()), (uri, authority), "{url}");
    }
    for (url, why) in [
        ("https:///a", TargetUriError::Authority),
        ("https://:443/a", TargetUriError::Authority),
        ("https://ada@/a", TargetUriError::Authority),
        ("https://[::1/a", TargetUriError::Authority),
        ("https://fe80::1/a", TargetUriError::Authority),
        ("https://[fe80::1%25eth0]/a", TargetUriError::Authority),
        ("https://[::1]x/a", TargetUriError::Authority),
        ("https://s.example../a", TargetUriError::Authority),
        ("https://s.example:99999/a", TargetUriError::Authority),
        ("https://s.example:+80/a", TargetUriError::Authority),
        ("https://s.example:a/a", TargetUriError::Authority),
        ("https://bücher.example/a", TargetUriError::Characters),
        ("https://s.example/a b", TargetUriError::Characters),
        ("ftp://s.example/a", TargetUriError::Shape),
        ("/a", TargetUriError::Shape),
    ] {
        assert_eq!(TargetUri::read(url), Err(why), "{url}");
    }
}

/// The request of RFC 9421 appendix B.2 and its signature base of B.2.6.
#[test]
fn the_published_example_has_the_published_base() {
    let target = TargetUri::read("https://example.com/foo?param=Value&Pet=dog").unwrap();
    let fields = [
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("content-type", "application/json"),
        ("content-length", "18"),
    ];
    let message = SignableRequest { method: "POST", target: &target, fields: &fields };
    let text = r#"("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519""#;
    let input = SignatureInput::read(text).unwrap();
    let expected = format!(
        "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n\
         \"@authority\": example.com\n\"content-type\": application/json\n\
         \"content-length\": 18\n\"@signature-params\": {text}"
    );
    assert_eq!(message.base(&input).unwrap(), expected);
    let absent = SignatureInput::read(r#"("content-digest")"#).unwrap();
    assert!(message.base(&absent).is_err(), "what is covered has to be there");
    let unknown = SignatureInput::read(r#"("@status")"#).unwrap();
    assert!(message.base(&unknown).is_err(), "a request has no status");
}

#[test]
fn terms_are_read_in_one_spelling_alone() {
    for (text, reads) in [
        (r#"("@method");created=1;keyid="k""#, true),
        (r#"("@method" "@path")"#, true),
        (r#"("@method"  "@path")"#, false),
        (r#"( "@method")"#, false),
        (r#"("@method";req)"#, false),
        (r#"("@method" "@method")"#, false),
        (r#"("@Method")"#, false),
        (r#"()"#, false),
        (r#"("@method"); created=1"#, false),
        (r#"("@method");created="1""#, false),
        (r#"("@method");created=1.5"#, false),
        (r#"("@method");created=1;created=2"#, false),
        (r#"("@method");tag="a";tag="a""#, false),
        (r#"("@method");keyid=k"#, false),
        (r#"("@method");keyid="k"#, false),
        (r#"("@method");keyid="k\"""#, false),
        (r#"("@method");created=9999999999999999"#, false),
        ("not a list at all!!!", false),
        ("", false),
    ] {
        assert_eq!(SignatureInput::read(text).is_ok(), reads, "{text}");
    }
    let read = SignatureInput::read(
        r#"("@method" "date");created=1;expires=2;nonce="n";keyid="k";alg="a";tag="t""#,
    );
    let read = read.unwrap();
    assert_eq!(read.clone().written(), read, "what is written is what is read");
}

#[test]
fn one_signature_counts_and_two_of_a_name_are_refused() {
    let pick = |input: &str, signature: &str| {
        let target = TargetUri::read("https://s.example/").unwrap();
        let fields = [("signature-input", input), ("signature", signature)];
        let fields: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let message = SignableRequest { method: "POST", target: &target, fields: &fields };
        pick(&message).map(|picked| picked.map(|(input, bytes)| (input.text, bytes)))
    };
    let read = |text: &str, bytes: &[u8]| Ok(Some((text.to_owned(), bytes.to_vec())));
    let [a, b] = [r#"("@method")"#, r#"("@path")"#];
    assert_eq!(pick("", ""), Ok(None));
    assert_eq!(pick(&format!("sig1={a}"), "sig1=:AQI=:"), read(a, &[1, 2]));
    assert_eq!(pick(&format!("x={a}, y={b}"), "y=:AQ:, x=:Ag:"), read(a, &[2]));
    assert_eq!(pick(&format!("x={a},sig1={b}"), "x=:AQ:,sig1=:Ag:"), read(b, &[2]));
    for (input, signature) in [
        ("", "sig1=:AQ:"),
        (r#"sig1=("@method")"#, ""),
        (r#"sig1=("@method")"#, "sig2=:AQ:"),
        (r#"sig1=("@method"), sig1=("@path")"#, "sig1=:AQ:"),
        (r#"sig1=("@method")"#, "sig1=:AQ:, sig1=:AQ:"),
        (r#"Sig1=("@method")"#, "Sig1=:AQ:"),
        (r#"sig1=("@method")"#, "sig1=AQ"),
        (r#"sig1=("@method")"#, "sig1=::"),
        (r#"sig1=("@method")"#, "sig1=:A+B-:"),
        (r#"sig1=("@method")"#, "sig1=:\u{fc}:"),
        ("sig1", "sig1=:AQ:"),
    ] {
        assert!(pick(input, signature).is_err(), "{input} {signature}");
    }
}

#[test]
fn bytes_are_in_one_alphabet_or_the_other() {
    for (text, expected) in [
        (":-_8:", Some(vec![0xfb, 0xff])),
        (":+/8=:", Some(vec![0xfb, 0xff])),
        (":+/8:", None),
        (":-_8=:", None),
        (":-/8:", None),
        ("-_8", None),
    ] {
        assert_eq!(bytes(text).ok(), expected, "{text}");
    }
    let own = content_digest(&[7; 32]);
    assert_eq!(digests(&own), Ok(vec![("sha-256", vec![7; 32])]));
    assert!(digests(&format!("{own}, {own}")).is_err(), "one algorithm, one digest");
}
