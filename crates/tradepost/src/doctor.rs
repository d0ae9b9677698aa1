//! Checks of a server's environment from outside: host names, certificates, agent cards, connections to
//! destinations, feeds, clock, disk, permissions and the store. It only sends requests for a card, a key
//! set or the headers of a feed, and changes nothing. The steps that bring a dealer online, whose test lead is stored
//! and erased, are in [`tradepost_runtime::first_steps`]; their findings have the same form.
//!
//! Each check has a timeout, and all run concurrently. A finding names the part of the configuration, and
//! never an address or a secret from it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tradepost_document::words;
use tradepost_runtime::config::Config;
use tradepost_server::clock::Clock;
use tradepost_store::privacy::OperatorKeys;

mod connectivity;
mod machine;
mod reach;
mod storage;

pub(crate) use reach::on_this_machine;

pub use storage::Keeping;

words! {
    /// State of the subject of a finding.
    pub enum FindingState {
        /// As it should be.
        Ok = "ok",
        /// Works, but not for all callers, or not permanently.
        Warning = "warning",
        /// Does not work.
        Bad = "bad",
    }
}

words! {
    /// Area of a check.
    pub enum Area {
        /// Settings that are valid and risky.
        Configuration = "configuration",
        /// The data folder or the database.
        Store = "store",
        /// Leads, webhooks and notifications that were given up.
        Backlog = "backlog",
        /// Free disk space.
        Disk = "disk",
        /// Permissions of private files.
        Permissions = "permissions",
        /// Host names.
        Dns = "dns",
        /// Certificates.
        Tls = "tls",
        /// Agent cards.
        Card = "card",
        /// Destinations of leads and of alerts.
        Delivery = "delivery",
        /// Inventory feeds.
        Feed = "feed",
        /// Issuers of access tokens.
        Issuer = "issuer",
        /// The clock of this machine.
        Clock = "clock",
        /// The steps that bring a dealer online, with a test lead.
        Steps = "steps",
    }
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// Area of the check.
    pub area: Area,
    /// Subject within the area.
    pub subject: String,
    /// State of the subject.
    pub state: FindingState,
    /// Description: a lower-case fragment without a full stop.
    pub says: String,
    /// Action for the operator, unless all is well.
    pub hint: Option<String>,
}

/// Subject of findings.
#[derive(Debug, Clone)]
pub(crate) struct FindingSubject {
    area: Area,
    subject: String,
}

impl FindingSubject {
    pub(crate) fn new(area: Area, subject: impl Into<String>) -> Self {
        Self { area, subject: subject.into() }
    }

    pub(crate) fn ok(&self, says: impl Into<String>) -> DoctorFinding {
        self.finding(FindingState::Ok, says.into(), None)
    }

    pub(crate) fn warning(
        &self,
        says: impl Into<String>,
        hint: impl Into<String>,
    ) -> DoctorFinding {
        self.finding(FindingState::Warning, says.into(), Some(hint.into()))
    }

    pub(crate) fn bad(&self, says: impl Into<String>, hint: impl Into<String>) -> DoctorFinding {
        self.finding(FindingState::Bad, says.into(), Some(hint.into()))
    }

    fn finding(&self, state: FindingState, says: String, hint: Option<String>) -> DoctorFinding {
        DoctorFinding { area: self.area, subject: self.subject.clone(), state, says, hint }
    }
}

/// Runs the checks.
#[derive(Debug, Clone)]
pub struct Examiner {
    config: Arc<Config>,
    keeping: Keeping,
    /// The keys of personal data, or the reason why there are none.
    keys: Result<OperatorKeys, String>,
    check_timeout: Duration,
    clock: Clock,
}

/// Findings of a check, and the times of other clocks.
#[derive(Debug, Default)]
pub(crate) struct CheckOutcome {
    findings: Vec<DoctorFinding>,
    /// Hosts that were asked, with the time by which each is ahead of our clock.
    clocks: Vec<(String, SignedDuration)>,
}

impl From<Vec<DoctorFinding>> for CheckOutcome {
    fn from(findings: Vec<DoctorFinding>) -> Self {
        Self { findings, clocks: Vec::new() }
    }
}

impl From<DoctorFinding> for CheckOutcome {
    fn from(finding: DoctorFinding) -> Self {
        vec![finding].into()
    }
}

/// Checks that run concurrently; their findings are in the order in which they were begun.
struct RunningChecks {
    running: JoinSet<(usize, CheckOutcome)>,
    begun: usize,
    check_timeout: Duration,
}

impl RunningChecks {
    /// Begins a check. One that exceeds the timeout is reported as bad.
    fn begin(
        &mut self,
        about: FindingSubject,
        check: impl Future<Output = CheckOutcome> + Send + 'static,
    ) {
        let number = self.begun;
        let check_timeout = self.check_timeout;
        self.begun += 1;
        self.running.spawn(async move {
            let seen = timeout(check_timeout, check).await;
            let late = |_| {
                let says = format!("no answer in {} s", check_timeout.as_secs());
                let hint = "find out what delays it; --timeout sets a longer timeout";
                CheckOutcome::from(about.bad(says, hint))
            };
            (number, seen.unwrap_or_else(late))
        });
    }

    /// Begins a check that blocks.
    fn begin_blocking(
        &mut self,
        about: FindingSubject,
        check: impl FnOnce() -> CheckOutcome + Send + 'static,
    ) {
        let broken = about.clone();
        self.begin(about, async move {
            let seen = tokio::task::spawn_blocking(check).await;
            seen.unwrap_or_else(|_| broken.bad("the check failed", "report this as a bug").into())
        });
    }
}

