//! Telephone numbers in queries, which are personal data and find no car.

/// Groups of digits of a telephone number, by their lengths.
const DIGIT_GROUP_LENGTHS: [&[usize]; 3] = [&[1, 3, 3, 4], &[3, 3, 4], &[3, 4]];

/// Words before a number that is written with spaces alone.
const PHONE_WORDS: [&str; 12] = [
    "call", "text", "at", "phone", "cell", "number", "me", "is", "reach", "whatsapp", "telefono",
    "tel",
];

/// A run of digits in a text, as a range of bytes.
struct DigitGroup {
    start: usize,
    end: usize,
}

/// Returns a text without its telephone numbers, or `None` when it has none. Amounts, years and
/// stock numbers stay: a number counts when a hyphen, point or parenthesis divides it, or a word
/// such as `call` stands before it.
pub(crate) fn without_telephone_numbers(text: &str) -> Option<String> {
    let groups = digit_groups(text);
    let mut kept = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while at < groups.len() {
        let found = DIGIT_GROUP_LENGTHS.iter().find_map(|lengths| {
            let run = groups.get(at..at + lengths.len())?;
            is_telephone_number(text, run, lengths).then_some(run)
        });
        let Some([first, .., last]) = found else {
            at += 1;
            continue;
        };
        kept.push_str(text.get(copied..first.start).unwrap_or_default());
        copied = last.end;
        at += found.map_or(1, <[DigitGroup]>::len);
    }
    if copied == 0 {
        return None;
    }
    kept.push_str(text.get(copied..).unwrap_or_default());
    Some(kept)
}

/// Returns the runs of digits that are words of their own.
fn digit_groups(text: &str) -> Vec<DigitGroup> {
    let mut groups: Vec<DigitGroup> = Vec::new();
    for (start, c) in text.char_indices() {
        if !c.is_ascii_digit() {
            continue;
        }
        match groups.last_mut() {
            Some(last) if last.end == start => last.end += 1,
            Some(_) | None => groups.push(DigitGroup { start, end: start + 1 }),
        }
    }
    groups
}

/// Returns true for a telephone number: groups of these lengths with separators between them, and with a mark such as
/// a hyphen, or a word such as "call" before them. Seven digits need both.
fn is_telephone_number(text: &str, run: &[DigitGroup], lengths: &[usize]) -> bool {
    let is_shaped =
        run.iter().zip(lengths).all(|(group, digits)| group.end - group.start == *digits);
    let between = |pair: &[DigitGroup]| match pair {
        [one, next] => text.get(one.end..next.start).unwrap_or_default(),
        _ => "",
    };
    let gaps: Vec<&str> = run.windows(2).map(between).collect();
    let divides = |gap: &&str| {
        gap.len() <= 3 && gap.chars().all(|c| matches!(c, ' ' | '-' | '.' | '(' | ')' | '/'))
    };
    let borders = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '$');
    let start = run.first().map_or(0, |group| group.start);
    let end = run.last().map_or(0, |group| group.end);
    let before = text.get(..start).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default().chars().next();
    if !is_shaped || !gaps.iter().all(divides) || !borders(before.chars().next_back()) {
        return false;
    }
    // `303-555-0123k` and `1500-2500-3500` are none.
    if !borders(after) {
        return false;
    }
    let marks = |gap: &&str| gap.contains(['-', '.', ')']);
    let is_marked = gaps.last().is_some_and(marks);
    let mut words = before.rsplit(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let last = words.next().unwrap_or_default().to_lowercase();
    let is_announced = PHONE_WORDS.contains(&last.as_str());
    // Seven digits alone may be a stock number.
    if lengths.len() == 2 { is_marked && is_announced } else { is_marked || is_announced }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telephone_numbers_are_found_in_their_usual_forms() {
        for (text, expected) in [
            ("call me at 303-555-0123", Some("call me at ")),
            ("(303) 555-0123 about the suv", Some("( about the suv")),
            ("text 303 555 0123, honda", Some("text , honda")),
            ("+1 303.555.0123", Some("+")),
            ("call 555-0123", Some("call ")),
            ("mi telefono 303 555 0123", Some("mi telefono ")),
            ("my number is 303 555 0123 suv", Some("my number is  suv")),
            ("bmw 330 340 2020", None),
            ("stock 555-0123", None),
            ("2018-2020 under 20000", None),
            ("1500-2500", None),
        ] {
            assert_eq!(without_telephone_numbers(text).as_deref(), expected, "{text}");
        }
    }
}
