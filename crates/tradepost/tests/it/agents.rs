//! The examples of the buyer's library, on the demo sellers as processes.

#[expect(dead_code, reason = "`main` is for the terminal")]
#[path = "../../../buyer/client/examples/media_buyer.rs"]
mod media_buyer;
#[expect(dead_code, reason = "`main` and what asks at the terminal are for the terminal")]
#[path = "../../../buyer/client/examples/shop.rs"]
mod shop;

use tradepost_server::clock::Clock;

use crate::process::Process;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

#[test]
fn the_shopping_agent_has_the_cheapest_dealer_contact_who_agrees() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let sizes = ["120", "300"];
    let dealers: Vec<_> = folders
        .iter()
        .zip(sizes)
        .map(|(folder, size)| {
            let arguments = ["--demo", "--demo-size", size, "--listen", "127.0.0.1:0"];
            Process::start(folder.path(), &arguments)
        })
        .collect();
    let unreachable = "http://127.0.0.1:1".to_owned();
    let named = dealers.iter().map(|dealer| format!("http://{}", dealer.address));
    let named: Vec<_> = named.chain([unreachable]).collect();
    let shop = |agrees: bool| {
        let now = Clock::system().now();
        let errand = shop::Errand { make: "Honda", email: "ada@example.com", dealers: &named, now };
        let mut out = Vec::new();
        let mut shown = String::new();
        let agreed = |text: &str| {
            shown = text.to_owned();
            Ok(agrees)
        };
        run(shop::shop(&errand, agreed, &mut out)).unwrap();
        assert!(shown.contains("by e-mail"), "{shown}");
        String::from_utf8(out).unwrap()
    };
    let output = shop(true);
    let lines: Vec<_> = output.lines().collect();
    assert!(lines[0].starts_with("http://127.0.0.1:1 is left out: cannot connect"), "{output}");
    let offers = &lines[1..lines.len() - 1];
    let prices = offers.iter().map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap());
    assert!(prices.clone().is_sorted() && prices.count() == 6, "three of each dealer: {output}");
    let best = offers[0].split_once(": ").unwrap().1;
    assert_eq!(*lines.last().unwrap(), format!("{best}: received after 1 requests"));
    let leads = || {
        let stores = folders.iter().map(|folder| crate::process::data(folder.path()));
        let stores = stores.map(|data| tradepost_store::Store::open(&data).unwrap());
        stores.map(|store| store.leads(None).unwrap().len()).sum::<usize>()
    };
    assert_eq!(leads(), 1);
    assert!(shop(false).ends_with("the dealer was not contacted\n"));
    assert_eq!(leads(), 1);
}

#[test]
fn the_media_buyer_buys_the_cheapest_fitting_product() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path(), &["--demo-publisher", "--listen", "127.0.0.1:0"]);
    let address = format!("http://{}/mcp", process.address);
    let mut out = Vec::new();
    let brief = "banners beside hiking stories";
    run(media_buyer::buy(&address, "demo-acme-outdoor-v1", brief, &mut out)).unwrap();
    let output = String::from_utf8(out).unwrap();
    let (prices, bought) = output.trim_end().rsplit_once('\n').unwrap();
    let (cheapest, _) = prices.split_once(": from ").unwrap();
    assert!(bought.starts_with(&format!("bought {cheapest}: ")), "{output}");
    let wrong = run(media_buyer::buy(&address, "nobodys-token", brief, &mut Vec::new()));
    assert!(wrong.unwrap_err().to_string().starts_with("AUTH_"), "a credential that is nobody's");
}
