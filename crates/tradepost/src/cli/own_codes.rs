//! Codes of the seller's side, beside those that `tradepost explain` knows for buyers: of the
//! operators' API, of certificate orders, of imports, of `/readyz` and alerts, and of the server
//! outside of every binding.

use tradepost_commands::explain::ExplainedCode;
use tradepost_dealer::appointment::change::CalendarCode;
use tradepost_dealer::import::{RowWarning, SkipReason};
use tradepost_document::catalog::Vocabulary;
use tradepost_runtime::acme::failure as acme;
use tradepost_runtime::alerts::watch::AlertKind;
use tradepost_runtime::hosting;
use tradepost_server::health::CertificateRemark;
use tradepost_store::StoreRemark;

tradepost_document::catalog! {
    /// Code that the server shows outside of the catalogs.
    enum ServerCode {
        /// Name of the catalog.
        catalog: &'static str,
        /// HTTP status, if it has one.
        http: Option<u16>,
        /// Advice.
        hint: &'static str,
    }
    /// The request was answered without an error. A label of the metrics.
    Answered = "OK" { catalog: "metrics", http: None, hint: "nothing to do: there was no error" }
    /// A request was refused before any protocol read it. A label of the metrics.
    HttpError = "HTTP_ERROR" {
        catalog: "metrics", http: None,
        hint: "see the log for the status and the address of these requests",
    }
    /// A tool call of a publisher or of a custom agent failed without a code. A label of the
    /// metrics.
    Failed = "FAILED" {
        catalog: "metrics", http: None, hint: "see the log for the error id of the call",
    }
    /// The server is importing another feed of the dealer.
    Busy = "BUSY" {
        catalog: "feed upload", http: Some(409), hint: "send the feed again in a moment",
    }
    /// The upload took too long, or stalled.
    Timeout = "TIMEOUT" {
        catalog: "feed upload", http: Some(408),
        hint: "send it again over a faster connection, or compress it with gzip",
    }
    /// The body of the upload ended early.
    InvalidRequest = "INVALID_REQUEST" {
        catalog: "feed upload", http: Some(400), hint: "send the whole file again",
    }
    /// The uploaded feed exceeds the maximum size.
    UploadTooLarge = "TOO_LARGE" {
        catalog: "feed upload", http: Some(413),
        hint: "compress it with gzip, or raise max_bytes of the feed",
    }
    /// The server could not import the uploaded feed because of an internal error.
    UploadUnavailable = "UNAVAILABLE" {
        catalog: "feed upload", http: Some(503),
        hint: "send it again later; the server's log has the cause",
    }
}

tradepost_document::catalog! {
    /// Code that commands write to the `error` object of their JSON.
    enum CommandCode {
        /// Exit code of the command.
        exit: u8,
        /// Advice.
        hint: &'static str,
    }
    /// The configuration file does not exist, or cannot be read.
    ConfigUnreadable = "config_unreadable" {
        exit: 2, hint: "write one with `tradepost init`, or name another file with --config",
    }
    /// The folder contains no data.
    StoreMissing = "store_missing" {
        exit: 2,
        hint: "name the folder of `serve` with --data, its database with --database, or its \
               configuration with --config",
    }
    /// The store is a PostgreSQL database, and the command is only for data folders.
    StoreIsDatabase = "store_is_database" {
        exit: 2, hint: "use the tools of the database, such as pg_dump and pg_restore",
    }
    /// The file is no table of products: it is no text, or none of its headings is recognised.
    TableUnreadable = "table_unreadable" {
        exit: 2,
        hint: "save it as CSV in UTF-8, with headings as `tradepost publisher catalogue import --template` prints them",
    }
    /// Cells or headings of a table of products have mistakes.
    TableMistakes = "table_mistakes" {
        exit: 2, hint: "correct the cells that the error lists, and import the file again",
    }
    /// The adagents.json of a domain does not exist, or cannot be read.
    AdagentsUnread = "adagents_unread" {
        exit: 15, hint: "publish what `tradepost publisher adagents write` prints on the domain",
    }
    /// The adagents.json of a domain has mistakes, or does not let the agent sell.
    AdagentsProblems = "adagents_problems" {
        exit: 15, hint: "correct the members that the error lists, and publish the file again",
    }
    /// No dealer has the id.
    UnknownDealer = "unknown_dealer" {
        exit: 2, hint: "use one of the dealers that the error lists",
    }
    /// The publisher has no staff member with this name.
    UnknownMember = "unknown_member" {
        exit: 2, hint: "use a name that `tradepost console user list` shows for the publisher",
    }
    /// The person has approved the media buy already, and another one has to approve it, too.
    SamePerson = "same_person" {
        exit: 2, hint: "have another approver approve it",
    }
    /// The role of the person that `--by` names does not permit this.
    NotPermitted = "not_permitted" {
        exit: 2, hint: "have a person decide whose role permits it; an approver may decide everything",
    }
    /// The target database contains other data.
    DatabaseUsed = "database_used" { exit: 2, hint: "name an empty database" }
    /// An earlier move to the database had another source.
    OtherSource = "other_source" {
        exit: 2, hint: "name an empty database, or the unchanged folder of the earlier move",
    }
    /// The data in the target database differs from the folder.
    Differs = "differs" {
        exit: 1, hint: "another program has written to the database; start with an empty one",
    }
    /// A server uses the target database.
    DatabaseServed = "database_served" {
        exit: 1, hint: "stop the server, wait for half a minute and try again",
    }
}

