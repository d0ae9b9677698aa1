//! What a list of leads is asked for: filters and the place in the list, from a URL or a form.

use jiff::{SignedDuration, Timestamp};
use tradepost_admin::people::stored_name;
use tradepost_dealer::record::LeadState;
use tradepost_dealer::staff::StaffStage;
use tradepost_server::fault::InternalError;
use tradepost_store::Store;
use tradepost_store::staff::{FoundLeads, LeadCursor, LeadFilter, ListedLead, OwnerFilter};

use super::PageError;

/// Value of a field for the owner that stands for nobody. No member can have this name.
pub(crate) const NOBODY: &str = "-";

/// Filters of a list by state and stage.
pub(super) struct StateFilter {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    state: Option<LeadState>,
    stage: Option<StaffStage>,
}

const fn state_filter(
    name: &'static str,
    label: &'static str,
    state: Option<LeadState>,
    stage: Option<StaffStage>,
) -> StateFilter {
    StateFilter { name, label, state, stage }
}

/// All of them, the first being the default.
pub(super) const VIEWS: [StateFilter; 7] = [
    state_filter("all", "All", None, None),
    state_filter("new", "New", Some(LeadState::Received), Some(StaffStage::New)),
    state_filter("working", "Working", Some(LeadState::Received), Some(StaffStage::Working)),
    state_filter("sold", "Sold", Some(LeadState::Received), Some(StaffStage::Sold)),
    state_filter("lost", "Lost", Some(LeadState::Received), Some(StaffStage::Lost)),
    state_filter("held", "Held back", Some(LeadState::Held), None),
    state_filter("revoked", "Consent withdrawn", Some(LeadState::Revoked), None),
];

/// Age of leads for selection.
pub(super) struct LeadAge {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    age: SignedDuration,
}

const fn age(name: &'static str, label: &'static str, hours: i64) -> LeadAge {
    LeadAge { name, label, age: SignedDuration::from_hours(hours) }
}

/// All of them.
pub(super) const AGES: [LeadAge; 5] = [
    age("1h", "Older than an hour", 1),
    age("1d", "Older than a day", 24),
    age("3d", "Older than 3 days", 3 * 24),
    age("7d", "Older than 7 days", 7 * 24),
    age("30d", "Older than 30 days", 30 * 24),
];

/// Fields of a list, as they stand in its URL and in its forms.
const FIELDS: [&str; 8] = ["view", "q", "agent", "rooftop", "vehicle", "owner", "older", "due"];

/// Maximum length in characters of a text to filter by.
const MAX_FILTER_LENGTH: usize = 200;

/// What a list of leads is asked for.
#[derive(Debug, Default)]
pub(crate) struct LeadQuery {
    fields: Vec<(&'static str, String)>,
    view: usize,
    age: Option<usize>,
}

impl LeadQuery {
    /// Reads the fields of a request; `get` returns one by its name.
    pub(crate) fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Result<Self, PageError> {
        let mut this = Self::default();
        for name in FIELDS {
            let Some(value) = get(name) else { continue };
            if value.chars().count() > MAX_FILTER_LENGTH {
                return Err(PageError::Unusable("A filter can have at most 200 characters."));
            }
            let value = if name == "owner" { stored_name(value) } else { value.to_owned() };
            this.fields.push((name, value));
        }
        if let Some(wanted) = this.get("view") {
            let known = VIEWS.iter().position(|view| view.name == wanted);
            this.view = known.ok_or(PageError::NotFound)?;
        }
        if let Some(wanted) = this.get("older") {
            let known = AGES.iter().position(|age| age.name == wanted);
            this.age = Some(known.ok_or(PageError::NotFound)?);
        }
        Ok(this)
    }

    /// Returns a field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the text to search for, if there is one.
    pub(crate) fn text(&self) -> Option<&str> {
        self.get("q").filter(|text| !text.trim().is_empty())
    }

    /// Returns the name of the view.
    pub(super) fn view(&self) -> &'static str {
        VIEWS.get(self.view).map_or("all", |view| view.name)
    }

    /// Returns all fields, for the hidden fields of a form.
    pub(super) fn fields(&self) -> Vec<(&'static str, String)> {
        self.fields.clone()
    }

    /// Returns true when a filter other than view and text is set.
    pub(super) fn is_narrowed(&self) -> bool {
        self.fields.iter().any(|(name, _)| !matches!(*name, "view" | "q"))
    }

