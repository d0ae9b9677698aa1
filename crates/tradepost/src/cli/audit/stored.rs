//! Reports checks of data beside the chains: notes and staff against the audit log, and that everything
//! encrypted can be decrypted.

use tradepost_admin::audit::StoredContents;
use tradepost_document::json::{Value, json, object};
use tradepost_store::verification::{
    NoteCheck, NoteFault, RowOwner, SealedCheck, StaffCheck, StaffFault, Unreadable,
};

use crate::cli::Context;

/// Result of these checks.
pub(super) struct ContentsCheck {
    notes: NoteCheck,
    staff: StaffCheck,
    sealed: SealedCheck,
}

impl From<StoredContents> for ContentsCheck {
    fn from(contents: StoredContents) -> Self {
        let StoredContents { notes, staff, sealed } = contents;
        Self { notes, staff, sealed }
    }
}

impl ContentsCheck {
    /// Describes the mismatches, line by line.
    pub(super) fn fault_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for NoteFault { lead_id, kind } in &self.notes.faults {
            lines.push(format!("{lead_id}: {}", kind.summary()));
        }
        for StaffFault { name, kind } in &self.staff.faults {
            lines.push(format!("member {name} {}", kind.summary()));
        }
        for row in &self.sealed.faults {
            let whose = match &row.owner {
                Some(RowOwner::Lead(lead_id)) => lead_id.clone(),
                Some(RowOwner::Member(name)) => format!("member {name}"),
                None => "an unknown lead".to_owned(),
            };
            let table = row.table;
            lines.push(format!(
                "{whose}: a row of {table} cannot be decrypted: it was changed, or moved here from another row"
            ));
        }
        lines
    }

    /// Returns the result as JSON.
    pub(super) fn document(&self) -> Value {
        let note =
            |fault: &NoteFault| json!({"lead": fault.lead_id, "fault": fault.kind.summary()});
        let member =
            |fault: &StaffFault| json!({"member": fault.name, "fault": fault.kind.summary()});
        let row = |row: &Unreadable| object!({"table": row.table, "lead": row.lead(), "member"?: row.member()});
        json!({
            "notes": json!({
                "verified": self.notes.verified,
                "unverified": self.notes.unverified,
                "faults": self.notes.faults.iter().map(note).collect::<Vec<_>>(),
            }),
            "staff": json!({
                "members": self.staff.members,
                "unverified_passwords": self.staff.unverified_passwords,
                "faults": self.staff.faults.iter().map(member).collect::<Vec<_>>(),
            }),
            "sealed": json!({
                "opened": self.sealed.opened,
                "faults": self.sealed.faults.iter().map(row).collect::<Vec<_>>(),
            }),
        })
    }

    /// Prints the result for people, and what cannot be checked.
    pub(super) fn print(&self, context: &Context) {
        let output = context.output;
        output.line(format!("notes: {} as recorded", self.notes.verified));
        output.line(format!("staff: {} as recorded", self.staff.members));
        output.line(format!("encrypted rows: {} decrypted", self.sealed.opened));
        if self.notes.unverified > 0 {
            output.talk(format!(
                "{} notes cannot be verified: they were written before the audit log had their hashes",
                self.notes.unverified
            ));
        }
        if self.staff.unverified_passwords > 0 {
            output.talk(format!(
                "{} passwords cannot be verified: they were set before the audit log named them; \
                 `tradepost console user set-password` sets new ones",
                self.staff.unverified_passwords
            ));
        }
    }
}