impl Examiner {
    /// Creates the checks of a configuration and of its store.
    #[must_use]
    pub fn new(
        config: Config,
        keeping: Keeping,
        keys: Result<OperatorKeys, String>,
        check_timeout: Duration,
        clock: Clock,
    ) -> Self {
        Self { config: Arc::new(config), keeping, keys, check_timeout, clock }
    }

    /// Runs all checks.
    pub async fn examine(&self) -> Vec<DoctorFinding> {
        let mut checks =
            RunningChecks { running: JoinSet::new(), begun: 0, check_timeout: self.check_timeout };
        self.check_storage(&mut checks);
        self.check_machine(&mut checks);
        self.check_reachability(&mut checks);
        self.check_connectivity(&mut checks);
        let mut seen: Vec<(usize, CheckOutcome)> = Vec::new();
        while let Some(ended) = checks.running.join_next().await {
            seen.extend(ended);
        }
        // In the order of their begin, and not of their end, so that two runs can be compared.
        seen.sort_by_key(|(number, _)| *number);
        let mut findings = Vec::new();
        let mut clocks = Vec::new();
        for (_, seen) in seen {
            findings.extend(seen.findings);
            clocks.extend(seen.clocks);
        }
        findings.extend(judge_clock(&clocks));
        findings.sort_by_key(|finding| finding.area);
        findings
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Largest clock error without effect: consents may be granted so much later (`clock_skew`).
const MAX_HARMLESS_CLOCK_ERROR: SignedDuration = SignedDuration::from_secs(5);

/// Largest clock error that is only a warning; beyond it all requests are affected.
const MAX_WARNING_CLOCK_ERROR: SignedDuration = SignedDuration::from_secs(60);

/// Compares our clock with others. The nearest one counts, because any of them may be wrong.
fn judge_clock(clocks: &[(String, SignedDuration)]) -> Option<DoctorFinding> {
    let (whose, ahead) = clocks.iter().min_by_key(|(_, ahead)| ahead.abs())?;
    let about = FindingSubject::new(Area::Clock, "this machine");
    let seconds = ahead.abs().as_secs();
    let direction = if ahead.is_negative() { "ahead of" } else { "behind" };
    let says = format!("{seconds} s {direction} the clock of {whose}");
    let hint = "synchronise the clock (NTP): consents, tokens and signatures depend on it";
    Some(if ahead.abs() <= MAX_HARMLESS_CLOCK_ERROR {
        about.ok(format!("within {} s of the clock of {whose}", MAX_HARMLESS_CLOCK_ERROR.as_secs()))
    } else if ahead.abs() <= MAX_WARNING_CLOCK_ERROR {
        about.warning(says, hint)
    } else {
        about.bad(says, hint)
    })
}

/// Time before its end at which a certificate gets a warning: automatic renewal happens thirty days before.
const RENEWAL_WARNING: SignedDuration = SignedDuration::from_hours(21 * 24);

/// Returns the finding for the end of a certificate.
pub(crate) fn judge_end(
    about: &FindingSubject,
    end: Option<Timestamp>,
    now: Timestamp,
) -> DoctorFinding {
    let hint = "renew it: an automatic renewal should have happened by now";
    match end {
        None => about.ok("trusted; its expiry cannot be read"),
        Some(end) if end <= now => about.bad(format!("expired on {end}"), hint),
        Some(end) if end.duration_since(now) < RENEWAL_WARNING => {
            let days = end.duration_since(now).as_hours() / 24;
            about.warning(format!("expires on {end}, in {days} days"), hint)
        }
        Some(end) => about.ok(format!("valid until {end}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(seconds: &[i64]) -> Option<FindingState> {
        let others =
            seconds.iter().map(|ahead| ("x".to_owned(), SignedDuration::from_secs(*ahead)));
        judge_clock(&others.collect::<Vec<_>>()).map(|finding| finding.state)
    }

    #[test]
    fn a_clock_is_as_wrong_as_the_nearest_other_says() {
        assert_eq!(clock(&[]), None);
        assert_eq!(clock(&[-5, 4_000]), Some(FindingState::Ok));
        assert_eq!(clock(&[6]), Some(FindingState::Warning));
        assert_eq!(clock(&[-60, 61]), Some(FindingState::Warning));
        assert_eq!(clock(&[-61, 3_600]), Some(FindingState::Bad));
    }

    #[test]
    fn a_certificate_is_warned_of_before_it_ends() {
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let about = FindingSubject::new(Area::Tls, "x");
        for (days, state) in [
            (-1, FindingState::Bad),
            (0, FindingState::Bad),
            (20, FindingState::Warning),
            (21, FindingState::Ok),
        ] {
            let end = now.checked_add(SignedDuration::from_hours(24 * days)).unwrap();
            assert_eq!(judge_end(&about, Some(end), now).state, state, "{days}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_without_answer_is_amiss_and_delays_no_other() {
        let check_timeout = Duration::from_secs(10);
        let mut checks = RunningChecks { running: JoinSet::new(), begun: 0, check_timeout };
        let silent = FindingSubject::new(Area::Dns, "silent");
        let quick = FindingSubject::new(Area::Dns, "quick");
        let found = quick.clone();
        checks.begin(silent, std::future::pending());
        checks.begin(quick, async move { vec![found.ok("there")].into() });
        let mut states = Vec::new();
        while let Some(Ok((number, seen))) = checks.running.join_next().await {
            states.push((number, seen.findings[0].state, seen.findings[0].says.clone()));
        }
        let expected = [
            (1, FindingState::Ok, "there".to_owned()),
            (0, FindingState::Bad, "no answer in 10 s".into()),
        ];
        assert_eq!(states, expected);
    }
}
