//! Store of a publisher, as a part of the process's store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;
use tradepost_publisher::services::BoxFuture;
use tradepost_publisher::store::{
    Job, PublisherStore, ReadExtent, StoreRead, StoreTurn, StoreWork, TxEnd,
};
use tradepost_server::fault::InternalError;
use tradepost_store::Store;

/// Part of the store that belongs to one publisher.
#[derive(Debug, Clone)]
pub struct SqlPublisherStore {
    store: Arc<Store>,
    publisher: Arc<str>,
    notify: Arc<Notify>,
    orders: Arc<Notify>,
}

impl SqlPublisherStore {
    /// Returns the part of the publisher with this id.
    #[must_use]
    pub fn new(store: Arc<Store>, publisher: &str) -> Self {
        Self { store, publisher: publisher.into(), notify: Arc::default(), orders: Arc::default() }
    }

    /// Returns the store of the process.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns the notification for new data, for the task that sends notifications.
    #[must_use]
    pub fn notify(&self) -> Arc<Notify> {
        Arc::clone(&self.notify)
    }

    /// Returns the notification for new data, for the task that carries orders to the ad server.
    #[must_use]
    pub fn notify_orders(&self) -> Arc<Notify> {
        Arc::clone(&self.orders)
    }
}

impl PublisherStore for SqlPublisherStore {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        let mut read = || self.store.read_for_publisher(&self.publisher, job).map_err(broken);
        // Reading records from a local file is faster than moving this thread's other tasks to another thread.
        if extent == ReadExtent::Records && !self.store.is_shared() {
            return read();
        }
        let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
        // Other tasks of the runtime must not block with it.
        if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
            tokio::task::block_in_place(read)
        } else {
            read()
        }
    }

    fn turn<'a>(&'a self, caller: &'a str, work: StoreWork) -> BoxFuture<'a, StoreTurn<'a>> {
        Box::pin(async move {
            let turn: StoreTurn<'a> = Box::new(self.store.publisher_turn(caller, work).await);
            turn
        })
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        // The store rolls back a job that fails.
        let undone = Arc::new(AtomicBool::new(false));
        let note = Arc::clone(&undone);
        let publisher = Arc::clone(&self.publisher);
        let written = self.store.write(move |tx| {
            let end = tx.with_publisher(&publisher, |tx| job(tx))?;
            // The job may be retried, and end differently.
            note.store(end == TxEnd::Undo, Ordering::Relaxed);
            match end {
                TxEnd::Keep => Ok(()),
                TxEnd::Undo => Err(InternalError::new("working for a publisher", "it stopped")),
            }
        });
        Box::pin(async move {
            match written.await {
                Ok(()) => {
                    self.notify.notify_one();
                    self.orders.notify_one();
                }
                Err(_) if undone.load(Ordering::Relaxed) => {}
                Err(fault) => return Err(broken(fault)),
            }
            Ok(())
        })
    }

    fn version(&self) -> Option<u64> {
        // A failure here counts as unknown; the read that follows reports it.
        self.store.publisher_version().ok().flatten()
    }

    fn may_be_unavailable(&self) -> bool {
        self.store.is_shared()
    }
}

fn broken(fault: InternalError) -> InternalError {
    let is_transient = fault.is_transient();
    let fault = InternalError::new("using the store", fault);
    if is_transient { fault.transient() } else { fault }
}
