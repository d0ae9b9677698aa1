//! Delivery that a publisher's people report with a file: what is stored and shown, what is refused and how, and for
//! whom the form is.

use expect_test::{Expect, expect};
use tradepost_publisher::buy::MediaBuy;
use tradepost_publisher::buy::report::BuyDelivery;

use super::sales::{PublisherConsole, show};
use super::*;

const PATH: &str = "/console/delivery";

/// A publisher that has sold a flight, three days after its first one.
struct Sold {
    console: PublisherConsole,
    buy: String,
    package: String,
}

impl Sold {
    fn new() -> Self {
        let console = PublisherConsole::new();
        let buy = console.sold(&console.account());
        console.fixture.hand.advance(SignedDuration::from_hours(3 * 24));
        let id = buy.clone();
        let package = console.fixture.server.store.decide::<_, ()>(move |tx| {
            Ok(tx.with_publisher("gazette", |tx| {
                let buy = tx.find::<MediaBuy>(&id)?.unwrap().thing;
                Ok::<_, tradepost_server::fault::InternalError>(buy.packages[0].package_id.clone())
            })??)
        });
        Self { package: package.unwrap(), console, buy }
    }

    fn enter(&self, name: &str) -> Browser<'_> {
        self.console.enter(name)
    }

    /// A table with rows of the media buy.
    fn table(&self, rows: &[&str]) -> String {
        let rows: Vec<String> = rows.iter().map(|row| format!("{},{row}\n", self.buy)).collect();
        format!("media_buy_id,date,impressions,clicks,spend,final,correction\n{}", rows.concat())
    }

    /// Number of days that are stored.
    fn days(&self) -> usize {
        let id = self.buy.clone();
        let days = self.console.fixture.server.store.decide::<_, ()>(move |tx| {
            Ok(tx.with_publisher("gazette", |tx| {
                let known = tx.find::<BuyDelivery>(&id)?;
                let days = known.map_or(0, |known| known.thing.reports.len());
                Ok::<_, tradepost_server::fault::InternalError>(days)
            })??)
        });
        days.unwrap()
    }

    /// What the page says above its form, with names in place of ids.
    fn said(&self, answer: &Response) -> String {
        let page = text(answer);
        let (_, main) = page.split_once("or none.</p>").unwrap_or_else(|| panic!("{page}"));
        let (said, _) = main.split_once("<section").unwrap();
        let said = said.replace(&self.buy, "BUY").replace(&self.package, "PACKAGE");
        let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(|line| format!("{line}\n")).collect()
    }

    #[track_caller]
    fn check(&self, answer: &Response, status: u16, expected: &Expect) {
        assert_eq!(answer.status, status, "{}", text(answer));
        expected.assert_eq(&self.said(answer));
    }
}

/// A form that is refused as a whole.
struct RefusedForm {
    what: &'static str,
    /// Name and content of the chosen file.
    file: Option<(&'static str, &'static [u8])>,
    /// Content of the field Columns.
    columns: &'static str,
}

impl RefusedForm {
    fn with_file(what: &'static str, name: &'static str, content: &'static [u8]) -> Self {
        Self { what, file: Some((name, content)), columns: "" }
    }
}

