//! Which dealers' inventories are in memory. One is loaded when it is first asked for, and given up
//! when others need the room; a new one takes the place of an old one whole.

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

/// How many listings are kept ready to send, of all dealers: a few megabytes.
const RECENT: usize = 4096;

/// The inventories of a process.
#[derive(Debug)]
pub struct Inventories {
    store: Arc<Store>,
    clock: Clock,
    /// How many bytes they may take together.
    budget: usize,
    recent: Arc<InventoryCache>,
    /// Those that are loaded, in no order.
    loaded: Mutex<Vec<Weak<SharedInventories>>>,
    /// Counts uses.
    uses: AtomicU64,
    /// The generations of all, while somebody goes round.
    generations: RwLock<Option<HashMap<String, i64>>>,
}

/// While it is there, every shelf is refreshed by what one query has found.
#[derive(Debug)]
#[must_use]
pub struct Round<'a>(&'a Inventories);

impl Drop for Round<'_> {
    fn drop(&mut self) {
        *self.0.generations.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A dealer's inventory, in memory or not.
#[derive(Debug, Clone)]
pub struct InventoryHandle(Arc<SharedInventories>);

struct SharedInventories {
    dealer_id: String,
    tombstone_lifetime: SignedDuration,
    all: Arc<Inventories>,
    held: RwLock<Option<LoadedInventory>>,
    /// When it was last used, in uses.
    used: AtomicU64,
    bytes: AtomicUsize,
    /// Whoever loads it; others wait and find it loaded.
    loading: Mutex<()>,
}

/// What is loaded.
struct LoadedInventory {
    inventory: Arc<Inventory>,
    generation: i64,
}

impl Inventories {
    /// Inventories that take so many bytes together. One alone may take more.
    #[must_use]
    pub fn new(store: &Arc<Store>, clock: &Clock, budget: u64) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(store),
            clock: clock.clone(),
            budget: usize::try_from(budget).unwrap_or(usize::MAX),
            recent: Arc::new(InventoryCache::of(RECENT)),
            loaded: Mutex::default(),
            uses: AtomicU64::default(),
            generations: RwLock::default(),
        })
    }

    /// Asks once which generations there are, for whoever refreshes all shelves: thousands of queries
    /// each second would be a load of their own.
    ///
    /// # Errors
    /// When the store fails.
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

    /// The inventory of a dealer, not loaded yet.
    #[must_use]
    pub fn of(
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

    /// How many are loaded, and how many bytes they take.
    #[must_use]
    pub fn loaded(&self) -> (usize, usize) {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |shelf: Arc<SharedInventories>| shelf.bytes.load(Ordering::Relaxed);
        let bytes = loaded.iter().filter_map(Weak::upgrade).map(bytes);
        bytes.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes))
    }

    /// Notes that a shelf is loaded, and gives up those that were not used for the longest time until
    /// there is room.
    fn note(&self, shelf: &Arc<SharedInventories>) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|other| other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, shelf)));
        let mut others: Vec<Arc<SharedInventories>> =
            loaded.iter().filter_map(Weak::upgrade).collect();
        let bytes = |shelf: &Arc<SharedInventories>| shelf.bytes.load(Ordering::Relaxed);
        let mut total = bytes(shelf) + others.iter().map(bytes).sum::<usize>();
        if total <= self.budget {
            // Mostly there is room, and who was used when does not matter.
            others.clear();
        }
        others.sort_by_key(|other| other.used.load(Ordering::Relaxed));
        // The one that was just loaded is not among them: somebody
        // waits for it, however large it is.
        for other in &others {
            if total <= self.budget {
                break;
            }
            total -= bytes(other);
            other.give_up();
            loaded.retain(|kept| !std::ptr::eq(kept.as_ptr(), Arc::as_ptr(other)));
        }
        loaded.push(Arc::downgrade(shelf));
    }
}

