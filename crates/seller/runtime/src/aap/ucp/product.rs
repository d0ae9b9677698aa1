//! Vehicles as products. A vehicle is a product with one variant, and both have the dealer's id of the vehicle.

use tradepost_aap::display::title;
use tradepost_aap::vehicle::ListingStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format;
use tradepost_document::json::{Map, Value};
use tradepost_ucp::product::{
    Availability, Barcode, Category, Description, Medium, Price, PriceRange, Product, Seller,
    Variant,
};

use super::filters::{CENTS, CURRENCY};

/// How much of a vehicle is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProductDetail {
    /// What a list needs.
    Brief,
    /// Everything.
    Full,
}

/// Members of a listing that lists show as metadata.
const BRIEF_MEMBERS: [&str; 12] = [
    "year",
    "make",
    "model",
    "trim",
    "condition",
    "status",
    "mileage",
    "fuel",
    "transmission",
    "driveline",
    "exterior_color",
    "rooftop",
];

/// Members of a listing that have a place of their own in a product.
const MAPPED_MEMBERS: [&str; 6] =
    ["vdp_url", "photos", "description", "features", "body", "vehicle_id"];

/// Maximum number of photos in a list.
const BRIEF_PHOTOS: usize = 3;

/// Maximum length of a description in a list, in characters.
const BRIEF_TEXT: usize = 300;

/// Converts a listing; `None` for one without a price, which a product needs.
pub(super) fn product(listing: &Value, dealer: &str, detail: ProductDetail) -> Option<Product> {
    let text =
        |name: &str| listing.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let amount = |name: &str| {
        let dollars = listing.get(name).and_then(Value::as_u64).filter(|dollars| *dollars > 0)?;
        Some(Price { amount: dollars.saturating_mul(CENTS), currency: CURRENCY })
    };
    let price = amount("price")?;
    let id = text("vehicle_id")?.to_owned();
    let title = title(listing);
    let url = text("vdp_url").filter(|url| format::is_uri(url)).map(str::to_owned);
    let description = Description { plain: description(listing, &title, detail) };
    let is_new = text("condition") == Some("new");
    // The suggested price of a used vehicle is that of years ago, and no price before a discount.
    let list_price = amount("msrp").filter(|msrp| is_new && msrp.amount > price.amount);
    let variant = Variant {
        id: id.clone(),
        sku: text("stock").map(str::to_owned),
        barcodes: text("vin")
            .map(|vin| Barcode { kind: "VIN", value: vin.to_owned() })
            .into_iter()
            .collect(),
        title: title.clone(),
        description: description.clone(),
        url: url.clone(),
        price,
        list_price,
        availability: availability(text("status")),
        seller: Seller { name: text("rooftop").unwrap_or(dealer).to_owned() },
        inputs: Vec::new(),
    };
    let category = |body: &str| Category { value: body.to_owned(), taxonomy: "merchant" };
    Some(Product {
        id,
        media: media(listing, &title, detail),
        title,
        description,
        url,
        categories: text("body").map(category).into_iter().collect(),
        price_range: PriceRange { min: price, max: price },
        variants: vec![variant],
        tags: match detail {
            ProductDetail::Brief => Vec::new(),
            ProductDetail::Full => texts(listing, "features").map(str::to_owned).collect(),
        },
        metadata: metadata(listing, detail),
    })
}

fn texts<'v>(listing: &'v Value, name: &str) -> impl Iterator<Item = &'v str> {
    let items = listing.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str)
}

/// Returns the dealer's description, or the title and what else is known where there is none.
fn description(listing: &Value, title: &str, detail: ProductDetail) -> String {
    let described = listing.get("description").and_then(Value::as_str).unwrap_or_default().trim();
    if described.is_empty() {
        let mileage = listing.get("mileage").and_then(Value::as_u64);
        let mileage = mileage.map(|miles| format!(", {miles} miles")).unwrap_or_default();
        let condition = listing.get("condition").and_then(Value::as_str);
        let condition = condition.map(|condition| format!(", {condition}")).unwrap_or_default();
        return format!("{title}{condition}{mileage}");
    }
    match detail {
        ProductDetail::Brief => tradepost_document::text::bounded(described, BRIEF_TEXT),
        ProductDetail::Full => described.to_owned(),
    }
}

fn media(listing: &Value, title: &str, detail: ProductDetail) -> Vec<Medium> {
    let most = match detail {
        ProductDetail::Brief => BRIEF_PHOTOS,
        ProductDetail::Full => usize::MAX,
    };
    let photos = texts(listing, "photos").filter(|url| format::is_uri(url)).take(most);
    let medium =
        |url: &str| Medium { kind: "image", url: url.to_owned(), alt_text: title.to_owned() };
    photos.map(medium).collect()
}

