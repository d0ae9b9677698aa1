//! Limits on concurrent work by address.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Counts the places that each address uses.
#[derive(Debug)]
pub(super) struct AddressPlaces {
    places: usize,
    taken: Mutex<BTreeMap<String, usize>>,
}

/// A place that an address uses until it is dropped.
#[derive(Debug)]
pub(super) struct AddressPlace<'p> {
    of: &'p AddressPlaces,
    address: String,
}

impl AddressPlaces {
    /// Creates a limit of `places` for each address.
    pub(super) fn new(places: usize) -> Self {
        Self { places, taken: Mutex::default() }
    }

    /// Takes a place; `None` when the address uses all of its places.
    pub(super) fn take(&self, address: &str) -> Option<AddressPlace<'_>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let number = taken.get(address).copied().unwrap_or_default();
        if number >= self.places {
            return None;
        }
        taken.insert(address.to_owned(), number + 1);
        Some(AddressPlace { of: self, address: address.to_owned() })
    }
}

impl Drop for AddressPlace<'_> {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let left = taken.get(&self.address).map_or(0, |number| number.saturating_sub(1));
        if left == 0 {
            // Addresses without a place are removed from the map.
            taken.remove(&self.address);
        } else {
            taken.insert(self.address.clone(), left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_few_places_and_gives_them_back() {
        let places = AddressPlaces::new(2);
        let first = places.take("one");
        let second = places.take("one");
        assert!(first.is_some() && second.is_some());
        assert!(places.take("one").is_none());
        assert!(places.take("two").is_some(), "another address has its own");
        drop(first);
        assert!(places.take("one").is_some());
        drop(second);
        assert!(places.taken.lock().unwrap().is_empty());
    }
}
