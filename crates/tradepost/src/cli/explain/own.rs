//! Codes of our own, beside those of the protocols: of the operators' API, of the bridge for
//! language models, of certificate orders, and of the server outside of every binding.

use tradepost_bridge::failures;
use tradepost_dealer::appointment::change::CalendarCode;
use tradepost_document::catalog::Vocabulary;

use super::ExplainedCode;
use crate::acme::failure as acme;
use crate::hosting;

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
    Answered = "OK" { catalog: "metrics", http: None, hint: "nothing: all is well" }
    /// A request was refused before any protocol read it. A label of the metrics.
    HttpError = "HTTP_ERROR" {
        catalog: "metrics", http: None,
        hint: "look at the log for the status and the address of these requests",
    }
    /// A tool call of a publisher or an own agent failed without a code. A label of the metrics.
    Failed = "FAILED" {
        catalog: "metrics", http: None, hint: "look at the log for the error id of the call",
    }
    /// Another feed of the dealer is being taken.
    Busy = "BUSY" {
        catalog: "feed upload", http: Some(409), hint: "send the feed again in a moment",
    }
    /// The upload took too long, or stood still.
    Timeout = "TIMEOUT" {
        catalog: "feed upload", http: Some(408),
        hint: "send it again over a faster connection, or pack it with gzip",
    }
    /// The body of the upload ended early.
    InvalidRequest = "INVALID_REQUEST" {
        catalog: "feed upload", http: Some(400), hint: "send the whole file again",
    }
    /// The uploaded feed is larger than what is taken.
    UploadTooLarge = "TOO_LARGE" {
        catalog: "feed upload", http: Some(413),
        hint: "pack it with gzip, or raise max_bytes of the feed",
    }
    /// The uploaded feed could not be taken for a reason of ours.
    UploadUnavailable = "UNAVAILABLE" {
        catalog: "feed upload", http: Some(503),
        hint: "send it again later; the log of the server says why",
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
    /// The configuration file is not there, or cannot be read.
    ConfigUnreadable = "config_unreadable" {
        exit: 2, hint: "write one with `tradepost init`, or name another file with --config",
    }
    /// The configuration file has mistakes, all of which are listed.
    ConfigInvalid = "config_invalid" {
        exit: 2, hint: "correct each line; `tradepost check-config` lists them again",
    }
    /// There is no data in the folder.
    StoreMissing = "store_missing" {
        exit: 2,
        hint: "name the folder of `serve` with --data, its database with --database, or its \
               configuration with --config",
    }
    /// The folder or the database cannot be used.
    StoreUnusable = "store_unusable" {
        exit: 1, hint: "see that the folder can be written, or that the database answers",
    }
    /// The store is a PostgreSQL, and the command is for folders.
    StoreIsDatabase = "store_is_database" {
        exit: 2, hint: "use the tools of the database, such as pg_dump and pg_restore",
    }
    /// No dealer has the id.
    UnknownDealer = "unknown_dealer" {
        exit: 2, hint: "use one of the dealers that the error lists",
    }
    /// Nobody of this name works for the publisher.
    UnknownMember = "unknown_member" {
        exit: 2, hint: "name somebody whom `tradepost console user list` shows for the publisher",
    }
    /// The role of whom `--by` names does not permit this.
    NotPermitted = "not_permitted" {
        exit: 2, hint: "let somebody decide whose role permits it; an approver may decide everything",
    }
    /// The database that is to take a folder holds something else.
    DatabaseUsed = "database_used" { exit: 2, hint: "name an empty database" }
    /// Something else was being moved to the database.
    OtherSource = "other_source" {
        exit: 2, hint: "name an empty database, or the folder that was being moved as it was",
    }
    /// What has arrived in the database differs from the folder.
    Differs = "differs" {
        exit: 1, hint: "somebody else has written to the database; begin with an empty one",
    }
    /// A server uses the database that is to take a folder.
    DatabaseServed = "database_served" {
        exit: 1, hint: "end the server, wait for half a minute and try again",
    }
}

/// Returns every code of our own.
pub(super) fn entries() -> Vec<ExplainedCode> {
    let mut all = Vec::new();
    for code in hosting::HostingErrorCode::ALL {
        all.push(ExplainedCode {
            http_status: Some(code.http()),
            exit_code: Some(code.exit()),
            ..described(*code, "operators' API", code.hint())
        });
    }
    for code in failures::BridgeErrorCode::ALL {
        let entry = described(*code, "bridge", code.hint());
        all.push(ExplainedCode { retryable: code.retryable(), ..entry });
    }
    for code in acme::AcmeErrorCode::ALL {
        all.push(described(*code, "certificates", code.hint()));
    }
    for code in ServerCode::ALL {
        all.push(ExplainedCode {
            http_status: code.http(),
            ..described(*code, code.catalog(), code.hint())
        });
    }
    for code in CalendarCode::ALL {
        all.push(described(*code, "calendar", code.hint()));
    }
    for code in CommandCode::ALL {
        let entry = described(*code, "command line", code.hint());
        all.push(ExplainedCode { exit_code: Some(code.exit()), ..entry });
    }
    all
}

fn described<C: Vocabulary>(code: C, catalog: &'static str, hint: &'static str) -> ExplainedCode {
    ExplainedCode {
        code: code.name(),
        catalog,
        description: code.docs().split_whitespace().collect::<Vec<_>>().join(" "),
        hint,
        ..ExplainedCode::default()
    }
}
