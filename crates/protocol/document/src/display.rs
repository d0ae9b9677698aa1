//! Text of answers for people. A seller may send anything: a value of another type than expected is shown as
//! it is, and everything goes through [`plain`].

use crate::json::Value;

use crate::text::{SENTENCE, WORD, plain};

/// Maximum number of items of a list that are shown.
pub const MAX_ITEMS: usize = 30;

/// Returns the first of these members that is not empty.
#[must_use]
pub fn first_of(value: &Value, names: &[&str]) -> String {
    let mut texts = names.iter().map(|name| member(value, name));
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}

/// Returns a member as [`text`].
#[must_use]
pub fn member(value: &Value, name: &str) -> String {
    text(value.get(name))
}

/// Returns a value as people write it; empty for an absent one.
#[must_use]
pub fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::Number(number)) => plain(&number.text(), WORD),
        Some(Value::String(text)) => plain(text, SENTENCE),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let items = items.iter().take(MAX_ITEMS).map(|item| text(Some(item)));
            plain(&items.collect::<Vec<_>>().join(", "), SENTENCE)
        }
        Some(value @ (Value::Array(_) | Value::Object(_))) => plain(&value.to_string(), SENTENCE),
    }
}

/// Returns an amount in whole dollars, such as `$28,450`; anything but a number as it is.
#[must_use]
pub fn dollars(value: Option<&Value>) -> String {
    let shown = grouped(value);
    if value.is_some_and(Value::is_number) { format!("${shown}") } else { shown }
}

/// Returns a whole number with commas between thousands, also when it was sent as a float.
#[must_use]
pub fn grouped(value: Option<&Value>) -> String {
    let whole = value.and_then(Value::as_number).and_then(crate::parse::whole_number);
    let Some(whole) = whole.filter(|whole| (i64::MIN + 1..i64::MAX).contains(whole)) else {
        return text(value);
    };
    let digits = whole.unsigned_abs().to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if whole < 0 { format!("-{out}") } else { out }
}

/// Returns a member's name as a label.
#[must_use]
pub fn label(name: &str) -> String {
    plain(name, WORD).replace('_', " ")
}
