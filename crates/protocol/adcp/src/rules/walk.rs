//! Checks a value against the rules in one walk that finds every violated constraint. Nothing is
//! written or allocated until there is a problem to report.

use tradepost_document::json::{Map, Value};

use super::number;
use super::place::{FoundProblem, RequestPlace, SchemaPath, SchemaStep};
use super::say;
use super::shape::{ConditionRules, ListRules, Node, ObjectRules, RuleBook, TextRules, Union};

/// The largest number of problems that are kept for sorting; further ones are only counted.
const MAX_KEPT: usize = 200;

/// The purpose of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalkMode {
    /// Finds whether there is a problem; the walk ends at the first.
    Probe,
    /// To measure how far a value is from satisfying a branch.
    Weigh { depth: usize },
    /// Lists all problems.
    List,
}

/// The distance of a value from a branch of a union; less is closer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Weight {
    /// Problems of the value's own type or constant.
    pub(super) own_type: usize,
    /// Problems of a direct member's constant or `enum`.
    pub(super) member_constants: usize,
    /// All problems.
    pub(super) all: usize,
    /// Missing members of the value itself.
    pub(super) absent: usize,
    /// Surplus members of the value itself.
    pub(super) surplus: usize,
}

impl Weight {
    /// Returns true if missing members are the only problems.
    pub(super) fn is_lack(&self) -> bool {
        self.all == self.absent
    }

    /// Returns true if surplus members are the only problems.
    pub(super) fn is_surplus(&self) -> bool {
        self.all == self.surplus
    }
}

/// The words for a range of counts: the keywords of its bounds, and what is counted.
struct CountWords {
    least: &'static str,
    most: &'static str,
    noun: &'static str,
}

const CHARACTERS: CountWords =
    CountWords { least: "minLength", most: "maxLength", noun: "character" };
const ITEMS: CountWords = CountWords { least: "minItems", most: "maxItems", noun: "item" };
const MEMBERS: CountWords =
    CountWords { least: "minProperties", most: "maxProperties", noun: "member" };

/// A walk in progress.
pub(super) struct RuleWalk<'b> {
    pub(super) book: &'b RuleBook,
    mode: WalkMode,
    weight: Weight,
    /// The problems, in the order of the walk.
    pub(super) found: Vec<FoundProblem>,
    /// The number of all problems.
    pub(super) total: usize,
    /// True when the place in the schemas is recorded.
    internals: bool,
}

impl<'b> RuleWalk<'b> {
    /// Returns a walk that lists every problem.
    pub(super) fn new(book: &'b RuleBook, internals: bool) -> Self {
        Self::with_mode(book, WalkMode::List, internals)
    }

    fn with_mode(book: &'b RuleBook, mode: WalkMode, internals: bool) -> Self {
        let weight = Weight::default();
        Self { book, mode, weight, found: Vec::new(), total: 0, internals }
    }

    /// Returns true if `value` satisfies `node`.
    pub(super) fn satisfies(&self, node: &'b Node, value: &Value) -> bool {
        let mut probe = Self::with_mode(self.book, WalkMode::Probe, false);
        probe.node(node, value, &RequestPlace::ROOT, &SchemaPath::Nowhere)
    }

    /// Measures how far `value` is from satisfying `node`.
    pub(super) fn weigh(&self, node: &'b Node, value: &Value, at: &RequestPlace<'_>) -> Weight {
        let mode = WalkMode::Weigh { depth: at.depth };
        let mut scale = Self::with_mode(self.book, mode, false);
        scale.node(node, value, at, &SchemaPath::Nowhere);
        scale.weight
    }

    /// Returns true if the walk may end because the answer is known.
    fn is_done(&self, is_valid: bool) -> bool {
        !is_valid && self.is_probe()
    }

    /// Returns true if further problems are only counted.
    fn is_full(&self) -> bool {
        self.found.len() >= MAX_KEPT
    }

    fn is_probe(&self) -> bool {
        self.mode == WalkMode::Probe
    }

    /// Records a problem of the value at a place, or of its member with `member`. Returns `false`.
    pub(super) fn fail(
        &mut self,
        keyword: &'static str,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
        member: Option<&RequestPlace<'_>>,
        message: impl FnOnce() -> String,
    ) -> bool {
        self.total += 1;
        match self.mode {
            WalkMode::Probe => {}
            WalkMode::Weigh { depth } => {
                let is_here = at.depth == depth;
                let is_value = matches!(keyword, "const" | "enum");
                let weight = &mut self.weight;
                weight.all += 1;
                weight.own_type += usize::from(is_here && (is_value || keyword == "type"));
                weight.member_constants += usize::from(at.depth == depth + 1 && is_value);
                weight.absent += usize::from(is_here && keyword == "required");
                let is_surplus = matches!(keyword, "additionalProperties" | "not");
                weight.surplus += usize::from(is_here && is_surplus);
            }
            WalkMode::List if !self.is_full() => {
                let found =
                    FoundProblem::new(keyword, member.unwrap_or(at), path, self.internals, message);
                // Parts and branches repeat rules; report each problem once.
                if self.found.iter().any(|other| other.is_same(&found)) {
                    self.total -= 1;
                } else {
                    self.found.push(found);
                }
            }
            WalkMode::List => {}
        }
        false
    }

