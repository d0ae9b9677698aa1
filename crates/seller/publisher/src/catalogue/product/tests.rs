use tradepost_document::json::{from_str, json, to_string};

use super::*;

#[test]
fn any_document_can_be_read_and_is_kept_unchanged() {
    let text = r#"{"published":{"product_id":5,"name":null,"channels":["ctv",3],"pricing_options":[1,{"currency":"EUR","fixed_price":5.50,"x":1}],"format_ids":{},"allowed_actions":"all","z":[2.0]},"terms":{"sold_out":true,"expires_at":null,"approval":false,"approval_seconds":null,"declines":false,"refused_industries":[],"creative_lead_hours":null,"minimum_budget":1.5,"countries":[],"keywords":[],"rates":[]}}"#;
    let product: Product = from_str(text).unwrap();
    assert_eq!((product.id(), product.channels()), ("", ["ctv".to_owned()].as_slice()));
    assert_eq!(product.prices().len(), 1);
    assert_eq!((product.prices()[0].id(), product.prices()[0].currency()), ("", "EUR"));
    assert_eq!(to_string(&product).unwrap(), text);
    assert_eq!(from_str::<Product>(text).unwrap(), product);
}

#[test]
fn worked_out_values_follow_from_what_a_product_is_now() {
    let published = json!({"product_id": "p", "b": 1, "a": 2.0});
    let product = Product::new(published.as_object().unwrap().clone(), ProductTerms::default());
    assert_eq!(product.digest()[..], Sha256::digest(r#"{"a":2,"b":1,"product_id":"p"}"#)[..]);
    let priced = product.with("pricing_options", json!([{"pricing_option_id": "o"}]));
    let unpriced = r#"{"a":2,"b":1,"pricing_options":[],"product_id":"p"}"#;
    assert_eq!(priced.at(&[]).digest()[..], Sha256::digest(unpriced)[..]);
    let until =
        ProductTerms { expires_at: "2026-07-01T00:00:00Z".parse().ok(), ..ProductTerms::default() };
    let leaving = Product::new(priced.published.document.clone(), until);
    let shown = leaving.shown(Some("why"), |name| name != "b");
    assert_eq!(
        to_string(&shown).unwrap(),
        r#"{"product_id":"p","a":2.0,"pricing_options":[{"pricing_option_id":"o"}],"brief_relevance":"why","expires_at":"2026-07-01T00:00:00Z"}"#,
    );
}
#[test]
fn a_products_text_says_what_is_shown_with_any_reason() {
    let until = || ProductTerms {
        expires_at: "2026-07-01T00:00:00Z".parse().ok(),
        ..ProductTerms::default()
    };
    let documents = [
        json!({"product_id": "p", "price": 1.50}),
        json!({"product_id": "p", "expires_at": "2026-06-30T00:00:00.000Z", "name": "\"é\""}),
        json!({"brief_relevance": "none", "product_id": "p"}),
        json!({}),
    ];
    for document in documents {
        for terms in [ProductTerms::default(), until()] {
            let product = Product::new(document.as_object().unwrap().clone(), terms);
            for relevance in [None, Some("it \"fits\"")] {
                let shown = to_string(&product.shown(relevance, |_| true)).unwrap();
                assert_eq!(product.text(relevance).to_string(), shown);
            }
        }
    }
}
