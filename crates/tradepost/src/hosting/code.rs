//! Error codes of refused changes to hosted dealers: one row for each code.

tradepost_document::catalog! {
    /// Error code of a refusal.
    pub enum HostingErrorCode {
        /// HTTP status.
        http: u16,
        /// Exit code of `tradepost dealer`.
        exit: u8,
        /// Returns true when the connection is closed, because the unread body would be read as the next
        /// request.
        closes: bool,
        /// Action for the caller.
        hint: &'static str,
    }
    /// There is no credential that is good here.
    Unauthenticated = "UNAUTHENTICATED" {
        http: 401, exit: 9, closes: false,
        hint: "send a key that `tradepost keys create --admin` has made, as Authorization: Bearer KEY",
    }
    /// The key is good, but not for this.
    PermissionDenied = "PERMISSION_DENIED" {
        http: 403, exit: 9, closes: false,
        hint: "use a key with the scope dealers:write, or dealers:read for what only reads",
    }
    /// Too many credentials that are not valid came from this address.
    RateLimited = "RATE_LIMITED" {
        http: 429, exit: 7, closes: false,
        hint: "wait for as many seconds as Retry-After says",
    }
    /// There is no such dealer, or nothing at this address.
    NotFound = "NOT_FOUND" {
        http: 404, exit: 4, closes: false,
        hint: "`tradepost dealer list` names those that there are",
    }
    /// The address does not take this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED" {
        http: 405, exit: 2, closes: false,
        hint: "/admin/v1/openapi.json says which methods there are",
    }
    /// The body is no JSON, or could be read in two ways.
    InvalidJson = "INVALID_JSON" {
        http: 400, exit: 2, closes: false,
        hint: "send one JSON object in which no member is there twice",
    }
    /// A parameter or a header cannot be read.
    InvalidParameter = "INVALID_PARAMETER" {
        http: 400, exit: 2, closes: false,
        hint: "/admin/v1/openapi.json says what parameters there are",
    }
    /// The body is larger than what is taken.
    TooLarge = "TOO_LARGE" {
        http: 413, exit: 2, closes: true,
        hint: "send a smaller document, or raise server.max_body_bytes",
    }
    /// The body is not said to be JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE" {
        http: 415, exit: 2, closes: true,
        hint: "send Content-Type: application/json, or application/merge-patch+json with PATCH",
    }
    /// The document has mistakes, all of which are listed.
    InvalidDealer = "INVALID_DEALER" {
        http: 422, exit: 2, closes: false,
        hint: "mend every problem; `tradepost init` explains each key of [[dealers]]",
    }
    /// The dealer is one of the configuration file.
    ReadOnly = "READ_ONLY" {
        http: 409, exit: 6, closes: false,
        hint: "change the file and send SIGHUP; what is in it is changed nowhere else",
    }
    /// There is a dealer with this id.
    IdTaken = "ID_TAKEN" {
        http: 409, exit: 6, closes: false,
        hint: "choose another id, or change the dealer that there is",
    }
    /// There was a dealer with this id; what it has taken is kept under it.
    IdRemoved = "ID_REMOVED" {
        http: 409, exit: 6, closes: false,
        hint: "choose another id; --force (reuse=true) hands leads and consents of the former over",
    }
    /// A host leads to another seller.
    HostTaken = "HOST_TAKEN" {
        http: 409, exit: 6, closes: false,
        hint: "choose other hosts, or take them from whoever has them first",
    }
    /// The dealer has changed since it was read.
    RevisionConflict = "REVISION_CONFLICT" {
        http: 412, exit: 6, closes: false,
        hint: "read the dealer again, and send the change with its new revision",
    }
    /// We broke. The cause is in the log.
    Unavailable = "UNAVAILABLE" {
        http: 503, exit: 7, closes: false,
        hint: "try again in a moment; the log of the server says why",
    }
}
