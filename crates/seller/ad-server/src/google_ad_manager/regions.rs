//! English names of regions by their codes of ISO 3166-2, for the countries whose regions Google targets as states or
//! provinces under these names. A name that Google spells otherwise is not found, and refused before the sale.

/// A region of a country.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RegionName {
    /// Country (ISO 3166-1).
    pub(super) country: &'static str,
    /// Code within the country (ISO 3166-2).
    pub(super) code: &'static str,
    /// English name.
    pub(super) name: &'static str,
}

/// Returns the region with a code such as `US-CA`.
pub(super) fn find(code: &str) -> Option<RegionName> {
    let (country, code) = code.split_once('-')?;
    REGIONS.iter().copied().find(|region| region.country == country && region.code == code)
}

const fn region(country: &'static str, code: &'static str, name: &'static str) -> RegionName {
    RegionName { country, code, name }
}

/// Regions of Canada, Germany, the United Kingdom and the United States.
const REGIONS: &[RegionName] = &[
    region("CA", "AB", "Alberta"),
    region("CA", "BC", "British Columbia"),
    region("CA", "MB", "Manitoba"),
    region("CA", "NB", "New Brunswick"),
    region("CA", "NL", "Newfoundland and Labrador"),
    region("CA", "NT", "Northwest Territories"),
    region("CA", "NS", "Nova Scotia"),
    region("CA", "NU", "Nunavut"),
    region("CA", "ON", "Ontario"),
    region("CA", "PE", "Prince Edward Island"),
    region("CA", "QC", "Quebec"),
    region("CA", "SK", "Saskatchewan"),
    region("CA", "YT", "Yukon"),
    region("DE", "BW", "Baden-Württemberg"),
    region("DE", "BY", "Bavaria"),
    region("DE", "BE", "Berlin"),
    region("DE", "BB", "Brandenburg"),
    region("DE", "HB", "Bremen"),
    region("DE", "HH", "Hamburg"),
    region("DE", "HE", "Hessen"),
    region("DE", "MV", "Mecklenburg-Vorpommern"),
    region("DE", "NI", "Lower Saxony"),
    region("DE", "NW", "North Rhine-Westphalia"),
    region("DE", "RP", "Rhineland-Palatinate"),
    region("DE", "SL", "Saarland"),
    region("DE", "SN", "Saxony"),
    region("DE", "ST", "Saxony-Anhalt"),
    region("DE", "SH", "Schleswig-Holstein"),
    region("DE", "TH", "Thuringia"),
    region("GB", "ENG", "England"),
    region("GB", "NIR", "Northern Ireland"),
    region("GB", "SCT", "Scotland"),
    region("GB", "WLS", "Wales"),
    region("US", "AL", "Alabama"),
    region("US", "AK", "Alaska"),
    region("US", "AZ", "Arizona"),
    region("US", "AR", "Arkansas"),
    region("US", "CA", "California"),
    region("US", "CO", "Colorado"),
    region("US", "CT", "Connecticut"),
    region("US", "DE", "Delaware"),
    region("US", "DC", "District of Columbia"),
    region("US", "FL", "Florida"),
    region("US", "GA", "Georgia"),
    region("US", "HI", "Hawaii"),
    region("US", "ID", "Idaho"),
    region("US", "IL", "Illinois"),
    region("US", "IN", "Indiana"),
    region("US", "IA", "Iowa"),
    region("US", "KS", "Kansas"),
    region("US", "KY", "Kentucky"),
    region("US", "LA", "Louisiana"),
    region("US", "ME", "Maine"),
    region("US", "MD", "Maryland"),
    region("US", "MA", "Massachusetts"),
    region("US", "MI", "Michigan"),
    region("US", "MN", "Minnesota"),
    region("US", "MS", "Mississippi"),
    region("US", "MO", "Missouri"),
    region("US", "MT", "Montana"),
    region("US", "NE", "Nebraska"),
    region("US", "NV", "Nevada"),
    region("US", "NH", "New Hampshire"),
    region("US", "NJ", "New Jersey"),
    region("US", "NM", "New Mexico"),
    region("US", "NY", "New York"),
    region("US", "NC", "North Carolina"),
    region("US", "ND", "North Dakota"),
    region("US", "OH", "Ohio"),
    region("US", "OK", "Oklahoma"),
    region("US", "OR", "Oregon"),
    region("US", "PA", "Pennsylvania"),
    region("US", "RI", "Rhode Island"),
    region("US", "SC", "South Carolina"),
    region("US", "SD", "South Dakota"),
    region("US", "TN", "Tennessee"),
    region("US", "TX", "Texas"),
    region("US", "UT", "Utah"),
    region("US", "VT", "Vermont"),
    region("US", "VA", "Virginia"),
    region("US", "WA", "Washington"),
    region("US", "WV", "West Virginia"),
    region("US", "WI", "Wisconsin"),
    region("US", "WY", "Wyoming"),
];
