//! Order of the modules of `crates/seller/runtime`: what is read first names nothing of what is built on it.

use std::collections::BTreeSet;

use crate::circles::Crate;

/// A module of the crate, and the modules that none of its files may name.
struct Layer {
    module: &'static str,
    may_not_name: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    // Everything is built from the configuration, so it knows nothing of what it configures. `gate` has the
    // permissions that its keys are read as.
    Layer {
        module: "config",
        may_not_name: &[
            "aap", "acme", "adcp", "alerts", "backup", "delivery", "evidence", "feeds", "hosting",
            "refusals", "traces", "wiring",
        ],
    },
    // Two agents that know nothing of each other, and of nobody who looks at them.
    Layer { module: "aap", may_not_name: &["adcp", "feeds", "hosting", "wiring"] },
    Layer { module: "adcp", may_not_name: &["aap", "feeds", "hosting", "wiring"] },
    Layer { module: "delivery", may_not_name: &["aap", "adcp", "feeds", "hosting", "wiring"] },
    Layer { module: "feeds", may_not_name: &["aap", "adcp", "delivery", "hosting", "wiring"] },
    Layer { module: "first_steps", may_not_name: &["hosting", "wiring"] },
];

/// Returns the names that break the order, as `file -> file`.
fn forbidden(files: &Crate, layers: &[Layer]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files.0.keys() {
        let layer = layers.iter().find(|layer| file.first().is_some_and(|own| own == layer.module));
        let Some(layer) = layer else { continue };
        let named = files.named_by(file);
        let is_above = |module: &String| layer.may_not_name.contains(&module.as_str());
        let wrong = named.iter().filter(|named| named.first().is_some_and(is_above));
        found.extend(wrong.map(|named| format!("{} -> {}", file.join("/"), named.join("/"))));
    }
    found
}

#[test]
fn no_module_of_the_runtime_names_one_above_it() {
    let files = Crate::from_folder("seller/runtime");
    let is_module = |name: &str| files.0.keys().any(|file| file.join("/") == name);
    for layer in LAYERS {
        for name in layer.may_not_name.iter().chain([&layer.module]) {
            assert!(is_module(name), "there is no module {name}");
        }
    }
    assert_eq!(forbidden(&files, LAYERS), BTreeSet::new());
}

#[test]
fn a_name_of_a_module_above_is_found() {
    let layers = [Layer { module: "config", may_not_name: &["wiring"] }];
    let found = |code: &str| {
        let files = [("lib.rs", ""), ("config/read.rs", code), ("wiring.rs", "pub struct Wiring;")];
        let owned = files.map(|(path, code)| (path.to_owned(), code.to_owned()));
        forbidden(&Crate::from_files(owned), &layers)
    };
    let wrong = BTreeSet::from(["config/read -> wiring".to_owned()]);
    assert_eq!(found("use crate::wiring::Wiring;"), wrong);
    assert_eq!(found("fn f() -> crate::wiring::Wiring {}"), wrong);
    assert_eq!(found("/// Not `crate::wiring::Wiring`.\nuse std::fs::File;"), BTreeSet::new());
}
