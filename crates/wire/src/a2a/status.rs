//! The status codes of gRPC, by which google.rpc.Status names errors on every binding (A2A §5.4).

use super::error::Code;
use crate::catalog::{Vocabulary as _, catalog};

catalog! {
    /// How a call ended.
    pub enum Status {
        /// The number that travels.
        number: i32,
    }
    /// It succeeded.
    Ok = "OK" { number: 0 }
    /// The caller gave up.
    Cancelled = "CANCELLED" { number: 1 }
    /// Nobody knows.
    Unknown = "UNKNOWN" { number: 2 }
    /// The request is wrong, whatever the state of things.
    InvalidArgument = "INVALID_ARGUMENT" { number: 3 }
    /// The caller's time was up first.
    DeadlineExceeded = "DEADLINE_EXCEEDED" { number: 4 }
    /// It is not there, or not for the caller to see.
    NotFound = "NOT_FOUND" { number: 5 }
    /// It is there already.
    AlreadyExists = "ALREADY_EXISTS" { number: 6 }
    /// The caller is known and may not.
    PermissionDenied = "PERMISSION_DENIED" { number: 7 }
    /// It was too much or too often.
    ResourceExhausted = "RESOURCE_EXHAUSTED" { number: 8 }
    /// The state of things has to change first.
    FailedPrecondition = "FAILED_PRECONDITION" { number: 9 }
    /// Somebody else was faster.
    Aborted = "ABORTED" { number: 10 }
    /// It is beyond the end.
    OutOfRange = "OUT_OF_RANGE" { number: 11 }
    /// There is no such method.
    Unimplemented = "UNIMPLEMENTED" { number: 12 }
    /// The server broke.
    Internal = "INTERNAL" { number: 13 }
    /// The server cannot answer now.
    Unavailable = "UNAVAILABLE" { number: 14 }
    /// Something is lost for good.
    DataLoss = "DATA_LOSS" { number: 15 }
    /// The caller has to say who it is.
    Unauthenticated = "UNAUTHENTICATED" { number: 16 }
}

impl From<Code> for Status {
    fn from(code: Code) -> Self {
        Self::from_name(code.grpc())
            .unwrap_or_else(|| unreachable!("every row of the catalog names one"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aap;
    use crate::catalog::Vocabulary;

    #[test]
    fn both_catalogs_name_statuses_of_grpc_alone() {
        for (number, status) in (0..).zip(Status::ALL) {
            assert_eq!(status.number(), number);
        }
        for code in Code::ALL.iter().copied() {
            assert_eq!(Status::from(code).name(), code.grpc());
        }
        for code in aap::error::Code::ALL.iter().copied() {
            assert!(Status::NAMES.contains(&code.grpc()), "{code}");
        }
    }
}
