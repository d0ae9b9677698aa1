//! Every operation with every role.

use jiff::civil::date;
use tradepost_admin::appointments::{self, BlockTime, ChangeAppointment, UnblockTime};
use tradepost_admin::audit::{
    self, ExportRecord, ListRecord, RecordScope, VerifyConsents, VerifyEvidence, VerifyRecord,
};
use tradepost_admin::calendar_feeds::{
    self, CreateCalendarFeed, ListCalendarFeeds, RevokeCalendarFeed,
};
use tradepost_admin::decisions::{self, DecideMatter, DecisionRefusal, GrantRights};
use tradepost_admin::delivery::{self, DeliveryRefusal, ReportDelivery};
use tradepost_admin::feeds::{self, FeedName, ImportInventory, ListFeeds, RunFeed, ShowFeed};
use tradepost_admin::hosting::{
    self, AddDealers, ChangeDealer, FileSellers, ListDealers, SetDealerState, ShowDealer,
};
use tradepost_admin::inventory::{self, RepairInventory};
use tradepost_admin::keys::{self, CreateKey, KeyRefusal, ListKeys, RevokeKey};
use tradepost_admin::leads::work::{
    AssignLead, AssignLeads, CompleteNextStep, LeadSelection, SetLeadStage, SetLeadStages,
    SetNextStep,
};
use tradepost_admin::leads::{
    self, AddNote, EraseCustomer, ExportLeads, ListLeads, ReleaseLead, ResendLead, RevokeConsent,
    ShowLead, TakeEvidence,
};
use tradepost_admin::people::own_account::{
    self, ChangeOwnPassword, ReplaceRecoveryCodes, SetSecondFactor,
};
use tradepost_admin::people::{
    self, AddMember, EndSession, RemoveMember, ResetSecondFactor, SetPassword, StaffEmployer,
};
use tradepost_admin::privacy::{self, ChangeKey, ExportCustomer, ForgetKeys, LostKeys};
use tradepost_admin::probes::{self, StartProbe};
use tradepost_admin::remote_orders::{self, ListOrders, OrderRefusal, ReconcileOrders, RetryOrder};
use tradepost_admin::staff_messages::{self, ResendStaffMessages};
use tradepost_admin::steps::{self, BeginStepTest};
use tradepost_admin::webhooks::{self, RetryWebhooks};
use tradepost_admin::week::{self, ShowWeek};
use tradepost_admin::{Actor, AdminContext, AdminError, AdminOperation};
use tradepost_dealer::appointment::change::{AppointmentChange, WantedBlock, WantedTime};
use tradepost_dealer::calendar::Department;
use tradepost_dealer::import::PackedListings;
use tradepost_dealer::staff::lead_work::ExpectedOwner;
use tradepost_dealer::staff::{NextStep, NextStepKind, StaffRole, StaffStage};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_publisher::decision::DecisionStep;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::remote_order::wanted::OrderTerms;
use tradepost_publisher::staff::DecisionSubject;
use tradepost_publisher::staff::reported::ReportedDay;
use tradepost_store::lost_key::OnlyBy;
use tradepost_store::privacy::OperatorKeys;
use tradepost_store::{ApiKey, HostedState};

use crate::hosting::rules;
use crate::privacy::operator_keys;
use crate::publisher::{GAZETTE, gazette};
use crate::{SHOP, TestEnv, member, now};

/// What became of an operation on a store without anything in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It was permitted, and found nothing.
    Permitted,
    /// The role does not have the permission.
    Forbidden,
    /// A publisher does not know the actor.
    Stranger,
}

fn verdict<T, R>(outcome: Result<T, AdminError<R>>) -> Verdict {
    match outcome {
        Ok(_) | Err(AdminError::Refused(_)) => Verdict::Permitted,
        Err(AdminError::Forbidden(_)) => Verdict::Forbidden,
        Err(AdminError::Broken(fault)) => panic!("{}", fault.chain()),
    }
}

fn decided<T>(outcome: decisions::DecisionResult<T>) -> Verdict {
    if matches!(outcome, Err(AdminError::Refused(DecisionRefusal::Stranger))) {
        return Verdict::Stranger;
    }
    verdict(outcome)
}

