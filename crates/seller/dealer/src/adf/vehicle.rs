//! The vehicle elements of a prospect: the vehicle of interest and the trade-in.

use tradepost_document::catalog::Vocabulary as _;

use super::view::{LeadView, VehicleView};
use super::xml::{Comments, Xml};
use super::{AdfOptions, NoVehicle, ProspectSeller};

/// Writes the vehicle of interest.
pub(super) fn of_interest(
    xml: &mut Xml,
    seller: &ProspectSeller<'_>,
    lead: LeadView<'_>,
    how: &AdfOptions,
) {
    let interest = match appointment_kind(lead) {
        Some("test_drive") => "test-drive",
        Some(_) | None => "buy",
    };
    let Some(vehicle) = lead.vehicle() else {
        let attributes = [("interest", interest), ("status", "new")];
        match how.no_vehicle {
            NoVehicle::Unknown => xml.within("vehicle", &attributes, |xml| {
                for name in ["year", "make", "model"] {
                    xml.leaf(name, &[], UNKNOWN);
                }
                let mut comments = Comments::default();
                comments.add("VEHICLE", "the lead names no vehicle of interest");
                xml.comments(&comments);
            }),
            NoVehicle::Empty => xml.empty("vehicle", &attributes),
            NoVehicle::Omit => {}
        }
        return;
    };
    let mut comments = Comments::default();
    let condition = vehicle.get("condition");
    // The DTD's default is `new`, so the status is always written. Without a stated
    // condition it follows from the odometer, and a comment says so.
    let status = match condition.as_deref() {
        Some("new") => "new",
        Some("cpo") => {
            comments.add("CONDITION", "certified pre-owned");
            "used"
        }
        Some(_) => "used",
        None => {
            comments.add("CONDITION", "not stated");
            if vehicle.get("mileage").is_some() { "used" } else { "new" }
        }
    };
    if !is_identified(vehicle) {
        // A vehicle without identification is accepted, because a vague lead is better than none
        // (C-15).
        let doubt = "not identified by VIN, stock number, vehicle id, or year, make and model";
        comments.add("VEHICLE", doubt);
    }
    for name in ["vin", "stock", "year", "make", "model", "trim", "condition", "price"] {
        if let Some(sent) =
            vehicle.sent(name).filter(|sent| vehicle.get(name).as_ref() != Some(sent))
        {
            comments.add(&format!("AS SENT, {}", name.to_uppercase()), &sent);
        }
    }
    comments.some("DRIVELINE", vehicle.sent("driveline").as_deref());
    let kind = Kind { interest, status, price: "quote", id_source: seller.name };
    write(xml, vehicle, &kind, comments);
}

/// Writes the trade-in as a second vehicle.
pub(super) fn trade_in(xml: &mut Xml, lead: LeadView<'_>) {
    let Some(vehicle) = lead.trade_in() else {
        return;
    };
    let mut comments = Comments::default();
    comments.some("CONDITION", vehicle.get("condition").as_deref());
    comments.some("DRIVELINE", vehicle.get("driveline").as_deref());
    let kind = Kind {
        interest: "trade-in",
        status: "used",
        // The customer's value is an asking price, not a quote of the dealer.
        price: "asking",
        id_source: "customer",
    };
    write(xml, vehicle, &kind, comments);
}

const UNKNOWN: &str = "Unknown";

struct Kind<'a> {
    interest: &'static str,
    status: &'static str,
    price: &'static str,
    id_source: &'a str,
}

fn write(xml: &mut Xml, vehicle: VehicleView<'_>, kind: &Kind<'_>, mut comments: Comments) {
    let attributes = [("interest", kind.interest), ("status", kind.status)];
    let transmission = vehicle.get("transmission");
    let folded = transmission.as_deref().and_then(fold_transmission);
    if transmission.as_deref() != folded {
        comments.some("TRANSMISSION", transmission.as_deref());
    }
    for name in ["engine", "fuel", "description", "notes"] {
        comments.some(&name.to_uppercase(), vehicle.sent(name).as_deref());
    }
    let mut photos = vehicle.sent_list("photos");
    let first_photo = photos.next();
    photos.for_each(|photo| comments.add("PHOTO", photo));

    // Elements follow the order of the DTD.
    xml.within("vehicle", &attributes, |xml| {
        if let Some(id) = vehicle.get("vehicle_id") {
            let source = [("sequence", "1"), ("source", kind.id_source)];
            xml.leaf("id", &source, &id);
        }
        for name in ["year", "make", "model"] {
            xml.leaf(name, &[], vehicle.get(name).as_deref().unwrap_or(UNKNOWN));
        }
        for (element, name) in
            [("vin", "vin"), ("stock", "stock"), ("trim", "trim"), ("bodystyle", "body")]
        {
            xml.some(element, vehicle.get(name).as_deref());
        }
        xml.some("transmission", folded);
        if let Some(mileage) = vehicle.get("mileage") {
            // AAP does not say whether the odometer is the original one.
            let attributes = [("status", "unknown"), ("units", "mi")];
            xml.leaf("odometer", &attributes, &mileage);
        }
        let inside = vehicle.get("interior_color");
        let outside = vehicle.get("exterior_color");
        if inside.is_some() || outside.is_some() {
            xml.within("colorcombination", &[], |xml| {
                xml.some("interiorcolor", inside.as_deref());
                xml.some("exteriorcolor", outside.as_deref());
                xml.leaf("preference", &[], "1");
            });
        }
        xml.some("imagetag", first_photo);
        if let Some(price) = vehicle.get("price") {
            let attributes = [("type", kind.price), ("currency", "USD")];
            xml.leaf("price", &attributes, &price);
        }
        for feature in vehicle.sent_list("features") {
            xml.within("option", &[], |xml| xml.leaf("optionname", &[], feature));
        }
        xml.comments(&comments);
    });
}

fn is_identified(vehicle: VehicleView<'_>) -> bool {
    let has = |name: &&str| vehicle.get(name).is_some();
    ["vin", "stock", "vehicle_id"].iter().any(has) || ["year", "make", "model"].iter().all(has)
}

/// Reads a transmission as `A` or `M`, the values of ADF (AAP `adf-mapping`, `R-ADF-01`); `None`
/// when the text says neither. An automated manual gearbox has no clutch pedal, so it counts as
/// automatic.
fn fold_transmission(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric());
    let automatic = ["a", "at", "auto", "cvt", "ecvt", "ivt", "dct", "dsg", "pdk", "amt"];
    if text.contains("automat")
        || text.contains("variable")
        || text.contains("clutch")
        || text.contains("direct drive")
        || text.contains("single")
        || words().any(|word| automatic.contains(&word))
    {
        return Some("A");
    }
    let manual = ["m", "mt", "manual", "stick"];
    words().any(|word| manual.contains(&word)).then_some("M")
}

/// Returns the type of the current appointment, or of the one asked for.
pub(super) fn appointment_kind(lead: LeadView<'_>) -> Option<&str> {
    let booked = lead.record().appointment.as_ref();
    booked
        .map(|appointment| appointment.kind.name())
        .or_else(|| lead.text("/appointment/appointment_type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_fold_to_a_or_m_or_nothing() {
        for (text, folded) in [
            ("8-Speed Automatic", Some("A")),
            ("CVT", Some("A")),
            ("7-speed dual clutch", Some("A")),
            ("Automated Manual", Some("A")),
            ("6-Speed Manual", Some("M")),
            ("M", Some("M")),
            ("A", Some("A")),
            ("6MT", None),
            ("Marvellous", None),
            ("", None),
        ] {
            assert_eq!(fold_transmission(text), folded, "{text}");
        }
    }
}