#[test]
fn a_reported_file_is_stored_and_shown_with_its_buy() {
    let sold = Sold::new();
    let sam = sold.enter("sam");
    let list = text(&sam.get("/console/buys"));
    assert!(list.contains("href=\"/console/delivery\""), "{list}");
    let page = text(&sam.get(&show("buys/show", &sold.buy)));
    assert!(page.contains(&format!("href=\"/console/delivery?id={}\"", sold.buy)), "{page}");
    let form = text(&sam.get(&show("delivery", &sold.buy)));
    assert!(form.contains("enctype=\"multipart/form-data\""), "{form}");
    assert!(form.contains(&format!("name=\"id\" value=\"{}\"", sold.buy)), "{form}");
    let table = sold.table(&["2026-04-30,1000,7,8.5,yes,", "2026-05-01,2000,,16,,"]);
    let stored = sam.upload(PATH, &[("id", &sold.buy)], Some(("may.csv", table.as_bytes())));
    sold.check(&stored, 200, &expect![[r#"
        <p class="done below" role="status">may.csv is stored.</p>
        <div class="scroll" tabindex="0" role="region" aria-label="What was stored">
        <table class="ids">
        <caption class="unseen">Days that were stored, by media buy</caption>
        <thead><tr><th scope="col">Media buy</th><th scope="col" class="number">New days</th><th scope="col" class="number">Changed</th><th scope="col" class="number">Unchanged</th><th scope="col" class="number">Made final</th><th scope="col" class="number">Corrected</th><th scope="col" class="number">Impressions</th><th scope="col" class="number">Spend</th></tr></thead>
        <tbody>
        <tr><th scope="row"><a href="/console/buys/show?id=BUY">BUY</a></th><td class="number">2</td><td class="number">0</td><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">3,000</td><td class="number">24.5 USD</td></tr>
        </tbody>
        </table>
        </div>
    "#]]);
    let page = text(&sam.get(&show("buys/show", &sold.buy)));
    assert!(page.contains("<dt>spent</dt><dd>24.5 USD</dd>"), "{page}");
    assert!(page.contains("May 1, 2026: 2,000 impressions, 16 spent"), "{page}");
    // The same again, a change, another day, a column that means nothing and a total, as a browser on Windows sends it.
    let again = format!(
        "\u{feff}Media buy;Day;Imps;Cost (USD);Note\r\n{0};30.04.2026;1000;8,50;\r\n{0};01.05.2026;2100;16,80;late\r\n\
         {0};02.05.2026;5;0,04;\r\nTotal;;3105;25,34;\r\n",
        sold.buy
    );
    let stored = sam.upload(PATH, &[], Some(("C:\\may.csv", again.as_bytes())));
    sold.check(&stored, 200, &expect![[r#"
        <p class="done below" role="status">may.csv is stored.</p>
        <div class="scroll" tabindex="0" role="region" aria-label="What was stored">
        <table class="ids">
        <caption class="unseen">Days that were stored, by media buy</caption>
        <thead><tr><th scope="col">Media buy</th><th scope="col" class="number">New days</th><th scope="col" class="number">Changed</th><th scope="col" class="number">Unchanged</th><th scope="col" class="number">Made final</th><th scope="col" class="number">Corrected</th><th scope="col" class="number">Impressions</th><th scope="col" class="number">Spend</th></tr></thead>
        <tbody>
        <tr><th scope="row"><a href="/console/buys/show?id=BUY">BUY</a></th><td class="number">1</td><td class="number">1</td><td class="number">1</td><td class="number">0</td><td class="number">0</td><td class="number">3,105</td><td class="number">25.34 USD</td></tr>
        </tbody>
        </table>
        </div>
        <p class="quiet">Columns without a meaning: Note</p>
        <p class="quiet">Rows with totals, left out: 1</p>
    "#]]);
    // A program's document, and figures that are final as a whole.
    let rows = json!({"rows": [
        {"package_id": sold.package, "date": "2026-05-01", "impressions": 2100, "spend": 16.8},
    ]});
    let stored =
        sam.upload(PATH, &[("final", "yes")], Some(("may.json", rows.to_string().as_bytes())));
    sold.check(&stored, 200, &expect![[r#"
        <p class="done below" role="status">may.json is stored.</p>
        <div class="scroll" tabindex="0" role="region" aria-label="What was stored">
        <table class="ids">
        <caption class="unseen">Days that were stored, by media buy</caption>
        <thead><tr><th scope="col">Media buy</th><th scope="col" class="number">New days</th><th scope="col" class="number">Changed</th><th scope="col" class="number">Unchanged</th><th scope="col" class="number">Made final</th><th scope="col" class="number">Corrected</th><th scope="col" class="number">Impressions</th><th scope="col" class="number">Spend</th></tr></thead>
        <tbody>
        <tr><th scope="row"><a href="/console/buys/show?id=BUY">BUY</a></th><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">3,105</td><td class="number">25.34 USD</td></tr>
        </tbody>
        </table>
        </div>
    "#]]);
    assert_eq!(sold.days(), 3);
    let record = sold.console.fixture.record("gazette");
    let reported: Vec<_> =
        record.iter().filter(|(_, what, _)| what == "delivery_reported").collect();
    assert!(reported.iter().all(|(who, _, _)| who == "sam") && reported.len() == 3, "{record:?}");
}

#[test]
fn problems_of_a_file_are_listed_and_nothing_is_stored() {
    let sold = Sold::new();
    let sam = sold.enter("sam");
    // A media buy of another publisher looks as one that there is not.
    let elsewhere = "mb_of_the_herald,2026-04-30,1,,1,,\n";
    let table = sold.table(&[
        "2026-04-29,10,,1,,",
        "2026-04-30,many,,1,,",
        "2026-05-01,10,,-1,,",
        "2026-05-03,10,,1,yes,",
        "2027-01-01,10,,1,,",
    ]) + elsewhere;
    sold.check(&sam.upload(PATH, &[], Some(("may.csv", table.as_bytes()))), 422, &expect![[r#"
        <div role="alert"><p class="trouble below">may.csv has 6 problems. Nothing was stored. Correct them, and send the whole file again.</p></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Problems">
        <table>
        <caption class="unseen">Problems of the file</caption>
        <thead><tr><th scope="col" class="number">Row</th><th scope="col">Column</th><th scope="col">Problem</th></tr></thead>
        <tbody>
        <tr><td class="number">2</td><td>date</td><td>the flight begins on 2026-04-30<br><span class="quiet small">check the date, or the media buy</span></td></tr>
        <tr><td class="number">3</td><td>impressions</td><td>&#34;many&#34; is no whole number<br><span class="quiet small">write a number such as 200000</span></td></tr>
        <tr><td class="number">4</td><td>spend</td><td>&#34;-1&#34; is below zero<br><span class="quiet small">write an amount that is not negative</span></td></tr>
        <tr><td class="number">5</td><td>final</td><td>the day is not over<br><span class="quiet small">declare it final from the next day on</span></td></tr>
        <tr><td class="number">6</td><td>date</td><td>the flight ends on 2026-06-29, and delivery is taken for 7 days more<br><span class="quiet small">check the date, or extend the flight of the media buy</span></td></tr>
        <tr><td class="number">7</td><td>media_buy_id</td><td>there is no such media buy<br><span class="quiet small">`tradepost publisher buys list` lists them</span></td></tr>
        </tbody>
        </table>
        </div>
    "#]]);
    let forms = [
        RefusedForm { what: "no file", file: None, columns: "" },
        RefusedForm::with_file("empty", "may.csv", b""),
        RefusedForm::with_file("blank", "may.csv", b" \n\n"),
        RefusedForm::with_file(
            "Latin 1",
            "may.csv",
            b"Media buy;Datum;Impressionen;Umsatz;W\xe4hrung\n",
        ),
        RefusedForm::with_file("a workbook", "may.xlsx", b"PK\x03\x04rest"),
        RefusedForm::with_file("other columns", "may.csv", b"name,price\na,1\n"),
        RefusedForm::with_file(
            "columns missing",
            "may.csv",
            b"media_buy_id,date,clicks\nmb_1,2026-04-30,1\n",
        ),
        RefusedForm {
            columns: "spend=Net",
            ..RefusedForm::with_file(
                "no column of that name",
                "may.csv",
                b"date,impressions,spend,package_id\n",
            )
        },
        RefusedForm {
            columns: "spend",
            ..RefusedForm::with_file(
                "columns that cannot be read",
                "may.csv",
                b"date,impressions\n",
            )
        },
        RefusedForm::with_file("another document", "<may>.json", b"{\"rows\": 1}"),
    ];
    let mut said = String::new();
    for RefusedForm { what, file, columns } in forms {
        let answer = sam.upload(PATH, &[("columns", columns)], file);
        assert_eq!(answer.status, 422, "{what}");
        said += &format!("# {what}\n{}", sold.said(&answer));
    }
    expect![[r##"
        # no file
        <p class="trouble below" role="alert">Choose a file. Nothing was stored.</p>
        # empty
        <p class="trouble below" role="alert">The file may.csv is empty. Nothing was stored.</p>
        # blank
        <p class="trouble below" role="alert">may.csv cannot be read: none of the first 20 rows has headings that are recognised; name the columns media_buy_id, package_id, date, impressions, clicks and spend, or map them with FIELD=HEADING under &#34;Columns that are not recognised&#34;. Nothing was stored.</p>
        # Latin 1
        <p class="trouble below" role="alert">may.csv cannot be read: the file is no text in UTF-8 or UTF-16; in the spreadsheet, choose &#34;Save as&#34; and &#34;CSV UTF-8&#34;. Nothing was stored.</p>
        # a workbook
        <p class="trouble below" role="alert">may.xlsx cannot be read: the file is a workbook of a spreadsheet program; in the spreadsheet, choose &#34;Save as&#34; and &#34;CSV UTF-8&#34;. Nothing was stored.</p>
        # other columns
        <p class="trouble below" role="alert">may.csv cannot be read: none of the first 20 rows has headings that are recognised; name the columns media_buy_id, package_id, date, impressions, clicks and spend, or map them with FIELD=HEADING under &#34;Columns that are not recognised&#34;. Nothing was stored.</p>
        # columns missing
        <div role="alert"><p class="trouble below">may.csv has 2 problems. Nothing was stored. Correct them, and send the whole file again.</p></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Problems">
        <table>
        <caption class="unseen">Problems of the file</caption>
        <thead><tr><th scope="col" class="number">Row</th><th scope="col">Column</th><th scope="col">Problem</th></tr></thead>
        <tbody>
        <tr><td class="number">1</td><td></td><td>no column holds impressions<br><span class="quiet small">name it: &#34;impressions=HEADING&#34; under &#34;Columns that are not recognised&#34;</span></td></tr>
        <tr><td class="number">1</td><td></td><td>no column holds spend<br><span class="quiet small">name it: &#34;spend=HEADING&#34; under &#34;Columns that are not recognised&#34;</span></td></tr>
        </tbody>
        </table>
        </div>
        # no column of that name
        <div role="alert"><p class="trouble below">may.csv has 2 problems. Nothing was stored. Correct them, and send the whole file again.</p></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Problems">
        <table>
        <caption class="unseen">Problems of the file</caption>
        <thead><tr><th scope="col" class="number">Row</th><th scope="col">Column</th><th scope="col">Problem</th></tr></thead>
        <tbody>
        <tr><td class="number">1</td><td></td><td>there is no column &#34;Net&#34;, which the form names<br><span class="quiet small">the headings are date, impressions, spend, package_id</span></td></tr>
        <tr><td class="number">1</td><td></td><td>no column holds spend<br><span class="quiet small">name it: &#34;spend=HEADING&#34; under &#34;Columns that are not recognised&#34;</span></td></tr>
        </tbody>
        </table>
        </div>
        # columns that cannot be read
        <p class="trouble below" role="alert">A line of the columns cannot be read: write FIELD=HEADING with one of the fields media_buy_id, package_id, line_item_id, date, impressions, clicks, completed_views, spend, currency, final, correction. Nothing was stored.</p>
        # another document
        <p class="trouble below" role="alert">&#60;may&#62;.json cannot be read: the body has to be an object with a list rows; send {&#34;rows&#34;: [...]} with the fields of a row as members. Nothing was stored.</p>
    "##]].assert_eq(&said);
    assert_eq!(sold.days(), 0);
    // What the form said is still in it.
    let filled = [("columns", "spend=Net"), ("final", "yes"), ("id", "mb_<1>")];
    let page = text(&sam.upload(PATH, &filled, None));
    assert!(
        page.contains(">spend=Net</textarea>") && page.contains("value=\"yes\" checked"),
        "{page}"
    );
    assert!(page.contains("value=\"mb_&#60;1&#62;\""), "{page}");
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let sold = Sold::new();
    let sam = sold.enter("sam");
    let mut table = sold.table(&["2026-04-30,1,,1,,"]).into_bytes();
    // Above what a file may have, and within what is read.
    table.resize(4 * 1024 * 1024 + 1, b'\n');
    let answer = sam.upload(PATH, &[], Some(("may.csv", &table)));
    sold.check(&answer, 422, &expect![[r#"
        <p class="trouble below" role="alert">may.csv cannot be read: the file has more than 4 MiB; split it into several files. Nothing was stored.</p>
    "#]]);
    table.resize(5 * 1024 * 1024, b'\n');
    let answer = sam.upload(PATH, &[], Some(("may.csv", &table)));
    assert_eq!(answer.status, 413);
    assert!(text(&answer).contains("at most 4 MiB"), "{}", text(&answer));
    table.resize(4 * 1024 * 1024, b'\n');
    assert_eq!(sam.upload(PATH, &[], Some(("may.csv", &table))).status, 200);
    assert_eq!(sold.days(), 1);
}

#[test]
fn only_reporters_send_the_form_and_only_from_the_console() {
    let sold = Sold::new();
    let table = sold.table(&["2026-04-30,1000,,8,yes,"]);
    let file = Some(("may.csv", table.as_bytes()));
    let vera = sold.enter("vera");
    assert_eq!(vera.upload(PATH, &[], file).status, 403);
    assert!(!text(&vera.get("/console/buys")).contains(PATH));
    assert!(!text(&vera.get(&show("buys/show", &sold.buy))).contains(PATH));
    // Of another publisher: what it has sold is not there.
    let hilda = sold.enter("hilda");
    let refused = hilda.upload(PATH, &[], file);
    assert!(text(&refused).contains("there is no such media buy"), "{}", text(&refused));
    for page in ["delivery", "delivery/template"] {
        assert_eq!(hilda.get(&show(page, &sold.buy)).status, 404, "{page}");
    }
    let fixture = &sold.console.fixture;
    let sam = sold.enter("sam");
    let of_sam = ("Cookie", sam.cookie.as_str());
    let proof = ("proof", sam.proof.as_str());
    let sent = |headers: &[(&str, &str)], fields: &[(&str, &str)]| {
        fixture.send_file(PATH, headers, fields, file).status
    };
    assert_eq!(sent(&[], &[proof]), 303, "nobody is signed in");
    assert_eq!(sent(&[of_sam], &[]), 403, "without its proof");
    assert_eq!(sent(&[of_sam], &[("proof", vera.proof.as_str())]), 403, "with another's");
    assert_eq!(sent(&[of_sam, ("Sec-Fetch-Site", "cross-site")], &[proof]), 403);
    assert_eq!(sold.days(), 0);
    assert_eq!(sent(&[of_sam], &[proof]), 200);
    // Only an approver corrects what is final, and has the box for it.
    assert!(!text(&sam.get(PATH)).contains("name=\"correction\""));
    let amy = sold.enter("amy");
    assert!(text(&amy.get(PATH)).contains("name=\"correction\""));
    let lower = sold.table(&["2026-04-30,990,,8,yes,yes"]);
    let refused = sam.upload(PATH, &[], Some(("june.csv", lower.as_bytes())));
    sold.check(&refused, 422, &expect![[r#"
        <p class="trouble below" role="alert">Only an approver corrects figures that are final: leave out the rows that are marked as corrections, or have an approver send the file. Nothing was stored.</p>
    "#]]);
    let lower = sold.table(&["2026-04-30,990,,8,,"]);
    let boxes = [("final", "yes"), ("correction", "yes")];
    let corrected = amy.upload(PATH, &boxes, Some(("june.csv", lower.as_bytes())));
    sold.check(&corrected, 200, &expect![[r#"
        <p class="done below" role="status">june.csv is stored.</p>
        <div class="scroll" tabindex="0" role="region" aria-label="What was stored">
        <table class="ids">
        <caption class="unseen">Days that were stored, by media buy</caption>
        <thead><tr><th scope="col">Media buy</th><th scope="col" class="number">New days</th><th scope="col" class="number">Changed</th><th scope="col" class="number">Unchanged</th><th scope="col" class="number">Made final</th><th scope="col" class="number">Corrected</th><th scope="col" class="number">Impressions</th><th scope="col" class="number">Spend</th></tr></thead>
        <tbody>
        <tr><th scope="row"><a href="/console/buys/show?id=BUY">BUY</a></th><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">0</td><td class="number">1</td><td class="number">990</td><td class="number">8 USD</td></tr>
        </tbody>
        </table>
        </div>
    "#]]);
}

#[test]
fn a_deal_that_has_spent_its_budget_is_to_be_paused() {
    let sold = Sold::new();
    let id = sold.buy.clone();
    let stored = sold.console.fixture.server.store.decide::<_, ()>(move |tx| {
        tx.with_publisher("gazette", |tx| {
            let mut buy = tx.find::<MediaBuy>(&id)?.unwrap();
            let inventory = json!({
                "inventory": [], "is_guaranteed": false, "deal": {"id": "tp-7", "seats": ["seat-7"]},
            });
            buy.thing.packages[0].ad_server =
                Some(tradepost_document::json::from_value(inventory).unwrap());
            tx.change(&mut buy, at(NOW))
        })??;
        Ok(())
    });
    stored.unwrap();
    let sam = sold.enter("sam");
    let spends = |spend: &str| {
        let table = sold.table(&[&format!("2026-05-01,1000,,{spend},,")]);
        assert_eq!(sam.upload(PATH, &[], Some(("deal.csv", table.as_bytes()))).status, 200);
    };
    let to_pause = "Pause the deal at the exchange";
    spends("999.5");
    let page = text(&sam.get(&show("buys/show", &sold.buy)));
    assert!(page.contains("deal tp-7") && page.contains("999.5 of 1,000 USD spent"), "{page}");
    assert!(!page.contains(to_pause) && !text(&sam.get("/console")).contains(to_pause));
    spends("1000");
    let page = text(&sam.get(&show("buys/show", &sold.buy)));
    assert!(page.contains("1,000 of 1,000 USD spent") && page.contains(to_pause), "{page}");
    let inbox = text(&sam.get("/console"));
    assert!(inbox.contains("<strong>tp-7</strong>") && inbox.contains(to_pause), "{inbox}");
    assert!(!text(&sold.enter("hilda").get("/console")).contains("tp-7"));
    let form = [("id", sold.buy.as_str())];
    assert_eq!(sam.do_it("/console/buys/pause", &form), "paused");
    assert!(!text(&sam.get("/console")).contains(to_pause));
}

#[test]
fn a_table_to_fill_in_has_the_packages_that_deliver() {
    let sold = Sold::new();
    let sam = sold.enter("sam");
    for page in ["/console/delivery/template".to_owned(), show("delivery/template", &sold.buy)] {
        let answer = sam.get(&page);
        assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(
            answer.header("content-disposition"),
            Some("attachment; filename=\"delivery.csv\"")
        );
        let table = text(&answer);
        expect![[r#"
            media_buy_id,package_id,date,impressions,clicks,completed_views,spend,currency,final,correction
            BUY,PACKAGE,2026-05-02,,,,,USD,,
        "#]].assert_eq(
            &table.replace(&sold.buy, "BUY").replace(&sold.package, "PACKAGE").replace('\r', ""),
        );
        // Unfilled it says nothing of the package, and not that there was nothing.
        let refused = sam.upload(PATH, &[], Some(("delivery.csv", table.as_bytes())));
        assert_eq!(refused.status, 422, "{}", text(&refused));
        let filled = table.replace(",,,,,USD,,", ",1500,,,12.75,USD,,");
        let stored = sam.upload(PATH, &[], Some(("delivery.csv", filled.as_bytes())));
        assert_eq!(stored.status, 200, "{}", text(&stored));
    }
    // Long after the flight there is nothing to fill in.
    sold.console.fixture.hand.advance(SignedDuration::from_hours(100 * 24));
    let later = text(&sold.enter("sam").get("/console/delivery/template"));
    assert_eq!(later.lines().count(), 1, "{later}");
}
