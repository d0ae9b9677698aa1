//! Snapshots of inventories, each named by its dealer and its content: files beside the database, or rows of a shared
//! one. They can be built again from the rows at any time, so writing them is not waited for, and one that cannot be
//! read is replaced.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tradepost_dealer::inventory::Inventory;
use tradepost_document::fault::InternalError;
use tradepost_document::format::hex;
use tradepost_server::private_file::create_folder;

use super::Store;

/// The folder's name in the data folder.
const FOLDER: &str = "inventories";

/// Age up to which a file without a row may still be in the process of being written.
const WRITE_GRACE: SignedDuration = SignedDuration::from_hours(1);

/// Returns the prefix of the names of a dealer's snapshots.
fn prefix(dealer_id: &str) -> String {
    format!("{}-", hex(Sha256::digest(dealer_id).iter().take(8)))
}

/// The folder with the snapshots.
#[derive(Debug)]
pub(super) struct Snapshots(PathBuf);

impl Snapshots {
    pub(super) fn new(data: &Path) -> Self {
        Self(data.join(FOLDER))
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// When it is not there.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, InternalError> {
        fs::read(self.path(name)?).map_err(InternalError::on("opening a snapshot"))
    }

    /// Stores the snapshot of an inventory, which has this checksum, under its name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep(
        &self,
        name: &str,
        inventory: &Inventory,
        sum: &[u8; 32],
    ) -> Result<(), InternalError> {
        let path = self.path(name)?;
        let write = || {
            create_folder(&self.0)?;
            // Readers see the whole file or none. Two processes may write the same at once.
            let half = self.0.join(format!("{name}.{}", uuid::Uuid::new_v4()));
            let file =
                File::options().write(true).create(true).truncate(true).mode(0o600).open(&half)?;
            let written = inventory.write_snapshot(sum, file);
            written.and_then(|()| fs::rename(&half, &path)).inspect_err(|_| {
                // An incomplete file is of no use.
                let _ = fs::remove_file(&half);
            })
        };
        write().map_err(InternalError::on::<io::Error>("writing a snapshot"))
    }

    /// Removes a snapshot that is no longer needed. An open reader still reads it to its end.
    pub(super) fn remove(&self, name: &str) {
        if let Ok(path) = self.path(name) {
            // A file that stays takes room and is never read.
            let _ = fs::remove_file(path);
        }
    }

    /// Removes the files of a dealer that interrupted processes have left, except the current snapshot. Files younger
    /// than an hour are kept because another process may still be writing them.
    pub(super) fn sweep(&self, dealer_id: &str, current: &str, now: Timestamp) {
        let Ok(files) = fs::read_dir(&self.0) else { return };
        let dealer_prefix = prefix(dealer_id);
        let is_leftover = |file: &fs::DirEntry| {
            let name = file.file_name();
            let of_dealer = name.to_str().is_some_and(|name| name.starts_with(&dealer_prefix));
            if !of_dealer || name == current {
                return false;
            }
            let changed = file.metadata().and_then(|about| about.modified()).ok();
            let changed = changed.and_then(|at| Timestamp::try_from(at).ok());
            changed.is_some_and(|at| now.duration_since(at) > WRITE_GRACE)
        };
        for file in files.flatten().filter(is_leftover) {
            // A file that stays takes room and is never read.
            let _ = fs::remove_file(file.path());
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf, InternalError> {
        // The name comes from a row, and must not lead out of the folder.
        if name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
            Ok(self.0.join(name))
        } else {
            Err(InternalError::new("looking for a snapshot", "it has a name that we do not give"))
        }
    }
}

