//! A writer for indented XML that cleans and escapes every text.

use quick_xml::escape::{escape, partial_escape};

/// An XML document being written.
#[derive(Debug)]
pub(super) struct Xml {
    pub(super) out: String,
    depth: usize,
}

impl Xml {
    /// Starts a document with `prolog`.
    pub(super) fn new(prolog: &str) -> Self {
        Self { out: prolog.to_owned(), depth: 0 }
    }

    /// Writes an element with child elements.
    pub(super) fn within(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        inside: impl FnOnce(&mut Self),
    ) {
        self.open(name, attributes);
        self.out.push_str(">\n");
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.indent();
        self.close(name);
    }

    /// Writes an element with one line of text.
    pub(super) fn leaf(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.out.push('>');
        self.out.push_str(&partial_escape(one_line(text)));
        self.close(name);
    }

    /// Writes an element with one line of text, unless the text is absent or blank.
    pub(super) fn some(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !one_line(text).is_empty()) {
            self.leaf(name, &[], text);
        }
    }

    /// Writes an empty element.
    pub(super) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes);
        self.out.push_str("/>\n");
    }

    /// Writes a `comments` element, unless there are no comments.
    pub(super) fn comments(&mut self, comments: &Comments) {
        if !comments.text.is_empty() {
            self.open("comments", &[]);
            self.out.push('>');
            self.out.push_str(&partial_escape(&comments.text));
            self.close("comments");
        }
    }

    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }

    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        self.out.push('<');
        self.out.push_str(name);
        for (name, value) in attributes {
            let value = one_line(value);
            self.out.push_str(&format!(" {name}=\"{}\"", escape(&value)));
        }
    }

    fn close(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push_str(">\n");
    }
}

/// Comment lines of the form `LABEL: text`. Further lines of a text start with `> `, so that no
/// text can imitate a labelled line.
#[derive(Debug, Default)]
pub(super) struct Comments {
    text: String,
}

impl Comments {
    /// Adds a line, unless the text is blank.
    pub(super) fn add(&mut self, label: &str, text: &str) {
        let mut lines = text.lines().map(one_line).filter(|line| !line.is_empty());
        let Some(first) = lines.next() else {
            return;
        };
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&format!("{label}: {first}"));
        for line in lines {
            self.text.push_str("\n> ");
            self.text.push_str(&line);
        }
    }

    /// Adds a line, unless the text is absent or blank.
    pub(super) fn some(&mut self, label: &str, text: Option<&str>) {
        self.add(label, text.unwrap_or_default());
    }
}

/// Puts a text on one line (C-42): runs of white space become a space; control characters and those
/// that XML 1.0 does not allow are removed.
pub fn one_line(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .collect();
    shown.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}
