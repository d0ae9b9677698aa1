//! Searches that found nothing: a limited number of texts for each dealer and day, and a count of the others.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::empty_searches::{EmptySearchCount, TEXTS_OF_A_DAY};
use crate::sql::params;

/// Text of the row that counts the searches without a row of their own.
pub(super) const OTHER_SEARCHES: &str = "";

impl StoreTransaction<'_> {
    /// Adds to the counts of searches that found nothing. A text beyond the limit of its day is only counted.
    ///
    /// # Errors
    /// When the database fails.
    pub fn count_empty_searches(&self, counts: &[EmptySearchCount]) -> Result<(), InternalError> {
        for count in counts {
            // Two processes must not both add the last text of a day.
            self.0.lock(&format!("*empty searches of {}", count.dealer_id))?;
            match &count.search {
                Some(search) if self.may_keep(count, search.text.as_str())? => {
                    self.add(count, search.text.as_str(), search.reading.as_str())?;
                }
                Some(_) | None => self.add(count, OTHER_SEARCHES, "")?,
            }
        }
        Ok(())
    }

    /// Returns true for a text that is kept already, and while its day has room for another.
    fn may_keep(&self, count: &EmptySearchCount, text: &str) -> Result<bool, InternalError> {
        let text_count: u32 = self.0.one(
            "counting the searches of a day",
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM empty_searches
                                      WHERE dealer_id = $1 AND day = $2 AND text = $3)
                    THEN CAST(0 AS BIGINT)
                    ELSE (SELECT count(*) FROM empty_searches
                          WHERE dealer_id = $1 AND day = $2 AND text <> '') END",
            params![count.dealer_id, count.day, text],
            |row| row.only(),
        )?;
        Ok(text_count < TEXTS_OF_A_DAY)
    }

    /// Adds searches to the row of a text and a day.
    fn add(
        &self,
        count: &EmptySearchCount,
        text: &str,
        reading: &str,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "counting a search that found nothing",
            "INSERT INTO empty_searches (dealer_id, day, text, reading, asked)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (dealer_id, day, text) DO UPDATE SET reading = excluded.reading,
                 asked = empty_searches.asked + excluded.asked",
            params![count.dealer_id, count.day, text, reading, count.asked],
        )
    }

    /// Deletes the searches of days that began before a moment.
    ///
    /// # Errors
    /// When the database fails.
    pub fn forget_empty_searches(&self, since: Timestamp) -> Result<(), InternalError> {
        self.0.execute(
            "forgetting searches that found nothing",
            "DELETE FROM empty_searches WHERE day < $1",
            params![since],
        )
    }
}
