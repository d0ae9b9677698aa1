//! Reading the notation of the rules. A file is a list of shapes; a shape is a list of terms, all
//! of which have to hold:
//!
//! ```text
//! # A remark.
//! "An example."                        what it is for, said to models; only what has such a
//!                                      sentence is in the outline of a tool
//! shape core/example = object {        a type; "string/null" is one of two
//!   "The currency (ISO 4217)."         the same of a member
//!   currency!: string `^[A-Z]{3}$`     a required member; a pattern
//!   amount: number >= 0 <= 100         bounds: >= > <= <
//!   name: string length 1..64          so many characters
//!   start: string format date-time
//!   kind: string = fixed               the one value; text where it is no number, true or false
//!   mode: in (fast slow "very slow")   one of these values
//!   tags: array count 1.. unique [string]     so many items, each of them so
//!   list: array contains (= a)         at least one of them so
//!   budget: @core/budget               another shape
//!   labels: object { *: string } members 1..3    all other members; so many of them
//!   assets: object {
//!     `^[a-z]+$` as logo: any          members by the pattern of their names; such a name
//!   }
//!   scores: object names (`^[a-z]+$`)  what names must satisfy
//! } closed                             no other members
//!   needs (a b)                        required members that are declared elsewhere
//!   when a needs (b)                   required together with another
//!   all (x | y) any-of (x | y) one-of (x | y) not (x) if (x) then (y) else (z)
//! ```

use std::collections::HashMap;
use std::fmt;

use super::pattern::Pattern;
use super::shape::{
    Bound, ConditionRules, CountRange, Format, Limit, ListRules, MemberRules, Node, ObjectRules,
    RuleBook, Shape, TextRules, Type, Union,
};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::decimal::Decimal;
use tradepost_document::json::Value;

