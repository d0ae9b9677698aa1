//! Threads that process the rows of a table: the reading thread alone for a small table, workers
//! beside it for a large one. Results are combined in the order of the file, so they do not depend
//! on the number of threads.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, Scope};

use csv::StringRecord;

use super::chunk::RowChunk;
use super::sort_row;
use crate::import::FeedError;
use crate::import::collect::{ParsedRows, RowSorter};
use crate::import::columns::{ColumnHeading, RowCells};
use crate::import::report::SkipReason;

/// Maximum number of workers.
const MOST: usize = 4;

/// Number of chunks queued per worker.
const WAITING: usize = 2;

/// Next item of a table.
#[derive(Debug)]
pub(super) enum TableItem {
    /// A row that begins on this line.
    Row(usize),
    /// A line that cannot be parsed as a row.
    NoRow(usize),
    /// The end, after a complete or an incomplete row.
    End { is_cut_off: bool },
    /// The end, after a row with an unclosed quotation mark.
    Unclosed,
}

/// A worker thread.
struct WorkerHandle {
    chunks: SyncSender<RowChunk>,
    results: Receiver<(ParsedRows, RowChunk)>,
}

/// Sorts the rows that `next` returns. Returns the line of a row with an unclosed quotation mark,
/// which is not sorted.
pub(super) fn sort(
    columns: &[ColumnHeading],
    sorter: &mut RowSorter<'_>,
    mut next: impl FnMut(&mut StringRecord) -> Result<TableItem, FeedError>,
) -> Result<Option<usize>, FeedError> {
    thread::scope(|scope| {
        let mut workers =
            Workers { columns, sorter, cells: RowCells::new(), handles: Vec::new(), done: 0 };
        let mut record = StringRecord::new();
        let mut given = 0;
        // The last row is held back until it is known what follows it.
        let mut chunk = RowChunk::default();
        let mut spare = Vec::new();
        let unclosed = loop {
            match next(&mut record)? {
                TableItem::Row(line) => {
                    if chunk.is_full() {
                        // Only after the first full chunk, because a small table is read faster
                        // than threads start.
                        workers.spawn(scope);
                        let full = std::mem::replace(&mut chunk, spare.pop().unwrap_or_default());
                        spare.extend(workers.send(full, given));
                        given += 1;
                        // Takes what is ready, so that results do not accumulate, and does not
                        // wait.
                        while let Some(emptied) = workers.take_result(given, false) {
                            spare.push(emptied);
                        }
                    }
                    chunk.push(line, &mut record);
                }
                TableItem::NoRow(line) => {
                    let message = "the row cannot be read".to_owned();
                    // Out of order: skipped rows are sorted by line at the end.
                    workers.sorter.skip(line, SkipReason::Malformed, message);
                }
                TableItem::End { is_cut_off } => {
                    if is_cut_off {
                        chunk.cut_off();
                    }
                    break None;
                }
                TableItem::Unclosed => break chunk.pop(),
            }
        };
        while workers.take_result(given, true).is_some() {}
        // Last, because it is the end of the file.
        workers.sort(&chunk);
        Ok(unclosed)
    })
}

struct Workers<'env, 's, 't> {
    columns: &'env [ColumnHeading],
    sorter: &'s mut RowSorter<'t>,
    cells: RowCells,
    handles: Vec<WorkerHandle>,
    /// Number of chunks whose results have been taken.
    done: usize,
}

impl<'env, 't: 'env> Workers<'env, '_, 't> {
    /// Starts the workers, for a table with more than one chunk.
    fn spawn<'scope>(&mut self, scope: &'scope Scope<'scope, 'env>) {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        if !self.handles.is_empty() || cores == 1 {
            return;
        }
        for _ in 0..cores.min(MOST) {
            let (chunks, waiting) = sync_channel::<RowChunk>(WAITING);
            let (done, results) = channel();
            let columns = self.columns;
            let mut sorter = self.sorter.part();
            scope.spawn(move || {
                let mut cells = RowCells::new();
                for chunk in waiting {
                    for row in chunk.rows() {
                        sort_row(row, columns, &mut cells, &mut sorter);
                    }
                    if done.send((sorter.hand_over(), chunk.emptied())).is_err() {
                        return;
                    }
                }
            });
            self.handles.push(WorkerHandle { chunks, results });
        }
    }

    /// Passes a chunk to the next worker; without workers, sorts it at once and returns it empty.
    fn send(&mut self, chunk: RowChunk, place: usize) -> Option<RowChunk> {
        let handle = place.checked_rem(self.handles.len()).and_then(|at| self.handles.get(at));
        let Some(handle) = handle else {
            self.sort(&chunk);
            self.done += 1;
            return Some(chunk.emptied());
        };
        // Sending fails only after a worker has panicked, which ends the whole import.
        let _ = handle.chunks.send(chunk);
        None
    }

    /// Takes the result of the next chunk, if it is ready or `waits` is true. Returns the emptied
    /// chunk.
    fn take_result(&mut self, given: usize, waits: bool) -> Option<RowChunk> {
        let at = self.done.checked_rem(self.handles.len()).filter(|_| self.done < given)?;
        let results = &self.handles.get(at)?.results;
        let (rows, chunk) = if waits { results.recv().ok()? } else { results.try_recv().ok()? };
        self.sorter.join(rows);
        self.done += 1;
        Some(chunk)
    }

    fn sort(&mut self, chunk: &RowChunk) {
        for row in chunk.rows() {
            sort_row(row, self.columns, &mut self.cells, self.sorter);
        }
    }
}
