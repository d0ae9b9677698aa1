//! Keys of personal data that are changed and lost, and what the audit log has of them.

use tradepost_admin::privacy::{
    ChangeKey, ExportCustomer, ForgetKeys, LostKeys, PrivacyRefusal, change_key, export_customer,
    find_lost_data, forget_keys, show_encryption,
};
use tradepost_admin::{Actor, AdminError};
use tradepost_dealer::staff::StaffRole;
use tradepost_store::privacy::OperatorKeys;

use crate::{SHOP, TestEnv, member, now};

/// Returns the key of 64 equal digits.
pub(crate) fn operator_keys(digit: &str) -> OperatorKeys {
    OperatorKeys::read(&digit.repeat(64)).unwrap()
}

#[test]
fn keys_are_changed_and_a_given_key_is_never_lost() {
    let env = TestEnv::new();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    let keys = operator_keys("1");
    let id = keys.ids()[0].to_owned();
    let none = OperatorKeys::default();
    let refused = change_key(&context, &egon, ChangeKey { keys: &none, clock: &now }, |_| {});
    assert!(matches!(refused, Err(AdminError::Refused(PrivacyRefusal::NoKey))), "{refused:?}");
    let changed =
        change_key(&context, &egon, ChangeKey { keys: &keys, clock: &now }, |_| {}).unwrap();
    assert_eq!(changed.key, id);
    assert!(changed.other_keys.is_empty(), "{changed:?}");
    assert_eq!(show_encryption(&context, &egon).unwrap().keys, std::slice::from_ref(&id));
    assert_eq!(env.record("*"), [format!("cli:egon key_changed {id} 0 rows")]);

    let lost = std::slice::from_ref(&id);
    let given = find_lost_data(&context, &egon, LostKeys { lost, keys: &keys });
    let is_given = matches!(given, Err(AdminError::Refused(PrivacyRefusal::KeyGiven(_))));
    assert!(is_given, "{given:?}");
    let unknown = ["0123".to_owned()];
    let refused = find_lost_data(&context, &egon, LostKeys { lost: &unknown, keys: &keys });
    let is_unknown = matches!(refused, Err(AdminError::Refused(PrivacyRefusal::UnknownKey { .. })));
    assert!(is_unknown, "{refused:?}");
}

#[test]
fn a_lost_key_is_forgotten_with_an_entry() {
    let env = TestEnv::new();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    let first = operator_keys("1");
    change_key(&context, &egon, ChangeKey { keys: &first, clock: &now }, |_| {}).unwrap();
    let lost = [first.ids()[0].to_owned()];
    let second = operator_keys("2");
    let keys = LostKeys { lost: &lost, keys: &second };
    let agreed = find_lost_data(&context, &egon, keys).unwrap();
    assert!(agreed.is_last && agreed.leads.is_empty(), "{agreed:?}");
    forget_keys(&context, &egon, ForgetKeys { keys, agreed: &agreed }).unwrap();
    let known = env.store.privacy_keys().unwrap();
    assert_eq!(known, [second.ids()[0].to_owned()]);
    let entry = format!("cli:egon key_forgotten {} 0 leads, 0 notes, 0 answers", lost[0]);
    assert_eq!(env.record("*").last(), Some(&entry));
}

#[test]
fn a_customer_is_exported_for_the_own_dealer_only() {
    let env = TestEnv::new();
    let context = env.context();
    let maria = Actor::from_member(&member("maria", StaffRole::Manager, Some(SHOP)));
    let email = "email:ada@example.com".to_owned();
    let input = ExportCustomer { contacts: vec![email], ..ExportCustomer::default() };
    let found = export_customer(&context, &maria, input.clone()).unwrap();
    assert!(found.leads.is_empty() && found.unreadable.is_empty());
    let input = ExportCustomer { dealer_id: Some("other".to_owned()), ..input };
    let refused = export_customer(&context, &maria, input);
    let is_strange = matches!(refused, Err(AdminError::Refused(PrivacyRefusal::UnknownDealer(_))));
    assert!(is_strange, "{refused:?}");
}