    /// Checks a value; `false` if there is a problem.
    pub(super) fn node(
        &mut self,
        node: &'b Node,
        value: &Value,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        // Draft 7 ignores the siblings of a reference.
        if let Some(name) = node.refers {
            let shape = self.book.referred(name);
            return self.node(&shape.node, value, at, &SchemaPath::Shape(shape, path));
        }
        if node.never {
            let path = path.step(SchemaStep::Never);
            return self.fail("not", at, &path, None, || "must not be sent".into());
        }
        let types = &node.types.0;
        if !types.is_empty() && !types.iter().any(|kind| kind.has(value)) {
            self.fail("type", at, path, None, || say::types(types));
            // Report the problems of the value itself; those of branches would only repeat the
            // type.
            if !self.is_probe() {
                self.value(node, value, at, path);
                if let Value::Number(number) = value {
                    self.number(node, &number.text(), at, path);
                }
            }
            return false;
        }
        let mut is_valid = self.value(node, value, at, path);
        if self.is_done(is_valid) {
            return false;
        }
        is_valid &= match value {
            Value::Null | Value::Bool(_) => true,
            Value::Number(number) => self.number(node, &number.text(), at, path),
            Value::String(text) => {
                node.text.as_ref().is_none_or(|rules| self.text(rules, text, at, path))
            }
            Value::Array(items) => {
                node.list.as_ref().is_none_or(|rules| self.list(rules, items, at, path))
            }
            Value::Object(members) => {
                node.object.as_ref().is_none_or(|rules| self.object(rules, members, at, path))
            }
        };
        if self.is_done(is_valid) {
            return false;
        }
        is_valid & self.combined(node, value, at, path)
    }

    fn value(
        &mut self,
        node: &'b Node,
        value: &Value,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut is_valid = true;
        if let Some(expected) = &node.constant
            && !number::same(expected, value)
        {
            let message = || format!("{}{}", say::constant(expected), path.because());
            is_valid = self.fail("const", at, path, None, message);
        }
        if !node.words.is_empty() && !node.words.iter().any(|word| number::same(word, value)) {
            let message = || say::words(&node.words, value);
            is_valid = self.fail("enum", at, path, None, message);
        }
        is_valid
    }

    fn number(
        &mut self,
        node: &'b Node,
        text: &str,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut is_valid = true;
        for bound in &node.bounds {
            if !number::is_within(text, bound) {
                let keyword = tradepost_document::catalog::Vocabulary::name(bound.kind);
                let message = || format!("must be {} {}", bound.kind.words(), bound.text);
                is_valid = self.fail(keyword, at, path, None, message);
            }
        }
        is_valid
    }

