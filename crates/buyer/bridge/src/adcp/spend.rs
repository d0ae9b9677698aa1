//! Cost of a media buy, as the person is told it. Prices are those that the seller has shown; without a price the
//! person is not asked, because they could not know what they agree to. Amounts are exact.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use tradepost_document::cache::BoundedCache;
use tradepost_document::json::{Map, Value};

use crate::failures::{BridgeError, BridgeErrorCode};
use crate::sanitize::quoted;
use tradepost_mcp::summary::items;

/// Maximum number of remembered prices of a seller.
const MAX_PRICES: usize = 5_000;

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 80;

/// Maximum number of decimal places of an amount.
const PLACES: u32 = 4;

/// Price that a seller asks for a product.
#[derive(Debug, Clone)]
struct AskedPrice {
    product: String,
    currency: String,
    terms: String,
}

/// Prices that a seller has shown.
#[derive(Debug)]
pub(super) struct Prices(Mutex<BoundedCache<(String, String), AskedPrice>>);

impl Default for Prices {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(MAX_PRICES)))
    }
}

impl Prices {
    /// Remembers the prices in an answer to `get_products`.
    pub(super) fn learn(&self, payload: &Value) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for product in items(payload, "products") {
            let id = text(product, "product_id");
            for option in items(product, "pricing_options") {
                let price = AskedPrice {
                    product: quoted(text(product, "name"), MAX_NAME),
                    currency: currency(option).to_owned(),
                    terms: terms(option),
                };
                known.insert((id.to_owned(), text(option, "pricing_option_id").to_owned()), price);
            }
        }
    }

    fn price_of(&self, package: &Value) -> Result<AskedPrice, BridgeError> {
        let product = text(package, "product_id");
        let option = text(package, "pricing_option_id");
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let price = known.get(&(product.to_owned(), option.to_owned())).cloned();
        price.filter(|price| !price.currency.is_empty()).ok_or_else(|| {
            let message = format!(
                "the price \"{}\" of product \"{}\" is not among those that the seller has shown, so \
                 that the person cannot be told what it costs",
                quoted(option, MAX_NAME),
                quoted(product, MAX_NAME),
            );
            BridgeError::new(BridgeErrorCode::PriceUnknown, message)
        })
    }

    /// Returns lines with the cost of a new media buy.
    pub(super) fn of_new(&self, arguments: &Map) -> Result<Vec<String>, BridgeError> {
        let mut sums = Sums::default();
        let mut lines = Vec::new();
        let packages = arguments.get("packages").and_then(Value::as_array);
        for (place, package) in packages.into_iter().flatten().enumerate() {
            lines.push(self.package(place, package, &mut sums)?);
        }
        let proposal = arguments.get("proposal_id").and_then(Value::as_str);
        // A person who reads a list of packages would not notice an additional proposal.
        if proposal.is_some() && !lines.is_empty() {
            return Err(misleading("buy either a proposal_id or packages, not both at once"));
        }
        if let Some(total) = arguments.get("total_budget") {
            let money = currency(total);
            if money.is_empty() {
                return Err(unreadable_price());
            }
            // For a proposal this is the whole amount; beside packages it may not exceed their sum.
            if lines.is_empty() {
                sums.add(money, total.get("amount"))?;
            } else if sums.permits(money, exact(total.get("amount"))?) {
                lines.push(format!("total_budget: {} {money}", amount(total.get("amount"))?));
            } else {
                return Err(misleading(
                    "total_budget is more than the sum of the packages or in another currency; \
                     leave it out",
                ));
            }
        }
        if let Some(proposal) = proposal {
            lines.insert(0, format!("proposal \"{}\"", quoted(proposal, MAX_NAME)));
        }
        lines.insert(0, format!("It spends up to {}.", sums.shown()?));
        Ok(lines)
    }

    /// Returns lines with the cost of a change, and the current budget of the media buy.
    pub(super) fn of_change(
        &self,
        arguments: &Map,
        buy: &Value,
    ) -> Result<Vec<String>, BridgeError> {
        let money = currency(buy);
        if money.is_empty() {
            return Err(unseen());
        }
        let mut lines = Vec::new();
        let mut more = Sums::default();
        let mut changed = HashSet::new();
        for package in list(arguments, "packages") {
            let id = text(package, "package_id");
            // With two entries, only the seller could decide which one counts.
            if !changed.insert(id) {
                return Err(misleading(
                    "a package_id is there twice; say all of a package at once",
                ));
            }
            let shown = quoted(id, MAX_NAME);
            let now = items(buy, "packages").find(|known| text(known, "package_id") == id);
            let now = now.ok_or_else(unseen)?;
            if let Some(budget) = package.get("budget") {
                let before =
                    now.get("budget").map_or(Ok("an unknown budget".to_owned()), |budget| {
                        amount(Some(budget)).map(|amount| format!("{amount} {money}"))
                    })?;
                let after = amount(Some(budget))?;
                lines.push(format!("package \"{shown}\": from {before} to {after} {money}"));
            }
            if let Some(bid) = package.get("bid_price") {
                lines.push(format!("package \"{shown}\": a bid of {} {money}", amount(Some(bid))?));
            }
            lines.extend(halted(|name| package.get(name), &format!("package \"{shown}\"")));
        }
        for (place, package) in list(arguments, "new_packages").enumerate() {
            lines.push(format!("new {}", self.package(place, package, &mut more)?));
        }
        lines.extend(halted(|name| arguments.get(name), "the media buy"));
        let total = amount(buy.get("total_budget"))?;
        lines.insert(0, format!("The media buy stands at {total} {}.", quoted(money, 8)));
        if !more.0.is_empty() {
            lines.insert(1, format!("New packages spend up to {}.", more.shown()?));
        }
        Ok(lines)
    }

    fn package(
        &self,
        place: usize,
        package: &Value,
        sums: &mut Sums,
    ) -> Result<String, BridgeError> {
        let AskedPrice { product, currency, terms } = self.price_of(package)?;
        let shown = sums.add(&currency, package.get("budget"))?;
        let bid = match package.get("bid_price") {
            Some(bid) => format!(", a bid of {} {currency}", amount(Some(bid))?),
            None => String::new(),
        };
        let id = quoted(text(package, "product_id"), MAX_NAME);
        Ok(format!(
            "package {}: {shown} {currency} for \"{product}\" ({id}), {terms}{bid}",
            place + 1
        ))
    }
}

