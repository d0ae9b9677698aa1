//! Explains why a value satisfies no branch of a union, by the branch that was probably meant.

use tradepost_document::json::Value;

use super::super::once;
use super::number;
use super::place::{RequestPlace, SchemaPath, SchemaStep};
use super::say;
use super::shape::{Node, Union};
use super::walk::{RuleWalk, Weight};

/// A branch of a union, by its order, with the distance of the value from it.
struct WeighedBranch<'b> {
    weight: Weight,
    index: usize,
    branch: &'b Node,
}

impl<'b> RuleWalk<'b> {
    /// Reports why a value satisfies no branch.
    pub(super) fn explain(
        &mut self,
        union: &'b Union,
        keyword: &'static str,
        value: &Value,
        at: &RequestPlace<'_>,
        path: &SchemaPath<'_>,
    ) -> bool {
        let mut candidates: Vec<(usize, &'b Node)> = union.branches.iter().enumerate().collect();
        let tags = if value.is_object() { self.book.tags(union) } else { &[] };
        for tag in tags.iter().copied() {
            let constants = |(_, branch): &(usize, &'b Node)| self.book.constant(branch, tag);
            let Some(sent) = value.get(tag) else {
                let is_required = |(_, branch): &(usize, &'b Node)| {
                    constants(&(0, branch)).is_some() && self.book.required(branch).contains(&tag)
                };
                if candidates.iter().all(is_required) {
                    return self.missing(
                        tag,
                        "required",
                        at,
                        &path.step(SchemaStep::Union(keyword)),
                    );
                }
                continue;
            };
            let survives = |candidate: &(usize, &'b Node)| {
                constants(candidate).is_none_or(|constant| number::same(constant, sent))
            };
            if !candidates.iter().any(survives) {
                let accepted = once(candidates.iter().filter_map(constants).cloned());
                let order = value.as_object().and_then(|o| o.keys().position(|name| name == tag));
                let here = at.member(tag, order.unwrap_or_default());
                let path = path.step(SchemaStep::Union(keyword));
                let message = || say::words(&accepted, sent);
                return self.fail("const", &here, &path, None, message);
            }
            candidates.retain(survives);
        }
        // Only values that are constants of a branch are repeated; other values of the same member
        // may hold anything.
        let vouched = |tag: &&'static str| {
            candidates.iter().any(|(_, branch)| self.book.constant(branch, tag).is_some())
        };
        let tags: Vec<_> = tags.iter().copied().filter(vouched).collect();
        let variant = path.variant(&tags, value);
        let path = if tags.is_empty() { path } else { &variant };
        let weighed: Vec<WeighedBranch<'b>> = candidates
            .into_iter()
            .map(|(index, branch)| {
                let weight = self.weigh(branch, value, at);
                WeighedBranch { weight, index, branch }
            })
            .collect();
        if weighed.len() > 1
            && let Some(message) = self.undecided(union, &weighed, value)
        {
            return self.fail(keyword, at, path, None, || message);
        }
        let closest = weighed.into_iter().min_by_key(|weighed| (weighed.weight, weighed.index));
        let closest = closest.expect("a union has branches");
        let path = path.step(SchemaStep::Branch(keyword, closest.index));
        self.node(closest.branch, value, at, &path)
    }

    /// Writes the message if no branch is closer than the others.
    fn undecided(
        &self,
        union: &Union,
        weighed: &[WeighedBranch<'b>],
        value: &Value,
    ) -> Option<String> {
        if value.is_string()
            && let Some(text) = say::texts(self.book, union)
        {
            return Some(text);
        }
        if weighed.iter().all(|weighed| weighed.weight.own_type > 0) {
            return say::kinds(self.book, union);
        }
        if weighed.iter().all(|weighed| weighed.weight.is_lack()) {
            return say::choose(self.book, weighed.iter().map(|weighed| weighed.branch));
        }
        let with_surplus = weighed.iter().filter(|weighed| weighed.weight.is_surplus());
        (with_surplus.count() > 1).then(|| say::several(self.book, union))
    }
}
