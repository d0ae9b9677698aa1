//! Products and formats on offer: those of the catalogue, and those that a sandbox has stored beside it. They
//! are the publisher's own, so that every caller sees the same.

use tradepost_document::fault::InternalError;

use super::{Catalogue, CreativeFormat, FormatId, Product};
use crate::publisher::Publisher;
use crate::store::{Query, StoreRead};

impl Publisher {
    /// Returns the product with this id: a stored one takes precedence over one of the catalogue.
    ///
    /// # Errors
    /// When the store fails.
    pub fn product(
        &self,
        reader: &dyn StoreRead,
        id: &str,
    ) -> Result<Option<Product>, InternalError> {
        // Both places are looked at, whatever the first one says.
        let stored = reader.find::<Product>(id)?.map(|record| record.thing);
        let in_catalogue = self.profile.catalogue.product(id).cloned();
        Ok(stored.or(in_catalogue))
    }

    /// Returns all products: first those stored beside the catalogue, the latest first, and then those of the
    /// catalogue in its order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn products(&self, reader: &dyn StoreRead) -> Result<Vec<Product>, InternalError> {
        let mut stored = reader.all::<Product>(&Query::default())?;
        // A test is about the products that it has stored, so the latest comes first.
        stored.sort_by_key(|entry| std::cmp::Reverse(entry.record.place));
        let mut products: Vec<Product> = stored.into_iter().map(|record| record.thing).collect();
        for product in &self.profile.catalogue.products {
            if !products.iter().any(|known| known.id() == product.id()) {
                products.push(product.clone());
            }
        }
        Ok(products)
    }

    /// Returns all creative formats: those of the catalogue in its order, replaced by stored ones with the
    /// same id, and then the other stored ones.
    ///
    /// # Errors
    /// When the store fails.
    pub fn formats(&self, reader: &dyn StoreRead) -> Result<Vec<CreativeFormat>, InternalError> {
        let mut formats = self.profile.catalogue.formats.clone();
        for stored in
            reader.all::<CreativeFormat>(&Query::default())?.into_iter().map(|record| record.thing)
        {
            let same = |format: &&mut CreativeFormat| {
                stored.format_id.as_ref().is_some_and(|id| format.is(id))
            };
            match formats.iter_mut().find(same) {
                Some(format) => *format = stored,
                None => formats.push(stored),
            }
        }
        Ok(formats)
    }

    /// Returns the format that a format id refers to.
    ///
    /// # Errors
    /// When the store fails.
    pub fn format(
        &self,
        reader: &dyn StoreRead,
        id: &FormatId,
    ) -> Result<Option<CreativeFormat>, InternalError> {
        Ok(self.formats(reader)?.into_iter().find(|format| format.is(id)))
    }
}

impl Catalogue {
    /// Returns the product with this id.
    #[must_use]
    pub fn product(&self, id: &str) -> Option<&Product> {
        self.products.iter().find(|product| product.id() == id)
    }
}