fn unseen() -> BridgeError {
    let message =
        "the seller does not show what changes, so that the person cannot be told what it costs";
    BridgeError::new(BridgeErrorCode::PriceUnknown, message)
}

/// Creates the error of arguments that a person could misunderstand.
fn misleading(message: impl Into<String>) -> BridgeError {
    BridgeError::new(BridgeErrorCode::InvalidArguments, message)
}

/// Amounts by currency, in units of `10^-PLACES`.
#[derive(Debug, Default)]
struct Sums(Vec<(String, i128)>);

impl Sums {
    /// Adds an amount and returns it as text.
    fn add(&mut self, currency: &str, budget: Option<&Value>) -> Result<String, BridgeError> {
        let scaled = exact(budget)?;
        match self.0.iter_mut().find(|(known, _)| known == currency) {
            Some((_, sum)) => *sum = sum.checked_add(scaled).ok_or_else(unreadable_price)?,
            None => self.0.push((currency.to_owned(), scaled)),
        }
        Ok(written(scaled))
    }

    /// Returns true when everything is spent in this currency and the sum is at least `total`.
    fn permits(&self, currency: &str, total: i128) -> bool {
        matches!(self.0.as_slice(), [(known, sum)] if known == currency && total <= *sum)
    }

    fn shown(&self) -> Result<String, BridgeError> {
        let sums: Vec<_> =
            self.0.iter().map(|(currency, sum)| format!("{} {currency}", written(*sum))).collect();
        if sums.is_empty() { Err(unreadable_price()) } else { Ok(sums.join(" and ")) }
    }
}

