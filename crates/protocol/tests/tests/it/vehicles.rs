//! Vehicles are read and written without loss, members that AAP does not know included.

use tradepost_aap::Version;
use tradepost_aap::vehicle::{Vehicle, Vocabularies};
use tradepost_document::canonical;
use tradepost_document::problem::{DocumentPlace, Problems};

use crate::published;

#[test]
fn a_published_vehicle_is_written_as_it_was_read() {
    for version in ["v1.0", "v1.1"] {
        let path = format!("spec/aap/{version}/examples/vehicle-detail-response.example.json");
        let Some(example) = published::json(&path) else { return };
        let mut problems = Problems::new();
        let root = DocumentPlace::Root;
        let sale = Vocabularies::Sale;
        let mut data = example["data"].clone();
        // v1.0's price for a ZIP code is read and not kept: it takes desking to make one.
        data.as_object_mut().unwrap().shift_remove("offered_price");
        data.as_object_mut().unwrap().shift_remove("zip");
        let vehicle = Vehicle::read(&data, &root, &mut problems, Version::V1_1, sale).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(vehicle.others["title_status"], "clean", "{version}");
        let written = tradepost_document::json::to_value(&vehicle).unwrap();
        assert_eq!(canonical::to_string(&written), canonical::to_string(&data), "{version}");
    }
}
