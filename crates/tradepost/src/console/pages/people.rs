//! Who may come in, who is in, and who has done what.

use askama::Template;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::consent::hex;
use tradepost_dealer::staff::{Action, EVERYBODY, Entry};

use super::super::door::Visitor;
use super::super::reply::Reply;
use super::super::request::Asked;
use super::super::route::Right;
use super::super::{Console, PATH, Stop};
use super::{Frame, When, role_name};

/// How many entries are on a page.
const ON_A_PAGE: u32 = 100;

#[derive(Debug, Template)]
#[template(path = "console/people.html")]
struct People {
    frame: Frame,
    sessions: Vec<Row>,
    members: Vec<(String, &'static str, String)>,
    decides: bool,
}

#[derive(Debug)]
struct Row {
    id: String,
    name: String,
    browser: String,
    begun: When,
    seen: When,
    is_this: bool,
}

#[derive(Debug, Template)]
#[template(path = "console/audit.html")]
struct Audit {
    frame: Frame,
    chains: Vec<(String, String, bool)>,
    entries: Vec<Line>,
    head: Option<String>,
    earlier: Option<String>,
}

#[derive(Debug)]
struct Line {
    seq: i64,
    when: When,
    actor: String,
    action: &'static str,
    subject: Option<(String, Option<String>)>,
    detail: Option<String>,
}

impl Console {
    pub(in crate::console) fn people(
        &self,
        asked: &Asked,
        visitor: &Visitor,
    ) -> Result<Reply, Stop> {
        let decides = Right::Decide.is_of(visitor.member.role);
        let now = self.clock.now();
        let zone = self.zone(visitor);
        let sessions = self.store.sessions(visitor.dealer_id(), now)?;
        // Whoever does not decide sees the own sessions, to end one that was forgotten elsewhere.
        let shown = sessions
            .into_iter()
            .filter(|(session, _)| decides || session.name == visitor.member.name);
        let members = if decides { self.store.members(visitor.dealer_id())? } else { Vec::new() };
        let page = People {
            frame: self.frame(asked, visitor, "People")?,
            sessions: shown
                .map(|(session, _)| Row {
                    is_this: session.id == visitor.session.id,
                    id: session.id,
                    name: session.name,
                    browser: browser(&session.browser).to_owned(),
                    begun: When::of(session.begun_at, &zone, now),
                    seen: When::of(session.seen_at, &zone, now),
                })
                .collect(),
            members: members
                .into_iter()
                .map(|member| {
                    let dealer = member.dealer_id.unwrap_or_else(|| "every dealer".to_owned());
                    (member.name, role_name(member.role), dealer)
                })
                .collect(),
            decides,
        };
        Ok(Reply::page(&page))
    }

    pub(in crate::console) fn audit(
        &self,
        asked: &Asked,
        visitor: &Visitor,
    ) -> Result<Reply, Stop> {
        let mut chains: Vec<(String, String)> = self
            .dealers(visitor)
            .iter()
            .map(|seller| (seller.dealer.terms.id.clone(), seller.dealer.terms.name.clone()))
            .collect();
        // What concerns all dealers is for those alone who see all of them.
        if visitor.dealer_id().is_none() {
            chains.push((EVERYBODY.to_owned(), "All dealers".to_owned()));
        }
        let wanted = asked.asked_for("of");
        let first = chains.first().map(|(id, _)| id.as_str());
        let chain = wanted.or(first).unwrap_or_default().to_owned();
        if !chains.iter().any(|(id, _)| *id == chain) {
            return Err(Stop::NotFound);
        }
        let before = asked.asked_for("before").and_then(|text| text.parse().ok());
        let entries = self.store.entries(&chain, before.unwrap_or(i64::MAX), ON_A_PAGE)?;
        let (now, zone) = (self.clock.now(), self.zone(visitor));
        let last = entries.last().map(|entry| entry.seq).filter(|seq| *seq > 1);
        let address = |id: &str| {
            let of = form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>();
            format!("{PATH}/audit?of={of}")
        };
        let page = Audit {
            frame: self.frame(asked, visitor, "Audit")?,
            // Only the first page begins with the last entry, whose hash
            // stands for the whole record.
            head: entries.first().filter(|_| before.is_none()).map(|entry| hex(&entry.hash)),
            earlier: last.map(|seq| format!("{}&before={seq}", address(&chain))),
            entries: entries.into_iter().map(|entry| line(entry, &zone, now)).collect(),
            chains: chains
                .into_iter()
                .map(|(id, name)| (address(&id), name, id == chain))
                .collect(),
        };
        Ok(Reply::page(&page))
    }
}

fn line(entry: Entry, zone: &TimeZone, now: Timestamp) -> Line {
    let Entry { seq, said, .. } = entry;
    let (action, is_lead) = said_of(said.action);
    // The number of a session tells nobody anything.
    let has_subject = !matches!(said.action, Action::SignedIn | Action::SignedOut);
    let subject = said.subject.filter(|_| has_subject).map(|subject| {
        let href = is_lead.then(|| format!("{PATH}/leads/{subject}"));
        (subject, href)
    });
    let when = When::of(said.at, zone, now);
    Line { seq, when, actor: said.actor, action, subject, detail: said.detail }
}

/// What somebody did, in words, and whether it was with a lead.
const fn said_of(action: Action) -> (&'static str, bool) {
    match action {
        Action::SignedIn => ("signed in", false),
        Action::SignedOut => ("signed out", false),
        Action::SessionEnded => ("ended a session of", false),
        Action::LeadSeen => ("saw", true),
        Action::NoteAdded => ("wrote a note about", true),
        Action::StageChanged => ("moved", true),
        Action::LeadResent => ("had delivered again", true),
        Action::LeadReleased => ("released", true),
        Action::ConsentRevoked => ("noted a withdrawn consent of", true),
        Action::LeadErased => ("erased", true),
        Action::LeadsListed => ("listed leads:", false),
        Action::LeadExported => ("exported", true),
        Action::EvidenceTaken => ("took the evidence of", true),
        Action::LeadDelivered => ("brought", true),
        Action::AgentProbed => ("probed the agent", false),
        Action::KeyChanged => ("changed the key of personal data", false),
        Action::KeyForgotten => ("gave up a lost key of personal data:", false),
        Action::RecordExported => ("exported this record", false),
        Action::MemberAdded => ("let in", false),
        Action::PasswordSet => ("set the password of", false),
        Action::MemberRemoved => ("shut out", false),
    }
}

/// Which browser it is, as far as its own words tell.
fn browser(said: &str) -> &str {
    // In this order: Edge also says that it is Chrome, and both that they are Safari.
    let known =
        [("Edg/", "Edge"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari")];
    let found = known.iter().find(|(sign, _)| said.contains(sign)).map(|(_, name)| *name);
    found.unwrap_or(if said.is_empty() { "unknown browser" } else { said })
}