fn ordered<T>(outcome: remote_orders::OrderResult<T>) -> Verdict {
    if matches!(outcome, Err(AdminError::Refused(OrderRefusal::Stranger))) {
        return Verdict::Stranger;
    }
    verdict(outcome)
}

/// Reports a day of a media buy that there is not.
fn report(context: &AdminContext<'_>, actor: &Actor, is_correction: bool) -> Verdict {
    let publisher = gazette();
    let day = ReportedDay {
        row: 1,
        media_buy_id: Some("mb_1".to_owned()),
        package_id: None,
        line_item_id: None,
        day: date(2026, 5, 1),
        impressions: 1,
        clicks: None,
        completed_views: None,
        spend: MoneyAmount::ZERO,
        currency: None,
        is_final: false,
        is_correction,
    };
    let input = ReportDelivery { publisher: &publisher, days: vec![day], problems: Vec::new() };
    let outcome = delivery::report_delivery(context, actor, input);
    if matches!(outcome, Err(AdminError::Refused(DeliveryRefusal::Stranger))) {
        return Verdict::Stranger;
    }
    verdict(outcome)
}

fn change(context: &AdminContext<'_>, actor: &Actor, change: AppointmentChange) -> Verdict {
    let appointment_id = "appt_1".to_owned();
    let input = ChangeAppointment { appointment_id, seen_version: None, change };
    verdict(appointments::change_appointment(context, actor, input))
}

fn decide(context: &AdminContext<'_>, actor: &Actor, step: DecisionStep) -> Verdict {
    let publisher = gazette();
    decided(decisions::decide_matter(
        context,
        actor,
        DecideMatter {
            publisher: &publisher,
            matter: DecisionSubject::Account,
            id: "acc_1".to_owned(),
            account: None,
            step,
            reason: None,
            why: None,
            code: None,
            seen: None,
        },
    ))
}

/// What became of an operation on keys of the publisher's buyer agents.
fn of_buyer_keys<T>(outcome: keys::KeyResult<T>, actor: &Actor) -> Verdict {
    let is_unknown = matches!(outcome, Err(AdminError::Refused(KeyRefusal::UnknownKey)));
    if is_unknown && actor.seller_id() != Some(GAZETTE) && actor.role().is_some() {
        return Verdict::Stranger;
    }
    verdict(outcome)
}

/// A key that has ended already, so that none is created.
fn ended_key(agent_id: &str) -> ApiKey {
    ApiKey {
        id: "0123".to_owned(),
        agent_id: agent_id.to_owned(),
        name: "acme".to_owned(),
        hash: [0; 32],
        scopes: None,
        created_at: now(),
        expires_at: Some(now()),
        revoked_at: None,
        last_used_on: None,
    }
}

/// A feed of the dealer whose staff is tried.
fn nightly() -> FeedName {
    FeedName { dealer_id: SHOP.to_owned(), feed: "nightly".to_owned() }
}

