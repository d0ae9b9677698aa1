//! Table of all operations, each with the permission that it requires.

use tradepost_dealer::appointment::change::ChangeKind;
use tradepost_document::catalog;
use tradepost_publisher::decision::DecisionStep;

use crate::permission::StaffPermission;

catalog! {
    /// An operation. When its function refuses a staff member who lacks the permission, the audit entry has
    /// its name. The console refuses most requests before, and its entry has their method and route.
    pub enum AdminOperation {
        /// Permission that it requires. The operator of the server has all of them.
        permission: StaffPermission,
    }
    /// Returns a lead, with its customer.
    ShowLead = "show-lead" { permission: StaffPermission::Customers }
    /// Lists leads.
    ListLeads = "list-leads" { permission: StaffPermission::Customers }
    /// Takes leads to a file.
    ExportLeads = "export-leads" { permission: StaffPermission::Decide }
    /// Takes the evidence of a consent to a file.
    TakeEvidence = "take-evidence" { permission: StaffPermission::Decide }
    /// Adds a note to a lead.
    AddNote = "add-note" { permission: StaffPermission::Customers }
    /// Sets the stage of a lead.
    SetLeadStage = "set-lead-stage" { permission: StaffPermission::Customers }
    /// Sets the stage of many leads.
    SetLeadStages = "set-lead-stages" { permission: StaffPermission::Customers }
    /// Gives a lead an owner, or none.
    AssignLead = "assign-lead" { permission: StaffPermission::Customers }
    /// Gives many leads an owner, or none.
    AssignLeads = "assign-leads" { permission: StaffPermission::Customers }
    /// Sets the next step with a lead.
    SetNextStep = "set-next-step" { permission: StaffPermission::Customers }
    /// Ends the next step with a lead.
    CompleteNextStep = "complete-next-step" { permission: StaffPermission::Customers }
    /// Delivers a lead again.
    ResendLead = "resend-lead" { permission: StaffPermission::Customers }
    /// Releases a lead that is held back.
    ReleaseLead = "release-lead" { permission: StaffPermission::Decide }
    /// Records that a customer has withdrawn the consent.
    RevokeConsent = "revoke-consent" { permission: StaffPermission::Decide }
    /// Erases what leads say about a customer.
    EraseCustomer = "erase-customer" { permission: StaffPermission::Decide }
    /// Confirms a time for an appointment.
    ConfirmAppointment = "confirm-appointment" { permission: StaffPermission::Customers }
    /// Moves an appointment to another time.
    MoveAppointment = "move-appointment" { permission: StaffPermission::Customers }
    /// Cancels an appointment.
    CancelAppointment = "cancel-appointment" { permission: StaffPermission::Customers }
    /// Records that the customer did not come.
    MissAppointment = "miss-appointment" { permission: StaffPermission::Customers }
    /// Blocks a time of a department, which is a manager's decision.
    BlockTime = "block-time" { permission: StaffPermission::Decide }
    /// Removes a block.
    UnblockTime = "unblock-time" { permission: StaffPermission::Decide }
    /// Creates the calendar feed of a rooftop or renews its address, which gives access without a sign-in.
    CreateCalendarFeed = "create-calendar-feed" { permission: StaffPermission::Decide }
    /// Lists calendar feeds, without their secrets.
    ListCalendarFeeds = "list-calendar-feeds" { permission: StaffPermission::Decide }
    /// Revokes the calendar feed of a rooftop.
    RevokeCalendarFeed = "revoke-calendar-feed" { permission: StaffPermission::Decide }
    /// Approves an account, a creative, or the media buy of a task.
    Approve = "approve" { permission: StaffPermission::ApprovePublisher }
    /// Declines one.
    Decline = "decline" { permission: StaffPermission::ApprovePublisher }
    /// Pauses an account or a creative for a while, which is daily work.
    Suspend = "suspend" { permission: StaffPermission::OperatePublisher }
    /// Lets one go on after that, or a media buy that was paused.
    Resume = "resume" { permission: StaffPermission::OperatePublisher }
    /// Closes an account for good.
    Close = "close" { permission: StaffPermission::ApprovePublisher }
    /// Pauses a media buy for a while.
    PauseBuy = "pause-buy" { permission: StaffPermission::OperatePublisher }
    /// Cancels a media buy for good.
    CancelBuy = "cancel-buy" { permission: StaffPermission::ApprovePublisher }
    /// Lets an account spend nothing before it has paid.
    DemandPayment = "payment-due" { permission: StaffPermission::OperatePublisher }
    /// Lets it spend again.
    SettlePayment = "payment-settled" { permission: StaffPermission::OperatePublisher }
    /// Sets the rights of an agent on an account.
    GrantRights = "grant" { permission: StaffPermission::ApprovePublisher }
    /// Writes the books of a publisher's counted inventory anew.
    RepairInventory = "repair-inventory" { permission: StaffPermission::OperatePublisher }
    /// Lists the media buys at the ad server, with what waits.
    ListOrders = "list-orders" { permission: StaffPermission::ViewPublisher }
    /// Compares what was sold with what the ad server has.
    ReconcileOrders = "reconcile-orders" { permission: StaffPermission::ViewPublisher }
    /// Has a media buy carried into the ad server again.
    RetryOrder = "retry-order" { permission: StaffPermission::OperatePublisher }
    /// Sends messages to a publisher's staff again that were given up.
    ResendStaffMessages = "resend-staff-messages" { permission: StaffPermission::OperatePublisher }
    /// Reports what media buys have delivered, which is daily work.
    ReportDelivery = "report-delivery" { permission: StaffPermission::OperatePublisher }
    /// Corrects delivery that was declared final, by which buyers are billed.
    CorrectDelivery = "correct-delivery" { permission: StaffPermission::ApprovePublisher }
    /// Creates an API key.
    CreateKey = "create-key" { permission: StaffPermission::RunServer }
    /// Lists API keys, without their secrets.
    ListKeys = "list-keys" { permission: StaffPermission::RunServer }
    /// Revokes an API key.
    RevokeKey = "revoke-key" { permission: StaffPermission::RunServer }
    /// Creates an API key of a publisher's buyer agent.
    CreateBuyerKey = "create-buyer-key" { permission: StaffPermission::ApprovePublisher }
    /// Lists API keys of a publisher's buyer agents, without their secrets.
    ListBuyerKeys = "list-buyer-keys" { permission: StaffPermission::ViewPublisher }
    /// Revokes an API key of a publisher's buyer agent.
    RevokeBuyerKey = "revoke-buyer-key" { permission: StaffPermission::ApprovePublisher }
    /// Lists entries of the audit log.
    ListRecord = "list-record" { permission: StaffPermission::ReadRecord }
    /// Verifies the audit log and what it vouches for.
    VerifyRecord = "verify-record" { permission: StaffPermission::RunServer }
    /// Takes the audit log to a file.
    ExportRecord = "export-record" { permission: StaffPermission::RunServer }
    /// Lists the dealers of the file and of the store.
    ListDealers = "list-dealers" { permission: StaffPermission::RunServer }
    /// Returns a dealer with its settings, without secrets.
    ShowDealer = "show-dealer" { permission: StaffPermission::RunServer }
    /// Adds hosted dealers.
    AddDealers = "add-dealers" { permission: StaffPermission::RunServer }
    /// Changes the settings of a hosted dealer.
    ChangeDealer = "change-dealer" { permission: StaffPermission::RunServer }
    /// Suspends, resumes or removes a hosted dealer.
    SetDealerState = "set-dealer-state" { permission: StaffPermission::RunServer }
    /// Takes all data of a customer to a file.
    ExportCustomer = "export-customer" { permission: StaffPermission::Decide }
    /// Returns which keys encrypt personal data.
    ShowEncryption = "show-encryption" { permission: StaffPermission::RunServer }
    /// Encrypts personal data with another key.
    ChangeKey = "change-key" { permission: StaffPermission::RunServer }
    /// Erases what only lost keys can decrypt.
    ForgetKeys = "forget-keys" { permission: StaffPermission::RunServer }
    /// Returns the figures of a dealer's week.
    ShowWeek = "show-week" { permission: StaffPermission::SeeFigures }
    /// Lists inventory feeds.
    ListFeeds = "list-feeds" { permission: StaffPermission::Operate }
    /// Returns a feed with its runs.
    ShowFeed = "show-feed" { permission: StaffPermission::Operate }
    /// Runs a feed now.
    RunFeed = "run-feed" { permission: StaffPermission::RunServer }
    /// Replaces a dealer's inventory with a file.
    ImportInventory = "import-inventory" { permission: StaffPermission::RunServer }
    /// Retries webhooks of tasks that were given up.
    RetryWebhooks = "retry-webhooks" { permission: StaffPermission::RunServer }
    /// Tests a step that brings a dealer online, and erases the lead with which it was tested.
    TestStep = "test-step" { permission: StaffPermission::Operate }
    /// Tests a step that brings a publisher online.
    TestPublisherStep = "test-publisher-step" { permission: StaffPermission::OperatePublisher }
    /// Starts the prober against a dealer's agent.
    StartProbe = "start-probe" { permission: StaffPermission::Operate }
    /// Adds a staff member.
    AddMember = "add-member" { permission: StaffPermission::RunServer }
    /// Sets the password of a member.
    SetPassword = "set-password" { permission: StaffPermission::RunServer }
    /// Removes a staff member.
    RemoveMember = "remove-member" { permission: StaffPermission::RunServer }
    /// Removes the second factor of a member.
    ResetSecondFactor = "reset-second-factor" { permission: StaffPermission::Decide }
    /// Ends a session of the actor, or of a member that the actor manages.
    EndSession = "end-session" { permission: StaffPermission::Enter }
    /// Changes the password of the actor.
    ChangeOwnPassword = "change-own-password" { permission: StaffPermission::Enter }
    /// Activates a second factor of the actor.
    SetSecondFactor = "set-second-factor" { permission: StaffPermission::Enter }
    /// Replaces the recovery codes of the actor.
    ReplaceRecoveryCodes = "replace-recovery-codes" { permission: StaffPermission::Enter }
    /// Removes the second factor of the actor.
    RemoveOwnSecondFactor = "remove-own-second-factor" { permission: StaffPermission::Enter }
}

impl AdminOperation {
    /// Returns the operation that makes a change of an appointment.
    #[must_use]
    pub const fn from_change(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Confirm => Self::ConfirmAppointment,
            ChangeKind::Move => Self::MoveAppointment,
            ChangeKind::Cancel => Self::CancelAppointment,
            ChangeKind::NoShow => Self::MissAppointment,
        }
    }

    /// Returns the operation that decides a step of a publisher.
    #[must_use]
    pub const fn from_step(step: DecisionStep) -> Self {
        match step {
            DecisionStep::Approve => Self::Approve,
            DecisionStep::Decline => Self::Decline,
            DecisionStep::Suspend => Self::Suspend,
            DecisionStep::Resume => Self::Resume,
            DecisionStep::Close => Self::Close,
            DecisionStep::PaymentDue => Self::DemandPayment,
            DecisionStep::PaymentSettled => Self::SettlePayment,
            DecisionStep::Pause => Self::PauseBuy,
            DecisionStep::Cancel => Self::CancelBuy,
        }
    }
}
