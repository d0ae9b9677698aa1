//! Media types in `Content-Type` and `Accept` headers (RFC 9110 §8.3.1, §12.5.1).

/// A media type without its parameters, or a range such as `text/*`. Case is ignored.
#[derive(Debug, Clone, Copy)]
pub struct MediaType<'a>(&'a str);

impl<'a> MediaType<'a> {
    /// Reads the media type of a header, a card or a part; empty if there is none.
    #[must_use]
    pub fn new(named: &'a str) -> Self {
        Self(named.split(';').next().unwrap_or_default().trim())
    }

    /// Returns every media type in a list of headers.
    pub fn listed(headers: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = Self> {
        headers.into_iter().flat_map(|header| header.split(',')).map(Self::new)
    }

    /// The media type as written.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Returns true if it is the media type `name`.
    #[must_use]
    pub fn is(self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }

    /// Returns true if its suffix is JSON, as in `application/problem+json`.
    #[must_use]
    pub fn has_json_suffix(self) -> bool {
        let suffix = self.0.rsplit_once('+').filter(|(before, _)| !before.is_empty());
        suffix.is_some_and(|(_, suffix)| suffix.eq_ignore_ascii_case("json"))
    }

    /// Returns true if it is JSON: `application/json`, or an application type with the suffix.
    #[must_use]
    pub fn is_json(self) -> bool {
        let family = self.0.split_once('/').map_or("", |(family, _)| family);
        self.is("application/json")
            || family.eq_ignore_ascii_case("application") && self.has_json_suffix()
    }

    /// Returns true if it is the media type `name` or a range that contains it.
    #[must_use]
    pub fn covers(self, name: &str) -> bool {
        let family = self.0.strip_suffix('*').filter(|family| family.ends_with('/'));
        let begins = |family: &str| {
            name.get(..family.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(family))
        };
        self.is(name) || self.0 == "*/*" || family.is_some_and(begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_case_say_nothing() {
        for same in ["application/json", " Application/JSON ;charset=utf-8", "application/json;"] {
            let kind = MediaType::new(same);
            assert!(kind.is("application/json") && kind.is_json() && !kind.has_json_suffix());
        }
        for other in ["", ";", "application/jsonp", "text/json", "json", "+json", "text/x+json"] {
            assert!(!MediaType::new(other).is_json(), "{other}");
        }
        assert!(MediaType::new("application/a2a+json; a=b").is_json());
        assert!(MediaType::new("text/x+JSON").has_json_suffix());
    }

    #[test]
    fn ranges_have_what_is_in_them() {
        for range in ["*/*", "text/*", "TEXT/*;q=0.1", "text/html"] {
            assert!(MediaType::new(range).covers("text/html"), "{range}");
        }
        for range in ["", "*", "/*", "tex*", "te/*", "text/htm", "image/*"] {
            assert!(!MediaType::new(range).covers("text/html"), "{range}");
        }
        let listed: Vec<_> = MediaType::listed(["a/b;q=1, c/*", "d/e"]).collect();
        assert_eq!(
            listed.iter().map(|range| range.as_str()).collect::<Vec<_>>(),
            ["a/b", "c/*", "d/e"]
        );
    }
}
