//! Text of an alert, in the format of its destination.

use jiff::Timestamp;
use tradepost_dealer::delivery::{ChatStyle, MessageFormat, WrittenMessage, chat};
use tradepost_document::json::{Value, json};
use tradepost_store::AlertNotice;

use super::watch::AlertProblem;
use crate::config::delivery::DeliveryConfig;

/// All current problems, and those that are over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertMessage {
    /// Time of writing.
    pub at: Timestamp,
    /// Problems that the destination does not know of, or that have got worse.
    pub new: Vec<AlertNotice>,
    /// Problems that it knows of.
    pub goes_on: Vec<AlertNotice>,
    /// Problems that are over.
    pub over: Vec<AlertNotice>,
}

impl AlertMessage {
    /// Returns the subject in one line.
    #[must_use]
    pub fn subject(&self) -> String {
        let new = self.new.len();
        let over = self.over.len();
        let all = new + self.goes_on.len();
        match (new, self.goes_on.len(), over) {
            (0, 0, _) => "Tradepost: all problems are over".to_owned(),
            (0, _, 0) => format!("Tradepost: {} ongoing", counted(all)),
            (0, ..) => format!("Tradepost: {over} over, {} ongoing", counted(all)),
            (_, 0, 0) => format!("Tradepost: {}", counted(all)),
            _ => format!("Tradepost: {}, {new} of them new", counted(all)),
        }
    }

    /// Writes the message in the format of a destination.
    #[must_use]
    pub fn write(&self, to: &DeliveryConfig, id: &str) -> WrittenMessage {
        let subject = self.subject();
        let body = match &to.destination.form {
            // A destination by mail, which is configured with ADF for leads, gets text for people here.
            MessageFormat::Adf(_) => self.text(&subject),
            MessageFormat::Event => self.document(&subject, id).to_string(),
            MessageFormat::Chat { style, .. } => self.chat(*style, &subject).to_string(),
        };
        WrittenMessage { subject, body }
    }

    fn parts(&self) -> [(&'static str, &[AlertNotice]); 3] {
        [("New", &self.new), ("Ongoing", &self.goes_on), ("Over", &self.over)]
    }

    fn text(&self, subject: &str) -> String {
        let mut text = format!("{subject}\n");
        for (label, rows) in self.parts().into_iter().filter(|(_, rows)| !rows.is_empty()) {
            text.push_str(&format!("\n{label}:\n"));
            for row in rows {
                text.push_str(&format!("- {} (since {})\n", row.what, moment(row.since)));
            }
        }
        text.push_str(
            "\nRun `tradepost doctor` to check everything; docs/operating.md says what to do.\n",
        );
        text
    }

    fn document(&self, subject: &str, id: &str) -> Value {
        let row = |row: &AlertNotice| {
            let count = AlertProblem::has_count(&row.key).then_some(row.level);
            json!({"key": row.key, "message": row.what, "count": count,
                   "since": moment(row.since)})
        };
        let rows = |rows: &[AlertNotice]| rows.iter().map(row).collect::<Vec<_>>();
        json!({
            "type": "tradepost.alert",
            "id": id,
            "created_at": moment(self.at),
            "summary": subject,
            "all_well": self.new.is_empty() && self.goes_on.is_empty(),
            "new": rows(&self.new),
            "ongoing": rows(&self.goes_on),
            "over": rows(&self.over),
        })
    }

    fn chat(&self, style: ChatStyle, subject: &str) -> Value {
        let lines: Vec<_> = self
            .parts()
            .into_iter()
            .flat_map(|(label, rows)| rows.iter().map(move |row| (label, row.what.clone())))
            .collect();
        chat::message(style, subject, &lines)
    }
}

fn counted(number: usize) -> String {
    if number == 1 { "1 problem".to_owned() } else { format!("{number} problems") }
}

fn moment(at: Timestamp) -> String {
    tradepost_document::format::rfc3339(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_says_how_things_stand() {
        let row = |key: &str| AlertNotice {
            key: key.to_owned(),
            what: key.to_owned(),
            level: 0,
            since: Timestamp::UNIX_EPOCH,
            noticed_at: Timestamp::UNIX_EPOCH,
        };
        let rows =
            |number: usize| (0..number).map(|index| row(&index.to_string())).collect::<Vec<_>>();
        for (new, goes_on, over, subject) in [
            (1, 0, 0, "1 problem"),
            (2, 1, 1, "3 problems, 2 of them new"),
            (0, 2, 0, "2 problems ongoing"),
            (0, 1, 3, "3 over, 1 problem ongoing"),
            (0, 0, 2, "all problems are over"),
        ] {
            let new = rows(new);
            let goes_on = rows(goes_on);
            let over = rows(over);
            let message = AlertMessage { at: Timestamp::UNIX_EPOCH, new, goes_on, over };
            assert_eq!(message.subject(), format!("Tradepost: {subject}"));
        }
    }
}
