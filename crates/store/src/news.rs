//! What processes on one database tell each other: hints, by which the others look sooner than they would
//! by themselves. Nothing depends on one being heard.

/// What another process has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeNotice {
    /// It has appended to a task's log.
    Appended {
        /// The task.
        task_id: String,
        /// The last entry.
        seq: i64,
        /// Whether the task has ended with it.
        ended: bool,
    },
    /// There is something to deliver.
    Due,
    /// An inventory, or which dealers there are, has changed.
    Changed,
    /// Nobody knows: something may have been missed, or is of a newer version.
    Any,
}

impl ChangeNotice {
    /// It as it is sent.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Appended { task_id, seq, ended } => {
                let word = if *ended { "ended" } else { "appended" };
                format!("{word} {seq} {task_id}")
            }
            Self::Due => "due".to_owned(),
            Self::Changed => "changed".to_owned(),
            Self::Any => "any".to_owned(),
        }
    }

    /// What was sent.
    pub(crate) fn read(line: &str) -> Self {
        let appended = |ended: bool, rest: &str| {
            let (seq, task_id) = rest.split_once(' ')?;
            Some(Self::Appended { task_id: task_id.to_owned(), seq: seq.parse().ok()?, ended })
        };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let known = match word {
            "appended" => appended(false, rest),
            "ended" => appended(true, rest),
            "due" => Some(Self::Due),
            "changed" => Some(Self::Changed),
            _ => None,
        };
        known.unwrap_or(Self::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_come_as_they_were_sent_and_what_is_not_understood_may_be_anything() {
        let appended =
            |ended| ChangeNotice::Appended { task_id: "a task".to_owned(), seq: 7, ended };
        for news in [
            appended(false),
            appended(true),
            ChangeNotice::Due,
            ChangeNotice::Changed,
            ChangeNotice::Any,
        ] {
            assert_eq!(ChangeNotice::read(&news.line()), news);
        }
        for line in ["", "appended", "appended x y", "replaced 1", "Due"] {
            assert_eq!(ChangeNotice::read(line), ChangeNotice::Any, "{line:?}");
        }
    }
}
