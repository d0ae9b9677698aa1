//! Staff that is added, changed and removed, and what the audit log has of it.

use tradepost_admin::people::{
    AddMember, RemoveMember, ResetSecondFactor, SetPassword, StaffEmployer, StaffRefusal,
    add_member, remove_member, reset_second_factor, set_password,
};
use tradepost_admin::{Actor, AdminError};
use tradepost_dealer::staff::StaffRole;
use tradepost_store::staff::StaffMember;

use crate::{SHOP, TestEnv, member};

fn refusal<T: std::fmt::Debug>(outcome: Result<T, AdminError<StaffRefusal>>) -> StaffRefusal {
    match outcome {
        Err(AdminError::Refused(refusal)) => refusal,
        Ok(_) | Err(AdminError::Forbidden(_) | AdminError::Broken(_)) => panic!("{outcome:?}"),
    }
}

fn desk_member(name: &str) -> AddMember {
    AddMember {
        name: name.to_owned(),
        employer: StaffEmployer::Dealer(SHOP.to_owned()),
        role: StaffRole::Desk,
        password: "hashed".to_owned(),
    }
}

#[test]
fn what_is_done_with_staff_is_recorded_once() {
    let env = TestEnv::new();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    add_member(&context, &egon, desk_member("dora")).unwrap();
    assert_eq!(refusal(add_member(&context, &egon, desk_member("dora"))), StaffRefusal::NameTaken);
    let set = |name: &str| SetPassword {
        name: name.to_owned(),
        password: "hashed again".to_owned(),
        sign_in_budget: Vec::new(),
    };
    set_password(&context, &egon, set("DORA")).unwrap();
    assert_eq!(env.store.member("dora").unwrap().unwrap().password, "hashed again");
    let unknown = StaffRefusal::UnknownMember("otto".to_owned());
    assert_eq!(refusal(set_password(&context, &egon, set("Otto"))), unknown);
    let remove = RemoveMember { name: "dora".to_owned() };
    remove_member(&context, &egon, remove.clone()).unwrap();
    let unknown_member = StaffRefusal::UnknownMember("dora".to_owned());
    assert_eq!(refusal(remove_member(&context, &egon, remove)), unknown_member);
    let record = env.record(SHOP);
    let record: Vec<_> = record.iter().map(|line| line.trim_end()).collect();
    assert_eq!(
        record,
        [
            "cli:egon member_added dora desk",
            "cli:egon password_set dora",
            "cli:egon member_removed dora",
        ]
    );
}

#[test]
fn a_member_of_a_sign_in_provider_is_removed() {
    let env = TestEnv::new();
    let ada = member("oidc:Ada", StaffRole::Desk, Some(SHOP));
    assert!(env.store.write_blocking(move |tx| tx.add_member(&ada)).unwrap());
    let remove = RemoveMember { name: "oidc:Ada".to_owned() };
    remove_member(&env.context(), &Actor::operator("cli:egon"), remove).unwrap();
    assert_eq!(env.store.member("oidc:Ada").unwrap(), None);
    assert_eq!(env.record(SHOP), ["cli:egon member_removed oidc:Ada"]);
}

#[test]
fn a_member_of_a_sign_in_provider_gets_no_password() {
    let env = TestEnv::new();
    let ada =
        StaffMember { password: String::new(), ..member("oidc:Ada", StaffRole::Desk, Some(SHOP)) };
    assert!(env.store.write_blocking(move |tx| tx.add_member(&ada)).unwrap());
    let set = SetPassword {
        name: "oidc:Ada".to_owned(),
        password: "hashed".to_owned(),
        sign_in_budget: Vec::new(),
    };
    let refused = refusal(set_password(&env.context(), &Actor::operator("cli:egon"), set));
    assert_eq!(refused, StaffRefusal::NoPassword("oidc:Ada".to_owned()));
    assert_eq!(env.store.member("oidc:Ada").unwrap().unwrap().password, "");
    assert_eq!(env.record(SHOP), [""; 0]);
}

#[test]
fn a_role_has_to_be_one_at_the_employer() {
    let env = TestEnv::new();
    let egon = Actor::operator("cli:egon");
    let wrong = AddMember { role: StaffRole::Approver, ..desk_member("amy") };
    let possible = vec![StaffRole::Desk, StaffRole::Manager, StaffRole::Engineer];
    let expected = StaffRefusal::WrongRole { role: StaffRole::Approver, possible };
    assert_eq!(refusal(add_member(&env.context(), &egon, wrong)), expected);
    assert_eq!(env.store.member("amy").unwrap(), None);
}

#[test]
fn managers_manage_those_of_their_employer_alone() {
    let manager = |employer| Actor::from_member(&member("maria", StaffRole::Manager, employer));
    let own = member("dora", StaffRole::Desk, Some(SHOP));
    let other = member("otto", StaffRole::Desk, Some("other"));
    let group = member("group", StaffRole::Manager, None);
    let seller = member("sam", StaffRole::Seller, Some("gazette"));
    let managed = |actor: &Actor| [&own, &other, &group, &seller].map(|known| actor.manages(known));
    assert_eq!(managed(&manager(Some(SHOP))), [true, false, false, false]);
    assert_eq!(managed(&manager(None)), [true, true, true, false]);
    assert_eq!(managed(&Actor::operator("cli:egon")), [true; 4]);

    let env = TestEnv::new();
    let context = env.context();
    add_member(&context, &Actor::operator("cli:egon"), desk_member("dora")).unwrap();
    let input = ResetSecondFactor { name: "dora".to_owned() };
    let other_manager = Actor::from_member(&member("mia", StaffRole::Manager, Some("other")));
    let unknown = StaffRefusal::UnknownMember("dora".to_owned());
    assert_eq!(refusal(reset_second_factor(&context, &other_manager, input.clone())), unknown);
    let none = StaffRefusal::NoSecondFactor("dora".to_owned());
    assert_eq!(refusal(reset_second_factor(&context, &manager(Some(SHOP)), input)), none);
}
