//! Makes untrusted text fit for a terminal: a seller must not be able to move the cursor, hide a part of a
//! line or reverse its direction.

/// Maximum number of characters of a sentence that are shown.
pub const SENTENCE: usize = 500;

/// Maximum number of characters of a name, a code or a pointer that are shown.
pub const WORD: usize = 80;

/// Decodes a body as UTF-8, without the byte order mark that some platforms put in front, which a JSON reader
/// may ignore (RFC 8259 §8.1). `None` when it is not UTF-8.
#[must_use]
pub fn decoded(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    Some(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Returns at most `max` characters of `text`. Runs of white space become one space; characters that control
/// the terminal, are invisible or change the direction of writing are left out.
#[must_use]
pub fn plain(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    let mut gap = false;
    for character in text.chars() {
        if character.is_whitespace() {
            gap = length > 0;
            continue;
        }
        if is_unsafe(character) {
            continue;
        }
        if length + usize::from(gap) >= max {
            out.push('…');
            break;
        }
        if gap {
            out.push(' ');
            length += 1;
            gap = false;
        }
        out.push(character);
        length += 1;
    }
    out
}

/// Returns at most `max` characters of a longer text with its lines and indentation. Keeps at most one empty
/// line in a row, and leaves out the characters that [`plain`] leaves out.
#[must_use]
pub fn paragraphs(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    let mut breaks = 0;
    for character in text.trim_end().chars() {
        match character {
            '\n' => {
                breaks += 1;
                continue;
            }
            '\t' => {}
            character if is_unsafe(character) => continue,
            _ => {}
        }
        if length >= max {
            out.push('…');
            break;
        }
        if breaks > 0 && !out.is_empty() {
            out.push_str(if breaks > 1 { "\n\n" } else { "\n" });
        }
        breaks = 0;
        out.push(if character.is_whitespace() { ' ' } else { character });
        length += 1;
    }
    out
}

/// Returns `text` as [`plain`] does, but at most `max` bytes of it: for programs that pass the text to a
/// model, for which protocols bound a seller's text.
#[must_use]
pub fn bounded(text: &str, max: usize) -> String {
    let mut text = plain(text, max);
    while text.len() > max {
        text.pop();
    }
    text
}

/// Escapes the characters of JSON text that [`plain`] would leave out, so that it is fit for a terminal and
/// means the same. In valid JSON they occur only in strings, where an escape is always permitted.
#[must_use]
pub fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for character in json.chars() {
        if matches!(character, '\n' | '\r' | '\t') || !is_unsafe(character) {
            out.push(character);
        } else {
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// Returns true for controls, and for the characters that Unicode calls default ignorable or line or
/// paragraph separators.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            u32::from(character),
            0x00AD
                | 0x034F
                | 0x061C
                | 0x115F..=0x1160
                | 0x17B4..=0x17B5
                | 0x180B..=0x180F
                | 0x200B..=0x200F
                | 0x2028..=0x202E
                | 0x2060..=0x206F
                | 0x3164
                | 0xFE00..=0xFE0F
                | 0xFEFF
                | 0xFFA0
                | 0xFFF0..=0xFFFB
                | 0x1BCA0..=0x1BCA3
                | 0x1D173..=0x1D17A
                | 0xE0000..=0xE0FFF
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_a_terminal_or_hides_is_left_out() {
        let hostile =
            "a\u{1b}[31mred\u{7}\u{9b}2J \u{202e}evil\u{2066}\u{200b}\u{feff}\r\n  b\u{e0041}";
        assert_eq!(plain(hostile, 80), "a[31mred2J evil b");
        assert_eq!(plain("  \n ", 80), "");
        assert_eq!(plain("naïve 日本 😀", 80), "naïve 日本 😀");
    }

    #[test]
    fn long_text_ends_in_an_ellipsis() {
        assert_eq!(plain("abcdef", 3), "abc…");
        assert_eq!(plain("abc", 3), "abc");
        assert_eq!(plain("abc   ", 3), "abc");
        assert_eq!(plain("ab cd", 3), "ab…");
    }

    #[test]
    fn paragraphs_keep_their_lines_and_nothing_else() {
        let hostile = "\n\na\u{1b}[2J\r\n  b\tc\n\n\n\nd\u{202e}e\u{2028}f\n";
        assert_eq!(paragraphs(hostile, 80), "a[2J\n  b c\n\ndef");
        assert_eq!(paragraphs("abc\ndef", 4), "abc\nd…");
        assert_eq!(paragraphs("abc\n", 3), "abc");
    }

    #[test]
    fn bytes_are_bounded_without_splitting_a_character() {
        assert_eq!(bounded("日本語", 7), "日本");
        assert_eq!(bounded("ab", 2), "ab");
        assert!(bounded(&"é".repeat(500), 256).len() <= 256);
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let json = "{\"a\":\n\t\"x\u{202e}y\u{7f}\u{9b}\u{e0041} é 日\"}";
        let escaped = escape_json(json);
        assert_eq!(escaped, "{\"a\":\n\t\"x\\u202ey\\u007f\\u009b\\udb40\\udc41 é 日\"}");
        let value = |text: &str| crate::json::from_str::<crate::json::Value>(text).unwrap();
        assert_eq!(value(json), value(&escaped));
    }
}
