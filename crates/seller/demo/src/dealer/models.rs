//! Models of the demo inventory, read from `data/models.csv`.

/// Latest model year to which the table is extended.
pub(super) const LAST_YEAR: u16 = 2026;

const TABLE: &str = include_str!("../../data/models.csv");

/// A variant of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DemoModel {
    pub(super) make: &'static str,
    pub(super) model: &'static str,
    pub(super) body: &'static str,
    pub(super) wmi: &'static str,
    pub(super) first_year: u16,
    pub(super) last_year: u16,
    pub(super) transmission: &'static str,
    pub(super) driveline: &'static str,
    pub(super) engine: &'static str,
    pub(super) fuel: &'static str,
    pub(super) city_mpg: Option<u32>,
    pub(super) highway_mpg: Option<u32>,
    pub(super) electric_range_mi: Option<u32>,
    pub(super) msrp: u32,
    pub(super) trims: Vec<&'static str>,
}

/// Returns every variant, in the order of the table.
pub(super) fn all() -> Vec<DemoModel> {
    TABLE.lines().skip(1).filter_map(read).collect()
}

fn read(line: &'static str) -> Option<DemoModel> {
    // No cell of the table contains a comma or a quotation mark.
    let mut cells = line.split(',');
    Some(DemoModel {
        make: cells.next()?,
        model: cells.next()?,
        body: cells.next()?,
        wmi: cells.next()?,
        first_year: cells.next()?.parse().ok()?,
        last_year: cells.next()?.parse().ok()?,
        transmission: cells.next()?,
        driveline: cells.next()?,
        engine: cells.next()?,
        fuel: cells.next()?,
        city_mpg: cells.next()?.parse().ok(),
        highway_mpg: cells.next()?.parse().ok(),
        electric_range_mi: cells.next()?.parse().ok(),
        msrp: cells.next()?.parse().ok()?,
        trims: cells.next()?.split(';').collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read_and_in_order() {
        let models = all();
        assert_eq!(models.len(), TABLE.lines().count() - 1);
        for model in &models {
            assert!(model.first_year <= model.last_year, "{model:?}");
            assert!((2015..=LAST_YEAR).contains(&model.last_year), "{model:?}");
            assert!(model.wmi.len() == 3 && !model.trims.is_empty(), "{model:?}");
            assert_eq!(model.city_mpg.is_none(), model.fuel == "bev", "{model:?}");
            let range = matches!(model.fuel, "bev" | "phev");
            assert!(range || model.electric_range_mi.is_none(), "{model:?}");
        }
    }
}
