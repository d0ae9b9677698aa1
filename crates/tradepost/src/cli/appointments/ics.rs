//! Calendar as iCalendar (RFC 5545). Written here because the crates for it bring a second date
//! library with them, and this needs one component with a handful of properties.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::calendar::Visit;
use tradepost_dealer::record::AppointmentState;
use tradepost_document::catalog::Vocabulary as _;

use super::{CalendarRow, remark};

/// Maximum length of a line in bytes (RFC 5545 §3.1).
const LINE: usize = 75;

/// Writes a calendar. Appointments without a time are left out, because an event needs one.
pub(super) fn write(rows: &[CalendarRow], now: Timestamp) -> String {
    let mut out = String::new();
    line(&mut out, "BEGIN:VCALENDAR");
    line(&mut out, "VERSION:2.0");
    line(&mut out, "PRODID:-//Tradepost//Appointments//EN");
    line(&mut out, "METHOD:PUBLISH");
    for row in rows {
        event(&mut out, row, now);
    }
    line(&mut out, "END:VCALENDAR");
    out
}

fn event(out: &mut String, row: &CalendarRow, now: Timestamp) {
    let Some(start) = row.starts_at() else { return };
    let (end, status, sequence) = match row {
        CalendarRow::Appointment(visit) => {
            (visit.appointment.ends_at, status(visit), visit.appointment.version - 1)
        }
        CalendarRow::Blocked(block) => (Some(block.ends_at), "CONFIRMED", 0),
    };
    line(out, "BEGIN:VEVENT");
    line(out, &format!("UID:{}@tradepost", row.id()));
    line(out, &format!("DTSTAMP:{}", moment(now)));
    line(out, &format!("SEQUENCE:{sequence}"));
    line(out, &format!("DTSTART:{}", moment(start)));
    if let Some(end) = end {
        line(out, &format!("DTEND:{}", moment(end)));
    }
    line(out, &format!("STATUS:{status}"));
    let is_taken = match row {
        CalendarRow::Appointment(visit) => visit.appointment.state.occupies(),
        CalendarRow::Blocked(_) => true,
    };
    line(out, if is_taken { "TRANSP:OPAQUE" } else { "TRANSP:TRANSPARENT" });
    line(out, &format!("SUMMARY:{}", text(&summary(row))));
    line(out, &format!("LOCATION:{}", text(&row.rooftop())));
    line(out, &format!("DESCRIPTION:{}", text(&description(row))));
    line(out, "END:VEVENT");
}

fn status(visit: &Visit) -> &'static str {
    match visit.appointment.state {
        AppointmentState::Confirmed => "CONFIRMED",
        AppointmentState::Requested | AppointmentState::Proposed => "TENTATIVE",
        AppointmentState::Rejected
        | AppointmentState::Superseded
        | AppointmentState::Cancelled
        | AppointmentState::NoShow => "CANCELLED",
    }
}

fn summary(row: &CalendarRow) -> String {
    match row {
        CalendarRow::Appointment(visit) => {
            let kind = visit.appointment.kind.name().replace('_', " ");
            match LeadView::new(&visit.lead).customer_name() {
                name if name.is_empty() => kind,
                name => format!("{kind}: {name}"),
            }
        }
        CalendarRow::Blocked(block) => format!("Blocked ({}): {}", block.department, block.reason),
    }
}

fn description(row: &CalendarRow) -> String {
    let mut lines = vec![format!("State: {}", row.state())];
    if let CalendarRow::Appointment(visit) = row {
        let vehicle = LeadView::new(&visit.lead).vehicle().map(|vehicle| vehicle.title());
        lines.extend(vehicle.filter(|title| !title.is_empty()));
        lines.extend(remark(visit).map(str::to_owned));
        lines.push(format!("Lead: {}", visit.lead.lead_id));
    }
    lines.join("\n")
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
    let mut room = LINE;
    for c in content.chars() {
        if c.len_utf8() > room {
            out.push_str("\r\n ");
            // The leading space counts.
            room = LINE - 1;
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
        assert!(out.split("\r\n").all(|folded| folded.len() <= LINE), "{out}");
        assert_eq!(out.replace("\r\n ", ""), format!("{content}\r\n"));
    }

    #[test]
    fn texts_cannot_end_their_value() {
        assert_eq!(text("a;b,c\\d\r\nEND:VEVENT\u{7}"), "a\\;b\\,c\\\\d\\nEND:VEVENT");
    }
}