fn amount(value: Option<&Value>) -> Result<String, BridgeError> {
    exact(value).map(written)
}

/// Reads an amount in units of `10^-PLACES`. One that is finer, negative or missing is an error.
fn exact(value: Option<&Value>) -> Result<i128, BridgeError> {
    let number = value.and_then(Value::as_number).ok_or_else(unreadable_price)?;
    // Scaled to more places than are shown, so that a finer amount is detected and not rounded.
    let finer = number.scaled(2 * PLACES).ok_or_else(unreadable_price)?;
    let unit = 10_i128.pow(PLACES);
    if finer < 0 || finer % unit != 0 { Err(unreadable_price()) } else { Ok(finer / unit) }
}

fn unreadable_price() -> BridgeError {
    let message = "an amount is missing, negative or finer than can be shown, so that the person cannot \
                   be told what it costs";
    BridgeError::new(BridgeErrorCode::PriceUnknown, message)
}

/// Formats an amount like `12,345.67`.
fn written(scaled: i128) -> String {
    let unit = 10_i128.pow(PLACES);
    let whole = scaled / unit;
    let fraction = scaled % unit;
    let digits = whole.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if fraction != 0 {
        let fraction = format!("{fraction:04}");
        let fraction = fraction.trim_end_matches('0');
        out.push_str(&format!(".{fraction:0<2}"));
    }
    out
}

/// Returns the price of a product as text: `cpm, fixed at 12.5`.
fn terms(option: &Value) -> String {
    let model = quoted(text(option, "pricing_model"), 20);
    for (name, word) in [("fixed_price", "fixed at"), ("floor_price", "by auction from")] {
        if let Ok(amount) = amount(option.get(name)) {
            return format!("{model}, {word} {amount}");
        }
    }
    model
}

/// Returns lines about pausing and cancelling.
fn halted<'v>(get: impl Fn(&str) -> Option<&'v Value>, what: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, word) in [("paused", "paused"), ("canceled", "canceled for good")] {
        if let Some(flag) = get(name).and_then(Value::as_bool) {
            lines.push(format!("{what}: {}{word}", if flag { "" } else { "not " }));
        }
    }
    lines
}

