//! Amounts of money and counts. They travel as JSON numbers; sums of them are rounded to a millionth
//! of the currency's unit, so that adding budgets up in another order comes to the same.

use tradepost_wire::json::{Number, Value};

/// An amount without the noise of binary fractions.
#[must_use]
pub fn tidy(amount: f64) -> f64 {
    (amount * 1e6).round() / 1e6
}

/// The sum of amounts.
#[must_use]
pub fn sum(amounts: impl IntoIterator<Item = f64>) -> f64 {
    tidy(amounts.into_iter().sum())
}

/// An amount as it is written: without a fraction when it has none.
#[must_use]
pub fn number(amount: f64) -> Value {
    let amount = tidy(amount);
    // Up to here every whole number has its own f64.
    if amount.fract() == 0.0 && amount.abs() < 9e15 {
        return Value::from(amount as i64);
    }
    Number::from_f64(amount).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_people_write_them() {
        let written = |amount| number(amount).to_string();
        assert_eq!(written(5000.0), "5000");
        assert_eq!(written(0.1 + 0.2), "0.3");
        assert_eq!(written(-1.5), "-1.5");
        assert_eq!(written(f64::NAN), "null");
        assert_eq!(sum([0.1, 0.2, 0.3]), sum([0.3, 0.2, 0.1]));
    }
}
