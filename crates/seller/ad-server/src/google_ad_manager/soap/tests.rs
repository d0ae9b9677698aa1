//! What is written can be read, and hostile text stays text.

use super::*;

#[test]
fn texts_are_escaped_and_read_back() {
    let text = "</snippet><x a=\"b\">&amp; ]]> \u{1}\u{fffe}ä\n";
    let call = XmlElement::new("createCreatives").with(
        XmlElement::new("creatives")
            .of_kind("ThirdPartyCreative")
            .with(XmlElement::leaf("snippet", text)),
    );
    let document = envelope("https://ns.example/v1", "12345", call).unwrap();
    let read = XmlElement::read(&document).unwrap();
    let header = read.child("Header").and_then(|header| header.child("RequestHeader")).unwrap();
    assert_eq!(header.text_of("networkCode"), Some("12345"));
    assert_eq!(header.text_of("applicationName"), Some("tradepost"));
    let creative = returned(&read).unwrap().child("creatives").unwrap();
    assert_eq!(creative.kind.as_deref(), Some("ThirdPartyCreative"));
    let snippet = &creative.child("snippet").unwrap().text;
    assert_eq!(snippet, "</snippet><x a=\"b\">&amp; ]]> ä\n");
    assert!(document.contains(r#"<createCreatives xmlns="https://ns.example/v1">"#), "{document}");
}
