//! Measures whether the time of an answer tells what is another tenant's from what is nowhere. For every
//! look-up two requests that differ in one identifier are sent over one connection, in random order
//! within each pair, and the two samples are compared with the test of Mann and Whitney.
//!
//! `twins ADDRESS PROBES THINGS PAIRS MINE THEIRS` sends the requests of the file PROBES with the
//! credential MINE, after both tenants have made what the file THINGS says. Prints Markdown, and
//! fails when a pair of samples differs at the 1 % level after Holm's correction, or an answer does.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tradepost_bench::{Fallible, McpConnection};

/// The level at which two samples count as different.
const LEVEL: f64 = 0.01;

/// Pairs that are sent before those that count.
const WARM_UP: usize = 50;

/// Nothing on this machine takes longer to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// What the demo publisher offers.
const OFFERED: [(&str, &str); 3] = [
    ("$PRODUCT", "native_articles"),
    ("$PRICE", "cpc_fixed"),
    ("$AGENT", "https://ads.gazette.example"),
];

/// Identifiers by the words of the requests.
type Words = BTreeMap<String, String>;

/// Numbers that nobody has to be unable to guess (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An identifier that looks like another: its prefix and 32 hex digits.
    fn like(&mut self, id: &str) -> String {
        let prefix = id.rsplit_once('_').map_or("id", |(prefix, _)| prefix);
        format!("{prefix}_{:016x}{:016x}", self.roll(), self.roll())
    }
}

/// A connection, and the identifiers that are made for it.
struct Line {
    connection: McpConnection,
    dice: Dice,
}

impl Line {
    fn open(host: &str) -> Fallible<Self> {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        let dice = Dice(u64::try_from(seed % u128::from(u64::MAX))?);
        Ok(Self { connection: McpConnection::open(host, ANSWER_TIMEOUT)?, dice })
    }

    /// The bytes of a call.
    fn call(&mut self, token: &str, tool: &str, arguments: &Value, words: &Words) -> Vec<u8> {
        let arguments = self.filled(arguments, words);
        self.connection.call(token, tool, &arguments)
    }

    /// A request with everything put in, and a key of its own.
    fn filled(&mut self, value: &Value, words: &Words) -> Value {
        match value {
            Value::String(text) if text == "$KEY" => json!(self.dice.like("key_")),
            Value::String(text) => words.get(text).map_or_else(|| value.clone(), |id| json!(id)),
            Value::Array(items) => items.iter().map(|item| self.filled(item, words)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), self.filled(value, words)))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Sends a request; how many nanoseconds the answer took, and its text.
    fn send(&mut self, request: &[u8]) -> Fallible<(u64, String)> {
        let took = u64::try_from(self.connection.send(request)?.as_nanos())?;
        Ok((took, self.connection.answer()?.to_owned()))
    }

    /// The document that answers a call.
    fn ask(&mut self, token: &str, step: &Value, words: &Words) -> Fallible<Value> {
        let tool = step.pointer("/tool").and_then(Value::as_str).ok_or("a step has no tool")?;
        let request = step.pointer("/request").ok_or("a step has no request")?;
        let call = self.call(token, tool, request, words);
        self.connection.send(&call)?;
        let mut body = self.connection.body()?;
        let document = body.pointer_mut("/result/structuredContent").map(Value::take);
        document.ok_or_else(|| format!("{tool}: {body}").into())
    }

