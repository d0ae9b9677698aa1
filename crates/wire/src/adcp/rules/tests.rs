use serde_json::json;

use super::*;
use crate::catalog::Vocabulary;

#[test]
fn the_rules_can_be_read() {
    assert_eq!(notation::read(FILES).err().map(|wrong| wrong.to_string()), None);
}

#[test]
fn every_tool_has_a_shape() {
    for tool in Tool::ALL.iter().copied() {
        assert!(book().shape(tool.request()).is_some(), "{tool}");
        assert!(check(tool, &json!(5), Internals::On).is_err(), "{tool}");
    }
}