/// Error in a file, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotationError {
    line: usize,
    what: String,
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Parses files into one rule book, and resolves every reference.
///
/// # Errors
/// The first mistake.
pub(super) fn read(files: &[&'static str]) -> Result<RuleBook, NotationError> {
    let mut book = RuleBook::default();
    let mut references = Vec::new();
    let mut compiled = HashMap::new();
    for file in files {
        let tokens = tokens(file)?;
        let mut reader = Reader {
            tokens: &tokens,
            next: 0,
            references: &mut references,
            compiled: &mut compiled,
        };
        while reader.peek().is_some() {
            let shape = reader.shape()?;
            let place = book.shapes.len();
            if book.places.insert(shape.name, place).is_some() {
                return Err(reader.wrong(format!("{} is there twice", shape.name)));
            }
            book.shapes.push(shape);
        }
    }
    match references.into_iter().find(|(name, _)| !book.places.contains_key(name)) {
        Some((name, line)) => {
            Err(NotationError { line, what: format!("there is no shape {name}") })
        }
        None => Ok(book),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// A name, a number or a keyword.
    Word(&'static str),
    /// A text in quotation marks.
    Quoted(&'static str),
    /// A regular expression.
    Pattern(&'static str),
    Sign(&'static str),
}

fn tokens(file: &'static str) -> Result<Vec<(Token, usize)>, NotationError> {
    let mut tokens = Vec::new();
    for (line, text) in file.lines().enumerate() {
        let line = line + 1;
        let mut rest = text.trim_start();
        while !rest.is_empty() && !rest.starts_with('#') {
            let (token, length) = token(rest).ok_or_else(|| NotationError {
                line,
                what: format!("cannot be read from {rest:?} on"),
            })?;
            tokens.push((token, line));
            rest = rest.get(length..).unwrap_or_default().trim_start();
        }
    }
    Ok(tokens)
}

/// Returns the first token of a text, and its length.
fn token(rest: &'static str) -> Option<(Token, usize)> {
    const SIGNS: &[&str] =
        &[">=", "<=", ">", "<", "=", "!", ":", "@", "*", "{", "}", "[", "]", "(", ")", "|"];
    let enclosed = |mark: char| {
        let inner = rest.strip_prefix(mark)?;
        inner.split_once(mark).map(|(inner, _)| inner)
    };
    if let Some(inner) = enclosed('"') {
        return Some((Token::Quoted(inner), inner.len() + 2));
    }
    if let Some(inner) = enclosed('`') {
        return Some((Token::Pattern(inner), inner.len() + 2));
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Some((Token::Sign(sign), sign.len()));
    }
    let in_word = |c: char| c.is_ascii_alphanumeric() || "_./$#-".contains(c);
    let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
    rest.get(..end).filter(|word| !word.is_empty()).map(|word| (Token::Word(word), end))
}

struct Reader<'t> {
    tokens: &'t [(Token, usize)],
    next: usize,
    references: &'t mut Vec<(&'static str, usize)>,
    compiled: &'t mut HashMap<&'static str, Pattern>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<Token> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<Token> {
        self.tokens.get(self.next + by).map(|(token, _)| *token)
    }

    fn wrong(&self, what: impl Into<String>) -> NotationError {
        let here = self.tokens.get(self.next).or(self.tokens.last());
        NotationError { line: here.map_or(0, |(_, line)| *line), what: what.into() }
    }

    fn take(&mut self) -> Result<Token, NotationError> {
        let token = self.peek().ok_or_else(|| self.wrong("ends too early"))?;
        self.next += 1;
        Ok(token)
    }

    fn takes(&mut self, sign: &'static str) -> bool {
        let found = self.peek() == Some(Token::Sign(sign));
        self.next += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &'static str) -> Result<(), NotationError> {
        if self.takes(sign) { Ok(()) } else { Err(self.wrong(format!("needs {sign:?} here"))) }
    }

    /// Reads a name: a word, or a text in quotation marks.
    fn name(&mut self) -> Result<&'static str, NotationError> {
        match self.take()? {
            Token::Word(name) | Token::Quoted(name) => Ok(name),
            Token::Pattern(_) | Token::Sign(_) => {
                self.next -= 1;
                Err(self.wrong("needs a name here"))
            }
        }
    }

    /// Reads the description before a shape or a member.
    fn sentence(&mut self) -> Option<&'static str> {
        match (self.peek(), self.ahead(1)) {
            (Some(Token::Quoted(text)), next) if !matches!(next, Some(Token::Sign(":" | "!"))) => {
                self.next += 1;
                Some(text)
            }
            _ => None,
        }
    }

    fn shape(&mut self) -> Result<Shape, NotationError> {
        let says = self.sentence();
        if self.take()? != Token::Word("shape") {
            return Err(self.wrong("needs \"shape\" here"));
        }
        let name = self.name()?;
        self.sign("=")?;
        Ok(Shape { name, says, node: self.node()? })
    }

    fn node(&mut self) -> Result<Node, NotationError> {
        let mut node = Node::default();
        let start = self.next;
        while self.term(&mut node)? {}
        if self.next == start { Err(self.wrong("needs a term here")) } else { Ok(node) }
    }

    /// Reads one more term of a node; `false` at its end.
    fn term(&mut self, node: &mut Node) -> Result<bool, NotationError> {
        // The name of a member, not a term.
        if matches!(self.ahead(1), Some(Token::Sign(":" | "!"))) {
            return Ok(false);
        }
        match self.peek() {
            Some(Token::Word("shape")) | None => Ok(false),
            Some(Token::Word(word)) => {
                self.next += 1;
                self.word(word, node)
            }
            Some(Token::Pattern(source)) => {
                self.next += 1;
                text(node).pattern = Some(self.pattern(source)?);
                Ok(true)
            }
            // The description of the next member or shape.
            Some(Token::Quoted(_)) => Ok(false),
            Some(Token::Sign(sign)) => self.sign_term(sign, node),
        }
    }

    fn sign_term(&mut self, sign: &'static str, node: &mut Node) -> Result<bool, NotationError> {
        if let Some(kind) = Limit::ALL.iter().copied().find(|limit| limit.sign() == sign) {
            self.next += 1;
            let text = self.name()?;
            if tradepost_document::json::from_str::<tradepost_document::json::Number>(text).is_err()
            {
                return Err(self.wrong("a bound has to be a number"));
            }
            let value = Decimal::from_text(text);
            let near = value.neighbours().0;
            node.bounds.push(Bound { kind, text, value, near });
            return Ok(true);
        }
        match sign {
            "@" => {
                self.next += 1;
                let line = self.tokens.get(self.next).map_or(0, |(_, line)| *line);
                let name = self.name()?;
                self.references.push((name, line));
                node.refers = Some(name);
            }
            "=" => {
                self.next += 1;
                node.constant = Some(self.literal()?);
            }
            "[" => {
                self.next += 1;
                list(node).items = Some(self.node()?);
                self.sign("]")?;
            }
            "{" => {
                self.next += 1;
                self.members(object(node))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn word(&mut self, word: &'static str, node: &mut Node) -> Result<bool, NotationError> {
        match word {
            "any" => {}
            "never" => node.never = true,
            "in" => {
                self.sign("(")?;
                while !self.takes(")") {
                    node.words.push(self.literal()?);
                }
            }
            "length" => text(node).length = self.range()?,
            "count" => list(node).count = self.range()?,
            "members" => object(node).count = self.range()?,
            "unique" => list(node).unique = true,
            "closed" => object(node).closed = true,
            "format" => {
                let name = self.name()?;
                let format = Format::from_name(name);
                text(node).format =
                    Some(format.ok_or_else(|| self.wrong(format!("{name} is no format")))?);
            }
            "contains" => list(node).contains = Some(self.enclosed()?),
            "names" => object(node).names = Some(self.enclosed()?),
            "needs" => object(node).needs = self.names()?,
            "when" => {
                let name = self.name()?;
                if self.take()? != Token::Word("needs") {
                    return Err(self.wrong("needs \"needs\" here"));
                }
                let names = self.names()?;
                object(node).together.push((name, names));
            }
            "all" => node.all = self.alternatives()?,
            "any-of" => node.any = Some(self.union()?),
            "one-of" => node.one = Some(self.union()?),
            "not" => node.not = Some(Box::new(self.enclosed()?)),
            "if" => {
                let when = self.enclosed()?;
                node.condition =
                    Some(Box::new(ConditionRules { when, ..ConditionRules::default() }));
            }
            "then" | "else" => {
                let branch = self.enclosed()?;
                let Some(condition) = &mut node.condition else {
                    return Err(self.wrong("there is no \"if\" before it"));
                };
                let place =
                    if word == "then" { &mut condition.then } else { &mut condition.otherwise };
                *place = Some(branch);
            }
            types => {
                for name in types.split('/') {
                    let kind = Type::from_name(name);
                    node.types
                        .0
                        .push(kind.ok_or_else(|| self.wrong(format!("{name:?} is no term")))?);
                }
            }
        }
        Ok(true)
    }

    fn members(&mut self, object: &mut ObjectRules) -> Result<(), NotationError> {
        while !self.takes("}") {
            let says = self.sentence();
            if self.takes("*") {
                self.sign(":")?;
                object.rest = Some(self.node()?);
            } else if let Some(Token::Pattern(source)) = self.peek() {
                self.next += 1;
                let example = self.example(says)?;
                self.sign(":")?;
                let pattern = self.pattern(source)?;
                object
                    .examples
                    .extend(example.map(|(name, says)| (object.patterns.len(), name, says)));
                object.patterns.push((pattern, self.node()?));
            } else {
                let name = self.name()?;
                let required = self.takes("!");
                self.sign(":")?;
                if object.member(name).is_some() {
                    return Err(self.wrong(format!("{name} is there twice")));
                }
                let node = self.node()?;
                object.members.push(MemberRules { name, says, required, node });
            }
        }
        Ok(())
    }

    /// Reads an example of a name for a pattern, with its description.
    fn example(
        &mut self,
        says: Option<&'static str>,
    ) -> Result<Option<(&'static str, &'static str)>, NotationError> {
        if self.peek() != Some(Token::Word("as")) {
            return Ok(None);
        }
        self.next += 1;
        let name = self.name()?;
        let says = says.ok_or_else(|| self.wrong("an example needs a sentence before it"))?;
        Ok(Some((name, says)))
    }

    fn enclosed(&mut self) -> Result<Node, NotationError> {
        self.sign("(")?;
        let node = self.node()?;
        self.sign(")")?;
        Ok(node)
    }

    fn union(&mut self) -> Result<Box<Union>, NotationError> {
        Ok(Box::new(Union { branches: self.alternatives()?, ..Union::default() }))
    }

    fn alternatives(&mut self) -> Result<Vec<Node>, NotationError> {
        self.sign("(")?;
        self.takes("|");
        let mut nodes = vec![self.node()?];
        while self.takes("|") {
            nodes.push(self.node()?);
        }
        self.sign(")")?;
        Ok(nodes)
    }

    fn names(&mut self) -> Result<Vec<&'static str>, NotationError> {
        self.sign("(")?;
        let mut names = Vec::new();
        while !self.takes(")") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// Reads a range: `1..64`, `1..` or `..64`.
    fn range(&mut self) -> Result<CountRange, NotationError> {
        let word = self.name()?;
        let bound = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        let count = word.split_once("..").and_then(|(min, max)| {
            Some(CountRange { min: bound(min).ok()?, max: bound(max).ok()? })
        });
        count.ok_or_else(|| self.wrong(format!("{word:?} is no range")))
    }

    fn literal(&mut self) -> Result<Value, NotationError> {
        match self.take()? {
            Token::Quoted(text) => Ok(Value::from(text)),
            // Numbers, `true`, `false` and `null` are JSON; other words are strings.
            Token::Word(word) => {
                Ok(tradepost_document::json::from_str(word).unwrap_or_else(|_| Value::from(word)))
            }
            Token::Pattern(_) | Token::Sign(_) => {
                self.next -= 1;
                Err(self.wrong("needs a value here"))
            }
        }
    }

    /// Compiles a regular expression, once per source.
    fn pattern(&mut self, source: &'static str) -> Result<Pattern, NotationError> {
        if let Some(pattern) = self.compiled.get(source) {
            return Ok(pattern.clone());
        }
        let pattern =
            Pattern::read(source).map_err(|error| self.wrong(format!("{source}: {error}")))?;
        self.compiled.insert(source, pattern.clone());
        Ok(pattern)
    }
}

fn text(node: &mut Node) -> &mut TextRules {
    node.text.get_or_insert_default()
}

fn list(node: &mut Node) -> &mut ListRules {
    node.list.get_or_insert_default()
}

fn object(node: &mut Node) -> &mut ObjectRules {
    node.object.get_or_insert_default()
}
