//! What the calendar page shows: view, day, rooftop and department. It stands in the page's address, and in hidden fields
//! of its forms, so that a form leads back to where it was sent from.

use jiff::civil::Date;
use tradepost_dealer::calendar::Department;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::words;

use super::request::ConsoleRequest;
use super::{PATH, PageError};

words! {
    /// A view of the calendar.
    pub enum CalendarView {
        /// One day, with a column for each department.
        Day = "day",
        /// One week, with a column for each day.
        Week = "week",
        /// Seven days as a list, of all rooftops.
        List = "list",
    }
}

/// What the calendar page shows. What is not named is chosen by the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CalendarPlace {
    /// View; the week when `None`.
    pub(super) view: Option<CalendarView>,
    /// Day, or a day of the week; today when `None`.
    pub(super) date: Option<Date>,
    /// Id of the rooftop's dealer.
    pub(super) dealer_id: Option<String>,
    /// Name of the rooftop.
    pub(super) rooftop: Option<String>,
    /// Department of the week.
    pub(super) department: Option<Department>,
}

/// A hidden field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HiddenField {
    pub(super) name: &'static str,
    pub(super) value: String,
}

impl CalendarPlace {
    /// Reads the query of the page. A date that is none means today.
    pub(super) fn from_query(asked: &ConsoleRequest) -> Result<Self, PageError> {
        let word = |name| asked.asked_for(name);
        // Addresses of earlier versions name the first day of the list.
        let from = word("from");
        let view = match word("view") {
            Some(name) => Some(CalendarView::from_name(name).ok_or(PageError::NotFound)?),
            None => from.map(|_| CalendarView::List),
        };
        let department = word("department");
        let department =
            department.map(|name| Department::from_name(name).ok_or(PageError::NotFound));
        Ok(Self {
            view,
            date: word("date").or(from).and_then(|text| text.parse().ok()),
            dealer_id: word("dealer").map(str::to_owned),
            rooftop: word("rooftop").map(str::to_owned),
            department: department.transpose()?,
        })
    }

    /// Reads the hidden fields of a form; `None` for a form of another page.
    pub(super) fn from_form(asked: &ConsoleRequest) -> Option<Self> {
        let word = |name| asked.filled_in(name);
        Some(Self {
            view: Some(CalendarView::from_name(word("in_view")?)?),
            date: word("in_date").and_then(|text| text.parse().ok()),
            dealer_id: word("in_dealer").map(str::to_owned),
            rooftop: word("in_rooftop").map(str::to_owned),
            department: word("in_department").and_then(Department::from_name),
        })
    }

    /// Returns the hidden fields for forms on the page.
    pub(super) fn fields(&self) -> Vec<HiddenField> {
        let field = |name, value: Option<String>| value.map(|value| HiddenField { name, value });
        let [view, date, dealer, rooftop, department] = self.values();
        let fields = [
            field("in_view", view),
            field("in_date", date),
            field("in_dealer", dealer),
            field("in_rooftop", rooftop),
            field("in_department", department),
        ];
        fields.into_iter().flatten().collect()
    }

    /// Returns the address of the page, with the name of what was done.
    pub(super) fn address(&self, done: Option<&str>) -> String {
        let names = ["view", "date", "dealer", "rooftop", "department"];
        let named = names.into_iter().zip(self.values());
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in named {
            value.map(|value| query.append_pair(name, &value));
        }
        done.map(|done| query.append_pair("done", done));
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{PATH}/appointments{mark}{query}")
    }

    fn values(&self) -> [Option<String>; 5] {
        [
            self.view.map(|view| view.name().to_owned()),
            self.date.map(|date| date.to_string()),
            self.dealer_id.clone(),
            self.rooftop.clone(),
            self.department.map(|department| department.name().to_owned()),
        ]
    }
}
