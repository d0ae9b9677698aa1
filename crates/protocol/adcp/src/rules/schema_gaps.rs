//! Compares forms with the rules: what a form needs, the rules have to guarantee, because a form is read without a
//! check of its own.

use tradepost_document::json::Value;
use tradepost_document::typed::{Typed, ValueKind};

use super::shape::{Bound, Limit, Node, RuleBook, Type};

/// Returns the members for which `T` demands more than a shape guarantees: members that the shape
/// does not declare, does not require, or permits with another kind. Empty for every form that is
/// read without its own check; a test for each form asserts that.
///
/// # Panics
///
/// If there is no such shape ([`shapes`](super::shapes) lists them).
#[must_use]
pub fn schema_gaps<T: Typed>(shape: &str) -> Vec<String> {
    let book = super::book();
    let node = &book.shape(shape).expect("callers name shapes that the rules have").node;
    let mut found = Vec::new();
    fit(book, node, &T::kind(), shape, &mut found);
    found
}

fn fit(book: &RuleBook, node: &Node, kind: &ValueKind, at: &str, found: &mut Vec<String>) {
    if !book.guarantees(node, kind) {
        found.push(format!("{at}: may be something else"));
        return;
    }
    match kind {
        ValueKind::List(inner) => {
            for items in book.everywhere(node, &|node| node.list.as_ref()?.items.as_ref()) {
                fit(book, items, inner, &format!("{at}[]"), found);
            }
        }
        ValueKind::Struct(slots) => {
            for slot in slots {
                let at = format!("{at}.{}", slot.name);
                let of = |node| RuleBook::own(node, slot.name);
                let declared = book.everywhere(node, &of);
                if declared.is_empty() {
                    found.push(format!("{at}: is not in the rules"));
                }
                if slot.required && !book.requires(node, slot.name) {
                    found.push(format!("{at}: is not required"));
                }
                for node in declared {
                    fit(book, node, &slot.kind, &at, found);
                }
            }
        }
        // Each alternative was tried on the whole value.
        ValueKind::Either(_)
        | ValueKind::Any
        | ValueKind::Boolean
        | ValueKind::Number
        | ValueKind::Count
        | ValueKind::Text
        | ValueKind::Moment
        | ValueKind::Words(_)
        | ValueKind::Object => {}
    }
}

impl RuleBook {
    fn own<'b>(node: &'b Node, name: &str) -> Option<&'b Node> {
        Some(&node.object.as_ref()?.member(name)?.node)
    }

    /// Returns what `find` finds in a node and in all of its parts and branches.
    fn everywhere<'b>(
        &'b self,
        node: &'b Node,
        find: &dyn Fn(&'b Node) -> Option<&'b Node>,
    ) -> Vec<&'b Node> {
        let node = self.resolved(node);
        let unions = node.any.iter().chain(&node.one).flat_map(|union| &union.branches);
        let inner = node.all.iter().chain(unions);
        find(node).into_iter().chain(inner.flat_map(|node| self.everywhere(node, find))).collect()
    }

    /// Returns true if `is` holds for a node: by the node itself, by one part of its `allOf`, or by
    /// every branch of a union.
    fn holds<'b>(&'b self, node: &'b Node, is: &dyn Fn(&'b Node) -> bool) -> bool {
        let node = self.resolved(node);
        let mut unions = node.any.iter().chain(&node.one);
        is(node)
            || node.all.iter().any(|part| self.holds(part, is))
            || unions.any(|union| union.branches.iter().all(|branch| self.holds(branch, is)))
    }

    fn requires(&self, node: &Node, name: &str) -> bool {
        let is = |node: &Node| {
            node.object.as_ref().is_some_and(|object| object.required().any(|known| known == name))
        };
        self.holds(node, &is)
    }

    /// Returns true if every value that satisfies a node is of a kind, without regard to members
    /// and items.
    fn guarantees(&self, node: &Node, kind: &ValueKind) -> bool {
        let only = |types: &'static [Type]| {
            move |node: &Node| {
                let Node { types: own, constant, words, .. } = node;
                let is = |value: &Value| types.iter().any(|kind| kind.has(value));
                !own.0.is_empty() && own.0.iter().all(|kind| types.contains(kind))
                    || constant.as_ref().is_some_and(is)
                    || !words.is_empty() && words.iter().all(is)
            }
        };
        match kind {
            ValueKind::Any => true,
            ValueKind::Boolean => self.holds(node, &only(&[Type::Boolean])),
            ValueKind::Number => self.holds(node, &only(&[Type::Number, Type::Integer])),
            ValueKind::Count => {
                let least = |bound: &Bound| match bound.kind {
                    Limit::Minimum | Limit::ExclusiveMinimum => bound.near >= 0,
                    Limit::Maximum | Limit::ExclusiveMaximum => false,
                };
                let bounded = |node: &Node| node.bounds.iter().any(least);
                self.holds(node, &only(&[Type::Integer])) && self.holds(node, &bounded)
            }
            ValueKind::Text => self.holds(node, &only(&[Type::String])),
            ValueKind::Moment => {
                let is = |node: &Node| {
                    let format = node.text.as_ref().and_then(|text| text.format);
                    format == Some(super::Format::DateTime)
                };
                self.holds(node, &only(&[Type::String])) && self.holds(node, &is)
            }
            ValueKind::Words(names) => {
                let known =
                    |value: &Value| value.as_str().is_some_and(|word| names.contains(&word));
                let is = |node: &Node| {
                    node.constant.as_ref().is_some_and(known)
                        || !node.words.is_empty() && node.words.iter().all(known)
                };
                self.holds(node, &is)
            }
            // Some lists may be `null`, which `Option` reads as absent.
            ValueKind::List(_) => self.holds(node, &only(&[Type::Array, Type::Null])),
            ValueKind::Object | ValueKind::Struct(_) => self.holds(node, &only(&[Type::Object])),
            ValueKind::Either(kinds) => {
                self.holds(node, &|node| kinds.iter().any(|kind| self.guarantees(node, kind)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
