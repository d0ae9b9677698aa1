//! Members whom a sign-in provider adds and removes, and what the audit log has of it.

use tradepost_admin::people::provider_members::{
    RemoveProviderMember, add_provider_member, remove_provider_member,
};
use tradepost_dealer::staff::StaffRole;
use tradepost_document::fault::InternalError;

use crate::{SHOP, TestEnv, member, now};

/// Name whose letters have a case, as those of a provider have.
const ADA: &str = "oidc:Ada";

fn add(env: &TestEnv, role: StaffRole, employer: Option<&str>) -> bool {
    let ada = member(ADA, role, employer);
    env.store.write_blocking(move |tx| add_provider_member(tx, &ada, now())).unwrap()
}

#[test]
fn an_employer_and_role_that_change_are_recorded() {
    let env = TestEnv::new();
    assert!(add(&env, StaffRole::Desk, Some(SHOP)));
    assert!(!add(&env, StaffRole::Desk, Some(SHOP)), "it is unchanged");
    assert!(add(&env, StaffRole::Engineer, None));
    let ada = env.store.member(ADA).unwrap().unwrap();
    assert_eq!((ada.role, ada.dealer_id), (StaffRole::Engineer, None));
    assert_eq!(env.record(SHOP), ["oidc member_added oidc:Ada desk"]);
    assert_eq!(env.record("*"), ["oidc member_added oidc:Ada engineer"]);
}

#[test]
fn a_sign_in_that_fails_adds_no_member() {
    let env = TestEnv::new();
    let ada = member(ADA, StaffRole::Desk, Some(SHOP));
    let failed: Result<(), InternalError> = env.store.write_blocking(move |tx| {
        add_provider_member(tx, &ada, now())?;
        Err(InternalError::new("beginning a session", "the disk is full"))
    });
    assert!(failed.is_err());
    assert_eq!(env.store.member(ADA).unwrap(), None);
    assert!(env.record(SHOP).is_empty());
}

#[test]
fn a_member_without_a_role_is_removed_once() {
    let env = TestEnv::new();
    add(&env, StaffRole::Desk, Some(SHOP));
    let remove = || {
        let input = RemoveProviderMember { name: ADA.to_owned() };
        remove_provider_member(&env.context(), input).unwrap()
    };
    assert!(remove());
    assert_eq!(env.store.member(ADA).unwrap(), None);
    assert!(!remove(), "there is none any more");
    assert_eq!(
        env.record(SHOP),
        ["oidc member_added oidc:Ada desk", "oidc member_removed oidc:Ada"]
    );
}
