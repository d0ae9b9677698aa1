//! Leads as ADF 1.0 XML, for dealers' CRM systems (its DTD, 1.0).
//!
//! [`write()`] is pure. Its documents are valid against the DTD unless an [`AdfOptions`] value says
//! otherwise. Choices that the format leaves open:
//!
//! - A CRM dials and texts what it receives. Therefore only contact values that a consented channel
//!   can use are written, and a `CONSENT:` line says for what. A lead without a usable value gets
//!   `<phone>unknown</phone>`, because the DTD wants one and we invent none.
//! - A vendor without an e-mail address or telephone number gets `<phone>unknown</phone>` too; a
//!   dealer that is not configured is named by its id.
//! - Appointments are written in `timeframe`, which the DTD declares as text ([`Timeframe`]), and
//!   in `comments`.
//! - Times are in the rooftop's zone with a numeric offset; ADF has no `Z`.
//! - A vehicle for sale is described as in the dealer's listing; where the lead said something
//!   else, the vehicle's comments repeat it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_aap::dealer::Address;
use tradepost_document::words;
use xml::Xml;

use crate::record::LeadRecord;
use crate::settings::{DealerSettings, RooftopSettings};

mod customer;
mod vehicle;
pub mod view;
mod xml;

use view::LeadView;
pub use xml::one_line;

words! {
    /// Form of the prolog.
    pub enum Prolog {
        /// Well-formed XML.
        Xml = "xml",
        /// As in the original ADF text, which is not well-formed XML.
        Legacy = "legacy",
    }
}

words! {
    /// Form of the customer's name; AAP maps it to one full name (`adf-mapping`, `R-ADF-01`).
    pub enum NameForm {
        /// One element.
        Full = "full",
        /// First and last name in separate elements.
        Parts = "parts",
    }
}

words! {
    /// Replacement for the vehicle of interest when a lead names none.
    pub enum NoVehicle {
        /// A vehicle whose year, make and model are Unknown.
        Unknown = "unknown",
        /// An empty element, which the DTD forbids.
        Empty = "empty",
        /// No element, which the DTD forbids unless there is a trade-in.
        Omit = "omit",
    }
}

words! {
    /// Form of an appointment's time.
    pub enum Timeframe {
        /// In words.
        Text = "text",
        /// In words and as earliest and latest date, which the DTD forbids and the prose of ADF
        /// describes.
        Dates = "dates",
    }
}

/// Selection of the customer's contact values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContactValues {
    /// Values that a consented channel can use.
    #[default]
    Consented,
    /// Every value that the customer gave. The `CONSENT:` line still says which may be used.
    All,
}

/// Provider that a document names for a lead (AAP `adf-mapping`, `R-ADF-01`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LeadProvider {
    /// The agent that brought it.
    #[default]
    Direct,
    /// A network, of which the agent is a service.
    Network(LeadNetwork),
}

/// A network that delivers leads under its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadNetwork {
    /// Name, as the receiving system knows it.
    pub name: String,
    /// URL of its website.
    pub url: Option<String>,
}

/// Choices in which receiving systems differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdfOptions {
    /// The prolog.
    pub prolog: Prolog,
    /// The customer's name.
    pub names: NameForm,
    /// Leads without a vehicle of interest.
    pub no_vehicle: NoVehicle,
    /// The customer's e-mail address and telephone number.
    pub contacts: ContactValues,
    /// Appointments.
    pub timeframe: Timeframe,
    /// Provider of the lead.
    pub provider: LeadProvider,
}

impl Default for AdfOptions {
    fn default() -> Self {
        Self {
            prolog: Prolog::Xml,
            names: NameForm::Full,
            no_vehicle: NoVehicle::Unknown,
            contacts: ContactValues::Consented,
            timeframe: Timeframe::Text,
            provider: LeadProvider::Direct,
        }
    }
}

/// A lead to be written, with what the document says about its delivery.
#[derive(Debug, Clone, Copy)]
pub struct Prospect<'a> {
    /// The lead.
    pub lead: &'a LeadRecord,
    /// True when the receiver may already have the lead, in this or an earlier version: from `may_have_arrived` of a
    /// delivery's record, or from `ExportedLead` of an export.
    pub is_resent: bool,
    /// Ids of other leads that are probably from the same person.
    pub same_person: &'a [String],
}