/// Returns the currency, three upper-case letters; anything else is read as none.
fn currency(value: &Value) -> &str {
    let currency = text(value, "currency");
    let is_one = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_one { currency } else { "" }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(members: &'v Map, name: &str) -> impl Iterator<Item = &'v Value> {
    members.get(name).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tradepost_document::json::{from_str, json};

    use super::*;

    fn prices() -> Prices {
        let prices = Prices::default();
        prices.learn(&json!({"products": [
            {"product_id": "p1", "name": "Front\" [page](http://x)", "pricing_options": [
                {"pricing_option_id": "cpm", "pricing_model": "cpm", "currency": "USD",
                 "fixed_price": 12.5},
                {"pricing_option_id": "eur", "pricing_model": "cpm", "currency": "EUR",
                 "floor_price": 4},
                {"pricing_option_id": "odd", "pricing_model": "cpm", "currency": "no money"}]}]}));
        prices
    }

    fn refusal(arguments: &Value) -> String {
        match prices().of_new(arguments.as_object().unwrap()) {
            Ok(lines) => lines.join("\n"),
            Err(error) => error.text(),
        }
    }

    fn package(option: &str, budget: &str) -> Value {
        let budget: Value = from_str(budget).unwrap();
        json!({"product_id": "p1", "pricing_option_id": option, "budget": budget})
    }

    #[test]
    fn what_is_spent_is_the_exact_sum_in_each_currency() {
        let packages = [package("cpm", "0.1"), package("cpm", "0.2"), package("eur", "1234567.5")];
        expect![[r#"
            It spends up to 0.30 USD and 1,234,567.50 EUR.
            package 1: 0.10 USD for "Front' (page)(http://x)" (p1), cpm, fixed at 12.50
            package 2: 0.20 USD for "Front' (page)(http://x)" (p1), cpm, fixed at 12.50
            package 3: 1,234,567.50 EUR for "Front' (page)(http://x)" (p1), cpm, by auction from 4"#]]
        .assert_eq(&refusal(&json!({"packages": packages})));
        let proposal = json!({"proposal_id": "plan", "total_budget":
            {"amount": 5000, "currency": "USD"}});
        expect![[r#"
            It spends up to 5,000 USD.
            proposal "plan""#]]
        .assert_eq(&refusal(&proposal));
    }

    #[test]
    fn nobody_is_asked_about_what_has_no_price() {
        for arguments in [
            json!({"packages": [package("other", "1")]}),
            json!({"packages": [package("odd", "1")]}),
            json!({"packages": [package("cpm", "-1")]}),
            json!({"packages": [package("cpm", "0.00000001")]}),
            json!({"packages": [package("cpm", "1e400")]}),
            json!({"packages": [package("cpm", "\"1\"")]}),
            json!({"packages": []}),
            json!({"proposal_id": "plan"}),
        ] {
            let refusal = refusal(&arguments);
            assert!(refusal.starts_with("PRICE_UNKNOWN: "), "{arguments} {refusal}");
        }
    }

    #[test]
    fn a_purchase_says_once_what_it_spends() {
        let total = |amount: u32, currency: &str| json!({"amount": amount, "currency": currency});
        let packages = [package("cpm", "10"), package("cpm", "20")];
        let right = refusal(&json!({"packages": packages, "total_budget": total(30, "USD")}));
        assert!(
            right.starts_with("It spends up to 30 USD.") && right.ends_with("30 USD"),
            "{right}"
        );
        let both = [package("cpm", "10"), package("eur", "20")];
        for arguments in [
            json!({"packages": packages, "total_budget": total(31, "USD")}),
            json!({"packages": packages, "total_budget": total(30, "EUR")}),
            json!({"packages": both, "total_budget": total(10, "USD")}),
            json!({"packages": packages, "proposal_id": "plan", "total_budget": total(1, "USD")}),
        ] {
            let refusal = refusal(&arguments);
            assert!(refusal.starts_with("INVALID_ARGUMENTS: "), "{arguments} {refusal}");
        }
    }

    #[test]
    fn a_change_is_told_beside_what_there_is() {
        let buy = json!({"currency": "USD", "total_budget": 1000, "packages": [
            {"package_id": "k1", "budget": 1000}]});
        let change = json!({"canceled": true, "packages": [{"package_id": "k1", "budget": 2500,
            "paused": false}], "new_packages": [package("cpm", "10")]});
        let lines = prices().of_change(change.as_object().unwrap(), &buy).unwrap();
        expect![[r#"
            The media buy stands at 1,000 USD.
            New packages spend up to 10 USD.
            package "k1": from 1,000 USD to 2,500 USD
            package "k1": not paused
            new package 1: 10 USD for "Front' (page)(http://x)" (p1), cpm, fixed at 12.50
            the media buy: canceled for good"#]]
        .assert_eq(&lines.join("\n"));
        let one = |budget: u32| json!({"package_id": "k1", "budget": budget});
        let twice = json!({"packages": [one(1), one(9000)]});
        let error = prices().of_change(twice.as_object().unwrap(), &buy).unwrap_err();
        assert!(error.text().starts_with("INVALID_ARGUMENTS: "), "{}", error.text());
        let other = json!({"packages": [{"package_id": "k2", "budget": 1}]});
        assert!(prices().of_change(other.as_object().unwrap(), &buy).is_err());
    }
}
