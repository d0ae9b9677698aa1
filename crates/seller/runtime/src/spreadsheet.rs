//! Text for files that people open with a spreadsheet.

use tradepost_document::format;

/// Returns a cell that spreadsheets treat as text. One that starts with `=`, `+`, `-` or `@` would
/// be calculated, so it gets a leading apostrophe; a telephone number in E.164 is `+` and digits,
/// which calculates nothing, and is unchanged. Control characters other than line breaks and tabs
/// are removed.
#[must_use]
pub fn guarded(text: &str) -> String {
    let kept =
        |character: &char| !character.is_control() || matches!(character, '\n' | '\r' | '\t');
    let text: String = text.chars().filter(kept).collect();
    // Spreadsheets skip leading white space before they look for a formula.
    if text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
        && !format::is_e164(&text)
    {
        return format!("'{text}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_and_telephone_numbers_stay() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1+1", "'\t=1+1"),
            ("\u{1b}=1+1", "'=1+1"),
            ("+14155550123", "+14155550123"),
            ("+14155550123+1", "'+14155550123+1"),
            ("Ada", "Ada"),
            ("", ""),
        ] {
            assert_eq!(guarded(text), cell, "{text:?}");
        }
    }
}