    fn text(
        &mut self,
        rules: &'b TextRules,
        text: &str,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut is_valid = true;
        let length = rules.length;
        if length.min.is_some() || length.max.is_some() {
            // The number of bytes is never less than the number of characters.
            let is_long = length.max.is_some_and(|max| text.len() > max);
            let is_short = length.min.is_some_and(|min| text.len() < min.saturating_mul(4));
            let found = if is_long || is_short { text.chars().count() } else { text.len() };
            is_valid &= self.count(found, length, &CHARACTERS, at, path);
        }
        // Patterns cost the most, so skip them if the answer is known.
        if self.is_done(is_valid) {
            return false;
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.matches(text)
        {
            let message = || format!("must match the pattern {}", pattern.source);
            is_valid = self.fail("pattern", at, path, None, message);
        }
        if let Some(format) = rules.format
            && !say::has_format(format, text)
        {
            let message = || format!("must be {}", format.words());
            is_valid = self.fail("format", at, path, None, message);
        }
        is_valid
    }

    fn count(
        &mut self,
        found: usize,
        allowed: super::shape::CountRange,
        words: &CountWords,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        if let Some(min) = allowed.min.filter(|min| found < *min) {
            let message = || say::count("at least", min, words.noun);
            return self.fail(words.least, at, path, None, message);
        }
        if let Some(max) = allowed.max.filter(|max| found > *max) {
            let message = || say::count("at most", max, words.noun);
            return self.fail(words.most, at, path, None, message);
        }
        true
    }

    fn list(
        &mut self,
        rules: &'b ListRules,
        items: &[Value],
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut is_valid = self.count(items.len(), rules.count, &ITEMS, at, path);
        if rules.unique && super::unique::repeats(items) {
            is_valid =
                self.fail("uniqueItems", at, path, None, || "must not repeat an item".into());
        }
        if let Some(node) = &rules.contains
            && !items.iter().any(|item| self.satisfies(node, item))
        {
            let message = || "must have an item of the kind that is asked for".into();
            is_valid = self.fail("contains", at, path, None, message);
        }
        let Some(node) = &rules.items else {
            return is_valid;
        };
        for (index, item) in items.iter().enumerate() {
            if self.is_done(is_valid) {
                return false;
            }
            is_valid &= self.node(node, item, &at.item(index), &path.step(SchemaStep::Items));
        }
        is_valid
    }

    fn object(
        &mut self,
        rules: &'b ObjectRules,
        members: &Map,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut is_valid = true;
        for name in rules.required() {
            if !members.contains_key(name) {
                is_valid = self.missing(name, "required", at, path);
            }
        }
        for (name, others) in &rules.together {
            if !members.contains_key(*name) {
                continue;
            }
            for other in others.iter().filter(|other| !members.contains_key(**other)) {
                let message = || format!("\"{other}\" has to be sent together with \"{name}\"");
                let member = at.absent(other);
                is_valid = self.fail("dependencies", at, path, Some(&member), message);
            }
        }
        is_valid &= self.count(members.len(), rules.count, &MEMBERS, at, path);
        for (order, (name, value)) in members.iter().enumerate() {
            if self.is_done(is_valid) {
                return false;
            }
            is_valid &= self.member(rules, name, value, at, &at.member(name, order), path);
        }
        is_valid
    }

    /// Records a missing member.
    pub(super) fn missing(
        &mut self,
        name: &'static str,
        keyword: &'static str,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let message = || format!("\"{name}\" is required{}", path.because());
        self.fail(keyword, at, path, Some(&at.absent(name)), message)
    }

    fn member(
        &mut self,
        rules: &'b ObjectRules,
        name: &str,
        value: &Value,
        at: &RequestPlace<'_>,
        here: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut is_valid = true;
        if let Some(names) = &rules.names
            && !self.satisfies(names, &Value::from(name))
        {
            let book = self.book;
            let message = || say::name(book, names);
            is_valid = self.fail("propertyNames", at, path, Some(here), message);
        }
        let mut is_known = false;
        // A declared member may match patterns too, and all of these rules apply. A member that is
        // neither declared nor matched is one of the rest.
        if let Some(member) = rules.member(name) {
            is_known = true;
            is_valid &=
                self.node(&member.node, value, here, &path.step(SchemaStep::Property(member.name)));
        }
        for (pattern, node) in &rules.patterns {
            if pattern.matches(name) {
                is_known = true;
                let path = path.step(SchemaStep::Pattern(pattern.source));
                is_valid &= self.node(node, value, here, &path);
            }
        }
        if is_known {
            return is_valid;
        }
        if rules.closed {
            let message = || say::surplus(name, rules);
            return self.fail("additionalProperties", at, path, Some(here), message);
        }
        match &rules.rest {
            Some(node) => is_valid & self.node(node, value, here, &path.step(SchemaStep::Rest)),
            None => is_valid,
        }
    }

    fn combined(
        &mut self,
        node: &'b Node,
        value: &Value,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut is_valid = true;
        for (index, part) in node.all.iter().enumerate() {
            is_valid &= self.node(part, value, at, &path.step(SchemaStep::Branch("allOf", index)));
            if self.is_done(is_valid) {
                return false;
            }
        }
        for (keyword, union) in [("anyOf", &node.any), ("oneOf", &node.one)] {
            if let Some(union) = union {
                is_valid &= self.union(union, keyword, value, at, path);
            }
            if self.is_done(is_valid) {
                return false;
            }
        }
        if let Some(inner) = &node.not
            && self.satisfies(inner, value)
        {
            let book = self.book;
            is_valid = self.fail("not", at, path, None, || say::not(book, inner));
        }
        if let Some(condition) = &node.condition {
            is_valid &= self.condition(condition, value, at, path);
        }
        is_valid
    }

    fn condition(
        &mut self,
        rules: &'b ConditionRules,
        value: &Value,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let (branch, name) = if self.satisfies(&rules.when, value) {
            (&rules.then, "then")
        } else {
            (&rules.otherwise, "else")
        };
        branch.as_ref().is_none_or(|branch| {
            let part = SchemaStep::Conditional(name, &rules.when);
            self.node(branch, value, at, &path.step(part))
        })
    }

    fn union(
        &mut self,
        union: &'b Union,
        keyword: &'static str,
        value: &Value,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut hits = 0;
        // Branches are only probed: the problems of branches that were not meant help no reader.
        for branch in &union.branches {
            hits += usize::from(self.satisfies(branch, value));
            if hits > 0 && keyword == "anyOf" {
                return true;
            }
            if hits > 1 {
                let book = self.book;
                return self.fail(keyword, at, path, None, || say::several(book, union));
            }
        }
        if hits == 1 {
            return true;
        }
        // Problems that are only counted need no message.
        if self.is_probe() || self.is_full() {
            return self.fail(keyword, at, path, None, String::new);
        }
        self.explain(union, keyword, value, at, path)
    }
}
