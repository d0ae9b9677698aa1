//! Checks of the store: it can be read, its version is known, and nothing in it waits for an operator.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use tradepost_dealer::local_time::short;
use tradepost_publisher::inventory::audit;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::store::PublisherStore;
use tradepost_runtime::adcp::offline::OfflineServices;
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_runtime::config::feeds::{FeedConfig, FeedOrigin};
use tradepost_runtime::config::{Config, DealerConfig, PublisherConfig};
use tradepost_runtime::hosting::{self, Fixed};
use tradepost_server::fault::InternalError;
use tradepost_store::{DatabaseUrl, Store};

use super::{Area, DoctorFinding, Examiner, FindingSubject, RunningChecks};
use crate::cli::check_config::load_catalogues;

/// Location of the store.
#[derive(Debug, Clone)]
pub enum Keeping {
    /// A data folder.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Database(Box<DatabaseUrl>),
}

impl Keeping {
    /// Reads the dealers that are hosted in the store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn hosted(&self, fixed: &Fixed) -> Result<Vec<DealerConfig>, InternalError> {
        self.open()?.map_or(Ok(Vec::new()), |store| hosting::kept_dealers(&store, fixed))
    }

    /// Opens the store; `None` when there is none yet. Checked first, because opening would create it.
    fn open(&self) -> Result<Option<Store>, InternalError> {
        Ok(Some(match self {
            Self::Folder(path) if !Store::exists(path) => return Ok(None),
            Self::Folder(path) => Store::attach(path)?,
            Self::Database(url) => Store::join(url)?,
        }))
    }
}

impl Examiner {
    pub(super) fn check_storage(&self, checks: &mut RunningChecks) {
        let examiner = self.clone();
        let about = FindingSubject::new(Area::Store, self.keeping_place());
        checks.begin_blocking(about.clone(), move || {
            let found = examiner.kept(&about);
            found.unwrap_or_else(|fault| vec![examiner.closed(&about, &fault)]).into()
        });
    }

    fn keeping_place(&self) -> String {
        match &self.keeping {
            Keeping::Folder(path) => path.display().to_string(),
            Keeping::Database(url) => url.to_string(),
        }
    }

    fn kept(&self, about: &FindingSubject) -> Result<Vec<DoctorFinding>, InternalError> {
        let Some(store) = self.keeping.open()? else {
            let hint = "`tradepost serve` creates it; check that --data names the same folder";
            return Ok(vec![about.warning("does not exist yet", hint)]);
        };
        let store = Arc::new(store);
        let config = &self.config;
        let dealers = config.dealers.iter().map(|dealer| dealer.terms.id.clone());
        let publishers = config.publishers.iter().map(|publisher| publisher.profile.id.clone());
        let agents: Vec<String> = dealers.chain(publishers).collect();
        let open_problems = store.open_problems(&agents)?;
        let mut findings = vec![about.ok("readable, and of this version")];
        findings.extend(self.locked(&store));
        for agent in &agents {
            let about = FindingSubject::new(Area::Backlog, agent);
            let dead =
                open_problems.dead.iter().find(|(of, _)| of == agent).map(|(_, number)| *number);
            findings.push(match dead {
                None => about.ok("no delivery was given up"),
                Some(number) => about.warning(
                    format!("{number} deliveries were given up"),
                    "`tradepost leads deliveries` and `tradepost push list` list them with the reasons; \
                     `leads resend` and `push retry` send them again",
                ),
            });
        }
        findings.extend(self.inventory_counts(&store));
        for dealer in &config.dealers {
            let id = &dealer.terms.id;
            for feed in &dealer.feeds {
                findings.push(self.feed(&store, id, feed));
            }
        }
        Ok(findings)
    }

    /// Checks, for each publisher with counted inventory, the counts against its media buys, tasks and proposals.
    fn inventory_counts(&self, store: &Arc<Store>) -> Vec<DoctorFinding> {
        let mut config = Config::clone(&self.config);
        // A catalogue that cannot be read is a finding of its own.
        if load_catalogues(&mut config).is_err() {
            return Vec::new();
        }
        let counts = |publisher: &PublisherConfig| {
            let mut products = publisher.profile.catalogue.products.iter();
            products.any(|product| product.pool().is_some())
        };
        let counting = config.publishers.into_iter().filter(counts);
        let finding = |config: PublisherConfig| {
            let id = config.profile.id.clone();
            let about = FindingSubject::new(Area::Store, format!("inventory of {id}"));
            let publisher_store = SqlPublisherStore::new(Arc::clone(store), &id);
            let publisher_store: Arc<dyn PublisherStore> = Arc::new(publisher_store);
            let profile = Arc::new(config.profile);
            let services = Arc::new(OfflineServices);
            let publisher = Publisher::new(profile, Arc::clone(&publisher_store), services);
            let now = self.now();
            match publisher_store.look(|reader| audit::check(&publisher, reader, now)) {
                Err(fault) => self.closed(&about, &fault),
                Ok(differences) if differences.is_empty() => about.ok("the books are right"),
                Ok(differences) => about.warning(
                    format!("the books differ from the media buys in {} places", differences.len()),
                    "`tradepost publisher inventory check` lists them; `inventory repair` writes the \
                     books anew",
                ),
            }
        };
        counting.map(finding).collect()
    }

    /// Returns a finding when personal data in the store cannot be decrypted. It does not start encryption.
    fn locked(&self, store: &Store) -> Option<DoctorFinding> {
        let why = match &self.keys {
            Ok(keys) => store.unlock(keys, false, self.now()).err()?.to_string(),
            Err(why) => why.clone(),
        };
        let about = FindingSubject::new(Area::Store, "personal data");
        let hint = "set privacy.key_file to the file with the key, or set TRADEPOST_PRIVACY_KEY: without \
                    the key the server does not start";
        Some(about.bad(why, hint))
    }

    fn closed(&self, about: &FindingSubject, fault: &InternalError) -> DoctorFinding {
        let hint = match &self.keeping {
            Keeping::Folder(_) => {
                "check that this user may read the folder, and that its version is that of this program"
            }
            Keeping::Database(_) => {
                "check that the database answers, and that server.database names it and its user"
            }
        };
        about.bad(format!("cannot be used: {}", fault.chain()), hint)
    }

    fn feed(&self, store: &Store, dealer: &str, feed: &FeedConfig) -> DoctorFinding {
        let about = FindingSubject::new(Area::Feed, format!("{dealer}/{}", feed.name));
        let state = match store.feed_state(dealer, &feed.name) {
            Ok(state) => state,
            Err(fault) => return self.closed(&about, &fault),
        };
        let arrives = match &feed.from {
            FeedOrigin::Folder(folder) if !folder.path.is_dir() => {
                let hint = "create the folder, or correct `folder` of this feed";
                return about.bad("its folder does not exist", hint);
            }
            FeedOrigin::Folder(_) => "put a file into its folder",
            FeedOrigin::Pull(_) => "`tradepost feeds run` fetches it now",
            FeedOrigin::Upload { .. } => "upload a file",
        };
        let now = self.now();
        let hint = format!("{arrives}; `tradepost feeds show` has the reports");
        let Some(at) = state.taken_at else { return about.warning("never imported", hint) };
        let taken = format!("last imported {}", short(at, &TimeZone::UTC, now));
        match feed.stale_after {
            Some(age) if now.duration_since(at) > age => about.bad(format!("stale: {taken}"), hint),
            Some(_) | None => about.ok(taken),
        }
    }
}
