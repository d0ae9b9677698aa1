//! Fills a publisher with the media buys of one buyer, and measures what that buyer's calls cost and how long
//! another buyer waits beside them.
//!
//! `publisher fill ADDRESS TOKEN BUYS` makes an account, a creative for every ten buys, the buys, and for every
//! ten of them a property list and a task. `publisher measure ADDRESS PID TOKEN OTHER SECONDS CALLERS` prints
//! a line for each call: its name, the median and the 99th percentile of its time in microseconds, and the CPU time
//! of the server's process by call in microseconds; and then, as `beside`, the calls of OTHER while CALLERS
//! connections with TOKEN call without a pause. Columns are separated by tabs.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tradepost_bench::{Fallible, McpConnection};

/// Nothing on this machine takes longer to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// How many buys share a creative.
const BUYS_OF_CREATIVE: usize = 10;

/// How many buys there are for each property list and each task.
const BUYS_OF_LIST: usize = 10;

/// Calls before those that count.
const WARM_UP: usize = 10;

/// A buyer's connection.
struct Line {
    connection: McpConnection,
    token: String,
    /// Of the idempotency keys that are made here.
    prefix: String,
    keys: u64,
    /// Whether the buy was paused by the last change.
    is_paused: bool,
}

impl Line {
    fn open(host: &str, token: &str) -> Fallible<Self> {
        let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        Ok(Self {
            connection: McpConnection::open(host, ANSWER_TIMEOUT)?,
            token: token.to_owned(),
            prefix: format!("bench-{started:x}-{:x}", std::process::id()),
            keys: 0,
            is_paused: false,
        })
    }

    /// A key that no request had before.
    fn key(&mut self) -> String {
        self.keys += 1;
        format!("{}-{:x}", self.prefix, self.keys)
    }

    /// Sends a call and reads its answer; how long that took.
    fn send(&mut self, tool: &str, arguments: &Value) -> Fallible<Duration> {
        let call = self.connection.call(&self.token, tool, arguments);
        self.connection.send(&call)
    }

    /// The document that answers a call; a refusal is an error.
    fn ask(&mut self, tool: &str, arguments: &Value) -> Fallible<Value> {
        self.send(tool, arguments)?;
        let mut body = self.connection.body()?;
        let refused = body.pointer("/result/isError") == Some(&Value::Bool(true));
        match body.pointer_mut("/result/structuredContent").map(Value::take) {
            Some(document) if !refused => Ok(document),
            _ => Err(format!("{tool}: {body}").into()),
        }
    }
}

fn creative(number: usize, name: &str) -> Value {
    json!({
        "creative_id": format!("creative_{number}"),
        "name": name,
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://a.example/i.png", "width": 300, "height": 250,
        }},
    })
}

fn purchase(key: &str, account: &str, creative: &str) -> Value {
    json!({
        "idempotency_key": key,
        "account": {"account_id": account},
        "brand": {"domain": "a.example"},
        "start_time": "asap",
        "end_time": "2031-01-01T00:00:00Z",
        "packages": [{
            "product_id": "outdoor_display", "pricing_option_id": "cpm_auction", "bid_price": 5,
            "budget": 1000, "creative_assignments": [{"creative_id": creative}],
        }],
    })
}

/// The account of a buyer, which is opened when there is none.
fn account(line: &mut Line) -> Fallible<String> {
    let key = line.key();
    let row = json!({
        "brand": {"domain": "a.example"}, "operator": "a.example", "billing": "operator", "sandbox": true,
    });
    let document =
        line.ask("sync_accounts", &json!({"idempotency_key": key, "accounts": [row]}))?;
    let id = document.pointer("/accounts/0/account_id").and_then(Value::as_str);
    Ok(id.ok_or("no account")?.to_owned())
}

