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
    /// The request has no valid credential.
    Unauthenticated = "UNAUTHENTICATED" {
        http: 401, exit: 9, closes: false,
        hint: "send a key that `tradepost keys create --admin` has created, as Authorization: Bearer KEY",
    }
    /// The key is valid, but does not permit the operation.
    PermissionDenied = "PERMISSION_DENIED" {
        http: 403, exit: 9, closes: false,
        hint: "use a key with the scope that the message names",
    }
    /// This address has sent too many invalid credentials.
    RateLimited = "RATE_LIMITED" {
        http: 429, exit: 7, closes: false,
        hint: "wait for the number of seconds in Retry-After",
    }
    /// The dealer or the address does not exist.
    NotFound = "NOT_FOUND" {
        http: 404, exit: 4, closes: false,
        hint: "`tradepost dealer list` lists the dealers; the configuration file names the publishers",
    }
    /// The address does not support this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED" {
        http: 405, exit: 2, closes: false,
        hint: "/admin/v1/openapi.json lists the methods",
    }
    /// The body is not valid JSON, or is ambiguous because a member occurs twice.
    InvalidJson = "INVALID_JSON" {
        http: 400, exit: 2, closes: false,
        hint: "send one JSON object in which no member occurs twice",
    }
    /// A parameter or a header cannot be read.
    InvalidParameter = "INVALID_PARAMETER" {
        http: 400, exit: 2, closes: false,
        hint: "/admin/v1/openapi.json lists the parameters",
    }
    /// The body exceeds the maximum size.
    TooLarge = "TOO_LARGE" {
        http: 413, exit: 2, closes: true,
        hint: "send a smaller document; for dealers, server.max_body_bytes can be raised",
    }
    /// The Content-Type of the body is not one that is read here.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE" {
        http: 415, exit: 2, closes: true,
        hint: "send Content-Type: application/json, with PATCH application/merge-patch+json, for delivery text/csv",
    }
    /// The document has errors; all of them are listed.
    InvalidDealer = "INVALID_DEALER" {
        http: 422, exit: 2, closes: false,
        hint: "correct every problem; `tradepost init` explains each key of [[dealers]]",
    }
    /// Rows of delivery have mistakes; all of them are listed, and nothing was stored.
    InvalidDelivery = "INVALID_DELIVERY" {
        http: 422, exit: 2, closes: false,
        hint: "correct every problem, and send all rows again",
    }
    /// The dealer is defined in the configuration file.
    ReadOnly = "READ_ONLY" {
        http: 409, exit: 6, closes: false,
        hint: "change the file and send SIGHUP; a dealer of the file cannot be changed elsewhere",
    }
    /// A dealer with this id exists.
    IdTaken = "ID_TAKEN" {
        http: 409, exit: 6, closes: false,
        hint: "choose another id, or change the existing dealer",
    }
    /// A dealer with this id was removed; its data is stored under the id.
    IdRemoved = "ID_REMOVED" {
        http: 409, exit: 6, closes: false,
        hint: "choose another id; --force (reuse=true) gives the new dealer the leads and consents of the removed \
            one",
    }
    /// A host name belongs to another seller.
    HostTaken = "HOST_TAKEN" {
        http: 409, exit: 6, closes: false,
        hint: "choose other hosts, or remove them from the other seller first",
    }
    /// The dealer has changed since it was read.
    RevisionConflict = "REVISION_CONFLICT" {
        http: 412, exit: 6, closes: false,
        hint: "read the dealer again, and send the change with its new revision",
    }
    /// The server failed. Its log has the cause.
    Unavailable = "UNAVAILABLE" {
        http: 503, exit: 7, closes: false,
        hint: "try again in a moment; the server's log has the cause",
    }
}