    /// Returns the filter, the newest leads first.
    pub(crate) fn filter<'q>(
        &'q self,
        dealer_id: Option<&'q str>,
        now: Timestamp,
    ) -> LeadFilter<'q> {
        let view = VIEWS.get(self.view);
        let owner = self.get("owner").map(|name| match name {
            NOBODY => OwnerFilter::Nobody,
            name => OwnerFilter::Member(name),
        });
        let age = self.age.and_then(|age| AGES.get(age));
        LeadFilter {
            dealer_id,
            state: view.and_then(|view| view.state),
            stage: view.and_then(|view| view.stage),
            agent: self.get("agent"),
            rooftop: self.get("rooftop"),
            vehicle_id: self.get("vehicle"),
            owner,
            received_before: age.and_then(|age| now.checked_sub(age.age).ok()),
            due_before: self.get("due").map(|_| now),
            ..LeadFilter::default()
        }
    }

    /// Returns the query of a URL with these fields, some of them replaced or, when empty, left out.
    pub(crate) fn url(&self, replaced: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let kept = self.fields.iter().map(|(name, value)| (*name, value.as_str()));
        let kept = kept.filter(|(name, _)| replaced.iter().all(|(other, _)| other != name));
        let added = replaced.iter().copied().filter(|(_, value)| !value.is_empty());
        query.extend_pairs(kept.chain(added));
        query.finish()
    }
}

/// Place in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ListPlace {
    /// At its beginning.
    #[default]
    Beginning,
    /// After this lead.
    After(LeadCursor),
    /// Before this lead.
    Before(LeadCursor),
    /// At its end.
    End,
}

impl ListPlace {
    /// Reads a place from the fields `after`, `before` and `end`.
    pub(super) fn read<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Result<Self, PageError> {
        let cursor = |name| get(name).map(|text| read_cursor(text).ok_or(PageError::NotFound));
        if let Some(after) = cursor("after") {
            return Ok(Self::After(after?));
        }
        if let Some(before) = cursor("before") {
            return Ok(Self::Before(before?));
        }
        Ok(if get("end").is_some() { Self::End } else { Self::Beginning })
    }
}

/// Writes a cursor as it stands in a URL.
pub(super) fn cursor_text(cursor: LeadCursor) -> String {
    format!("{}-{}", cursor.received_at.as_millisecond(), cursor.seq)
}

fn read_cursor(text: &str) -> Option<LeadCursor> {
    let (at, seq) = text.split_once('-')?;
    let received_at = Timestamp::from_millisecond(at.parse().ok()?).ok()?;
    Some(LeadCursor { received_at, seq: seq.parse().ok()? })
}

/// Page of a list.
#[derive(Debug, Default)]
pub(super) struct LeadPageRows {
    /// The leads, in the order of the list.
    pub(super) leads: Vec<ListedLead>,
    /// Place of the page before, if there is one.
    pub(super) previous: Option<String>,
    /// Place of the page after, if there is one.
    pub(super) next: Option<String>,
    /// True when a search did not read all leads.
    pub(super) is_cut: bool,
}

impl LeadPageRows {
    /// Reads a page of a list whose order the filter says.
    pub(super) fn read(
        store: &Store,
        filter: &LeadFilter<'_>,
        text: Option<&str>,
        place: ListPlace,
        size: u32,
    ) -> Result<Self, InternalError> {
        let is_reversed = matches!(place, ListPlace::Before(_) | ListPlace::End);
        let cursor = match place {
            ListPlace::After(cursor) | ListPlace::Before(cursor) => Some(cursor),
            ListPlace::Beginning | ListPlace::End => None,
        };
        let filter = LeadFilter {
            oldest_first: filter.oldest_first != is_reversed,
            after: cursor,
            // One more than is shown, which tells whether there is a further page.
            limit: size + 1,
            ..*filter
        };
        let FoundLeads { mut leads, is_cut } = match text {
            Some(text) => store.find_leads(&filter, text)?,
            None => FoundLeads { leads: store.lead_list(&filter)?, is_cut: false },
        };
        let is_more = leads.len() > size as usize;
        leads.truncate(size as usize);
        if is_reversed {
            leads.reverse();
        }
        let has_cursor = cursor.is_some();
        let has_previous = if is_reversed { is_more } else { has_cursor };
        let has_next = if is_reversed { has_cursor } else { is_more };
        let previous =
            leads.first().filter(|_| has_previous).map(|lead| cursor_text(lead.cursor()));
        let next = leads.last().filter(|_| has_next).map(|lead| cursor_text(lead.cursor()));
        Ok(Self { leads, previous, next, is_cut })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let received_at = Timestamp::from_millisecond(1_777_000_000_123).unwrap();
        let cursor = LeadCursor { received_at, seq: 42 };
        assert_eq!(cursor_text(cursor), "1777000000123-42");
        assert_eq!(read_cursor("1777000000123-42"), Some(cursor));
        for text in ["", "-", "1", "1-x", "x-1", "99999999999999999999-1"] {
            assert_eq!(read_cursor(text), None, "{text}");
        }
    }

    #[test]
    fn leads_are_filtered_by_the_name_of_their_owner_as_stored() {
        for (asked, expected) in [
            ("Dora", OwnerFilter::Member("dora")),
            ("oidc:Ada", OwnerFilter::Member("oidc:Ada")),
            (NOBODY, OwnerFilter::Nobody),
        ] {
            let query = LeadQuery::read(|name| (name == "owner").then_some(asked)).unwrap();
            let filter = query.filter(None, Timestamp::UNIX_EPOCH);
            assert_eq!(filter.owner, Some(expected), "{asked}");
        }
    }
}
