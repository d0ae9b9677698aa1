//! What there is in the console, and who may have it.

use axum::http::Method;
use tradepost_dealer::staff::Role;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'a> {
    /// What is for those who are not in yet, too.
    Outside(Outside),
    /// Signing out.
    SignOut,
    /// Everything that waits.
    Inbox,
    /// All leads.
    Leads,
    /// A lead.
    Lead(&'a str),
    /// Writing a note about a lead.
    AddNote(&'a str),
    /// Saying how far somebody is with a lead.
    SetStage(&'a str),
    /// Having a lead delivered again.
    Resend(&'a str),
    /// Releasing a lead.
    Release(&'a str),
    /// Noting that the customer has withdrawn the consent.
    Revoke(&'a str),
    /// Taking the evidence of a lead's consent away.
    Evidence(&'a str),
    /// The question whether a lead is to be erased.
    EraseQuestion(&'a str),
    /// Erasing a lead.
    Erase(&'a str),
    /// Appointments by day.
    Appointments,
    /// What is on offer, as a buyer sees it.
    Inventory,
    /// The inventories that arrive by themselves.
    Feeds,
    /// The runs of one of them, with a report.
    Feed,
    /// From whom leads come.
    Buyers,
    /// What was refused, and one of them by its id.
    Refusals,
    /// The agent's card.
    Card,
    /// What keeps the dealer from selling well.
    Checklist,
    /// What the prober found, and how far it is.
    Probe,
    /// Having the prober begin.
    RunProbe,
    /// The whole report of the prober, to be taken away.
    ProbeReport,
    /// Who may come in, and who is in.
    People,
    /// Ending a session.
    EndSession(&'a str),
    /// Who has seen and done what.
    Audit,
}

/// What whoever is not in yet can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// A file of ours: style, script or icon.
    File(File),
    /// The page on which people sign in.
    SignInPage,
    /// Signing in.
    SignIn,
    /// The way to the provider with which people sign in.
    LeaveForProvider,
    /// Where they come back from it.
    BackFromProvider,
}

/// A file that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// The style sheet.
    Style,
    /// The script.
    Script,
    /// The icon.
    Icon,
}

/// What somebody has to be permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Nothing: it is for those who are not in yet.
    None,
    /// To come in.
    Enter,
    /// To see customers and work for them.
    Customers,
    /// To decide about leads and see who did what.
    Decide,
    /// To see how the agent stands.
    Operate,
}

/// A row of the table of contents.
#[derive(Debug)]
pub struct Row {
    /// The method: `POST` changes something, and so has to prove that it comes of a form of ours.
    pub method: Method,
    /// The path below that of the console; `{id}` stands for anything.
    pub path: &'static str,
    /// What it requires.
    pub right: Right,
    route: for<'a> fn(&'a str) -> Route<'a>,
}

const fn get(path: &'static str, right: Right, route: for<'a> fn(&'a str) -> Route<'a>) -> Row {
    Row { method: Method::GET, path, right, route }
}

const fn post(path: &'static str, right: Right, route: for<'a> fn(&'a str) -> Route<'a>) -> Row {
    Row { method: Method::POST, path, right, route }
}

/// Everything that there is.
pub const TABLE: &[Row] = &[
    get("", Right::Enter, |_| Route::Inbox),
    get("console.css", Right::None, |_| Route::Outside(Outside::File(File::Style))),
    get("console.js", Right::None, |_| Route::Outside(Outside::File(File::Script))),
    get("icon.svg", Right::None, |_| Route::Outside(Outside::File(File::Icon))),
    get("sign-in", Right::None, |_| Route::Outside(Outside::SignInPage)),
    post("sign-in", Right::None, |_| Route::Outside(Outside::SignIn)),
    get("sign-in/oidc", Right::None, |_| Route::Outside(Outside::LeaveForProvider)),
    get(super::oidc::BACK, Right::None, |_| Route::Outside(Outside::BackFromProvider)),
    post("sign-out", Right::Enter, |_| Route::SignOut),
    get("leads", Right::Customers, |_| Route::Leads),
    get("leads/{id}", Right::Customers, |id| Route::Lead(id)),
    post("leads/{id}/notes", Right::Customers, |id| Route::AddNote(id)),
    post("leads/{id}/stage", Right::Customers, |id| Route::SetStage(id)),
    post("leads/{id}/resend", Right::Customers, |id| Route::Resend(id)),
    post("leads/{id}/release", Right::Decide, |id| Route::Release(id)),
    post("leads/{id}/revoke", Right::Decide, |id| Route::Revoke(id)),
    post("leads/{id}/evidence", Right::Decide, |id| Route::Evidence(id)),
    get("leads/{id}/erase", Right::Decide, |id| Route::EraseQuestion(id)),
    post("leads/{id}/erase", Right::Decide, |id| Route::Erase(id)),
    get("appointments", Right::Customers, |_| Route::Appointments),
    get("inventory", Right::Enter, |_| Route::Inventory),
    get("feeds", Right::Operate, |_| Route::Feeds),
    get("feeds/runs", Right::Operate, |_| Route::Feed),
    get("buyers", Right::Operate, |_| Route::Buyers),
    get("refusals", Right::Operate, |_| Route::Refusals),
    get("card", Right::Operate, |_| Route::Card),
    get("checklist", Right::Operate, |_| Route::Checklist),
    get("probe", Right::Operate, |_| Route::Probe),
    post("probe", Right::Operate, |_| Route::RunProbe),
    get("probe/report", Right::Operate, |_| Route::ProbeReport),
    get("people", Right::Enter, |_| Route::People),
    post("sessions/{id}/end", Right::Enter, |id| Route::EndSession(id)),
    get("audit", Right::Decide, |_| Route::Audit),
];

impl Row {
    /// What is asked for, if there is such a thing.
    #[must_use]
    pub fn of<'a>(method: &Method, path: &'a str) -> Option<(&'static Self, Route<'a>)> {
        // The same as GET to whoever answers; the body is left out on the way (RFC 9110 §9.3.2).
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let meant = |row: &'static Self| {
            let id = row.matches(path)?;
            (row.method == *method).then(|| (row, (row.route)(id)))
        };
        TABLE.iter().find_map(meant)
    }

    /// What stands in the place of the id; nothing where none is meant.
    fn matches<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (mut steps, mut id) = (path.split('/'), "");
        for wanted in self.path.split('/') {
            let step = steps.next()?;
            if wanted == "{id}" {
                id = step;
            } else if wanted != step {
                return None;
            }
        }
        steps.next().is_none().then_some(id)
    }

    /// Whether it changes something, and so has to prove that it comes of a form of ours.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.method == Method::POST
    }
}

impl Right {
    /// Whether a role has it.
    #[must_use]
    pub const fn is_of(self, role: Role) -> bool {
        match self {
            Self::None | Self::Enter => true,
            Self::Customers => matches!(role, Role::Desk | Role::Manager),
            Self::Decide => matches!(role, Role::Manager),
            Self::Operate => matches!(role, Role::Manager | Role::Engineer),
        }
    }
}
