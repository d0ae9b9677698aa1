//! What there is in the console, and who may have it.

use axum::http::Method;
use tradepost_dealer::staff::Role;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'a> {
    /// A file of ours: style, script or icon.
    File(File),
    /// The page on which people sign in.
    SignInPage,
    /// Signing in.
    SignIn,
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
    /// The agent's card.
    Card,
    /// What keeps the dealer from selling well.
    Checklist,
    /// Who may come in, and who is in.
    People,
    /// Ending a session.
    EndSession(&'a str),
    /// Who has seen and done what.
    Audit,
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

impl<'a> Route<'a> {
    /// The route of a path.
    #[must_use]
    pub fn of(method: &Method, path: &'a str) -> Option<Self> {
        let steps: Vec<&str> = path.split('/').collect();
        let is_post = *method == Method::POST;
        if !is_post && *method != Method::GET && *method != Method::HEAD {
            return None;
        }
        Some(match (is_post, steps.as_slice()) {
            (false, [""]) => Self::Inbox,
            (false, ["console.css"]) => Self::File(File::Style),
            (false, ["console.js"]) => Self::File(File::Script),
            (false, ["icon.svg"]) => Self::File(File::Icon),
            (false, ["sign-in"]) => Self::SignInPage,
            (true, ["sign-in"]) => Self::SignIn,
            (true, ["sign-out"]) => Self::SignOut,
            (false, ["leads"]) => Self::Leads,
            (false, ["leads", id]) => Self::Lead(id),
            (true, ["leads", id, "notes"]) => Self::AddNote(id),
            (true, ["leads", id, "stage"]) => Self::SetStage(id),
            (true, ["leads", id, "resend"]) => Self::Resend(id),
            (true, ["leads", id, "release"]) => Self::Release(id),
            (true, ["leads", id, "revoke"]) => Self::Revoke(id),
            (true, ["leads", id, "evidence"]) => Self::Evidence(id),
            (false, ["leads", id, "erase"]) => Self::EraseQuestion(id),
            (true, ["leads", id, "erase"]) => Self::Erase(id),
            (false, ["appointments"]) => Self::Appointments,
            (false, ["inventory"]) => Self::Inventory,
            (false, ["feeds"]) => Self::Feeds,
            (false, ["feeds", "runs"]) => Self::Feed,
            (false, ["buyers"]) => Self::Buyers,
            (false, ["card"]) => Self::Card,
            (false, ["checklist"]) => Self::Checklist,
            (false, ["people"]) => Self::People,
            (true, ["sessions", id, "end"]) => Self::EndSession(id),
            (false, ["audit"]) => Self::Audit,
            _ => return None,
        })
    }

    /// What it requires.
    #[must_use]
    pub const fn right(self) -> Right {
        match self {
            Self::File(_) | Self::SignInPage | Self::SignIn => Right::None,
            Self::SignOut | Self::Inbox | Self::Inventory | Self::People | Self::EndSession(_) => {
                Right::Enter
            }
            Self::Leads
            | Self::Lead(_)
            | Self::AddNote(_)
            | Self::SetStage(_)
            | Self::Resend(_)
            | Self::Appointments => Right::Customers,
            Self::Release(_)
            | Self::Revoke(_)
            | Self::Evidence(_)
            | Self::EraseQuestion(_)
            | Self::Erase(_)
            | Self::Audit => Right::Decide,
            Self::Feeds | Self::Feed | Self::Buyers | Self::Card | Self::Checklist => {
                Right::Operate
            }
        }
    }

    /// Whether it changes something, and so has to prove that it comes of a form of ours.
    #[must_use]
    pub const fn changes(self) -> bool {
        match self {
            Self::SignIn
            | Self::SignOut
            | Self::AddNote(_)
            | Self::SetStage(_)
            | Self::Resend(_)
            | Self::Release(_)
            | Self::Revoke(_)
            | Self::Evidence(_)
            | Self::Erase(_)
            | Self::EndSession(_) => true,
            Self::File(_)
            | Self::SignInPage
            | Self::Inbox
            | Self::Leads
            | Self::Lead(_)
            | Self::EraseQuestion(_)
            | Self::Appointments
            | Self::Inventory
            | Self::Feeds
            | Self::Feed
            | Self::Buyers
            | Self::Card
            | Self::Checklist
            | Self::People
            | Self::Audit => false,
        }
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
