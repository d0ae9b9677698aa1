//! Rows of the calendar as events of iCalendar.

use jiff::Timestamp;
use tradepost_dealer::adf::view::LeadView;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_runtime::icalendar::{self, CalendarEvent, CalendarSource, EventStatus};

use super::CalendarRow;

/// Writes a calendar. Appointments without a time are left out, because an event needs one.
pub(super) fn write(rows: &[CalendarRow], now: Timestamp) -> String {
    let events: Vec<_> = rows.iter().filter_map(|row| event(row, now)).collect();
    icalendar::write(CalendarSource::File, &events)
}

fn event(row: &CalendarRow, now: Timestamp) -> Option<CalendarEvent> {
    let starts_at = row.starts_at()?;
    let event = CalendarEvent {
        id: row.id().to_owned(),
        sequence: 0,
        stamp: now,
        modified_at: None,
        starts_at,
        ends_at: None,
        status: EventStatus::Confirmed,
        is_busy: true,
        summary: summary(row),
        location: row.rooftop(),
        description: description(row),
        url: None,
    };
    Some(match row {
        CalendarRow::Appointment(visit) => CalendarEvent {
            sequence: visit.appointment.version - 1,
            ends_at: visit.appointment.ends_at,
            status: EventStatus::from_visit(visit),
            is_busy: visit.appointment.state.occupies(),
            ..event
        },
        CalendarRow::Blocked(block) => CalendarEvent { ends_at: Some(block.ends_at), ..event },
    })
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
        lines.extend(visit.remark().map(str::to_owned));
        lines.push(format!("Lead: {}", visit.lead.lead_id));
    }
    lines.join("\n")
}
