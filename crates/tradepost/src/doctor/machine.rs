//! Checks of this machine: disk space, and permissions of private files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tradepost_runtime::config::Config;
use tradepost_runtime::config::delivery::{ConfigSecret, DeliveryConfig, DeliveryMethod};
use tradepost_runtime::config::feeds::{FeedConfig, FeedLocation, FeedOrigin};
use tradepost_store::{Store, room};

use super::{Area, DoctorFinding, Examiner, FindingSubject, Keeping, RunningChecks};
use crate::cli::check_config;

/// Multiple of the space to be kept free below which a warning is given.
const WARNING_FACTOR: u64 = 8;

impl Examiner {
    pub(super) fn check_machine(&self, checks: &mut RunningChecks) {
        let about = FindingSubject::new(Area::Configuration, "this file");
        let examiner = self.clone();
        checks.begin_blocking(about.clone(), move || examiner.configuration(&about).into());
        if let Keeping::Folder(folder) = &self.keeping {
            let examiner = self.clone();
            let folder = folder.clone();
            let about = FindingSubject::new(Area::Disk, folder.display().to_string());
            checks.begin_blocking(about.clone(), move || examiner.disk(&about, &folder).into());
        }
        let examiner = self.clone();
        let about = FindingSubject::new(Area::Permissions, "files");
        checks.begin_blocking(about, move || examiner.permissions().into());
    }

    /// Checks that the files named in the configuration are usable, and returns its warnings.
    fn configuration(&self, about: &FindingSubject) -> Vec<DoctorFinding> {
        let mut config = Config::clone(&self.config);
        let checks =
            [check_config::check_keys(&config), check_config::load_catalogues(&mut config)];
        let mut findings = Vec::new();
        for failure in checks.into_iter().filter_map(Result::err) {
            let hint = failure.hint.unwrap_or_default();
            let lines =
                if failure.lines.is_empty() { vec![failure.message] } else { failure.lines };
            findings.extend(lines.into_iter().map(|line| about.bad(line, hint.clone())));
        }
        let hint = "set the named key in the configuration";
        let warnings = check_config::warnings(&config).into_iter();
        findings.extend(warnings.map(|warning| about.warning(warning.message, hint)));
        if findings.is_empty() { vec![about.ok("valid")] } else { findings }
    }