/// Writes one document with these prospects, in their order. Returns `None` without any, because
/// ADF has no empty document.
#[must_use]
pub fn write(
    leads: &[Prospect<'_>],
    dealers: &[DealerSettings],
    options: &AdfOptions,
) -> Option<String> {
    if leads.is_empty() {
        return None;
    }
    let mut xml = Xml::new(match options.prolog {
        Prolog::Xml => "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?adf version=\"1.0\"?>\n",
        Prolog::Legacy => "<?ADF VERSION \"1.0\"?>\n<?XML VERSION \"1.0\"?>\n",
    });
    xml.within("adf", &[], |xml| {
        for lead in leads {
            prospect(xml, &ProspectSeller::new(lead.lead, dealers), lead, options);
        }
    });
    Some(xml.out)
}

/// Writes a `prospect`, with `status="resend"` where the receiver may have the lead already.
fn prospect(xml: &mut Xml, seller: &ProspectSeller<'_>, sent: &Prospect<'_>, options: &AdfOptions) {
    let record = sent.lead;
    let lead = LeadView::new(sent.lead);
    let status = if sent.is_resent { "resend" } else { "new" };
    xml.within("prospect", &[("status", status)], |xml| {
        let source = [("sequence", "1"), ("source", seller.name)];
        xml.leaf("id", &source, &record.lead_id);
        let requested = lead.moment("/submitted_at").unwrap_or(record.received_at);
        xml.leaf("requestdate", &[], &seller.moment(requested));
        // Elements follow the order of the DTD.
        vehicle::of_interest(xml, seller, lead, options);
        vehicle::trade_in(xml, lead);
        customer::customer(xml, seller, lead, sent.same_person, options);
        seller.write(xml, &record.dealer_id);
        provider(xml, lead, &options.provider);
    });
}

fn provider(xml: &mut Xml, lead: LeadView<'_>, how: &LeadProvider) {
    let agent = lead.agent().filter(|name| !xml::one_line(name).is_empty());
    let url = lead.text("/source_agent/url");
    let (name, service, url) = match how {
        LeadProvider::Direct => (agent, None, url),
        // The agent's URL is used where the network has none.
        LeadProvider::Network(network) => {
            (Some(network.name.as_str()), agent, network.url.as_deref().or(url))
        }
    };
    let Some(name) = name else { return };
    xml.within("provider", &[], |xml| {
        xml.leaf("name", &[("part", "full"), ("type", "business")], name);
        xml.some("service", service);
        xml.some("url", url);
    });
}

/// The seller of a prospect, from as much of the configuration as exists.
struct ProspectSeller<'a> {
    name: &'a str,
    rooftop: Option<&'a RooftopSettings>,
    time_zone: TimeZone,
}

impl<'a> ProspectSeller<'a> {
    fn new(lead: &'a LeadRecord, dealers: &'a [DealerSettings]) -> Self {
        let Some(dealer) = dealers.iter().find(|dealer| dealer.id == lead.dealer_id) else {
            return Self { name: &lead.dealer_id, rooftop: None, time_zone: TimeZone::UTC };
        };
        let named = |rooftop: &&RooftopSettings| {
            Some(&rooftop.profile.name) == lead.submission.rooftop.as_ref()
        };
        let own = dealer
            .rooftops
            .iter()
            .find(named)
            .or_else(|| dealer.rooftops.first().filter(|_| dealer.rooftops.len() == 1));
        let name = own.map_or(dealer.name.as_str(), |rooftop| &rooftop.profile.name);
        // Without a chosen rooftop, the group's first one is named.
        let rooftop = own.or_else(|| dealer.rooftops.first());
        let time_zone = rooftop.map_or(TimeZone::UTC, |rooftop| rooftop.time_zone.clone());
        Self { name, rooftop, time_zone }
    }

    /// Formats a moment in the rooftop's zone, in whole seconds: `2026-04-30T03:15:10-07:00`.
    fn moment(&self, moment: Timestamp) -> String {
        let local =
            tradepost_document::format::whole_second(moment).to_zoned(self.time_zone.clone());
        local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    fn write(&self, xml: &mut Xml, dealer_id: &str) {
        let profile = self.rooftop.map(|rooftop| &rooftop.profile);
        // A lead is for the sales department, where the rooftop lists its contacts separately.
        let of_sales = |values: &'a [tradepost_aap::dealer::NamedValue]| {
            let is_sales = |name: &str| name.to_lowercase().contains("sales");
            values
                .iter()
                .find(|value| value.name.as_deref().is_some_and(is_sales))
                .or_else(|| values.first())
                .map(|value| value.value.as_str())
        };
        let email = profile.and_then(|profile| of_sales(&profile.emails));
        let phone = profile.and_then(|profile| of_sales(&profile.phones));
        xml.within("vendor", &[], |xml| {
            xml.leaf("id", &[("sequence", "1"), ("source", "Tradepost")], dealer_id);
            xml.leaf("vendorname", &[], self.name);
            xml.some("url", profile.and_then(|profile| profile.website.as_deref()));
            xml.within("contact", &[], |xml| {
                xml.leaf("name", &[("part", "full"), ("type", "business")], self.name);
                xml.some("email", email);
                match (phone, email) {
                    (Some(phone), _) => xml.leaf("phone", &[("type", "voice")], phone),
                    (None, Some(_)) => {}
                    (None, None) => xml.leaf("phone", &[], UNKNOWN_CONTACT),
                }
                if let Some(address) = profile.and_then(|profile| profile.address.as_ref()) {
                    let Address { address_line_1, address_line_2, city, state, zip, country } =
                        address;
                    let lines = [address_line_1, address_line_2, city, state, zip, country];
                    customer::address(xml, "work", lines.map(Option::as_deref));
                }
            });
        });
    }
}

/// Placeholder for the e-mail address or telephone number that the DTD requires.
const UNKNOWN_CONTACT: &str = "unknown";