/// Performs an operation on something that does not exist.
fn perform(context: &AdminContext<'_>, actor: &Actor, operation: AdminOperation) -> Verdict {
    let lead_id = "lead_1".to_owned();
    let name = "nobody".to_owned();
    let time = WantedTime::Exact(now());
    match operation {
        AdminOperation::ShowLead => verdict(leads::show_lead(context, actor, ShowLead { lead_id })),
        AdminOperation::ListLeads => {
            verdict(leads::record_list(context, actor, ListLeads { leads: Vec::new() }))
        }
        AdminOperation::ExportLeads => {
            let input = ExportLeads { leads: Vec::new(), format: "csv" };
            verdict(leads::record_export(context, actor, input))
        }
        AdminOperation::TakeEvidence => {
            let input = TakeEvidence { lead_id, digest: [0; 32] };
            verdict(leads::record_evidence(context, actor, input))
        }
        AdminOperation::AddNote => {
            let input = AddNote { lead_id, text: "Called.".to_owned() };
            verdict(leads::add_note(context, actor, input))
        }
        AdminOperation::SetLeadStage => {
            let input = SetLeadStage { lead_id, stage: StaffStage::Working, lost_reason: None };
            verdict(leads::work::set_lead_stage(context, actor, input))
        }
        AdminOperation::SetLeadStages => {
            let leads = LeadSelection::Ids(vec![lead_id]);
            let input = SetLeadStages { leads, stage: StaffStage::Working, lost_reason: None };
            verdict(leads::work::set_lead_stages(context, actor, input))
        }
        AdminOperation::AssignLead => {
            let input = AssignLead { lead_id, owner: None, expected: ExpectedOwner::Anyone };
            verdict(leads::work::assign_lead(context, actor, input))
        }
        AdminOperation::AssignLeads => {
            let leads = LeadSelection::Ids(vec![lead_id]);
            let input = AssignLeads { leads, owner: None, expected: ExpectedOwner::Anyone };
            verdict(leads::work::assign_leads(context, actor, input))
        }
        AdminOperation::SetNextStep => {
            let step = NextStep { kind: NextStepKind::Call, at: now() };
            verdict(leads::work::set_next_step(context, actor, SetNextStep { lead_id, step }))
        }
        AdminOperation::CompleteNextStep => {
            let input = CompleteNextStep { lead_id, is_done: true };
            verdict(leads::work::complete_next_step(context, actor, input))
        }
        AdminOperation::ResendLead => {
            let input = ResendLead { lead_id, destination: None };
            verdict(leads::resend_lead(context, actor, input))
        }
        AdminOperation::ReleaseLead => {
            verdict(leads::release_lead(context, actor, ReleaseLead { lead_id }))
        }
        AdminOperation::RevokeConsent => {
            verdict(leads::revoke_consent(context, actor, RevokeConsent { lead_id }))
        }
        AdminOperation::EraseCustomer => {
            let input = EraseCustomer { lead_ids: vec![lead_id], ..EraseCustomer::default() };
            verdict(leads::erase_customer(context, actor, input))
        }
        AdminOperation::ConfirmAppointment => {
            let confirm =
                AppointmentChange::Confirm { at: None, minutes: None, outside_hours: false };
            change(context, actor, confirm)
        }
        AdminOperation::MoveAppointment => {
            change(context, actor, AppointmentChange::Move { to: time, outside_hours: false })
        }
        AdminOperation::CancelAppointment => change(context, actor, AppointmentChange::Cancel),
        AdminOperation::MissAppointment => change(context, actor, AppointmentChange::NoShow),
        AdminOperation::BlockTime => {
            let reason = "inventory".to_owned();
            let input = BlockTime {
                dealer_id: SHOP.to_owned(),
                rooftop: "Main".to_owned(),
                department: Department::Sales,
                wanted: WantedBlock { from: time, until: time, places: None, reason },
            };
            verdict(appointments::block_time(context, actor, input))
        }
        AdminOperation::UnblockTime => {
            let input = UnblockTime { block_id: "block_1".to_owned() };
            verdict(appointments::unblock_time(context, actor, input))
        }
        AdminOperation::CreateCalendarFeed => {
            let input = CreateCalendarFeed {
                dealer_id: SHOP.to_owned(),
                rooftop: "Main".to_owned(),
                hash: [0; 32],
                renew: false,
            };
            verdict(calendar_feeds::create_calendar_feed(context, actor, input))
        }
        AdminOperation::ListCalendarFeeds => {
            let input = ListCalendarFeeds::default();
            verdict(calendar_feeds::list_calendar_feeds(context, actor, input))
        }
        AdminOperation::RevokeCalendarFeed => {
            let dealer_id = SHOP.to_owned();
            let input = RevokeCalendarFeed { dealer_id, rooftop: "Main".to_owned() };
            verdict(calendar_feeds::revoke_calendar_feed(context, actor, input))
        }
        AdminOperation::Approve => decide(context, actor, DecisionStep::Approve),
        AdminOperation::Decline => decide(context, actor, DecisionStep::Decline),
        AdminOperation::Suspend => decide(context, actor, DecisionStep::Suspend),
        AdminOperation::Resume => decide(context, actor, DecisionStep::Resume),
        AdminOperation::Close => decide(context, actor, DecisionStep::Close),
        AdminOperation::DemandPayment => decide(context, actor, DecisionStep::PaymentDue),
        AdminOperation::SettlePayment => decide(context, actor, DecisionStep::PaymentSettled),
        AdminOperation::PauseBuy => decide(context, actor, DecisionStep::Pause),
        AdminOperation::CancelBuy => decide(context, actor, DecisionStep::Cancel),
        AdminOperation::GrantRights => {
            let publisher = gazette();
            let input = GrantRights {
                publisher: &publisher,
                account: "acc_1".to_owned(),
                agent: "acme".to_owned(),
                rights: None,
                why: None,
            };
            decided(decisions::grant_rights(context, actor, input))
        }
        AdminOperation::RepairInventory => {
            let publisher = gazette();
            let input = RepairInventory { publisher: &publisher };
            decided(inventory::repair_inventory(context, actor, input))
        }
        AdminOperation::ListOrders => {
            let publisher = gazette();
            let input = ListOrders { publisher: &publisher, phase: None, limit: 0 };
            ordered(remote_orders::list_orders(context, actor, input))
        }
        AdminOperation::ReconcileOrders => {
            let publisher = gazette();
            let terms = OrderTerms::default();
            let input =
                ReconcileOrders { publisher: &publisher, terms: &terms, media_buy_id: None };
            ordered(remote_orders::orders_to_compare(context, actor, input))
        }
        AdminOperation::RetryOrder => {
            let publisher = gazette();
            let input = RetryOrder { publisher: &publisher, media_buy_id: "mb_1".to_owned() };
            ordered(remote_orders::retry_order(context, actor, input))
        }
        AdminOperation::ResendStaffMessages => {
            let publisher = gazette();
            let input = ResendStaffMessages { publisher: &publisher, subject: None };
            let resent = staff_messages::resend_staff_messages(context, actor, input);
            if matches!(resent, Err(AdminError::Refused(_))) {
                return Verdict::Stranger;
            }
            verdict(resent)
        }
        AdminOperation::ReportDelivery => report(context, actor, false),
        AdminOperation::CorrectDelivery => report(context, actor, true),
        AdminOperation::CreateKey => {
            let key = ended_key(SHOP);
            verdict(keys::create_key(context, actor, CreateKey { key, same_caller: false }))
        }
        AdminOperation::ListKeys => verdict(keys::list_keys(context, actor, ListKeys::default())),
        AdminOperation::RevokeKey => {
            verdict(keys::revoke_key(context, actor, RevokeKey { id: "0123".to_owned() }))
        }
        AdminOperation::CreateBuyerKey => {
            let key = ended_key(GAZETTE);
            let input = CreateKey { key, same_caller: true };
            of_buyer_keys(keys::create_buyer_key(context, actor, input), actor)
        }
        AdminOperation::ListBuyerKeys => {
            of_buyer_keys(keys::list_buyer_keys(context, actor, GAZETTE), actor)
        }
        AdminOperation::RevokeBuyerKey => {
            let input = RevokeKey { id: "0123".to_owned() };
            of_buyer_keys(keys::revoke_buyer_key(context, actor, GAZETTE, input), actor)
        }
        AdminOperation::TestPublisherStep => {
            let begun = steps::begin_publisher_step_test(context, actor, GAZETTE);
            if matches!(begun, Err(AdminError::Refused(_))) {
                return Verdict::Stranger;
            }
            verdict(begun)
        }
        AdminOperation::ListRecord => {
            let input = ListRecord { scope: RecordScope::All, limit: 10 };
            verdict(audit::list_record(context, actor, input))
        }
        AdminOperation::VerifyRecord => {
            let found = verdict(audit::verify_record(context, actor, VerifyRecord::default()));
            assert_eq!(verdict(audit::verify_chains(context, actor)), found);
            let consents = VerifyConsents::default();
            assert_eq!(verdict(audit::verify_consents(context, actor, consents)), found);
            let evidence = VerifyEvidence { lead_id, digest: [0; 32] };
            assert_eq!(verdict(audit::verify_evidence(context, actor, evidence)), found);
            found
        }
        AdminOperation::ExportRecord => {
            let found = verdict(audit::export_heads(context, actor));
            let input = ExportRecord::default();
            assert_eq!(verdict(audit::export_record(context, actor, input, &mut |_| {})), found);
            found
        }
        AdminOperation::ListDealers => {
            let file = &FileSellers::default();
            let input = ListDealers { file, after: "", limit: 10, with_removed: true };
            verdict(hosting::list_dealers(context, actor, input))
        }
        AdminOperation::ShowDealer => {
            let file = &FileSellers::default();
            verdict(hosting::show_dealer(context, actor, ShowDealer { file, dealer_id: SHOP }))
        }
        AdminOperation::AddDealers => {
            let file = &FileSellers::default();
            let input = AddDealers { rules: rules(file), documents: &[], may_reuse: false };
            verdict(hosting::add_dealers(context, actor, input))
        }
        AdminOperation::ChangeDealer => {
            let file = &FileSellers::default();
            let input = ChangeDealer {
                rules: rules(file),
                dealer_id: SHOP,
                said: &Value::Null,
                is_patch: true,
                expected: None,
            };
            verdict(hosting::change_dealer(context, actor, input))
        }
        AdminOperation::SetDealerState => {
            let file = &FileSellers::default();
            let state = HostedState::Suspended;
            let input = SetDealerState { file, dealer_id: SHOP, state, expected: None };
            verdict(hosting::set_dealer_state(context, actor, input))
        }
        AdminOperation::ExportCustomer => {
            verdict(privacy::export_customer(context, actor, ExportCustomer::default()))
        }
        AdminOperation::ShowEncryption => verdict(privacy::show_encryption(context, actor)),
        AdminOperation::ChangeKey => {
            // Without a key, so that nothing is encrypted.
            let keys = OperatorKeys::default();
            verdict(privacy::change_key(
                context,
                actor,
                ChangeKey { keys: &keys, clock: &now },
                |_| {},
            ))
        }
        AdminOperation::ForgetKeys => {
            let keys = operator_keys("1");
            let lost = ["0123".to_owned()];
            let keys = LostKeys { lost: &lost, keys: &keys };
            let found = verdict(privacy::find_lost_data(context, actor, keys));
            let input = ForgetKeys { keys, agreed: &OnlyBy::default() };
            assert_eq!(verdict(privacy::forget_keys(context, actor, input)), found);
            found
        }
        AdminOperation::ShowWeek => {
            let input = ShowWeek { dealer_id: SHOP.to_owned(), week: None };
            verdict(week::show_week(context, actor, input))
        }
        AdminOperation::ListFeeds => {
            verdict(feeds::list_feeds(context, actor, ListFeeds { feeds: Vec::new() }))
        }
        AdminOperation::ShowFeed => {
            let input = ShowFeed { name: nightly(), run_id: None };
            verdict(feeds::show_feed(context, actor, input))
        }
        AdminOperation::TestStep => {
            let input = BeginStepTest { dealer_id: SHOP.to_owned() };
            verdict(steps::begin_step_test(context, actor, &input))
        }
        AdminOperation::RunFeed => {
            let input = RunFeed { name: nightly() };
            verdict(feeds::run_feed(context, actor, input, |_| Ok(None)))
        }
        AdminOperation::ImportInventory => {
            let dealer_id = SHOP.to_owned();
            let listings = PackedListings::default();
            let input = ImportInventory { dealer_id, file: "cars.csv".to_owned(), listings };
            verdict(feeds::import_inventory(context, actor, input))
        }
        AdminOperation::RetryWebhooks => {
            verdict(webhooks::retry_webhooks(context, actor, RetryWebhooks::default()))
        }
        AdminOperation::StartProbe => {
            let input = StartProbe { dealer_id: SHOP.to_owned() };
            verdict(probes::start_probe(context, actor, input))
        }
        AdminOperation::AddMember => {
            let employer = StaffEmployer::Dealer(SHOP.to_owned());
            // Not a role at a dealer, so that no member is added.
            let input =
                AddMember { name, employer, role: StaffRole::Viewer, password: String::new() };
            verdict(people::add_member(context, actor, input))
        }
        AdminOperation::SetPassword => {
            let input = SetPassword { name, password: String::new(), sign_in_budget: Vec::new() };
            verdict(people::set_password(context, actor, input))
        }
        AdminOperation::RemoveMember => {
            verdict(people::remove_member(context, actor, RemoveMember { name }))
        }
        AdminOperation::ResetSecondFactor => {
            verdict(people::reset_second_factor(context, actor, ResetSecondFactor { name }))
        }
        AdminOperation::EndSession => {
            let input = EndSession { session_id: "0123".to_owned() };
            verdict(people::end_session(context, actor, input))
        }
        AdminOperation::ChangeOwnPassword => {
            let session_id = "0123".to_owned();
            let input =
                ChangeOwnPassword { present: String::new(), password: String::new(), session_id };
            verdict(own_account::change_own_password(context, actor, input))
        }
        AdminOperation::SetSecondFactor => {
            let session_id = "0123".to_owned();
            let input = SetSecondFactor { step: 1, code_hashes: Vec::new(), session_id };
            verdict(own_account::set_second_factor(context, actor, input))
        }
        AdminOperation::ReplaceRecoveryCodes => {
            let input = ReplaceRecoveryCodes { code_hashes: Vec::new() };
            verdict(own_account::replace_recovery_codes(context, actor, input))
        }
        AdminOperation::RemoveOwnSecondFactor => {
            verdict(own_account::remove_own_second_factor(context, actor))
        }
    }
}

