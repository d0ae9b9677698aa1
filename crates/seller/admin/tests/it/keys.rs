//! Keys that are created and revoked, and what the audit log has of them.

use tradepost_admin::keys::{
    ADMINISTRATORS, CreateKey, KeyRefusal, ListKeys, RevokeKey, create_key, list_keys, revoke_key,
};
use tradepost_admin::{Actor, AdminError};
use tradepost_store::ApiKey;

use crate::{SHOP, TestEnv, now};

fn key(id: &str, agent_id: &str) -> CreateKey {
    let key = ApiKey {
        id: id.to_owned(),
        agent_id: agent_id.to_owned(),
        name: "acme".to_owned(),
        hash: [0; 32],
        scopes: None,
        created_at: now(),
        expires_at: None,
        revoked_at: None,
        last_used_on: None,
    };
    CreateKey { key, same_caller: false }
}

#[test]
fn what_is_done_with_keys_is_recorded_once() {
    let env = TestEnv::new();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    create_key(&context, &egon, key("one", SHOP)).unwrap();
    let taken = create_key(&context, &egon, key("two", SHOP));
    assert!(matches!(taken, Err(AdminError::Refused(KeyRefusal::NameTaken))), "{taken:?}");
    create_key(&context, &egon, key("three", ADMINISTRATORS)).unwrap();
    let revoke = RevokeKey { id: "one".to_owned() };
    let first = revoke_key(&context, &egon, revoke.clone()).unwrap();
    assert!(first.is_changed);
    assert_eq!(first.key.revoked_at, Some(now()));
    assert!(!revoke_key(&context, &egon, revoke).unwrap().is_changed);
    let unknown = revoke_key(&context, &egon, RevokeKey { id: "two".to_owned() });
    assert!(matches!(unknown, Err(AdminError::Refused(KeyRefusal::UnknownKey))), "{unknown:?}");
    let listed = list_keys(&context, &egon, ListKeys::default()).unwrap();
    assert_eq!(listed.iter().map(|key| key.id.as_str()).collect::<Vec<_>>(), ["one", "three"]);
    assert_eq!(
        env.record(SHOP),
        ["cli:egon api_key_created one acme: all", "cli:egon api_key_revoked one acme"]
    );
    assert_eq!(env.record("*"), ["cli:egon api_key_created three acme: all"]);
}