    /// Makes one of everything. The product that waits for approval is exclusive, so that each tenant takes one
    /// of its days.
    fn furnish(&mut self, token: &str, things: &Value, day: usize) -> Fallible<Words> {
        let own = |(word, id): &(&str, &str)| ((*word).to_owned(), (*id).to_owned());
        let mut words: Words = OFFERED.iter().map(own).collect();
        for word in list(things, "chosen") {
            words.insert(word.as_str().unwrap_or_default().to_owned(), self.dice.like("chosen_"));
        }
        let days = list(things, "days").get(day).and_then(Value::as_object);
        for (word, moment) in days.into_iter().flatten() {
            words.insert(word.clone(), moment.as_str().unwrap_or_default().to_owned());
        }
        for step in list(things, "making") {
            let document = self.ask(token, step, &words)?;
            let kept = step.get("kept").and_then(Value::as_object);
            for (word, path) in kept.into_iter().flatten() {
                let id = document.pointer(path.as_str().unwrap_or_default());
                let id = id.and_then(Value::as_str).ok_or_else(|| format!("{step}: {document}"))?;
                words.insert(word.clone(), id.to_owned());
            }
        }
        Ok(words)
    }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Where the identifier stands in a request.
fn place(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::String(text) => (text == "$HERE").then(|| path.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| place(item, &format!("{path}[]"))),
        Value::Object(members) => {
            members.iter().find_map(|(name, value)| place(value, &format!("{path}.{name}")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The word for the thing that a place names.
fn word(things: &Value, place: &str) -> Option<String> {
    let member = place.rsplit('.').next()?.trim_end_matches("[]");
    Some(things.get("names")?.get(member)?.as_str()?.to_owned())
}

/// What was measured of a look-up.
struct Measured {
    lookup: String,
    code: String,
    medians: (f64, f64),
    p: f64,
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, probes, things, pairs, mine, theirs] = arguments.as_slice() else {
        return Err("usage: twins ADDRESS PROBES THINGS PAIRS MINE THEIRS".into());
    };
    let probes: Vec<Value> = serde_json::from_slice(&std::fs::read(probes)?)?;
    let things: Value = serde_json::from_slice(&std::fs::read(things)?)?;
    let pairs: usize = pairs.parse()?;
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut line = Line::open(address)?;
    let foreign = line.furnish(theirs, &things, 0)?;
    let own = line.furnish(mine, &things, 1)?;
    let mut measured = Vec::new();
    let mut left_out = Vec::new();
    for probe in &probes {
        let path = place(probe.pointer("/request").unwrap_or(&Value::Null), "");
        let path = path.ok_or_else(|| format!("nothing is open in {probe}"))?;
        let tool = probe.get("tool").and_then(Value::as_str).unwrap_or_default();
        let scenario = probe.pointer("/request/scenario").and_then(Value::as_str);
        let scenario = scenario.map(|name| format!("{name} ")).unwrap_or_default();
        let lookup = format!("{tool} {scenario}{}", path.trim_start_matches('.'));
        if !lookup.contains(&only) {
            continue;
        }
        let word = word(&things, &path).ok_or_else(|| format!("{path} has no word"))?;
        let foreign = foreign.get(&word).ok_or_else(|| format!("nobody has made {word}"))?;
        let with = |id: &str| {
            let mut words = own.clone();
            words.insert("$HERE".to_owned(), id.to_owned());
            words
        };
        let nothing = line.dice.like(foreign);
        let document = line.ask(mine, probe, &with(&nothing))?.to_string();
        // What is made under an id of the caller's own is no look-up, and would fill the store.
        let keeps = document.contains(r#""replayed":"#) || document.contains(r#""success":true"#);
        if keeps && !document.contains("_NOT_FOUND") {
            left_out.push(lookup);
            continue;
        }
        let arguments = probe.pointer("/request").unwrap_or(&Value::Null);
        let mut samples = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        for pair in 0..WARM_UP + pairs {
            let nothing = line.dice.like(foreign);
            let mut answers = [None, None];
            let first_is_foreign = line.dice.roll() & 1 == 0;
            for is_foreign in [first_is_foreign, !first_is_foreign] {
                let id = if is_foreign { foreign } else { &nothing };
                let call = line.call(mine, tool, arguments, &with(id));
                let (took, answer) = line.send(&call)?;
                if pair >= WARM_UP {
                    if is_foreign { samples.0.push(took) } else { samples.1.push(took) }
                }
                let [one, other] = &mut answers;
                *(if is_foreign { one } else { other }) = Some(plain(&answer, id));
            }
            let [one, other] = answers;
            if one != other {
                return Err(format!("{lookup}: the answers differ\n{one:?}\n{other:?}").into());
            }
        }
        let medians = (median(&mut samples.0), median(&mut samples.1));
        let p = mann_whitney(&samples.0, &samples.1);
        measured.push(Measured { lookup, code: code(&document), medians, p });
    }
    report(measured, &left_out, pairs)
}

/// An answer without the identifier and without the time.
fn plain(answer: &str, id: &str) -> String {
    let lines = answer.lines().filter(|line| !line.to_ascii_lowercase().starts_with("date:"));
    lines.collect::<Vec<_>>().join("\n").replace(id, "")
}

/// The code with which a document refuses, or nothing.
fn code(document: &str) -> String {
    let found =
        document.split('"').find(|word| word.ends_with("_NOT_FOUND") || *word == "NOT_FOUND");
    let found = found.or_else(|| document.split(r#""code":""#).nth(1)?.split('"').next());
    found.unwrap_or("an empty list").to_owned()
}

fn report(mut measured: Vec<Measured>, left_out: &[String], pairs: usize) -> Fallible<()> {
    let mut out = std::io::stdout().lock();
    measured.sort_by(|one, other| one.p.total_cmp(&other.p));
    writeln!(out, "{pairs} pairs for each of {} look-ups; the smallest p first", measured.len())?;
    writeln!(out)?;
    writeln!(
        out,
        "| look-up | answer | another's, median µs | nowhere, median µs | p | p, Holm |"
    )?;
    writeln!(out, "|---|---|---:|---:|---:|---:|")?;
    let mut highest = 0.0_f64;
    let mut separable = 0;
    let mut left = measured.len();
    for Measured { lookup, code, medians, p } in &measured {
        #[expect(clippy::cast_precision_loss, reason = "there are a few dozen")]
        let corrected = (p * left as f64).min(1.0).max(highest);
        highest = corrected;
        left -= 1;
        separable += usize::from(corrected < LEVEL);
        let (theirs, nothing) = medians;
        writeln!(
            out,
            "| {lookup} | {code} | {theirs:.1} | {nothing:.1} | {p:.4} | {corrected:.4} |"
        )?;
    }
    writeln!(out)?;
    if !left_out.is_empty() {
        writeln!(out, "No look-ups, and left out: {}.", left_out.join(", "))?;
    }
    if separable > 0 {
        return Err(format!("{separable} look-ups are separable").into());
    }
    Ok(())
}

/// In microseconds; sorts.
fn median(sample: &mut [u64]) -> f64 {
    sample.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "nothing takes that long")]
    sample.get(sample.len() / 2).map_or(f64::NAN, |nanos| *nanos as f64 / 1000.0)
}

/// The two-sided p-value of the rank-sum test of two sorted samples: the normal approximation, with
/// the variance corrected for ties.
#[expect(clippy::cast_precision_loss, reason = "samples have a few thousand members")]
fn mann_whitney(one: &[u64], other: &[u64]) -> f64 {
    let mut all: Vec<(u64, bool)> = one.iter().map(|nanos| (*nanos, true)).collect();
    all.extend(other.iter().map(|nanos| (*nanos, false)));
    all.sort_unstable();
    let mut rank_sum = 0.0;
    let mut ties = 0.0;
    let mut before = 0.0;
    for equal in all.chunk_by(|one, other| one.0 == other.0) {
        let count = equal.len() as f64;
        let rank = before + (count + 1.0) / 2.0;
        rank_sum += rank * equal.iter().filter(|(_, is_one)| *is_one).count() as f64;
        ties += count.powi(3) - count;
        before += count;
    }
    let m = one.len() as f64;
    let n = other.len() as f64;
    let total = m + n;
    let u = rank_sum - m * (m + 1.0) / 2.0;
    let variance = m * n / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // Half a rank, because ranks are whole.
    let z = ((u - m * n / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    complementary_error(z / std::f64::consts::SQRT_2)
}

/// The complementary error function of what is not negative, to seven digits (Chebyshev fitting after
/// Numerical Recipes, 6.2).
fn complementary_error(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let terms = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let sum = terms.iter().rev().fold(0.0, |sum, term| term + t * sum);
    t * (sum - x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::{complementary_error, mann_whitney};

    #[test]
    fn the_error_function_is_that_of_the_tables() {
        for (x, wanted) in [(0.0, 1.0), (0.5, 0.479_500_1), (1.0, 0.157_299_2), (2.0, 0.004_677_7)]
        {
            assert!((complementary_error(x) - wanted).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn equal_samples_are_equal_and_shifted_ones_are_not() {
        let one: Vec<u64> = (0..2000).collect();
        assert!(mann_whitney(&one, &one) > 0.99);
        let shifted: Vec<u64> = one.iter().map(|nanos| nanos + 200).collect();
        assert!(mann_whitney(&one, &shifted) < 1e-6);
        // By hand: the rank sum is 12.5, U is 2.5 of 16, the variance 11.286, z is 1.488.
        let p = mann_whitney(&[1, 2, 2, 3], &[2, 3, 4, 5]);
        assert!((p - 0.1367).abs() < 0.001, "{p}");
    }
}
