//! Runs of the prober: who may start one, and what stands in the record.

use tradepost_admin::probes::{ProbeRefusal, StartProbe, start_probe};
use tradepost_admin::{Actor, AdminError};
use tradepost_dealer::staff::StaffRole;

use crate::{SHOP, TestEnv, member};

#[test]
fn each_start_of_the_prober_is_recorded() {
    let env = TestEnv::new();
    let context = env.context();
    let start = |name: &str, role, dealer_id: &str| {
        let actor = Actor::from_member(&member(name, role, Some(SHOP)));
        start_probe(&context, &actor, StartProbe { dealer_id: dealer_id.to_owned() })
    };
    start("eve", StaffRole::Engineer, SHOP).unwrap();
    let unknown = start("eve", StaffRole::Engineer, "other");
    let Err(AdminError::Refused(refusal)) = unknown else { panic!("{unknown:?}") };
    assert_eq!(refusal, ProbeRefusal::UnknownDealer("other".to_owned()));
    let forbidden = start("dora", StaffRole::Desk, SHOP);
    assert!(matches!(forbidden, Err(AdminError::Forbidden(_))), "{forbidden:?}");
    assert_eq!(
        env.record(SHOP),
        ["eve agent_probed -", "dora access_refused - start-probe needs another role than desk"]
    );
    assert_eq!(env.record("other"), [""; 0]);
}
