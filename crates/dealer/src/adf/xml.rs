//! A writer for indented XML whose texts are clean and escaped, whatever they were.

use quick_xml::escape::{escape, partial_escape};

/// A document in the making.
#[derive(Debug)]
pub(super) struct Xml {
    pub(super) out: String,
    depth: usize,
}

impl Xml {
    /// A document that starts with `prolog`.
    pub(super) fn new(prolog: &str) -> Self {
        Self { out: prolog.to_owned(), depth: 0 }
    }

    /// An element with elements in it.
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

    /// An element with one line of text.
    pub(super) fn leaf(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.out.push('>');
        self.out.push_str(&partial_escape(one_line(text)));
        self.close(name);
    }

    /// An element with one line of text, unless that is absent or blank.
    pub(super) fn some(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !one_line(text).is_empty()) {
            self.leaf(name, &[], text);
        }
    }

    /// An element with nothing in it.
    pub(super) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes);
        self.out.push_str("/>\n");
    }

    /// A `comments` element, unless there is nothing to say.
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

/// Lines of the form `LABEL: text`. No text can pretend to be a line of ours: its further lines
/// start with `> `.
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

/// Text on one line (C-42): white space runs become a space, control characters and what XML 1.0
/// cannot hold disappear.
pub(crate) fn one_line(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .collect();
    shown.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ")
}