fn availability(status: Option<&str>) -> Availability {
    match status.and_then(ListingStatus::from_name) {
        Some(ListingStatus::Available) | None => {
            Availability { available: true, status: "in_stock" }
        }
        // On its way to the dealer.
        Some(ListingStatus::InTransit) => Availability { available: true, status: "backorder" },
        // Somebody is buying it.
        Some(ListingStatus::Pending) => Availability { available: false, status: "out_of_stock" },
    }
}

fn metadata(listing: &Value, detail: ProductDetail) -> Map {
    let is_shown = |name: &str| match detail {
        ProductDetail::Brief => BRIEF_MEMBERS.contains(&name),
        ProductDetail::Full => !MAPPED_MEMBERS.contains(&name),
    };
    let members = listing.as_object().into_iter().flatten();
    let shown = members.filter(|(name, value)| is_shown(name) && !value.is_null());
    shown.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tradepost_document::json::{json, to_string};

    use super::*;

    #[test]
    fn a_vehicle_is_a_product_with_one_variant() {
        let listing = json!({
            "dealer_id": "d", "vehicle_id": "veh_1", "vin": "1HGCM82633A004352", "stock": "S1",
            "rooftop": "Acme Oakland", "year": 2026, "make": "Honda", "model": "Accord", "body": "sedan",
            "condition": "new", "status": "intransit", "msrp": 31000, "list_price": 28000, "price": 29495,
            "mileage": 12, "features": ["sunroof"], "photos": ["https://a.example/1.jpg", "nowhere"],
            "vdp_url": "https://a.example/1", "description": " A car. ", "color_code": "R81",
        });
        let shown = |detail| to_string(&product(&listing, "Acme", detail).unwrap()).unwrap();
        expect![[r#"{"id":"veh_1","title":"2026 Honda Accord","description":{"plain":"A car."},"url":"https://a.example/1","categories":[{"value":"sedan","taxonomy":"merchant"}],"price_range":{"min":{"amount":2949500,"currency":"USD"},"max":{"amount":2949500,"currency":"USD"}},"media":[{"type":"image","url":"https://a.example/1.jpg","alt_text":"2026 Honda Accord"}],"variants":[{"id":"veh_1","sku":"S1","barcodes":[{"type":"VIN","value":"1HGCM82633A004352"}],"title":"2026 Honda Accord","description":{"plain":"A car."},"url":"https://a.example/1","price":{"amount":2949500,"currency":"USD"},"list_price":{"amount":3100000,"currency":"USD"},"availability":{"available":true,"status":"backorder"},"seller":{"name":"Acme Oakland"}}],"metadata":{"rooftop":"Acme Oakland","year":2026,"make":"Honda","model":"Accord","condition":"new","status":"intransit","mileage":12}}"#]]
        .assert_eq(&shown(ProductDetail::Brief));
        expect![[r#"{"id":"veh_1","title":"2026 Honda Accord","description":{"plain":"A car."},"url":"https://a.example/1","categories":[{"value":"sedan","taxonomy":"merchant"}],"price_range":{"min":{"amount":2949500,"currency":"USD"},"max":{"amount":2949500,"currency":"USD"}},"media":[{"type":"image","url":"https://a.example/1.jpg","alt_text":"2026 Honda Accord"}],"variants":[{"id":"veh_1","sku":"S1","barcodes":[{"type":"VIN","value":"1HGCM82633A004352"}],"title":"2026 Honda Accord","description":{"plain":"A car."},"url":"https://a.example/1","price":{"amount":2949500,"currency":"USD"},"list_price":{"amount":3100000,"currency":"USD"},"availability":{"available":true,"status":"backorder"},"seller":{"name":"Acme Oakland"}}],"tags":["sunroof"],"metadata":{"dealer_id":"d","vin":"1HGCM82633A004352","stock":"S1","rooftop":"Acme Oakland","year":2026,"make":"Honda","model":"Accord","condition":"new","status":"intransit","msrp":31000,"list_price":28000,"price":29495,"mileage":12,"color_code":"R81"}}"#]]
        .assert_eq(&shown(ProductDetail::Full));
    }

    #[test]
    fn what_is_missing_is_left_out() {
        let without_price = json!({"vehicle_id": "a", "make": "Fiat"});
        assert_eq!(product(&without_price, "Acme", ProductDetail::Full), None);
        let free = json!({"vehicle_id": "a", "price": 0});
        assert_eq!(product(&free, "Acme", ProductDetail::Full), None);
        let bare = json!({"vehicle_id": "a", "price": 1, "condition": "used", "mileage": 9,
            "msrp": 5, "make": "Fiat", "status": "pending"});
        let bare = product(&bare, "Acme", ProductDetail::Brief).unwrap();
        assert_eq!(bare.description.plain, "Fiat, used, 9 miles");
        assert_eq!(bare.variants[0].list_price, None, "a used vehicle's suggested price is old");
        assert_eq!(bare.variants[0].seller.name, "Acme");
        assert!(!bare.variants[0].availability.available);
    }
}