    fn disk(&self, about: &FindingSubject, folder: &Path) -> Vec<DoctorFinding> {
        let least = self.config.server.min_free_space;
        // Before the first start the folder does not exist.
        let there = folder.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("."));
        let hint = "free disk space, or move the data to a larger disk; below server.min_free_space the \
                    server refuses leads";
        vec![match room(there) {
            Err(error) => about.bad(format!("cannot be read: {error}"), "check its permissions"),
            Ok(room) => {
                let says = format!("{} MiB are free of {}", room.free >> 20, room.total >> 20);
                if room.free < least {
                    about.bad(says, hint)
                } else if room.free < least.saturating_mul(WARNING_FACTOR) {
                    about.warning(says, hint)
                } else {
                    about.ok(says)
                }
            }
        }]
    }

    fn permissions(&self) -> Vec<DoctorFinding> {
        let mut findings = Vec::new();
        if let Keeping::Folder(folder) = &self.keeping
            && Store::exists(folder)
        {
            let about = FindingSubject::new(Area::Permissions, folder.display().to_string());
            // A write is tried, because the mode does not show that a disk is full or mounted read-only.
            let probe = tempfile::Builder::new().prefix(".tradepost-doctor-").tempfile_in(folder);
            findings.push(match (probe, open_to(folder)) {
                (Err(error), _) => about.bad(
                    format!("cannot be written: {error}"),
                    "run this as the user of the server, or make that user the owner of the folder",
                ),
                (Ok(_), Some(mode)) => about.warning(
                    format!("others can access it (mode {mode:o})"),
                    "it contains personal data: chmod 700",
                ),
                (Ok(_), None) => about.ok("private to its owner, and writable"),
            });
        }
        for (key, path) in self.secrets() {
            let about = FindingSubject::new(Area::Permissions, key);
            findings.push(match (fs::File::open(&path), open_to(&path)) {
                (Err(error), _) => about.bad(
                    format!("{} cannot be read: {}", path.display(), error.kind()),
                    "run this as the user of the server, or make that user the owner of the file",
                ),
                (Ok(_), Some(mode)) => about.warning(
                    format!("{} can be read by others (mode {mode:o})", path.display()),
                    "chmod 600, and change the secret if others may have read it",
                ),
                (Ok(_), None) => about.ok("private to its owner"),
            });
        }
        findings
    }

    /// Returns the files that contain a secret, each with its configuration key.
    fn secrets(&self) -> Vec<(String, PathBuf)> {
        let mut files = Vec::new();
        match (&self.config.server.tls, &self.config.server.acme) {
            (Some(tls), None) => files.push(("server.tls.key".to_owned(), tls.key.clone())),
            // The key of an ordered certificate may not exist yet.
            (Some(tls), Some(_)) if tls.key.exists() => {
                files.push(("server.tls.acme.folder".to_owned(), tls.key.clone()));
            }
            (Some(_), Some(_)) | (None, _) => {}
        }
        if let Some(key) = &self.config.privacy.key_file {
            files.push(("privacy.key_file".to_owned(), key.clone()));
        }
        for dealer in &self.config.dealers {
            let id = &dealer.terms.id;
            if let Some(signing) = &dealer.card_signing {
                files.push((format!("{id}: card_signing.key_file"), signing.key_file.clone()));
            }
            let deliveries = dealer.deliveries.iter();
            files.extend(deliveries.flat_map(|delivery| secrets_of(id, delivery)));
            files.extend(dealer.feeds.iter().flat_map(|feed| secrets_of_feed(id, feed)));
        }
        for delivery in self.config.alerts.iter().flat_map(|alerts| &alerts.destinations) {
            files.extend(secrets_of("alerts", delivery));
        }
        let traces = self.config.traces.as_ref().and_then(|traces| traces.bearer.as_ref());
        files.extend(files_of("traces.", [("bearer_file", traces)]));
        for publisher in &self.config.publishers {
            let id = &publisher.profile.id;
            let keys = [
                ("webhook_key", &publisher.webhook_key),
                ("governance_key", &publisher.governance_key),
            ];
            files.extend(keys.into_iter().filter_map(|(key, file)| {
                Some((format!("{id}: {key}.key_file"), file.as_ref()?.key_file.clone()))
            }));
            for (url, secret) in &publisher.verifiers {
                let of = format!("{id}: verifiers {url}: ");
                files.extend(files_of(&of, [("bearer_file", Some(secret))]));
            }
            let destinations = publisher.deliveries.iter();
            files.extend(destinations.flat_map(|place| secrets_of(id, &place.delivery)));
        }
        files
    }
}

/// Returns those of these secrets that are files, each with its key after the prefix `of`.
fn files_of<const N: usize>(
    of: &str,
    secrets: [(&str, Option<&ConfigSecret>); N],
) -> Vec<(String, PathBuf)> {
    let file = |(key, secret): (&str, Option<&ConfigSecret>)| match secret? {
        ConfigSecret::File(path) => Some((format!("{of}{key}"), path.clone())),
        ConfigSecret::Text(_) => None,
    };
    secrets.into_iter().filter_map(file).collect()
}

/// Returns the files with the credentials of a feed, each with its configuration key.
fn secrets_of_feed(dealer: &str, feed: &FeedConfig) -> Vec<(String, PathBuf)> {
    let of = format!("{dealer}/{}: ", feed.name);
    let FeedOrigin::Pull(pull) = &feed.from else { return Vec::new() };
    match &pull.place {
        FeedLocation::Web(web) => {
            let password = web.login.as_ref().map(|(_, password)| password);
            files_of(&of, [("bearer_file", web.bearer.as_ref()), ("password_file", password)])
        }
        FeedLocation::Sftp(place) => vec![(format!("{of}key_file"), place.key_file.clone())],
    }
}

fn secrets_of(whose: &str, delivery: &DeliveryConfig) -> Vec<(String, PathBuf)> {
    let of = format!("{whose}/{}: ", delivery.destination.name);
    match &delivery.by {
        DeliveryMethod::Http(http) => {
            let bearer = http.bearer.as_ref();
            let hmac_key = http.hmac_key.as_ref();
            files_of(&of, [("bearer_file", bearer), ("hmac_key_file", hmac_key)])
        }
        DeliveryMethod::Smtp(smtp) => {
            let password = smtp.login.as_ref().map(|(_, password)| password);
            files_of(&of, [("password_file", password)])
        }
    }
}

/// Returns the mode of a path that users other than its owner may read or enter.
fn open_to(path: &Path) -> Option<u32> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}