impl InventoryHandle {
    /// What is on offer now. Loads it when it is not in memory.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn inventory(&self) -> Result<Arc<Inventory>, InternalError> {
        const WHAT: &str = "loading an inventory";
        if let Some(inventory) = self.0.held() {
            return Ok(inventory);
        }
        let shelf = self.clone();
        let loaded = piece(WHAT, move || shelf.load()).await;
        loaded.unwrap_or_else(|| Err(InternalError::new(WHAT, "it ended early")))
    }

    /// The same on a thread that may wait.
    ///
    /// # Errors
    /// When the store fails.
    pub fn load(&self) -> Result<Arc<Inventory>, InternalError> {
        let _turn = self.0.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waited for the lock finds what the one before has loaded.
        self.0.held().map_or_else(|| self.0.load(), Ok)
    }

    /// Takes over an inventory that was replaced, where the one before is in memory.
    ///
    /// # Errors
    /// When the store fails; what was loaded before stays in use.
    pub fn refresh(&self) -> Result<(), InternalError> {
        // What is not in memory is read as it is by then, whenever it is asked for.
        let Some(known) = self.0.generation() else { return Ok(()) };
        // What was loaded since the generations were asked for may be newer than they say.
        let current = self.0.all.generation(&self.0.dealer_id)?;
        // Or the database was put back to an earlier state: only it can say.
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
        // The lock is given back at once: `note` takes those of other shelves while it holds its
        // own, and two loads would wait for each other.
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
        all.note(self);
        Ok(inventory)
    }

    /// Whoever is looking at it still has it.
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
    use tradepost_dealer::demo;

    use super::*;

    #[test]
    fn what_was_not_used_for_the_longest_time_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let now = "2026-04-30T12:00:00Z".parse().unwrap();
        let (clock, _) = Clock::manual(now);
        for dealer in ["one", "two", "three"] {
            store.replace_inventory(dealer, &demo::units(90, 7, now), now, false).unwrap();
        }
        let alone = Inventories::new(&store, &clock, u64::MAX);
        let lifetime = SignedDuration::from_hours(1);
        let size = alone.of("one", lifetime).load().unwrap().memory().total() as u64;
        let all = Inventories::new(&store, &clock, size * 5 / 2);
        let [one, two, three] = ["one", "two", "three"].map(|dealer| all.of(dealer, lifetime));
        let is_loaded = |shelf: &InventoryHandle| shelf.0.generation().is_some();
        assert_eq!(all.loaded(), (0, 0), "nothing is loaded before it is asked for");
        two.refresh().unwrap();
        assert!(!is_loaded(&two), "what is not loaded is not looked after");
        for shelf in [&one, &two] {
            assert_eq!(shelf.load().unwrap().len(), 90);
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
        store.replace_inventory("two", &demo::units(70, 7, now), now, false).unwrap();
        two.refresh().unwrap();
        assert_eq!(two.load().unwrap().len(), 70);
        let round = all.round().unwrap();
        store.replace_inventory("two", &demo::units(60, 7, now), now, false).unwrap();
        two.refresh().unwrap();
        assert_eq!(two.load().unwrap().len(), 70, "it was replaced after the question");
        drop(round);
        let round = all.round().unwrap();
        two.refresh().unwrap();
        drop(round);
        assert_eq!(two.load().unwrap().len(), 60);
    }

    #[test]
    fn a_snapshot_that_is_damaged_or_gone_is_made_again_from_the_rows() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let now = "2026-04-30T12:00:00Z".parse().unwrap();
        store.replace_inventory("one", &demo::units(90, 7, now), now, false).unwrap();
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
        // It is what answers: the rows are not looked at.
        let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
        database.execute("UPDATE listings SET body = '{'", []).unwrap();
        assert_eq!(load(), first);
        store.replace_inventory("one", &[], now, false).unwrap();
        assert_ne!(load(), first);
        assert_eq!(files().len(), 1, "the one before is removed");
    }
}
