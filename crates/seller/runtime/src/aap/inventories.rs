//! Cache of the dealers' inventories. An inventory is loaded on first use and unloaded when others
//! need the memory; a new one replaces an old one as a whole.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use jiff::SignedDuration;
use tradepost_dealer::inventory::{Inventory, InventoryCache};
use tradepost_server::background::piece;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::Store;

/// Maximum number of serialized listings in the cache, of all dealers: a few megabytes.
const MAX_CACHED_LISTINGS: usize = 4096;

/// Inventories of a process.
#[derive(Debug)]
pub struct Inventories {
    store: Arc<Store>,
    clock: Clock,
    /// Maximum total bytes.
    budget: usize,
    recent: Arc<InventoryCache>,
    /// Loaded inventories, in no order.
    loaded: Mutex<Vec<Weak<SharedInventories>>>,
    /// Counter of uses.
    uses: AtomicU64,
    /// Generations of all inventories during a [`Round`].
    generations: RwLock<Option<HashMap<String, i64>>>,
}

/// Guard: while it lives, every inventory is refreshed with the result of one query.
#[derive(Debug)]
#[must_use]
pub struct Round<'a>(&'a Inventories);

impl Drop for Round<'_> {
    fn drop(&mut self) {
        *self.0.generations.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Inventory of a dealer, loaded or not.
#[derive(Debug, Clone)]
pub struct InventoryHandle(Arc<SharedInventories>);

struct SharedInventories {
    dealer_id: String,
    tombstone_lifetime: SignedDuration,
    all: Arc<Inventories>,
    held: RwLock<Option<LoadedInventory>>,
    /// Value of the use counter at its last use.
    used: AtomicU64,
    bytes: AtomicUsize,
    /// Held while it is loaded; others wait and find it loaded.
    loading: Mutex<()>,
}

/// Inventory in memory, with its generation.
struct LoadedInventory {
    inventory: Arc<Inventory>,
    generation: i64,
}

impl Inventories {
    /// Creates an empty cache of `budget` bytes. A single inventory may take more.
    #[must_use]
    pub fn new(store: &Arc<Store>, clock: &Clock, budget: u64) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(store),
            clock: clock.clone(),
            budget: usize::try_from(budget).unwrap_or(usize::MAX),
            recent: Arc::new(InventoryCache::new(MAX_CACHED_LISTINGS)),
            loaded: Mutex::default(),
            uses: AtomicU64::default(),
            generations: RwLock::default(),
        })
    }

    /// Reads the generations of all inventories with one query, because thousands of queries each
    /// second would be a load of their own.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub fn round(&self) -> Result<Round<'_>, InternalError> {
        let is_any = !self.loaded.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let found = is_any.then(|| self.store.inventory_generations()).transpose()?;
        *self.generations.write().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(Round(self))
    }

    fn generation(&self, dealer_id: &str) -> Result<i64, InternalError> {
        if let Some(all) = &*self.generations.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(all.get(dealer_id).copied().unwrap_or_default());
        }
        self.store.inventory_generation(dealer_id)
    }

    /// Returns the inventory of a dealer, not loaded yet.
    #[must_use]
    pub fn handle(
        self: &Arc<Self>,
        dealer_id: &str,
        tombstone_lifetime: SignedDuration,
    ) -> InventoryHandle {
        InventoryHandle(Arc::new(SharedInventories {
            dealer_id: dealer_id.to_owned(),
            tombstone_lifetime,
            all: Arc::clone(self),
            held: RwLock::default(),
            used: AtomicU64::default(),
            bytes: AtomicUsize::default(),
            loading: Mutex::default(),
        }))
    }

    /// Returns the number of loaded inventories, and their bytes.
    #[must_use]
    pub fn loaded(&self) -> (usize, usize) {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |inventories: Arc<SharedInventories>| inventories.bytes.load(Ordering::Relaxed);
        let bytes = loaded.iter().filter_map(Weak::upgrade).map(bytes);
        bytes.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes))
    }

    /// Records that an inventory is loaded, and unloads the least recently used ones until there is
    /// room.
    fn note(&self, inventories: &Arc<SharedInventories>) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded
            .retain(|other| other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, inventories)));
        let mut others: Vec<Arc<SharedInventories>> =
            loaded.iter().filter_map(Weak::upgrade).collect();
        let bytes =
            |inventories: &Arc<SharedInventories>| inventories.bytes.load(Ordering::Relaxed);
        let mut total = bytes(inventories) + others.iter().map(bytes).sum::<usize>();
        if total <= self.budget {
            // Mostly there is room, and the order of use does not matter.
            others.clear();
        }
        others.sort_by_key(|other| other.used.load(Ordering::Relaxed));
        // The one just loaded is not among them: a caller waits for it, however large it is.
        for other in &others {
            if total <= self.budget {
                break;
            }
            total -= bytes(other);
            other.give_up();
            loaded.retain(|kept| !std::ptr::eq(kept.as_ptr(), Arc::as_ptr(other)));
        }
        loaded.push(Arc::downgrade(inventories));
    }
}

