//! What members of the staff change on their own accounts, and what the audit log has of it.

use jiff::SignedDuration;
use tradepost_admin::people::own_account::{
    ChangeOwnPassword, OwnAccountRefusal, OwnAccountResult, ReplaceRecoveryCodes, SetSecondFactor,
    change_own_password, remove_own_second_factor, replace_recovery_codes, set_second_factor,
};
use tradepost_admin::{Actor, AdminError};
use tradepost_dealer::staff::{MemberDetail, StaffRole};
use tradepost_store::staff::{StaffMember, StaffSession};

use crate::{SHOP, TestEnv, member, now};

/// Session in which the member acts.
const HERE: &str = "here";

fn dora() -> StaffMember {
    let dora = member("dora", StaffRole::Desk, Some(SHOP));
    StaffMember { password: "first".to_owned(), ..dora }
}

/// Returns an environment with a member who has two sessions.
fn env_with_two_sessions() -> TestEnv {
    let env = TestEnv::new();
    let written = env.store.write_blocking(|tx| {
        tx.add_member(&dora())?;
        for (number, id) in [(1, HERE), (2, "elsewhere")] {
            let session = StaffSession {
                id: id.to_owned(),
                name: "dora".to_owned(),
                begun_at: now(),
                seen_at: now(),
                expires_at: now() + SignedDuration::from_hours(1),
                browser: String::new(),
                proven_at: None,
            };
            tx.begin_session(&session, &[number; 32])?;
        }
        Ok(())
    });
    written.unwrap();
    env
}

fn session_ids(env: &TestEnv) -> Vec<String> {
    let sessions = env.store.sessions(None, now()).unwrap();
    sessions.into_iter().map(|(session, _)| session.id).collect()
}

fn begin_second_factor(env: &TestEnv) {
    let begun = env.store.write_blocking(|tx| tx.begin_second_factor("dora", "GEZD", now()));
    assert!(begun.unwrap());
}

#[track_caller]
fn refusal(outcome: OwnAccountResult<()>) -> OwnAccountRefusal {
    match outcome {
        Err(AdminError::Refused(refusal)) => refusal,
        Ok(()) | Err(AdminError::Forbidden(_) | AdminError::Broken(_)) => panic!("{outcome:?}"),
    }
}

#[test]
fn an_own_password_is_recorded_and_ends_other_sessions() {
    let env = env_with_two_sessions();
    let context = env.context();
    let actor = Actor::from_member(&dora());
    let change = |present: &str, session_id: &str| {
        let input = ChangeOwnPassword {
            present: present.to_owned(),
            password: "second".to_owned(),
            session_id: session_id.to_owned(),
        };
        change_own_password(&context, &actor, input)
    };
    for (present, session_id) in [("other", HERE), ("first", "ended")] {
        let refused = refusal(change(present, session_id));
        assert_eq!(refused, OwnAccountRefusal::Outdated, "{present} {session_id}");
    }
    let password = || env.store.member("dora").unwrap().unwrap().password;
    assert_eq!(password(), "first");
    assert_eq!(session_ids(&env), ["elsewhere", HERE]);
    assert!(env.record(SHOP).is_empty(), "nothing was changed");

    change("first", HERE).unwrap();
    assert_eq!(password(), "second");
    assert_eq!(session_ids(&env), [HERE]);
    assert_eq!(env.record(SHOP), ["dora password_set dora"]);
    let entries = env.store.entries(SHOP, i64::MAX, 1).unwrap();
    assert_eq!(entries[0].said.detail, Some(MemberDetail::new(None, Some("second")).to_string()));
}

#[test]
fn a_second_factor_is_set_once_and_ends_other_sessions() {
    let env = env_with_two_sessions();
    let context = env.context();
    let actor = Actor::from_member(&dora());
    let set = || {
        let code_hashes = vec![[1; 32], [2; 32]];
        let input = SetSecondFactor { step: 7, code_hashes, session_id: HERE.to_owned() };
        set_second_factor(&context, &actor, input)
    };
    assert_eq!(refusal(set()), OwnAccountRefusal::NothingToConfirm);
    assert_eq!(session_ids(&env).len(), 2);
    begin_second_factor(&env);
    set().unwrap();
    let factor = env.store.second_factor("dora").unwrap().unwrap();
    assert_eq!((factor.confirmed_at, factor.codes_left), (Some(now()), 2));
    assert_eq!(session_ids(&env), [HERE]);
    assert_eq!(refusal(set()), OwnAccountRefusal::NothingToConfirm, "it is confirmed");
    assert_eq!(env.record(SHOP), ["dora second_factor_set dora"]);
}

#[test]
fn codes_and_removal_need_a_confirmed_second_factor() {
    let env = env_with_two_sessions();
    let context = env.context();
    // The operator of the server acts for the member.
    let actor = Actor::from_member_and_operator(&dora(), "cli:egon");
    let replace = || {
        let input = ReplaceRecoveryCodes { code_hashes: vec![[1; 32], [2; 32], [3; 32]] };
        replace_recovery_codes(&context, &actor, input)
    };
    let remove = || remove_own_second_factor(&context, &actor);
    let are_refused = || {
        assert_eq!(refusal(replace()), OwnAccountRefusal::NoSecondFactor);
        assert_eq!(refusal(remove()), OwnAccountRefusal::NoSecondFactor);
    };
    are_refused();
    begin_second_factor(&env);
    are_refused();
    let confirmed =
        env.store.write_blocking(|tx| tx.confirm_second_factor("dora", 7, &[[9; 32]], now()));
    assert!(confirmed.unwrap());
    replace().unwrap();
    assert_eq!(env.store.second_factor("dora").unwrap().unwrap().codes_left, 3);
    remove().unwrap();
    assert_eq!(env.store.second_factor("dora").unwrap(), None);
    assert_eq!(session_ids(&env).len(), 2);
    are_refused();
    assert_eq!(
        env.record(SHOP),
        [
            "dora by cli:egon recovery_codes_made dora",
            "dora by cli:egon second_factor_removed dora",
        ]
    );
}

#[test]
fn the_operator_of_the_server_has_no_account() {
    let env = env_with_two_sessions();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    let session_id = HERE.to_owned();
    let set = SetSecondFactor { step: 7, code_hashes: Vec::new(), session_id: session_id.clone() };
    let change = ChangeOwnPassword {
        present: "first".to_owned(),
        password: "second".to_owned(),
        session_id,
    };
    let replace = ReplaceRecoveryCodes { code_hashes: Vec::new() };
    for outcome in [
        change_own_password(&context, &egon, change),
        set_second_factor(&context, &egon, set),
        replace_recovery_codes(&context, &egon, replace),
        remove_own_second_factor(&context, &egon),
    ] {
        assert_eq!(refusal(outcome), OwnAccountRefusal::NoAccount);
    }
}