impl Store {
    /// Builds the snapshot of a replaced inventory in advance and frees disk space, so that a server finds it ready.
    ///
    /// # Errors
    /// When the database fails, or a row cannot be read.
    pub fn ready_inventory(
        &self,
        dealer_id: &str,
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<(), InternalError> {
        self.load_inventory(dealer_id, now, lifetime)?;
        self.cut_log()
    }

    /// Loads a dealer's inventory, ready to be searched, with its generation: from its snapshot, or from the rows when
    /// there is no usable one. Then a new snapshot is stored.
    ///
    /// # Errors
    /// When the database fails, or a row cannot be read.
    pub fn load_inventory(
        &self,
        dealer_id: &str,
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<(Inventory, i64), InternalError> {
        let state = self.read(|db| db.inventory_state(dealer_id))?;
        if let Some(name) = state.current() {
            match self.read_snapshot(dealer_id, name) {
                Ok(inventory) => return Ok((inventory, state.generation)),
                Err(fault) => tracing::warn!(
                    dealer = dealer_id,
                    cause = %fault.chain(),
                    "a snapshot of an inventory cannot be used and is made again"
                ),
            }
        }
        let (generation, builder, tombstones) =
            self.read(|db| db.gather_inventory(dealer_id, super::sellers::oldest(now, lifetime)))?;
        let inventory = builder.build(tombstones)?;
        if generation > 0
            && let Err(fault) = self.keep_snapshot(dealer_id, generation, &inventory, now)
        {
            // The inventory is used all the same, and its snapshot is built again the next time.
            tracing::warn!(
                dealer = dealer_id,
                cause = %fault.chain(),
                "the snapshot of an inventory could not be kept"
            );
        }
        Ok((inventory, generation))
    }

    fn read_snapshot(&self, dealer_id: &str, name: &str) -> Result<Inventory, InternalError> {
        let bytes = match &self.snapshots {
            Some(files) => files.read(name)?,
            None => self.read(|db| db.snapshot(dealer_id, name))?,
        };
        Inventory::read(&bytes).map_err(InternalError::on("reading a snapshot"))
    }

    /// Stores the snapshot of a generation in place of the former one, as a file or in the database server, unless the
    /// inventory has been replaced meanwhile.
    fn keep_snapshot(
        &self,
        dealer_id: &str,
        generation: i64,
        inventory: &Inventory,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        let Some(files) = &self.snapshots else {
            let snapshot = inventory.snapshot();
            let job_dealer = dealer_id.to_owned();
            return self.write_blocking(move |tx| {
                let name = format!("{}{}", prefix(&job_dealer), snapshot.name());
                tx.0.lock(&job_dealer)?;
                match tx.note_snapshot(&job_dealer, generation, &name)? {
                    Some(_) => tx.put_snapshot(&job_dealer, &name, &snapshot.parts()),
                    None => Ok(()),
                }
            });
        };
        let sum = inventory.snapshot_sum();
        let name = format!("{}{}", prefix(dealer_id), hex(&sum));
        let job_dealer = dealer_id.to_owned();
        let job_name = name.clone();
        files.keep(&name, inventory, &sum)?;
        let before =
            self.write_blocking(move |tx| tx.note_snapshot(&job_dealer, generation, &job_name))?;
        match before {
            Some(before) => {
                let old = before.latest().filter(|old| *old != name);
                old.into_iter().for_each(|old| files.remove(old));
                files.sweep(dealer_id, &name, now);
            }
            None => files.remove(&name),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use jiff::{SignedDuration, Timestamp};
    use tradepost_demo::dealer as demo;

    use super::prefix;
    use crate::Store;

    /// Returns the total size in bytes of the files in a folder, subfolders included.
    fn size(folder: &std::path::Path) -> u64 {
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
        let size = |file: std::fs::DirEntry| {
            let metadata = file.metadata().unwrap();
            if metadata.is_dir() { size(&file.path()) } else { metadata.len() }
        };
        files.map(size).sum()
    }

    #[test]
    fn a_listing_takes_little_disk_and_comes_back_the_same() {
        const VEHICLES: usize = 1_000;
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let lifetime = SignedDuration::from_hours(24);
        let listings = demo::listings(VEHICLES, 7, now);
        let added = store.replace_inventory("one", &listings, now, false).unwrap();
        assert_eq!((added.before, added.added), (0, VEHICLES));
        let (first, generation) = store.load_inventory("one", now, lifetime).unwrap();
        store.cut_log().unwrap();
        assert_eq!((first.len(), generation), (VEHICLES, 1));
        // Size without any vehicle: tables, and the index of the log.
        let empty = tempfile::tempdir().unwrap();
        let _other = Store::open(empty.path()).unwrap();
        let each = (size(folder.path()) - size(empty.path())) / VEHICLES as u64;
        assert!(each <= 1_500, "{each} bytes a vehicle");

        let (mut listed, tombstones) = store.inventory("one", now, lifetime).unwrap();
        listed.sort_by(|one, other| one.vehicle_id.cmp(&other.vehicle_id));
        let mut sent: Vec<_> = listings
            .iter()
            .filter(|listing| !listing.sold)
            .map(|listing| listing.vehicle.clone())
            .collect();
        sent.sort_by(|one, other| one.vehicle_id.cmp(&other.vehicle_id));
        assert_eq!(listed.len(), sent.len());
        for (listed, sent) in listed.iter().zip(&sent) {
            let json = |vehicle| tradepost_document::json::to_string(vehicle).unwrap();
            assert_eq!(json(listed), json(sent));
        }
        assert_eq!(
            tombstones.len(),
            listings.len() - VEHICLES,
            "those that the feed says are sold"
        );

        let half = listings.get(..VEHICLES / 2).unwrap();
        let again = store.replace_inventory("one", half, now, false).unwrap();
        assert_eq!((again.before, again.unchanged + again.removed), (VEHICLES, VEHICLES));
        let (second, generation) = store.load_inventory("one", now, lifetime).unwrap();
        assert_eq!((second.len(), generation), (again.unchanged, 2));
    }

    #[test]
    fn old_leftovers_of_a_process_go_for_this_dealer_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let now = folder.path().metadata().unwrap().modified().unwrap();
        let now = Timestamp::try_from(now).unwrap();
        let lifetime = SignedDuration::ZERO;
        store.replace_inventory("one", &demo::listings(10, 7, now), now, false).unwrap();
        store.load_inventory("one", now, lifetime).unwrap();
        let inventories = folder.path().join(super::FOLDER);
        let names = || {
            let files = fs::read_dir(&inventories).unwrap().map(|file| file.unwrap().file_name());
            let mut names: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        let left = [format!("{}00.half", prefix("one")), format!("{}00", prefix("two"))];
        left.iter().for_each(|name| drop(File::create(inventories.join(name)).unwrap()));
        let replace = |count, now| {
            store.replace_inventory("one", &demo::listings(count, 7, now), now, false).unwrap();
            store.ready_inventory("one", now, lifetime).unwrap();
        };
        replace(11, now);
        assert!(left.iter().all(|name| names().contains(name)), "they may be somebody's");
        replace(12, now + SignedDuration::from_hours(2));
        assert_eq!(names().len(), 2);
        assert!(!names().contains(&left[0]) && names().contains(&left[1]));
    }
}