/// Who may perform each operation, besides the operator of the server.
const PERMITTED: &[(&str, &[&str])] = &[
    ("show-lead", &["desk", "manager"]),
    ("list-leads", &["desk", "manager"]),
    ("export-leads", &["manager"]),
    ("take-evidence", &["manager"]),
    ("add-note", &["desk", "manager"]),
    ("set-lead-stage", &["desk", "manager"]),
    ("set-lead-stages", &["desk", "manager"]),
    ("assign-lead", &["desk", "manager"]),
    ("assign-leads", &["desk", "manager"]),
    ("set-next-step", &["desk", "manager"]),
    ("complete-next-step", &["desk", "manager"]),
    ("resend-lead", &["desk", "manager"]),
    ("release-lead", &["manager"]),
    ("revoke-consent", &["manager"]),
    ("erase-customer", &["manager"]),
    ("confirm-appointment", &["desk", "manager"]),
    ("move-appointment", &["desk", "manager"]),
    ("cancel-appointment", &["desk", "manager"]),
    ("miss-appointment", &["desk", "manager"]),
    ("block-time", &["manager"]),
    ("unblock-time", &["manager"]),
    ("create-calendar-feed", &["manager"]),
    ("list-calendar-feeds", &["manager"]),
    ("revoke-calendar-feed", &["manager"]),
    ("approve", &["approver"]),
    ("decline", &["approver"]),
    ("suspend", &["seller", "approver"]),
    ("resume", &["seller", "approver"]),
    ("close", &["approver"]),
    ("pause-buy", &["seller", "approver"]),
    ("cancel-buy", &["approver"]),
    ("payment-due", &["seller", "approver"]),
    ("payment-settled", &["seller", "approver"]),
    ("grant", &["approver"]),
    ("repair-inventory", &["seller", "approver"]),
    ("list-orders", &["viewer", "seller", "approver"]),
    ("reconcile-orders", &["viewer", "seller", "approver"]),
    ("retry-order", &["seller", "approver"]),
    ("resend-staff-messages", &["seller", "approver"]),
    ("report-delivery", &["seller", "approver"]),
    ("correct-delivery", &["approver"]),
    ("create-key", &[]),
    ("list-keys", &[]),
    ("revoke-key", &[]),
    ("create-buyer-key", &["approver"]),
    ("list-buyer-keys", &["seller", "approver", "viewer"]),
    ("revoke-buyer-key", &["approver"]),
    ("list-record", &["manager", "approver"]),
    ("verify-record", &[]),
    ("export-record", &[]),
    ("list-dealers", &[]),
    ("show-dealer", &[]),
    ("add-dealers", &[]),
    ("change-dealer", &[]),
    ("set-dealer-state", &[]),
    ("export-customer", &["manager"]),
    ("show-encryption", &[]),
    ("change-key", &[]),
    ("forget-keys", &[]),
    ("show-week", &["desk", "manager", "engineer"]),
    ("list-feeds", &["manager", "engineer"]),
    ("show-feed", &["manager", "engineer"]),
    ("run-feed", &[]),
    ("import-inventory", &[]),
    ("retry-webhooks", &[]),
    ("test-step", &["manager", "engineer"]),
    ("test-publisher-step", &["seller", "approver"]),
    ("start-probe", &["manager", "engineer"]),
    ("add-member", &[]),
    ("set-password", &[]),
    ("remove-member", &[]),
    ("reset-second-factor", &["manager"]),
    ("end-session", &["desk", "manager", "engineer", "seller", "approver", "viewer"]),
    ("change-own-password", &["desk", "manager", "engineer", "seller", "approver", "viewer"]),
    ("set-second-factor", &["desk", "manager", "engineer", "seller", "approver", "viewer"]),
    ("replace-recovery-codes", &["desk", "manager", "engineer", "seller", "approver", "viewer"]),
    ("remove-own-second-factor", &["desk", "manager", "engineer", "seller", "approver", "viewer"]),
];