/// Returns every one of them.
pub(super) fn entries() -> Vec<ExplainedCode> {
    let mut all = Vec::new();
    for code in hosting::HostingErrorCode::ALL {
        all.push(ExplainedCode {
            http_status: Some(code.http()),
            exit_code: Some(code.exit()),
            ..ExplainedCode::with_description(*code, "operators' API", code.hint())
        });
    }
    for code in acme::AcmeErrorCode::ALL {
        all.push(ExplainedCode::with_description(*code, "certificates", code.hint()));
    }
    for code in ServerCode::ALL {
        all.push(ExplainedCode {
            http_status: code.http(),
            ..ExplainedCode::with_description(*code, code.catalog(), code.hint())
        });
    }
    for code in CalendarCode::ALL {
        all.push(ExplainedCode::with_description(*code, "calendar", code.hint()));
    }
    for code in CommandCode::ALL {
        let entry = ExplainedCode::with_description(*code, "command line", code.hint());
        all.push(ExplainedCode { exit_code: Some(code.exit()), ..entry });
    }
    all.extend(
        SkipReason::ALL
            .iter()
            .map(|code| ExplainedCode::with_description(*code, "skipped row", code.hint())),
    );
    all.extend(
        RowWarning::ALL
            .iter()
            .map(|code| ExplainedCode::with_description(*code, "import warning", code.hint())),
    );
    all.extend(
        StoreRemark::ALL
            .iter()
            .map(|code| ExplainedCode::with_description(*code, "readyz", code.hint())),
    );
    all.extend(
        CertificateRemark::ALL
            .iter()
            .map(|code| ExplainedCode::with_description(*code, "readyz", code.hint())),
    );
    all.extend(
        AlertKind::ALL
            .iter()
            .map(|code| ExplainedCode::with_description(*code, "alert", code.hint())),
    );
    all
}

#[cfg(test)]
mod tests {
    use tradepost_commands::explain::{codes, find};

    use super::*;

    #[test]
    fn codes_of_the_seller_are_found_beside_those_of_buyers() {
        let all = || codes().into_iter().chain(entries()).collect();
        let names = |code: &str| -> Vec<_> {
            let found = find(code, all()).unwrap();
            found.iter().map(|entry| format!("{} {}", entry.catalog, entry.code)).collect()
        };
        assert_eq!(
            names("rate_limited"),
            ["AAP RATE_LIMITED", "AdCP RATE_LIMITED", "operators' API RATE_LIMITED"]
        );
        assert_eq!(names("stale feeds"), ["readyz stale_feeds"]);
        let hint = find("untyped_app", all()).unwrap_err().hint.unwrap();
        assert_eq!(hint, "did you mean untyped_aap?");
    }
}
