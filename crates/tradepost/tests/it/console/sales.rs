//! Pages of publishers: what waits, media buys, creatives, accounts, agents, products and the set-up.

use expect_test::expect;
use tradepost_console::route::TABLE;
use tradepost_publisher::buy::MediaBuy;
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::remote_order::RemoteOrder;
use tradepost_publisher::store::New;
use tradepost_runtime::config::{PublisherConfig, read};
use tradepost_runtime::gate::Scopes;
use tradepost_server::auth::Principal;

use super::hostile::FIELDS;
use super::*;
use crate::adcp::staff;

/// Markup that a buyer sends wherever a text is accepted.
const EVIL: &str = r#"<img src=x onerror=alert(1)>"'</title><script>alert(2)</script>{{7*7}}"#;

/// Two publishers beside the dealers; `more` is more of the first.
fn publishers(more: &str) -> Vec<PublisherConfig> {
    let text = format!(
        r#"
        [[publishers]]
        id = "gazette"
        name = "The Gazette"
        domain = "gazette.example"
        hosts = ["gazette.example"]
        onboarding = {{ review = {{ message = "Sign the contract." }} }}
        approvals = {{ four_eyes_above = [{{ currency = "USD", amount = 5000 }}] }}
        {more}

        [[publishers.agents]]
        id = "acme"
        credentials = ["acme"]

        [[publishers]]
        id = "herald"
        name = "The Herald"
        domain = "herald.example"
        hosts = ["herald.example"]
        "#
    );
    let mut publishers = read::read(&text, &[]).unwrap().publishers;
    let token = |who: &'static str| {
        ("token-of-acme", Principal { name: who.to_owned(), scopes: Scopes::All })
    };
    for publisher in &mut publishers {
        publisher.profile.catalogue = Catalogue::parse(&catalogue().to_string()).unwrap();
        publisher.front.tokens = vec![token("acme")];
    }
    publishers
}

/// The catalogue of the command's tests, with a format for code and a product that anybody may buy.
fn catalogue() -> Value {
    let mut catalogue = staff::catalogue();
    let mut free = catalogue["products"][0].clone();
    free["product_id"] = json!("back");
    free["name"] = json!("Back page");
    free["terms"] = json!({});
    catalogue["products"].as_array_mut().unwrap().push(free);
    catalogue["formats"].as_array_mut().unwrap().push(json!({
        "format_id": {"id": "tag"}, "name": "Tag",
        "assets": [
            {"item_type": "individual", "asset_id": "code", "asset_type": "html", "required": true},
        ],
    }));
    catalogue["products"][0]["format_ids"] = json!([{"id": "display_300x250"}, {"id": "tag"}]);
    catalogue
}

/// A console of publishers, with a buyer.
pub(super) struct PublisherConsole {
    pub(super) fixture: Fixture,
}

impl PublisherConsole {
    pub(super) fn new() -> Self {
        Self::with("")
    }

    fn with(more: &str) -> Self {
        let fixture = Fixture::with(|config| config.publishers = publishers(more));
        for (name, role, publisher) in [
            ("vera", StaffRole::Viewer, "gazette"),
            ("sam", StaffRole::Seller, "gazette"),
            ("amy", StaffRole::Approver, "gazette"),
            ("ben", StaffRole::Approver, "gazette"),
            ("hilda", StaffRole::Approver, "herald"),
        ] {
            fixture.add(name, role, Some(publisher));
        }
        Self { fixture }
    }