#[test]
fn each_operation_is_for_the_roles_of_the_table() {
    let env = TestEnv::new();
    let context = env.context();
    let names: Vec<_> = PERMITTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, AdminOperation::NAMES, "the table has every operation");
    for (name, permitted) in PERMITTED {
        let operation = AdminOperation::from_name(name).unwrap();
        for role in StaffRole::ALL {
            let employer = if role.is_of_publisher() { GAZETTE } else { SHOP };
            let actor = Actor::from_member(&member("dora", *role, Some(employer)));
            let is_permitted = permitted.contains(&role.name());
            let found = perform(&context, &actor, operation);
            assert_eq!(found == Verdict::Permitted, is_permitted, "{name} by {role}: {found:?}");
        }
        let operator = Actor::operator("cli:egon");
        assert_eq!(perform(&context, &operator, operation), Verdict::Permitted, "{name}");
    }
}

#[test]
fn staff_of_others_are_strangers_to_a_publisher() {
    let env = TestEnv::new();
    let context = env.context();
    for (role, employer) in [
        (StaffRole::Approver, Some("herald")),
        (StaffRole::Approver, None),
        (StaffRole::Manager, Some(GAZETTE)),
        (StaffRole::Manager, None),
    ] {
        let actor = Actor::from_member(&member("dora", role, employer));
        let found = perform(&context, &actor, AdminOperation::Approve);
        assert_eq!(found, Verdict::Stranger, "{role} of {employer:?}");
    }
}

#[test]
fn a_refusal_is_recorded_in_the_log_of_the_employer() {
    let env = TestEnv::new();
    let context = env.context();
    let dora = Actor::from_member(&member("dora", StaffRole::Desk, Some(SHOP)));
    perform(&context, &dora, AdminOperation::EraseCustomer);
    perform(&context, &dora, AdminOperation::AddNote);
    let sam = member("sam", StaffRole::Seller, Some(GAZETTE));
    perform(&context, &Actor::from_member_and_operator(&sam, "cli:egon"), AdminOperation::Close);
    let group = Actor::from_member(&member("group", StaffRole::Engineer, None));
    perform(&context, &group, AdminOperation::ShowLead);
    assert_eq!(
        env.record(SHOP),
        ["dora access_refused - erase-customer needs another role than desk"]
    );
    assert_eq!(
        env.record(GAZETTE),
        ["sam by cli:egon access_refused - close needs another role than seller"]
    );
    assert_eq!(
        env.record("*"),
        ["group access_refused - show-lead needs another role than engineer"]
    );
}
