//! What `dealer.information` answers: the dealer and its rooftops.
// R-DI-02 to R-DI-06

use serde::{Deserialize, Serialize};

/// A dealer or dealer group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DealerInformation {
    /// The group's name.
    pub name: String,
    /// A greeting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub welcome_message: Option<String>,
    /// At least one.
    pub rooftops: Vec<Rooftop>,
}

/// A physical store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rooftop {
    /// The name; listings and filters refer to it.
    pub name: String,
    /// The registered name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legal_name: Option<String>,
    /// Absolute address of its site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geo: Option<Geo>,
    /// E-mail addresses.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub emails: Vec<NamedValue>,
    /// Telephone numbers in E.164.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub phones: Vec<NamedValue>,
    /// Postal address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Opening hours by department.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub schedules: Vec<Schedule>,
    /// IANA time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// Remarks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Services such as `sales`, `service`, `financing`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub capabilities: Vec<String>,
}

/// A position in degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Geo {
    /// -90 to 90.
    pub latitude: f64,
    /// -180 to 180.
    pub longitude: f64,
}

/// A labelled contact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValue {
    /// Such as `Sales`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address or number.
    pub value: String,
}

/// A postal address; without a country it is in the US.
// R-DI-05
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// State or region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// City.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// Street and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_line_1: Option<String>,
    /// Suite and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_line_2: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip: Option<String>,
}

/// A department's opening hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Such as `sales`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// By day.
    pub value: WeeklyHours,
}

/// Opening hours by day; `null` is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeeklyHours {
    /// Monday.
    pub monday: Option<DayHours>,
    /// Tuesday.
    pub tuesday: Option<DayHours>,
    /// Wednesday.
    pub wednesday: Option<DayHours>,
    /// Thursday.
    pub thursday: Option<DayHours>,
    /// Friday.
    pub friday: Option<DayHours>,
    /// Saturday.
    pub saturday: Option<DayHours>,
    /// Sunday.
    pub sunday: Option<DayHours>,
}

/// From when to when a department is open, in the rooftop's time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayHours {
    /// `HH:MM`, 24 hours.
    pub open: String,
    /// `HH:MM`, 24 hours.
    pub close: String,
}
