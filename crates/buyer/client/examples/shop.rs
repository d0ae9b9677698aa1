//! A shopping agent: asks several dealers at once, compares what they offer, and has the dealer of the
//! cheapest car contact the customer, who has agreed to a text. The lead arrives once, whatever happens on
//! the way.
//!
//! `cargo run -p tradepost-client --example shop -- Honda ada@example.com http://127.0.0.1:8080 …`

use std::error::Error;
use std::io::{self, Write};

use futures_util::future::join_all;
use jiff::Timestamp;
use tradepost_aap::inventory::{Sort, SortField, SortOrder};
use tradepost_aap::lead::{Channel, SourceAgent};
use tradepost_aap::{Filters, Search};
use tradepost_client::client::{random_ids, uncorrected};
use tradepost_client::failure::CallFailure;
use tradepost_client::retry::{Recoverer, RetryLimits, Sizes, SystemClock};
use tradepost_client::{HttpTransport, Lead, LeadConsent, SkillClient};
use tradepost_document::json::json;

/// What the customer has to agree to.
const CONSENT: &str = "The dealer may answer by e-mail about this car.";

/// For whom, and what is wanted.
pub(crate) struct Errand<'a> {
    pub(crate) make: &'a str,
    pub(crate) email: &'a str,
    pub(crate) dealers: &'a [String],
    pub(crate) now: Timestamp,
}

/// A car that somebody offers.
struct Offer {
    dealer: SkillClient,
    name: String,
    price: u64,
    vin: String,
}

/// The dealer's offers of the make, the cheapest first.
async fn ask(
    transport: HttpTransport,
    dealer: &str,
    make: &str,
) -> Result<Vec<Offer>, CallFailure> {
    let client = SkillClient::builder().transport(transport).connect(dealer).await?;
    let filters = Filters { make: vec![make.to_owned()], ..Filters::default() };
    let sort = Some(Sort { field: SortField::Price, order: SortOrder::Asc });
    let page =
        client.search(&Search { filters, sort, limit: Some(3), ..Search::default() }).await?;
    let offers = page.listings().into_iter().filter_map(|car| {
        let year = car.year()?;
        let model = car.model()?;
        let name = format!("{year} {make} {}", tradepost_client::text::plain(model, 40));
        let price = car.price()?;
        let vin = car.vin()?.to_owned();
        Some(Offer { dealer: client.clone(), name, price, vin })
    });
    Ok(offers.collect())
}

/// Does the errand, and tells about it. `agreed` shows the customer a text.
pub(crate) async fn shop(
    errand: &Errand<'_>,
    agreed: impl FnOnce(&str) -> io::Result<bool>,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let transport = HttpTransport::new(Default::default());
    let asked = errand.dealers.iter().map(|dealer| ask(transport.clone(), dealer, errand.make));
    let mut offers = Vec::new();
    for (dealer, answer) in errand.dealers.iter().zip(join_all(asked).await) {
        match answer {
            Ok(found) => offers.extend(found),
            Err(failure) => writeln!(out, "{dealer} is left out: {failure}")?,
        }
    }
    offers.sort_by_key(|offer| offer.price);
    for offer in &offers {
        writeln!(out, "{} USD: {}", offer.price, offer.name)?;
    }
    let Some(best) = offers.into_iter().next() else {
        return Ok(writeln!(out, "nobody has one")?);
    };
    if !agreed(CONSENT)? {
        return Ok(writeln!(out, "the dealer was not contacted")?);
    }
    let agent = SourceAgent { name: "shop".into(), url: None, agent_card_url: None };
    let consent = LeadConsent::new(errand.now, CONSENT, [Channel::Email]);
    let lead = Lead::new(best.dealer.new_key(), agent, consent, errand.now)
        .name("", "")
        .email(errand.email)?
        .about(json!({"vin": best.vin}));
    let recoverer =
        Recoverer::new(SystemClock::new(random_ids()), RetryLimits::default(), Sizes::default());
    let sent = best.dealer.submit_lead_with_recovery(&lead, &recoverer, uncorrected).await?;
    let status = sent.answer.status().unwrap_or("answered");
    Ok(writeln!(out, "{}: {status} after {} requests", best.name, sent.spent.attempts)?)
}

/// Whether somebody at the terminal agrees.
fn ask_at_the_terminal(text: &str) -> io::Result<bool> {
    writeln!(io::stdout(), "{text}\nDo you agree? (yes)")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(make), Some(email)) = (arguments.next(), arguments.next()) else {
        return Err("name a make, an e-mail address, and the addresses of dealers".into());
    };
    let dealers: Vec<_> = arguments.collect();
    #[expect(clippy::disallowed_methods, reason = "the edge of the program")]
    let now = Timestamp::now();
    let errand = Errand { make: &make, email: &email, dealers: &dealers, now };
    shop(&errand, ask_at_the_terminal, &mut io::stdout()).await
}
