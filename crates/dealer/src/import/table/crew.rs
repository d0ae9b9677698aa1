//! Who reads the rows of a table: whoever reads the file, and of a large one others beside. What comes
//! of it is put together in the order of the file, so that nobody can tell how many there were.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, Scope};

use csv::StringRecord;

use super::chunk::Chunk;
use super::judge;
use crate::import::Unreadable;
use crate::import::collect::{Harvest, Sorter};
use crate::import::columns::{Cells, Heading};
use crate::import::report::Reason;

/// How many there are at most.
const MOST: usize = 4;

/// How many chunks wait for each of them.
const WAITING: usize = 2;

/// What comes next in a table.
#[derive(Debug)]
pub(super) enum Next {
    /// A row that begins on this line.
    Row(usize),
    /// Something on this line that is no row.
    NoRow(usize),
    /// Nothing, and the last row was whole or not.
    End { is_cut_off: bool },
    /// Nothing: the last row has a quotation mark that is not closed.
    Unclosed,
}

/// Somebody who reads rows.
struct Hand {
    chunks: SyncSender<Chunk>,
    harvests: Receiver<(Harvest, Chunk)>,
}

/// Sorts the rows that `next` finds. Returns the line of the row that has no end, if one has none; it is
/// not sorted.
pub(super) fn sort(
    columns: &[Heading],
    sorter: &mut Sorter<'_>,
    mut next: impl FnMut(&mut StringRecord) -> Result<Next, Unreadable>,
) -> Result<Option<usize>, Unreadable> {
    thread::scope(|scope| {
        let mut crew = Crew { columns, sorter, cells: Cells::new(), hands: Vec::new(), done: 0 };
        let (mut record, mut given) = (StringRecord::new(), 0);
        // The last row is kept back until it is known what comes behind it.
        let (mut chunk, mut spare) = (Chunk::default(), Vec::new());
        let unclosed = loop {
            match next(&mut record)? {
                Next::Row(line) => {
                    if chunk.is_full() {
                        // Not before one chunk is full: a small table is read sooner
                        // than threads begin.
                        crew.hire(scope);
                        let full = std::mem::replace(&mut chunk, spare.pop().unwrap_or_default());
                        spare.extend(crew.give(full, given));
                        given += 1;
                        // Whatever is ready, so that harvests do not pile up; nobody
                        // waits for them here.
                        while let Some(emptied) = crew.gather(given, false) {
                            spare.push(emptied);
                        }
                    }
                    chunk.push(line, &mut record);
                }
                Next::NoRow(line) => {
                    let message = "the row cannot be read".to_owned();
                    // Out of turn: skipped rows are sorted by line in the end.
                    crew.sorter.skip(line, Reason::Malformed, message);
                }
                Next::End { is_cut_off } => {
                    if is_cut_off {
                        chunk.cut_off();
                    }
                    break None;
                }
                Next::Unclosed => break chunk.pop(),
            }
        };
        while crew.gather(given, true).is_some() {}
        // Behind all others, because it is the end of the file.
        crew.sort(&chunk);
        Ok(unclosed)
    })
}

struct Crew<'env, 's, 't> {
    columns: &'env [Heading],
    sorter: &'s mut Sorter<'t>,
    cells: Cells,
    hands: Vec<Hand>,
    /// Of how many chunks the harvest is in.
    done: usize,
}

impl<'env, 't: 'env> Crew<'env, '_, 't> {
    /// Finds hands for a table that has more rows than one reads in no time.
    fn hire<'scope>(&mut self, scope: &'scope Scope<'scope, 'env>) {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        if !self.hands.is_empty() || cores == 1 {
            return;
        }
        for _ in 0..cores.min(MOST) {
            let (chunks, waiting) = sync_channel::<Chunk>(WAITING);
            let (done, harvests) = channel();
            let (columns, mut sorter) = (self.columns, self.sorter.part());
            scope.spawn(move || {
                let mut cells = Cells::new();
                for chunk in waiting {
                    for row in chunk.rows() {
                        judge(row, columns, &mut cells, &mut sorter);
                    }
                    if done.send((sorter.hand_over(), chunk.emptied())).is_err() {
                        return;
                    }
                }
            });
            self.hands.push(Hand { chunks, harvests });
        }
    }

    /// Has a chunk sorted, the next in line; where there are no hands, at once.
    fn give(&mut self, chunk: Chunk, place: usize) -> Option<Chunk> {
        let hand = place.checked_rem(self.hands.len()).and_then(|at| self.hands.get(at));
        let Some(hand) = hand else {
            self.sort(&chunk);
            self.done += 1;
            return Some(chunk.emptied());
        };
        // Nobody takes it only when they have panicked, which ends the whole.
        let _ = hand.chunks.send(chunk);
        None
    }

    /// Takes the harvest of the next chunk, if it is there or is waited for. Returns the empty chunk.
    fn gather(&mut self, given: usize, waits: bool) -> Option<Chunk> {
        let at = self.done.checked_rem(self.hands.len()).filter(|_| self.done < given)?;
        let harvests = &self.hands.get(at)?.harvests;
        let (harvest, chunk) =
            if waits { harvests.recv().ok()? } else { harvests.try_recv().ok()? };
        self.sorter.join(harvest);
        self.done += 1;
        Some(chunk)
    }

    fn sort(&mut self, chunk: &Chunk) {
        for row in chunk.rows() {
            judge(row, self.columns, &mut self.cells, self.sorter);
        }
    }
}
