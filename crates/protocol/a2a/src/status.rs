//! Status codes of gRPC, which google.rpc.Status uses in every binding (A2A 1.0 §5.4).

use super::error::A2aCode;
use tradepost_document::catalog::{Vocabulary as _, catalog};

catalog! {
    /// Status of a call.
    pub enum RpcStatus {
        /// Number on the wire.
        number: i32,
    }
    /// Success.
    Ok = "OK" { number: 0 }
    /// The caller cancelled the call.
    Cancelled = "CANCELLED" { number: 1 }
    /// An unknown error.
    Unknown = "UNKNOWN" { number: 2 }
    /// The request is invalid, in any state of the system.
    InvalidArgument = "INVALID_ARGUMENT" { number: 3 }
    /// The deadline passed.
    DeadlineExceeded = "DEADLINE_EXCEEDED" { number: 4 }
    /// Not found, or not visible to the caller.
    NotFound = "NOT_FOUND" { number: 5 }
    /// The resource already exists.
    AlreadyExists = "ALREADY_EXISTS" { number: 6 }
    /// The caller is authenticated, but has no permission.
    PermissionDenied = "PERMISSION_DENIED" { number: 7 }
    /// A quota or rate limit is exceeded.
    ResourceExhausted = "RESOURCE_EXHAUSTED" { number: 8 }
    /// The state of the system does not permit it.
    FailedPrecondition = "FAILED_PRECONDITION" { number: 9 }
    /// Aborted by a concurrent operation.
    Aborted = "ABORTED" { number: 10 }
    /// Out of the valid range.
    OutOfRange = "OUT_OF_RANGE" { number: 11 }
    /// No such method.
    Unimplemented = "UNIMPLEMENTED" { number: 12 }
    /// An internal error.
    Internal = "INTERNAL" { number: 13 }
    /// Temporarily unavailable.
    Unavailable = "UNAVAILABLE" { number: 14 }
    /// Data is lost.
    DataLoss = "DATA_LOSS" { number: 15 }
    /// The caller has to authenticate.
    Unauthenticated = "UNAUTHENTICATED" { number: 16 }
}

impl From<A2aCode> for RpcStatus {
    fn from(code: A2aCode) -> Self {
        Self::from_name(code.grpc())
            .unwrap_or_else(|| unreachable!("every row of the catalog names one"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tradepost_document::catalog::Vocabulary;

    #[test]
    fn the_catalog_names_statuses_of_grpc_alone() {
        for (number, status) in (0..).zip(RpcStatus::ALL) {
            assert_eq!(status.number(), number);
        }
        for code in A2aCode::ALL.iter().copied() {
            assert_eq!(RpcStatus::from(code).name(), code.grpc());
        }
    }
}
