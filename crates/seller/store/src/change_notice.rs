//! Notices that processes on one database send each other: hints to look sooner than they would by themselves. Nothing
//! depends on one arriving.

/// Change made by another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeNotice {
    /// New entry of a task's log.
    Appended {
        /// The task.
        task_id: String,
        /// The last entry.
        seq: i64,
        /// True when the task has ended with it.
        ended: bool,
    },
    /// A delivery became due.
    Due,
    /// An inventory, or the set of dealers, has changed.
    Changed,
    /// Unknown change: something may have been missed, or is of a newer version.
    Any,
}

impl ChangeNotice {
    /// Returns the notice as it is sent.
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

    /// Reads a notice; one that is not understood is [`ChangeNotice::Any`].
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
    fn notices_arrive_as_sent_and_unknown_ones_are_read_as_any() {
        let appended =
            |ended| ChangeNotice::Appended { task_id: "a task".to_owned(), seq: 7, ended };
        for notice in [
            appended(false),
            appended(true),
            ChangeNotice::Due,
            ChangeNotice::Changed,
            ChangeNotice::Any,
        ] {
            assert_eq!(ChangeNotice::read(&notice.line()), notice);
        }
        for line in ["", "appended", "appended x y", "replaced 1", "Due"] {
            assert_eq!(ChangeNotice::read(line), ChangeNotice::Any, "{line:?}");
        }
    }
}
