//! Data of `dealer.information`: the dealer and its rooftops.
// The members are those of AAP 1.1 dealer-information (R-DI-02 to R-DI-06).

use serde::{Deserialize, Serialize};

/// A dealer or dealer group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DealerInformation {
    /// Name of the dealer or group.
    pub name: String,
    /// Greeting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub welcome_message: Option<String>,
    /// Rooftops; at least one.
    pub rooftops: Vec<Rooftop>,
}

/// A location of a dealer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rooftop {
    /// Name, to which listings and filters refer.
    pub name: String,
    /// Registered name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legal_name: Option<String>,
    /// Absolute address of its website.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
    /// Position.
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
    /// Notes for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Services such as `sales`, `service`, `financing`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub capabilities: Vec<String>,
}

/// A position in degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Geo {
    /// Latitude, -90 to 90.
    pub latitude: f64,
    /// Longitude, -180 to 180.
    pub longitude: f64,
}

/// A labelled contact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValue {
    /// Label, such as `Sales`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// E-mail address or telephone number.
    pub value: String,
}

/// A postal address; without a country it is in the US.
// A country that is left out means the US (AAP 1.1 behavior-rules, R-DI-05).
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
    /// Suite or similar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_line_2: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip: Option<String>,
}

/// Opening hours of a department.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Name of the department, such as `sales`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Hours by day.
    pub value: WeeklyHours,
}

/// Opening hours by day; `null` means closed.
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

/// Opening hours of a day, in the rooftop's time zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayHours {
    /// Opening time as `HH:MM`, 24 hours.
    pub open: String,
    /// Closing time as `HH:MM`, 24 hours.
    pub close: String,
}