impl InventoryHandle {
    /// Returns the current inventory, and loads it when it is not in memory.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub async fn inventory(&self) -> Result<Arc<Inventory>, InternalError> {
        const CONTEXT: &str = "loading an inventory";
        if let Some(inventory) = self.0.held() {
            return Ok(inventory);
        }
        let handle = self.clone();
        let loaded = piece(CONTEXT, move || handle.load()).await;
        loaded.unwrap_or_else(|| Err(InternalError::new(CONTEXT, "it ended early")))
    }

    /// Does the same on a thread that may block.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub fn load(&self) -> Result<Arc<Inventory>, InternalError> {
        let _turn = self.0.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread that waited for the lock finds what the one before it has loaded.
        self.0.held().map_or_else(|| self.0.load(), Ok)
    }

    /// Reloads an inventory that is in memory and was replaced in the store.
    ///
    /// # Errors
    /// Fails when the store fails; what was loaded before stays in use.
    pub fn refresh(&self) -> Result<(), InternalError> {
        // An inventory that is not in memory is read on its next use anyway.
        let Some(known) = self.0.generation() else { return Ok(()) };
        // What was loaded since the generations were read may be newer than they are.
        let current = self.0.all.generation(&self.0.dealer_id)?;
        // Or the database was restored to an earlier state, which only a new query can tell.
        if current == known
            || current < known && self.0.all.store.inventory_generation(&self.0.dealer_id)? == known
        {
            return Ok(());
        }
        let _turn = self.0.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let listings = self.0.load()?.len();
        tracing::info!(dealer = %self.0.dealer_id, listings, "inventory replaced");
        Ok(())
    }
}

impl SharedInventories {
    fn held(&self) -> Option<Arc<Inventory>> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let inventory = held.as_ref().map(|held| Arc::clone(&held.inventory))?;
        self.touch();
        Some(inventory)
    }

    fn generation(&self) -> Option<i64> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map(|held| held.generation)
    }

    fn touch(&self) {
        self.used.store(self.all.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn load(self: &Arc<Self>) -> Result<Arc<Inventory>, InternalError> {
        let all = &self.all;
        let now = all.clock.now();
        let (inventory, generation) =
            all.store.load_inventory(&self.dealer_id, now, self.tombstone_lifetime)?;
        let inventory = Arc::new(inventory.remembered_in(&all.recent));
        self.bytes.store(inventory.memory().total(), Ordering::Relaxed);
        self.touch();
        let held = LoadedInventory { inventory: Arc::clone(&inventory), generation };
        // The lock is released at once: `note` takes the locks of other inventories while it holds
        // its own, and two loads would deadlock.
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
        all.note(self);
        Ok(inventory)
    }

    /// Unloads the inventory; requests that use it keep their reference.
    fn give_up(&self) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = None;
        self.bytes.store(0, Ordering::Relaxed);
    }
}

