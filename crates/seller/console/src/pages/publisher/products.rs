//! Products and their rates, with what is wrong with each.

use askama::Template;
use tradepost_publisher::catalogue::{PricingOption, Product, ProductPrice};
use tradepost_runtime::adcp::product_findings::{ProductFinding, findings};

use super::super::{Answer, Console, ConsoleReply, PageFrame, Visitor, counted, headed};
use super::amount;

#[derive(Debug, Template)]
#[template(path = "publisher/products.html")]
struct ProductsPage {
    frame: PageFrame,
    summary: String,
    /// Mistakes in the catalogue file that are of no product.
    mistakes: Vec<String>,
    /// True when the file has mistakes: what was sold before still is.
    is_unusable: bool,
    products: Vec<ProductView>,
}

#[derive(Debug)]
struct ProductView {
    id: String,
    name: String,
    about: String,
    is_sold_out: bool,
    approval: Option<String>,
    prices: Vec<PriceRow>,
    findings: Vec<String>,
}

#[derive(Debug)]
struct PriceRow {
    whose: String,
    id: String,
    model: String,
    price: String,
    minimum: String,
}

impl Console {
    pub(crate) fn products(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let publisher = agent.publisher();
        let now = self.clock.now();
        let catalogue = &publisher.profile.catalogue;
        let mut found = findings(catalogue, &agent.catalogue_mistakes(), now);
        let products = catalogue.products.iter().map(|product| {
            let own =
                |finding: &ProductFinding| finding.product_id.as_deref() == Some(product.id());
            let findings = found.extract_if(.., |finding| own(finding));
            let findings = findings.map(|finding| finding.message).collect();
            view(product, findings)
        });
        let products: Vec<_> = products.collect();
        let mistakes: Vec<_> = found.into_iter().map(|finding| finding.message).collect();
        Ok(ConsoleReply::page(&ProductsPage {
            summary: counted(products.len(), "product", "products"),
            is_unusable: !mistakes.is_empty(),
            mistakes,
            products,
            frame: self.frame(visitor, "Products")?,
        }))
    }
}

fn view(product: &Product, findings: Vec<String>) -> ProductView {
    let terms = &product.terms;
    let approval = match (terms.declines, terms.approval, terms.approval_seconds) {
        (true, _, _) => Some("each purchase is declined".to_owned()),
        (false, true, Some(seconds)) => {
            Some(format!("each purchase is approved after {seconds} seconds"))
        }
        (false, true, None) => Some("a person approves each purchase".to_owned()),
        (false, false, _) => None,
    };
    let mut prices: Vec<_> =
        product.prices().iter().map(|price| row("Everybody", price, product)).collect();
    for rate in &terms.rates {
        let whose = [rate.operator.as_deref(), rate.brand.as_deref()];
        let whose = whose.into_iter().flatten().collect::<Vec<_>>().join(", ");
        prices.extend(rate.pricing_options.iter().map(|price| row(&whose, price, product)));
    }
    let delivery = if product.is_guaranteed() { "guaranteed" } else { "not guaranteed" };
    let exclusive = product.is_exclusive().then(|| "exclusive".to_owned());
    let channels = product.channels().join(", ");
    let about =
        [Some(channels).filter(|text| !text.is_empty()), Some(delivery.to_owned()), exclusive];
    ProductView {
        id: product.id().to_owned(),
        name: product.name().unwrap_or(product.id()).to_owned(),
        about: about.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        is_sold_out: terms.sold_out,
        approval,
        prices,
        findings,
    }
}

/// Writes a pricing model as people do: `CPM`, but `Flat rate`.
fn model_name(model: &str) -> String {
    let is_short = model.starts_with("cp") || model == "vcpm";
    if is_short { model.to_uppercase() } else { headed(model) }
}

fn row(whose: &str, price: &PricingOption, product: &Product) -> PriceRow {
    let currency = price.currency();
    let amount = |money: tradepost_publisher::money::MoneyAmount| {
        format!("{} {currency}", amount(&money.to_string()))
    };
    let minimum = product.minimum(price).map(amount);
    PriceRow {
        whose: whose.to_owned(),
        id: price.id().to_owned(),
        model: price.pricing_model.as_deref().map(model_name).unwrap_or_default(),
        price: match price.price() {
            ProductPrice::Fixed(money) => amount(money),
            ProductPrice::Auction(Some(floor)) => format!("from {}", amount(floor)),
            ProductPrice::Auction(None) => "by auction".to_owned(),
        },
        minimum: minimum.unwrap_or_default(),
    }
}
