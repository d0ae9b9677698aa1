//! Several errors in one answer.

use super::*;

#[test]
fn a_refusal_counts_more_than_a_request_to_wait() {
    let of = |names: &[&str]| of_names(names.iter().copied());
    let refused = |reason| Some(ErrorMeaning::Refused(reason));
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["ForecastError.NO_FORECAST_YET"]), Some(ErrorMeaning::NotYet));
    let both = ["FORECAST_ERROR_NO_FORECAST_YET", "ForecastError.NOT_ENOUGH_INVENTORY"];
    assert_eq!(of(&both), refused(RefusalReason::NoInventory));
    let vague = ["StringLengthError.TOO_LONG", "PermissionError.PERMISSION_DENIED"];
    assert_eq!(of(&vague), refused(RefusalReason::Permission));
    assert_eq!(
        of(&["QuotaError.EXCEEDED_QUOTA", "ServerError.SERVER_ERROR"]),
        Some(ErrorMeaning::Unknown)
    );
    assert_eq!(of(&["ANYTHING"]), refused(RefusalReason::Invalid));
}