impl fmt::Debug for SharedInventories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("dealer_id", &self.dealer_id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tradepost_demo::dealer as demo;

    use super::*;

    #[test]
    fn what_was_not_used_for_the_longest_time_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let now = "2026-04-30T12:00:00Z".parse().unwrap();
        let (clock, _) = Clock::manual(now);
        for dealer in ["one", "two", "three"] {
            store.replace_inventory(dealer, &demo::listings(90, 7, now), now, false).unwrap();
        }
        let alone = Inventories::new(&store, &clock, u64::MAX);
        let lifetime = SignedDuration::from_hours(1);
        let size = alone.handle("one", lifetime).load().unwrap().memory().total() as u64;
        let all = Inventories::new(&store, &clock, size * 5 / 2);
        let [one, two, three] = ["one", "two", "three"].map(|dealer| all.handle(dealer, lifetime));
        let is_loaded = |handle: &InventoryHandle| handle.0.generation().is_some();
        assert_eq!(all.loaded(), (0, 0), "nothing is loaded before it is asked for");
        two.refresh().unwrap();
        assert!(!is_loaded(&two), "what is not loaded is not looked after");
        for handle in [&one, &two] {
            assert_eq!(handle.load().unwrap().len(), 90);
        }
        let kept = one.load().unwrap();
        assert_eq!(three.load().unwrap().len(), 90);
        assert_eq!([&one, &two, &three].map(is_loaded), [true, false, true]);
        assert_eq!(all.loaded().0, 2);
        two.load().unwrap();
        assert_eq!([&one, &two, &three].map(is_loaded), [false, true, true]);
        assert_eq!(kept.len(), 90, "whoever was looking at it still does");
        drop(three);
        assert_eq!(all.loaded().0, 1, "a dealer that is gone takes no room");
        store.replace_inventory("two", &demo::listings(70, 7, now), now, false).unwrap();
        two.refresh().unwrap();
        assert_eq!(two.load().unwrap().len(), 70);
        let round = all.round().unwrap();
        store.replace_inventory("two", &demo::listings(60, 7, now), now, false).unwrap();
        two.refresh().unwrap();
        assert_eq!(two.load().unwrap().len(), 70, "it was replaced after the question");
        drop(round);
        let round = all.round().unwrap();
        two.refresh().unwrap();
        drop(round);
        assert_eq!(two.load().unwrap().len(), 60);
    }

    #[test]
    fn a_damaged_or_lost_snapshot_is_rebuilt_from_the_rows() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let now = "2026-04-30T12:00:00Z".parse().unwrap();
        store.replace_inventory("one", &demo::listings(90, 7, now), now, false).unwrap();
        let lifetime = SignedDuration::from_hours(1);
        let load = || store.load_inventory("one", now, lifetime).unwrap().0.snapshot();
        let files = || {
            let files = std::fs::read_dir(folder.path().join("inventories")).unwrap();
            files.map(|file| file.unwrap().path()).collect::<Vec<_>>()
        };
        let first = load();
        let [file] = &files()[..] else { panic!("one snapshot: {:?}", files()) };
        let bytes = std::fs::read(file).unwrap();
        for damaged in [&bytes[..bytes.len() / 2], b"", b"tradepost inventory 0\n"] {
            std::fs::write(file, damaged).unwrap();
            assert_eq!(load(), first);
            assert_eq!(std::fs::read(file).unwrap(), bytes, "it is there again");
        }
        std::fs::remove_file(file).unwrap();
        assert_eq!(load(), first);
        // The cached form is served: the rows are not read.
        let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
        database.execute("UPDATE listings SET body = '{'", []).unwrap();
        assert_eq!(load(), first);
        store.replace_inventory("one", &[], now, false).unwrap();
        assert_ne!(load(), first);
        assert_eq!(files().len(), 1, "the one before is removed");
    }
}