/// Makes everything; how many buys there are is checked by the caller.
fn fill(address: &str, token: &str, buys: usize) -> Fallible<()> {
    let mut line = Line::open(address, token)?;
    let account = account(&mut line)?;
    let creatives = buys.div_ceil(BUYS_OF_CREATIVE).max(1);
    for number in 0..creatives {
        let key = line.key();
        let name = format!("Creative {number}");
        let request = json!({
            "idempotency_key": key, "account": {"account_id": account}, "creatives": [creative(number, &name)],
        });
        line.ask("sync_creatives", &request)?;
    }
    for number in 0..buys.div_ceil(BUYS_OF_LIST) {
        let key = line.key();
        let list = json!({
            "idempotency_key": key, "account": {"account_id": account}, "name": format!("List {number}"),
        });
        line.ask("create_property_list", &list)?;
        let key = line.key();
        let day = 1 + number % 300;
        let start =
            format!("{}-{:02}-{:02}T00:00:00Z", 2027 + number / 300, 1 + day / 28, 1 + day % 28);
        let end = format!("{}T23:59:00Z", start.split('T').next().unwrap_or_default());
        let task = json!({
            "idempotency_key": key, "account": {"account_id": account}, "brand": {"domain": "a.example"},
            "start_time": start, "end_time": end,
            "packages": [{"product_id": "front_page_day", "pricing_option_id": "flat_day", "budget": 15000}],
        });
        line.ask("create_media_buy", &task)?;
    }
    for number in 0..buys {
        let key = line.key();
        let shown = format!("creative_{}", number % creatives);
        line.ask("create_media_buy", &purchase(&key, &account, &shown))?;
    }
    Ok(())
}

/// A request for the last page of ten of a list that has several.
fn last_page(line: &mut Line, tool: &str) -> Fallible<Value> {
    let mut request = json!({"pagination": {"max_results": 10}});
    loop {
        let answer = line.ask(tool, &request)?;
        match answer.pointer("/pagination/cursor") {
            Some(next) => request["pagination"]["cursor"] = next.clone(),
            None => return Ok(request),
        }
    }
}

/// Requests for the last pages.
struct LastPages {
    buys: Value,
    creatives: Value,
    tasks: Value,
}

/// The calls whose cost is measured, with their names. Each request is made anew for its key.
fn calls(account: &str, buy: &str, last: &LastPages) -> Vec<(&'static str, &'static str, Value)> {
    let on_account = json!({"account_id": account});
    let with_key = |mut request: Value| {
        request["idempotency_key"] = "$KEY".into();
        request
    };
    vec![
        (
            "get_products",
            "get_products",
            json!({"buying_mode": "brief", "brief": "outdoor display", "account": on_account}),
        ),
        ("get_media_buys, a page of 100", "get_media_buys", json!({})),
        (
            "get_media_buys, a page of 10 on the account",
            "get_media_buys",
            json!({"account": on_account, "pagination": {"max_results": 10}}),
        ),
        (
            "get_media_buys, none in the status",
            "get_media_buys",
            json!({"status_filter": "rejected"}),
        ),
        ("get_media_buys, the last page", "get_media_buys", last.buys.clone()),
        ("list_creatives, the last page", "list_creatives", last.creatives.clone()),
        ("list_tasks, the last page", "list_tasks", last.tasks.clone()),
        ("get_media_buys, by id", "get_media_buys", json!({"media_buy_ids": [buy]})),
        (
            "get_media_buy_delivery, by id",
            "get_media_buy_delivery",
            json!({"media_buy_ids": [buy]}),
        ),
        ("list_creatives", "list_creatives", json!({"account": on_account})),
        (
            "list_creatives, by id",
            "list_creatives",
            json!({"filters": {"creative_ids": ["creative_1"]}}),
        ),
        ("list_accounts", "list_accounts", json!({})),
        ("list_tasks", "list_tasks", json!({})),
        ("list_property_lists", "list_property_lists", json!({})),
        (
            "sync_creatives, one",
            "sync_creatives",
            with_key(json!({"account": on_account, "creatives": [creative(1, "Creative 1")]})),
        ),
        ("create_media_buy", "create_media_buy", purchase("$KEY", account, "creative_bench")),
        (
            "update_media_buy",
            "update_media_buy",
            with_key(json!({"account": on_account, "media_buy_id": buy, "paused": true})),
        ),
    ]
}

/// A request with a key of its own, where it has one.
fn keyed(line: &mut Line, request: &Value) -> Value {
    let mut request = request.clone();
    if request.get("idempotency_key").is_some() {
        request["idempotency_key"] = line.key().into();
    }
    // What is paused is resumed, and the other way round.
    if request.get("paused").is_some() {
        line.is_paused = !line.is_paused;
        request["paused"] = line.is_paused.into();
    }
    request
}

/// CPU time of a process so far, user and system, in clock ticks.
fn ticks(pid: &str) -> Fallible<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, behind) = stat.rsplit_once(')').ok_or("no such process")?;
    let mut fields = behind.split_whitespace().skip(11);
    let user: u64 = fields.next().ok_or("no user time")?.parse()?;
    let system: u64 = fields.next().ok_or("no system time")?.parse()?;
    Ok(user + system)
}

