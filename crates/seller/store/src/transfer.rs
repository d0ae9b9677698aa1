//! Moving the data of a folder into a database: row by row, in complete parts, so that an interrupted move continues,
//! and compared at the end.

use sha2::{Digest as _, Sha256};
use tradepost_document::fault::InternalError;

use super::Store;
use super::tables::transfer::{Sum, Table, TransferClaim};

/// Number of rows in a part, which is written in one transaction.
const PART_ROWS: usize = 500;

/// Progress of moving a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRows {
    /// Name of the table.
    pub table: String,
    /// Number of rows that have arrived.
    pub done: u64,
    /// Total number of rows.
    pub of: u64,
}

/// Reason why the data of a folder was not moved, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum NotMoved {
    /// The database holds other data; the name of a table.
    #[error("it holds other data ({0})")]
    Used(String),
    /// Other data was moved or is being moved there, or the folder has changed since.
    #[error("something else was moved there, or the folder has changed since")]
    Other,
    /// A server uses the database at the moment.
    #[error("a server uses it")]
    Served,
    /// The rows that arrived differ from those sent; the name of a table.
    #[error("{0} is not the same there")]
    Differs(String),
    /// One of the two cannot be used.
    #[error("{}", .0.chain())]
    Broken(InternalError),
}

// By hand: `#[from]` would make it the source as well, and the text has the whole chain.
impl From<InternalError> for NotMoved {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}

impl Store {
    /// Moves everything to a database that is empty, or to which the same move has begun; the rows here stay. Calls
    /// `on_progress` with the rows moved so far. No other process may write to either store meanwhile: a server does
    /// not start on the target until everything has arrived. When it has arrived already, nothing is changed.
    ///
    /// # Errors
    /// When the database is used for something else, a store fails, or the rows that arrived differ.
    pub fn move_to(
        &self,
        target: &Self,
        mut on_progress: impl FnMut(&MovedRows),
    ) -> Result<Vec<MovedRows>, NotMoved> {
        let tables = target.read(|db| db.tables())?;
        let sum = |store: &Self, table: &Table| store.read(|db| db.sum(table));
        let sums = tables.iter().map(|table| sum(self, table)).collect::<Result<Vec<_>, _>>()?;
        // Claimed before the first row: a move that continues after an interruption counts the rows there and does not
        // compare them, which is correct only while the folder is unchanged.
        let claimed = tables.clone();
        let digest = digest(&tables, &sums);
        let claim = target.write_blocking(move |tx| tx.claim_for_move(&claimed, &digest))?;
        let is_whole = match claim {
            TransferClaim::Begins => false,
            TransferClaim::Whole => true,
            TransferClaim::Used(table) => return Err(NotMoved::Used(table)),
            TransferClaim::Other => return Err(NotMoved::Other),
            TransferClaim::Served => return Err(NotMoved::Served),
        };
        let mut moved = Vec::new();
        for (table, expected) in tables.iter().zip(&sums) {
            if !is_whole {
                self.move_table(target, table, expected.rows, &mut on_progress)?;
                // Also when no row was left to move: an earlier attempt may have been interrupted just before this.
                let counted = table.clone();
                target.write_blocking(move |tx| tx.count_on(&counted))?;
            }
            if sum(target, table)? != *expected {
                let name = table.name.clone();
                // Rows that had all arrived were changed by use.
                return Err(if is_whole { NotMoved::Used(name) } else { NotMoved::Differs(name) });
            }
            let name = table.name.clone();
            let rows = expected.rows;
            moved.push(MovedRows { table: name, done: rows, of: rows });
        }
        if !is_whole {
            self.move_snapshots(target)?;
            target.write_blocking(|tx| tx.note_moved())?;
        }
        Ok(moved)
    }

    /// Copies the rows of a table that the target does not have yet, in parts.
    fn move_table(
        &self,
        target: &Self,
        table: &Table,
        of: u64,
        on_progress: &mut impl FnMut(&MovedRows),
    ) -> Result<(), InternalError> {
        // Rows are moved in the order of their key and in complete parts, so the rows there are the first ones.
        let target_rows = target.read(|db| db.count(table))?;
        let mut seen = 0;
        let mut done = target_rows;
        let mut part = Vec::new();
        let mut write = |part: Vec<_>| {
            let after = done;
            let rows = part.len() as u64;
            let table = table.clone();
            let name = table.name.clone();
            target.write_blocking(move |tx| tx.add_rows(&table, after, &part))?;
            done += rows;
            on_progress(&MovedRows { table: name, done, of });
            Ok::<_, InternalError>(())
        };
        self.read(|db| {
            db.each_row(table, |row| {
                seen += 1;
                if seen > target_rows {
                    part.push(row);
                }
                if part.len() < PART_ROWS { Ok(()) } else { write(std::mem::take(&mut part)) }
            })
        })?;
        if part.is_empty() { Ok(()) } else { write(part) }
    }

    /// Moves the snapshots that can be read; others are built again when needed.
    fn move_snapshots(&self, target: &Self) -> Result<(), InternalError> {
        for (dealer_id, name) in self.read(|db| db.snapshot_names())? {
            let Some(Ok(bytes)) = self.snapshots.as_ref().map(|files| files.read(&name)) else {
                continue;
            };
            let put = move |tx: &super::StoreTransaction<'_>| {
                tx.put_snapshot(&dealer_id, &name, &[&bytes])
            };
            target.write_blocking(put)?;
        }
        Ok(())
    }
}

fn digest(tables: &[Table], sums: &[Sum]) -> Vec<u8> {
    let mut whole = Sha256::new();
    for (table, sum) in tables.iter().zip(sums) {
        whole.update(table.name.as_bytes());
        whole.update(sum.bytes());
    }
    whole.finalize().to_vec()
}
