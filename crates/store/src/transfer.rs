//! Moving what a folder keeps to a database: row by row, in parts that are whole, so that it goes on where
//! it was interrupted, and compared in the end.

use sha2::{Digest as _, Sha256};
use tradepost_wire::fault::Fault;

use super::Store;
use super::tables::transfer::{Sum, Table};

/// How many rows are written together.
const PART: usize = 500;

/// What was moved of a table so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The table.
    pub table: String,
    /// How many rows are there.
    pub done: u64,
    /// How many there will be.
    pub of: u64,
}

impl Store {
    /// Moves everything to a database that is empty, or to which the same was being moved; what is here
    /// stays. `tell` hears how far it is. Nobody may write to either meanwhile.
    ///
    /// # Errors
    /// That the database holds something else, that a store fails, or that what arrived is not the same.
    pub fn move_to(
        &self,
        target: &Self,
        mut tell: impl FnMut(&Moved),
    ) -> Result<Vec<Moved>, Fault> {
        let tables = target.read(|db| db.tables())?;
        let sum = |store: &Self, table: &Table| store.read(|db| db.sum(table));
        let sums = tables.iter().map(|table| sum(self, table)).collect::<Result<Vec<_>, _>>()?;
        // Before the first row: whoever goes on after an interruption counts what is there and does
        // not compare it, which is good only while the folder is the same.
        target.claim(&tables, digest(&tables, &sums))?;
        let mut moved = Vec::new();
        for (table, wanted) in tables.iter().zip(&sums) {
            self.move_table(target, table, wanted.rows, &mut tell)?;
            // Also where no row was left to move: an earlier attempt may have ended just before
            // this.
            let counted = table.clone();
            target.write_blocking(move |tx| tx.count_on(&counted))?;
            if sum(target, table)? != *wanted {
                let cause =
                    format!("{} is not the same there; begin with an empty one", table.name);
                return Err(Fault::new("comparing what was moved", cause));
            }
            let (name, rows) = (table.name.clone(), wanted.rows);
            moved.push(Moved { table: name, done: rows, of: rows });
        }
        self.move_snapshots(target)?;
        Ok(moved)
    }

    /// Sees to it that nothing else is or comes there.
    fn claim(&self, tables: &[Table], digest: Vec<u8>) -> Result<(), Fault> {
        const WHAT: &str = "looking at the database";
        let known = self.read(|db| db.moved_from())?;
        if let Some(known) = known {
            let cause = "something else was being moved there, or the folder has changed since; \
                         name an empty database";
            return if known == digest { Ok(()) } else { Err(Fault::new(WHAT, cause)) };
        }
        for table in tables {
            if self.read(|db| db.count(table))? > 0 {
                let cause = format!("it holds other data ({}); name an empty one", table.name);
                return Err(Fault::new(WHAT, cause));
            }
        }
        self.write_blocking(move |tx| tx.note_moved_from(&digest))
    }

    fn move_table(
        &self,
        target: &Self,
        table: &Table,
        of: u64,
        tell: &mut impl FnMut(&Moved),
    ) -> Result<(), Fault> {
        // Rows go over in the order of their key and in parts that are whole, so that what is there
        // are the first ones.
        let there = target.read(|db| db.count(table))?;
        let (mut seen, mut done, mut part) = (0, there, Vec::new());
        let mut write = |part: Vec<_>| {
            let (after, rows) = (done, part.len() as u64);
            let table = table.clone();
            let name = table.name.clone();
            target.write_blocking(move |tx| tx.add_rows(&table, after, &part))?;
            done += rows;
            tell(&Moved { table: name, done, of });
            Ok::<_, Fault>(())
        };
        self.read(|db| {
            db.each_row(table, |row| {
                seen += 1;
                if seen > there {
                    part.push(row);
                }
                if part.len() < PART { Ok(()) } else { write(std::mem::take(&mut part)) }
            })
        })?;
        if part.is_empty() { Ok(()) } else { write(part) }
    }

    /// Those that can be read; others are made again where they are asked for.
    fn move_snapshots(&self, target: &Self) -> Result<(), Fault> {
        for (dealer_id, name) in self.read(|db| db.snapshot_names())? {
            let Some(Ok(bytes)) = self.snapshots.as_ref().map(|files| files.read(&name)) else {
                continue;
            };
            let put =
                move |tx: &super::Transaction<'_>| tx.put_snapshot(&dealer_id, &name, &[&bytes]);
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
