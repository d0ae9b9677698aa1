//! Calendar as iCalendar (RFC 5545). Written here because the crates for it bring a second date
//! library with them, and this needs one component with a handful of properties.
//!
//! All times are in UTC (§3.3.5, form 2): unlike local times with a zone they are unambiguous on days
//! on which the clocks change, and calendar programs show them on their user's clocks.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::calendar::Visit;
use tradepost_dealer::record::AppointmentState;

/// Maximum length of a line in bytes (RFC 5545 §3.1).
const MAX_LINE_BYTES: usize = 75;

/// An event of a calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarEvent {
    /// Id, which stays the same when the event changes.
    pub id: String,
    /// Number of changes.
    pub sequence: i64,
    /// Moment to which the event is stated.
    pub stamp: Timestamp,
    /// Moment of the last change, where it is known.
    pub modified_at: Option<Timestamp>,
    /// Start.
    pub starts_at: Timestamp,
    /// End, exclusive.
    pub ends_at: Option<Timestamp>,
    /// State.
    pub status: EventStatus,
    /// True when it takes a place.
    pub is_busy: bool,
    /// Title.
    pub summary: String,
    /// Place.
    pub location: String,
    /// Further text.
    pub description: String,
    /// Address of a page about the event.
    pub url: Option<String>,
}

/// State of an event (§3.8.1.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    /// It takes place.
    Confirmed,
    /// It is not agreed on yet.
    Tentative,
    /// It does not take place.
    Cancelled,
}

impl EventStatus {
    /// Returns the state of an appointment.
    #[must_use]
    pub const fn from_visit(visit: &Visit) -> Self {
        match visit.appointment.state {
            AppointmentState::Confirmed => Self::Confirmed,
            AppointmentState::Requested | AppointmentState::Proposed => Self::Tentative,
            AppointmentState::Rejected
            | AppointmentState::Superseded
            | AppointmentState::Cancelled
            | AppointmentState::NoShow => Self::Cancelled,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "CONFIRMED",
            Self::Tentative => "TENTATIVE",
            Self::Cancelled => "CANCELLED",
        }
    }
}

/// What is said of a calendar as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarSource<'a> {
    /// A file that is handed over once.
    File,
    /// A feed that calendar programs read again and again.
    Feed {
        /// Name of the calendar.
        name: &'a str,
        /// IANA name of the time zone in which its times are meant, where it is known.
        time_zone: Option<&'a str>,
    },
}

/// Writes a calendar.
#[must_use]
pub fn write(source: CalendarSource<'_>, events: &[CalendarEvent]) -> String {
    let mut out = String::new();
    line(&mut out, "BEGIN:VCALENDAR");
    line(&mut out, "VERSION:2.0");
    line(&mut out, "PRODID:-//Tradepost//Appointments//EN");
    match source {
        CalendarSource::File => line(&mut out, "METHOD:PUBLISH"),
        // The first of each pair is in RFC 7986, the second is what programs understood before it.
        CalendarSource::Feed { name, time_zone } => {
            line(&mut out, &format!("NAME:{}", text(name)));
            line(&mut out, &format!("X-WR-CALNAME:{}", text(name)));
            line(&mut out, "REFRESH-INTERVAL;VALUE=DURATION:PT15M");
            line(&mut out, "X-PUBLISHED-TTL:PT15M");
            if let Some(zone) = time_zone {
                line(&mut out, &format!("X-WR-TIMEZONE:{}", text(zone)));
            }
        }
    }
    for event in events {
        write_event(&mut out, event);
    }
    line(&mut out, "END:VCALENDAR");
    out
}

fn write_event(out: &mut String, event: &CalendarEvent) {
    line(out, "BEGIN:VEVENT");
    line(out, &format!("UID:{}@tradepost", event.id));
    line(out, &format!("DTSTAMP:{}", moment(event.stamp)));
    if let Some(modified_at) = event.modified_at {
        line(out, &format!("LAST-MODIFIED:{}", moment(modified_at)));
    }
    line(out, &format!("SEQUENCE:{}", event.sequence));
    line(out, &format!("DTSTART:{}", moment(event.starts_at)));
    if let Some(ends_at) = event.ends_at {
        line(out, &format!("DTEND:{}", moment(ends_at)));
    }
    line(out, &format!("STATUS:{}", event.status.name()));
    line(out, if event.is_busy { "TRANSP:OPAQUE" } else { "TRANSP:TRANSPARENT" });
    line(out, &format!("SUMMARY:{}", text(&event.summary)));
    line(out, &format!("LOCATION:{}", text(&event.location)));
    line(out, &format!("DESCRIPTION:{}", text(&event.description)));
    if let Some(url) = &event.url {
        line(out, &format!("URL:{url}"));
    }
    line(out, "END:VEVENT");
}

/// Formats a time in UTC (§3.3.5, form 2).
fn moment(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Escapes text so that it neither ends the value nor begins another line (§3.3.11).
fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            ';' => out.push_str("\\;"),
            ',' => out.push_str("\\,"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Writes a line, folded when it is too long (§3.1), never inside of a character.
fn line(out: &mut String, content: &str) {
    let mut room = MAX_LINE_BYTES;
    for c in content.chars() {
        if c.len_utf8() > room {
            out.push_str("\r\n ");
            // The leading space counts.
            room = MAX_LINE_BYTES - 1;
        }
        room -= c.len_utf8();
        out.push(c);
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_fold_between_characters_and_unfold_again() {
        let content = format!("SUMMARY:{}", "äö€ ".repeat(40));
        let mut out = String::new();
        line(&mut out, &content);
        assert!(out.split("\r\n").all(|folded| folded.len() <= MAX_LINE_BYTES), "{out}");
        assert_eq!(out.replace("\r\n ", ""), format!("{content}\r\n"));
    }

    #[test]
    fn texts_cannot_end_their_value() {
        assert_eq!(text("a;b,c\\d\r\nEND:VEVENT\u{7}"), "a\\;b\\,c\\\\d\\nEND:VEVENT");
    }
}