/// Of sorted times, the one below which so many of a thousand are, in microseconds.
fn part(times: &[Duration], thousandths: usize) -> u128 {
    let place = (times.len() * thousandths / 1000).min(times.len().saturating_sub(1));
    times.get(place).map_or(0, Duration::as_micros)
}

/// How many microseconds a clock tick has.
const TICK: u64 = 10_000;

fn measure(arguments: &[String]) -> Fallible<()> {
    let [address, pid, token, other, seconds, callers] = arguments else {
        return Err("usage: publisher measure ADDRESS PID TOKEN OTHER SECONDS CALLERS".into());
    };
    let each = Duration::from_secs_f64(seconds.parse()?);
    let callers: usize = callers.parse()?;
    let mut line = Line::open(address, token)?;
    let account_id = account(&mut line)?;
    // A creative of its own: what is bought here is not to change what other creatives show.
    let key = line.key();
    let mut own = creative(0, "Bench");
    own["creative_id"] = "creative_bench".into();
    let request = json!({
        "idempotency_key": key, "account": {"account_id": account_id}, "creatives": [own],
    });
    line.ask("sync_creatives", &request)?;
    let page = json!({"pagination": {"max_results": 1}});
    let page = line.ask("get_media_buys", &page)?;
    let buy = page.pointer("/media_buys/0/media_buy_id").and_then(Value::as_str);
    let buy = buy.ok_or("there is no media buy")?.to_owned();
    let last = LastPages {
        buys: last_page(&mut line, "get_media_buys")?,
        creatives: last_page(&mut line, "list_creatives")?,
        tasks: last_page(&mut line, "list_tasks")?,
    };
    let mut out = std::io::stdout().lock();
    for (name, tool, request) in calls(&account_id, &buy, &last) {
        for _ in 0..WARM_UP {
            let request = keyed(&mut line, &request);
            line.ask(tool, &request)?;
        }
        let mut times = Vec::new();
        let before = ticks(pid)?;
        let begun = Instant::now();
        while begun.elapsed() < each {
            let request = keyed(&mut line, &request);
            times.push(line.send(tool, &request)?);
        }
        let cpu = (ticks(pid)? - before) * TICK / times.len() as u64;
        times.sort_unstable();
        writeln!(out, "{name}\t{}\t{}\t{cpu}", part(&times, 500), part(&times, 990))?;
    }
    let ends = AtomicBool::new(false);
    let busy = calls(&account_id, &buy, &last);
    let mut quiet = Line::open(address, other)?;
    let quiet_account = account(&mut quiet)?;
    let shown = json!({"account": {"account_id": quiet_account}});
    let quiet_calls = [
        (
            "get_products",
            json!({"buying_mode": "brief", "brief": "outdoor display", "account": {"account_id": quiet_account}}),
        ),
        ("get_media_buys", shown.clone()),
        ("list_creatives", shown),
        ("list_accounts", json!({})),
    ];
    let done: Fallible<Vec<(&str, Vec<Duration>)>> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for place in 0..callers {
            let busy = &busy;
            let ends = &ends;
            threads.push(scope.spawn(move || -> Fallible<()> {
                let mut line = Line::open(address, token)?;
                // Reading calls alone, the costliest first.
                let reading: Vec<_> =
                    busy.iter().filter(|call| call.2.get("idempotency_key").is_none()).collect();
                let mut next = place;
                while !ends.load(Ordering::Relaxed) {
                    if let Some((_, tool, request)) = reading.get(next % reading.len()) {
                        line.send(tool, request)?;
                    }
                    next += 1;
                }
                Ok(())
            }));
        }
        std::thread::sleep(each / 4);
        let mut measured = Vec::new();
        for (tool, request) in &quiet_calls {
            let mut times = Vec::new();
            let begun = Instant::now();
            while begun.elapsed() < each * 2 {
                times.push(quiet.send(tool, request)?);
                std::thread::sleep(Duration::from_millis(5));
            }
            times.sort_unstable();
            measured.push((*tool, times));
        }
        ends.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a caller has panicked")??;
        }
        Ok(measured)
    });
    for (tool, times) in done? {
        writeln!(
            out,
            "beside\t{tool}\t{}\t{}\t{}",
            part(&times, 500),
            part(&times, 990),
            times.len()
        )?;
    }
    Ok(())
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [mode, address, token, buys] if mode == "fill" => fill(address, token, buys.parse()?),
        [mode, rest @ ..] if mode == "measure" => measure(rest),
        _ => Err("usage: publisher fill ADDRESS TOKEN BUYS, or publisher measure …".into()),
    }
}