    pub(super) fn enter(&self, name: &str) -> Browser<'_> {
        self.fixture.enter(name)
    }

    /// The answer to a buyer's call with a bearer token.
    fn call_with(&self, token: &str, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Host", "gazette.example"),
            ("Content-Type", "application/json"),
            ("Authorization", bearer.as_str()),
        ];
        let address = self.fixture.server.address;
        let answer =
            client::request(address, "POST", "/mcp", &headers, body.to_string().as_bytes());
        answer.json()["result"]["structuredContent"].clone()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.call_with("token-of-acme", tool, arguments)
    }

    /// Opens an account, which waits for approval. Returns its id.
    fn open_account(&self) -> String {
        let opening = json!({"idempotency_key": "open-the-account-1", "accounts": [
            {"brand": {"domain": "acme.example"}, "operator": "acme.example", "billing": "operator"},
        ]});
        let opened = self.call("sync_accounts", &opening);
        let id = opened["accounts"][0]["account_id"].as_str();
        id.unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    /// Opens an account, and has it approved.
    pub(super) fn account(&self) -> String {
        let id = self.open_account();
        let form = [("id", id.as_str()), ("seen", "pending_approval")];
        assert_eq!(self.enter("amy").do_it("/console/ad-accounts/approve", &form), "approved");
        id
    }

    pub(super) fn buy(&self, account: &str, product: &str, budget: u32, key: &str) -> Value {
        self.call(
            "create_media_buy",
            &json!({
                "idempotency_key": format!("buy-the-front-page-{key}"),
                "account": {"account_id": account}, "brand": {"domain": "acme.example"},
                "start_time": "asap", "end_time": "2026-06-30T00:00:00Z",
                "po_number": EVIL.chars().take(40).collect::<String>(),
                "packages": [
                    {"product_id": product, "pricing_option_id": "cpm", "budget": budget},
                ],
            }),
        )
    }

    /// The id of a task that waits.
    fn waiting(&self, account: &str, budget: u32, key: &str) -> String {
        let answer = self.buy(account, "front", budget, key);
        answer["task_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub(super) fn sold(&self, account: &str) -> String {
        let answer = self.buy(account, "back", 1_000, "sold");
        answer["media_buy_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn send_creative(&self, account: &str, id: &str, more: &Value) {
        let mut creative = json!({
            "creative_id": id, "name": "Banner",
            "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
            "assets": {"image": {
                "asset_type": "image", "url": "https://cdn.acme.example/a.png", "width": 300,
                "height": 250,
            }},
        });
        let members = creative.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        let sent = json!({
            "idempotency_key": format!("send-the-banner-{}", id.len() + more.to_string().len()),
            "account": {"account_id": account}, "creatives": [creative],
        });
        let sent = self.call("sync_creatives", &sent);
        assert_eq!(sent["creatives"][0]["status"], "pending_review", "{sent}");
    }
}

pub(super) fn show(page: &str, id: &str) -> String {
    format!(
        "/console/{page}?{}",
        form_urlencoded::Serializer::new(String::new()).append_pair("id", id).finish()
    )
}

/// The value of a hidden field.
#[track_caller]
fn hidden(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("{page}"));
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn every_page_of_a_publisher_is_for_its_own_people() {
    let console = PublisherConsole::new();
    let account = console.account();
    let task = console.waiting(&account, 1_000, "1");
    let buy = console.sold(&account);
    console.send_creative(&account, "banner", &json!({}));
    let people = ["vera", "sam", "hilda", "maria", "group", "amy"].map(|name| console.enter(name));
    let mut table =
        String::from("                      nobody viewer seller other manager group approver\n");
    let is_of_publishers = |path: &str| {
        ["buys", "delivery", "creatives", "ad-", "products", "set-up"]
            .iter()
            .any(|start| path.starts_with(start))
    };
    let id_of = |path: &str| {
        if path.starts_with("creatives") {
            "banner"
        } else if path.starts_with("ad-accounts") {
            &account
        } else if ["waiting", "approve", "decline"].iter().any(|end| path.ends_with(end)) {
            &task
        } else {
            &buy
        }
    };
    for row in TABLE.iter().filter(|row| is_of_publishers(row.path)) {
        let id = id_of(row.path);
        let is_page = row.method == "GET";
        let answer = |browser: &Browser<'_>| match is_page {
            true => browser.get(&show(row.path, id)),
            false => {
                let is_told =
                    ["decline", "pause", "cancel"].iter().any(|end| row.path.ends_with(end));
                let reason = (is_told && !row.path.starts_with("ad-accounts")).then_some("No.");
                let form = [
                    ("id", id),
                    ("reason", reason.unwrap_or_default()),
                    ("sure", "yes"),
                    ("step", "ad-server"),
                    ("name", "acme"),
                ];
                browser.post(&format!("/console/{}", row.path), &form)
            }
        };
        let anonymous = match is_page {
            true => console.fixture.get(&show(row.path, id)),
            false => console.fixture.send(&format!("/console/{}", row.path), "", &[], &[]),
        };
        let statuses = people.each_ref().map(|browser| answer(browser).status.to_string());
        table += &format!(
            "{:4} {:24} {}  {}\n",
            row.method,
            row.path,
            anonymous.status,
            statuses.join("  ")
        );
    }
    expect![[r#"
                              nobody viewer seller other manager group approver
        GET buys                     303  200  200  200  403  403  200
        GET buys/show                303  200  200  404  403  403  200
        GET buys/waiting             303  200  200  404  403  403  200
        POST buys/approve             303  403  403  404  403  403  303
        POST buys/decline             303  403  403  404  403  403  409
        POST buys/pause               303  403  303  404  403  403  409
        POST buys/resume              303  403  303  404  403  403  409
        POST buys/cancel              303  403  403  404  403  403  303
        POST buys/retry               303  403  404  404  403  403  404
        GET delivery                 303  403  200  404  403  403  200
        GET delivery/template        303  403  200  404  403  403  200
        POST delivery                 303  403  422  422  403  403  422
        GET creatives                303  200  200  200  403  403  200
        GET creatives/show           303  200  200  404  403  403  200
        GET creatives/preview        303  200  200  404  403  403  200
        POST creatives/approve        303  403  403  404  403  403  303
        POST creatives/decline        303  403  403  404  403  403  303
        POST creatives/suspend        303  403  409  404  403  403  409
        POST creatives/resume         303  403  409  404  403  403  409
        GET ad-accounts              303  200  200  200  403  403  200
        GET ad-accounts/show         303  200  200  404  403  403  200
        POST ad-accounts/approve      303  403  403  404  403  403  409
        POST ad-accounts/decline      303  403  403  404  403  403  409
        POST ad-accounts/suspend      303  403  303  404  403  403  409
        POST ad-accounts/resume       303  403  303  404  403  403  409
        POST ad-accounts/close        303  403  403  404  403  403  303
        POST ad-accounts/payment-due  303  403  409  404  403  403  409
        POST ad-accounts/payment-settled 303  403  409  404  403  403  409
        GET ad-agents                303  200  200  200  403  403  200
        POST ad-agents/keys           303  403  403  422  403  403  200
        POST ad-agents/keys/revoke    303  403  403  404  403  403  404
        GET products                 303  200  200  200  403  403  200
        GET set-up                   303  200  200  200  403  403  200
        POST set-up/test              303  403  303  303  403  403  303
    "#]]
    .assert_eq(&table);
}

/// A media buy whose second creative and line item the ad server has refused.
fn stopped_order(media_buy_id: &str, package_id: &str, now: jiff::Timestamp) -> RemoteOrder {
    let order = json!({
        "media_buy_id": media_buy_id, "phase": "stopped", "marks": 1, "generation": 1,
        "ends_at": "2026-06-30T00:00:00Z",
        "order": {
            "id": "order-77", "state": "draft", "approved": false,
            "sent": {
                "external_id": media_buy_id, "name": "Spring", "advertiser": "acme",
                "advertiser_name": "Acme", "budget": 1000, "currency": "USD",
                "start_time": "2026-06-01T00:00:00Z", "end_time": "2026-06-30T00:00:00Z",
            },
        },
        "creatives": {"banner": {"refusal": EVIL}},
        "problem": {
            "at": now, "kind": "refused", "step": "add_line_item", "detail": format!("unit gone {EVIL}"),
        },
        "done": [{"at": now, "step": format!("create_order {package_id}")}],
    });
    tradepost_document::json::from_value(order).unwrap()
}

#[test]
fn a_stopped_order_is_in_the_inbox_until_retried() {
    let console = PublisherConsole::new();
    let account = console.account();
    let sold = console.sold(&account);
    let order = stopped_order(&sold, "pkg", at(NOW));
    let stored = console.fixture.server.store.decide::<_, ()>(move |tx| {
        tx.with_publisher("gazette", |tx| {
            let id = order.media_buy_id.as_str();
            tx.add(New { id, owner: "agent:acme", account: None, state: "", now: at(NOW) }, &order)
        })??;
        Ok(())
    });
    stored.unwrap();
    let vera = console.enter("vera");
    let inbox = text(&vera.get("/console"));
    assert!(inbox.contains("Stopped at the ad server") && inbox.contains(&sold), "{inbox}");
    assert!(inbox.contains(">1<span class=\"unseen\"> waiting</span>"), "{inbox}");
    let page = text(&vera.get(&show("buys/show", &sold)));
    assert!(page.contains("order-77") && page.contains("Needs a person"), "{page}");
    assert!(page.contains("unit gone &#60;img") && !page.contains("<img src=x"), "{page}");
    assert!(!page.contains("/console/buys/retry"), "a viewer changes nothing: {page}");
    let sam = console.enter("sam");
    let page = text(&sam.get(&show("buys/show", &sold)));
    assert!(page.contains("/console/buys/retry"), "{page}");
    let form = [("id", sold.as_str())];
    assert_eq!(console.enter("hilda").post("/console/buys/retry", &form).status, 404);
    assert_eq!(sam.do_it("/console/buys/retry", &form), "retried");
    let page = text(&sam.get(&show("buys/show", &sold)));
    assert!(page.contains("In progress") && !page.contains("unit gone"), "{page}");
    let record = console.fixture.record("gazette");
    assert!(
        record.iter().any(|(who, what, _)| who == "sam" && what == "order_retried"),
        "{record:?}"
    );
    assert!(!text(&vera.get("/console")).contains("Stopped at the ad server"));
}

#[test]
fn a_deal_is_shown_beside_its_package() {
    let console = PublisherConsole::new();
    let sold = console.sold(&console.account());
    let id = sold.clone();
    let stored = console.fixture.server.store.decide::<_, ()>(move |tx| {
        tx.with_publisher("gazette", |tx| {
            let mut buy = tx.find::<MediaBuy>(&id)?.unwrap();
            let inventory = json!({
                "inventory": [], "is_guaranteed": false, "deal": {"seats": ["seat-7"]},
            });
            let package = buy.thing.packages.first_mut().unwrap();
            package.ad_server = Some(tradepost_document::json::from_value(inventory).unwrap());
            let deal = json!({
                "id": format!("{id}-{}", package.package_id), "refusal": format!("no such seat {EVIL}"),
                "refused": {
                    "external_id": "x", "name": "x", "inventory": [], "price": 8, "currency": "USD",
                    "auction_type": 3, "seats": [], "advertiser_domains": [],
                    "start_time": "2026-06-01T00:00:00Z", "end_time": "2026-06-30T00:00:00Z",
                },
            });
            let package_id = package.package_id.clone();
            tx.change(&mut buy, at(NOW))?;
            let mut order = tx.find::<RemoteOrder>(&id)?.unwrap();
            let deal = tradepost_document::json::from_value(deal).unwrap();
            order.thing.deals.insert(package_id, deal);
            tx.change(&mut order, at(NOW))
        })??;
        Ok(())
    });
    stored.unwrap();
    let page = text(&console.enter("vera").get(&show("buys/show", &sold)));
    assert!(page.contains(&format!("deal {sold}-")), "{page}");
    assert!(page.contains("<span class=\"chip bad\">Refused</span>"), "{page}");
    assert!(page.contains("was refused: no such seat &#60;img"), "{page}");
    assert!(!page.contains("<img src=x") && !page.contains("not made yet"), "{page}");
}

#[test]
fn a_buy_is_found_in_the_inbox_and_approved() {
    let console = PublisherConsole::new();
    let account = console.account();
    let task = console.waiting(&account, 1_000, "1");
    console.send_creative(&account, "banner", &json!({}));
    let amy = console.enter("amy");
    let inbox = text(&amy.get("/console"));
    assert!(inbox.contains("1,000 USD") && inbox.contains("agent acme"), "{inbox}");
    assert!(inbox.contains(">2<span class=\"unseen\"> waiting</span>"), "{inbox}");
    let place = |what: &str| inbox.find(what).unwrap_or_else(|| panic!("{what}: {inbox}"));
    assert!(place("1,000 USD") < place("<strong>Banner</strong>"), "the oldest first: {inbox}");
    let page = text(&amy.get(&show("buys/waiting", &task)));
    assert!(page.contains("Front page") && page.contains("name=\"reason\""), "{page}");
    // A seller sees it, and has no form.
    let seen_by_sam = text(&console.enter("sam").get(&show("buys/waiting", &task)));
    assert!(!seen_by_sam.contains("/console/buys/approve"), "{seen_by_sam}");
    let form = [
        ("id", task.as_str()),
        ("account", account.as_str()),
        ("seen", &hidden(&page, "seen")),
        ("why", "within the budget of May"),
    ];
    assert_eq!(amy.do_it("/console/buys/approve", &form), "approved");
    let record = console.fixture.record("gazette");
    let (who, what, detail) = record.iter().rfind(|(_, what, _)| what == "approved").unwrap();
    assert_eq!((who.as_str(), what.as_str()), ("amy", "approved"));
    assert!(detail.as_ref().unwrap().ends_with("why: within the budget of May"), "{detail:?}");
    // Whoever opened the page before is told who was faster.
    let ben = console.enter("ben");
    let declined = [&form[..3], &[("reason", "No.")]].concat();
    for (path, form) in
        [("/console/buys/approve", &form[..3]), ("/console/buys/decline", &declined[..])]
    {
        let late = ben.post(path, form);
        assert_eq!(late.status, 409);
        let late_page = text(&late);
        assert!(late_page.contains("amy approved it just now"), "{late_page}");
    }
    let asked = json!({"account": {"account_id": account}, "status_filter": ["pending_creatives"]});
    let bought = console.call("get_media_buys", &asked);
    let id = bought["media_buys"][0]["media_buy_id"].as_str().unwrap_or_else(|| panic!("{bought}"));
    let page = text(&amy.get(&show("buys/show", id)));
    for part in
        ["Spend against an even pace", "<polyline class=\"spent\"", "Approved</strong> by amy"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let list = text(&amy.get("/console/buys"));
    assert!(list.contains(id), "{list}");
}

#[test]
fn above_the_amount_a_second_person_approves() {
    let console = PublisherConsole::new();
    let account = console.account();
    let task = console.waiting(&account, 5_001, "1");
    let amy = console.enter("amy");
    let form = |browser: &Browser<'_>| {
        let page = text(&browser.get(&show("buys/waiting", &task)));
        vec![("id", task.clone()), ("account", account.clone()), ("seen", hidden(&page, "seen"))]
    };
    let post = |browser: &Browser<'_>| {
        let fields = form(browser);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        browser.post("/console/buys/approve", &fields)
    };
    assert_eq!(post(&amy).status, 303);
    let again = post(&amy);
    assert_eq!(again.status, 409);
    assert!(text(&again).contains("another approver has to approve it"), "{}", text(&again));
    let ben = console.enter("ben");
    let page = text(&ben.get(&show("buys/waiting", &task)));
    assert!(page.contains("<strong>amy</strong> has approved it"), "{page}");
    assert_eq!(post(&ben).status, 303);
    let record = console.fixture.record("gazette");
    let approved: Vec<_> =
        record.iter().filter(|(_, what, _)| what == "approved").skip(1).collect();
    let people: Vec<_> = approved.iter().map(|(who, ..)| who.as_str()).collect();
    assert_eq!(people, ["amy", "ben"]);
}

#[test]
fn a_seller_pauses_and_an_approver_cancels_a_buy() {
    let console = PublisherConsole::new();
    let account = console.account();
    let buy = console.sold(&account);
    let sam = console.enter("sam");
    let page = text(&sam.get(&show("buys/show", &buy)));
    assert!(!page.contains("/console/buys/cancel"), "{page}");
    let seen = hidden(&page, "seen");
    let pause = [("id", buy.as_str()), ("seen", seen.as_str()), ("reason", "A complaint.")];
    assert_eq!(sam.do_it("/console/buys/pause", &pause), "paused");
    let stood = |console: &PublisherConsole| {
        let asked = json!({"account": {"account_id": account}, "media_buy_ids": [buy]});
        console.call("get_media_buys", &asked)["media_buys"][0].clone()
    };
    let update = json!({
        "idempotency_key": "resume-it-please-1", "account": {"account_id": account},
        "media_buy_id": buy, "paused": false,
    });
    let refused = console.call("update_media_buy", &update);
    assert_eq!(refused["errors"][0]["code"], "ACTION_NOT_ALLOWED", "{refused}");
    let amy = console.enter("amy");
    let page = text(&amy.get(&show("buys/show", &buy)));
    assert!(
        page.contains("You have paused this media buy") && page.contains("A complaint."),
        "{page}"
    );
    let late = amy.post("/console/buys/resume", &[("id", &buy), ("seen", &seen)]);
    assert_eq!(late.status, 409);
    let seen = hidden(&page, "seen");
    let cancel = [("id", buy.as_str()), ("seen", seen.as_str()), ("reason", "Withdrawn.")];
    assert_eq!(amy.post("/console/buys/cancel", &cancel).status, 422, "without being sure");
    let cancel = [&cancel[..], &[("sure", "yes")]].concat();
    assert_eq!(amy.do_it("/console/buys/cancel", &cancel), "canceled");
    let shown = stood(&console);
    assert_eq!(shown["status"], "canceled", "{shown}");
    assert_eq!(shown["cancellation"]["canceled_by"], "seller", "{shown}");
    assert_eq!(shown["cancellation"]["reason"], "Withdrawn.", "{shown}");
}

#[test]
fn a_creative_is_reviewed_in_a_frame_without_scripts() {
    let console = PublisherConsole::new();
    let account = console.account();
    console.send_creative(&account, "banner", &json!({}));
    let code = json!({
        "name": "Tag", "format_id": {"agent_url": "https://ads.gazette.example", "id": "tag"},
        "assets": {"code": {"asset_type": "html", "content": "<script>document.title = 1</script>"}},
    });
    console.send_creative(&account, "tag", &code);
    let amy = console.enter("amy");
    let page = amy.get(&show("creatives/show", "banner"));
    assert!(page.header("content-security-policy").unwrap().ends_with("; frame-src 'self'"));
    let page = text(&page);
    assert!(
        page.contains("<iframe class=\"preview\" sandbox src=\"/console/creatives/preview?"),
        "{page}"
    );
    let preview = amy.get(&show("creatives/preview", "banner"));
    let policy = preview.header("content-security-policy").unwrap();
    expect!["sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-src 'none'; connect-src 'none'; frame-ancestors 'self'; style-src 'unsafe-inline'; img-src https://cdn.acme.example; media-src https://cdn.acme.example"]
        .assert_eq(policy);
    assert_eq!(preview.header("x-frame-options"), Some("SAMEORIGIN"));
    assert_eq!(preview.header("referrer-policy"), Some("no-referrer"));
    assert!(text(&preview).contains("<img src=\"https://cdn.acme.example/a.png\""));
    // Code is text until somebody asks for more.
    let page = text(&amy.get(&show("creatives/show", "tag")));
    assert!(page.contains("&#60;script&#62;document.title"), "{page}");
    assert!(!page.contains("<iframe") && page.contains("Run the code"), "{page}");
    let quiet = text(&amy.get(&show("creatives/preview", "tag")));
    assert!(!quiet.contains("<script"), "{quiet}");
    let page = text(&amy.get(&format!("{}&run=yes", show("creatives/show", "tag"))));
    assert!(page.contains("<iframe class=\"preview\" sandbox=\"allow-scripts\""), "{page}");
    let running = amy.get(&format!("{}&run=yes", show("creatives/preview", "tag")));
    let policy = running.header("content-security-policy").unwrap();
    assert!(policy.starts_with("sandbox allow-scripts; default-src 'none'"), "{policy}");
    assert!(!policy.contains("allow-same-origin"), "{policy}");
    assert!(text(&running).contains("<script>document.title = 1</script>"));
}

#[test]
fn a_creative_is_rejected_with_a_reason_and_a_code() {
    let console = PublisherConsole::new();
    let account = console.account();
    console.send_creative(&account, "banner", &json!({}));
    let amy = console.enter("amy");
    let page = text(&amy.get(&show("creatives/show", "banner")));
    let seen = hidden(&page, "seen");
    let approve = [("id", "banner"), ("account", account.as_str()), ("seen", seen.as_str())];
    assert_eq!(amy.do_it("/console/creatives/approve", &approve), "approved");
    let reason = [("reason", "The logo is another's.")];
    let late =
        console.enter("ben").post("/console/creatives/decline", &[&approve[..], &reason].concat());
    assert_eq!(late.status, 409);
    assert!(text(&late).contains("amy approved it just now"), "{}", text(&late));
    let page = text(&amy.get(&show("creatives/show", "banner")));
    let seen = hidden(&page, "seen");
    let form = [("id", "banner"), ("account", account.as_str()), ("seen", seen.as_str())];
    let post =
        |more: &[(&str, &str)]| amy.post("/console/creatives/decline", &[&form[..], more].concat());
    assert_eq!(post(&[]).status, 422, "without a reason");
    let code = |code| [reason[0], ("code", code)];
    assert_eq!(post(&code("review_failure")).status, 422, "of what was approved");
    assert_eq!(post(&code("nonsense")).status, 422);
    assert_eq!(post(&code("takedown_request")).status, 303);
    let asked = json!({"account": {"account_id": account}});
    let library = console.call("list_creatives", &asked);
    assert_eq!(library["creatives"][0]["status"], "rejected", "{library}");
}

#[test]
fn a_buyer_who_changes_a_creative_is_looked_at_again() {
    let console = PublisherConsole::new();
    let account = console.account();
    console.send_creative(&account, "banner", &json!({}));
    let amy = console.enter("amy");
    let seen = hidden(&text(&amy.get(&show("creatives/show", "banner"))), "seen");
    console.send_creative(&account, "banner", &json!({"name": "Another banner"}));
    let form = [("id", "banner"), ("account", account.as_str()), ("seen", seen.as_str())];
    let late = amy.post("/console/creatives/approve", &form);
    assert_eq!(late.status, 409);
    assert!(text(&late).contains("has changed since you opened the page"), "{}", text(&late));
}

#[test]
fn a_key_is_shown_once_and_ends_when_it_is_revoked() {
    let console = PublisherConsole::new();
    let amy = console.enter("amy");
    assert_eq!(amy.post("/console/ad-agents/keys", &[("name", "nobody")]).status, 422);
    let page = text(&amy.post("/console/ad-agents/keys", &[("name", "acme")]));
    let (_, rest) = page.split_once("<code class=\"secret\">").unwrap_or_else(|| panic!("{page}"));
    let key = rest.split('<').next().unwrap();
    let products = || console.call_with(key, "get_products", &json!({"buying_mode": "wholesale"}));
    assert!(products().get("products").is_some());
    let list = text(&amy.get("/console/ad-agents"));
    assert!(!list.contains(key) && list.contains("Valid"), "{list}");
    let id = console.fixture.server.store.api_keys(Some("gazette")).unwrap().pop().unwrap().id;
    // People of another publisher have no such key.
    assert_eq!(
        console.enter("hilda").post("/console/ad-agents/keys/revoke", &[("id", &id)]).status,
        404
    );
    assert_eq!(amy.do_it("/console/ad-agents/keys/revoke", &[("id", &id)]), "key_revoked");
    assert_eq!(products(), Value::Null);
    let record = console.fixture.record("gazette");
    let what: Vec<_> = record.iter().map(|(_, what, _)| what.as_str()).collect();
    assert!(what.contains(&"api_key_created") && what.contains(&"api_key_revoked"), "{what:?}");
}

#[test]
fn products_are_shown_with_their_rates() {
    let console = PublisherConsole::new();
    let page = text(&console.enter("vera").get("/console/products"));
    for part in ["Front page", "8 USD", "a person approves each purchase", "No findings"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn the_set_up_says_what_is_missing_and_tests_it() {
    let console = PublisherConsole::new();
    let sam = console.enter("sam");
    let page = text(&sam.get("/console/set-up"));
    for part in [
        "2 products",
        "Approvers: amy, ben.",
        "No buyer agent has a key",
        "No destination is configured",
        "None is configured",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(sam.do_it("/console/set-up/test", &[("step", "endpoint")]), "tested");
    let shown = (0..1_500).find_map(|_| {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
        let shown = text(&sam.get("/console/set-up"));
        shown.contains("Tested by sam").then_some(shown)
    });
    let shown = shown.expect("a test ends");
    assert!(shown.contains("No agent at https://gazette.example"), "{shown}");
    assert_eq!(
        console.enter("vera").post("/console/set-up/test", &[("step", "endpoint")]).status,
        403
    );
    assert_eq!(sam.post("/console/set-up/test", &[("step", "catalogue")]).status, 404);
}

/// A server that answers everything with one document.
fn answering(body: &'static str) -> std::net::SocketAddr {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while line != "\r\n" {
                line.clear();
                if stream.read_line(&mut line).unwrap_or_default() == 0 {
                    break;
                }
            }
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let answer = format!("{head}Content-Length: {length}\r\n\r\n{body}");
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn every_configured_ad_server_is_tested() {
    let carries = answering(r#"{"ad_units": [{"ad_unit_id": "1", "name": "Front"}]}"#);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sells = answering(r#"{"sold_out": ["front"]}"#);
    let carrier = |address: std::net::SocketAddr| {
        format!(
            "ad_server = {{ adapter = \"http\", url = \"http://{address}\", credential = \"a-secret-of-theirs\", \
             network = \"net\" }}\n"
        )
    };
    let upstream = format!("upstream = {{ url = \"http://{sells}/\" }}\n");
    for (more, says) in [
        (carrier(carries), "Ad_server: network net, 1 ad units."),
        (
            format!("{}{upstream}", carrier(carries)),
            "Ad_server: network net, 1 ad units; upstream: it answers; products that are sold out there: 1.",
        ),
        (
            format!("{}{upstream}", carrier(closed)),
            "Ad_server: the ad server could not be reached; check address and credential in \
             publishers.ad_server or publishers.upstream, and that the ad server runs.",
        ),
    ] {
        let console = PublisherConsole::with(&more);
        let sam = console.enter("sam");
        assert_eq!(sam.do_it("/console/set-up/test", &[("step", "ad-server")]), "tested");
        let shown = (0..1_500).find_map(|_| {
            std::thread::park_timeout(std::time::Duration::from_millis(20));
            let shown = text(&sam.get("/console/set-up"));
            shown.contains("Tested by sam").then_some(shown)
        });
        let shown = shown.expect("a test ends");
        assert!(shown.contains(says), "{says}: {shown}");
        assert!(!shown.contains("a-secret-of-theirs"));
    }
}

#[test]
fn what_buyers_write_stays_text() {
    let console = PublisherConsole::new();
    let account = console.account();
    let task = console.waiting(&account, 1_000, "1");
    let buy = console.sold(&account);
    let id = "a<b>\"'&";
    let evil = json!({
        "name": EVIL, "tags": [EVIL], "format_id": {"agent_url": "https://ads.gazette.example", "id": "tag"},
        "assets": {"code": {"asset_type": "html", "content": EVIL}},
    });
    console.send_creative(&account, id, &evil);
    let update = json!({
        "idempotency_key": "cancel-it-please-1", "account": {"account_id": account},
        "media_buy_id": buy, "canceled": true, "cancellation_reason": EVIL,
    });
    assert_eq!(console.call("update_media_buy", &update)["status"], "completed");
    let amy = console.enter("amy");
    for page in [
        "/console".to_owned(),
        "/console/buys".to_owned(),
        "/console/creatives".to_owned(),
        "/console/ad-accounts".to_owned(),
        "/console/ad-agents".to_owned(),
        "/console/products".to_owned(),
        "/console/set-up".to_owned(),
        show("buys/show", &buy),
        show("buys/waiting", &task),
        show("creatives/show", id),
        show("creatives/preview", id),
        show("ad-accounts/show", &account),
    ] {
        let answer = amy.get(&page);
        assert_eq!(answer.status, 200, "{page}");
        let shown = text(&answer);
        for markup in ["<img src=x", "<script>alert", "</title><script", "<b>\"", "{{49"] {
            assert!(!shown.contains(markup), "{page} has {markup}: {shown}");
        }
    }
    let shown = text(&amy.get(&show("buys/show", &buy)));
    assert!(shown.contains("&#60;script&#62;alert(2)"), "{shown}");
}

#[test]
fn odd_requests_of_publishers_get_an_answer() {
    let console = PublisherConsole::new();
    let amy = console.enter("amy");
    for (path, status) in [
        ("/console?after=nonsense", 404),
        ("/console?after=0.1", 200),
        ("/console/buys?state=nonsense", 404),
        ("/console/buys?state=active", 200),
        ("/console/buys?after=%00", 404),
        ("/console/buys/show", 404),
        ("/console/buys/show?id=%00%3Cb%3E", 404),
        ("/console/buys/waiting?id=..%2f", 404),
        ("/console/creatives/preview?id=nobody&account=%27", 404),
        ("/console/ad-accounts/show?id=acc_0", 404),
    ] {
        assert_eq!(amy.get(path).status, status, "{path}");
    }
    let of = |fields: &[(&str, &str)]| amy.post("/console/buys/approve", fields).status;
    assert_eq!([of(&[]), of(&[("id", "task_0"), ("seen", "x")]), of(&FIELDS)], [404; 3]);
}
