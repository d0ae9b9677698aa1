use expect_test::{Expect, expect};
use tradepost_document::json::{from_str, json};

use super::*;

/// What is read of a table: its columns, its rows and its problems.
fn shown(text: &[u8], choices: &[&str]) -> String {
    let choices: Vec<HeadingChoice> =
        choices.iter().map(|choice| choice.parse().unwrap()).collect();
    let table = match read(text, &choices, ColumnMapping::CommandLine) {
        Ok(table) => table,
        Err(TableUnreadable { message, hint }) => return format!("{message}; {hint}\n"),
    };
    let columns = table.columns.iter().map(|column| column.field);
    let columns: Vec<_> = columns.collect();
    let mut shown = columns.join(" ");
    if !table.ignored_columns.is_empty() {
        shown.push_str(&format!(", not {}", table.ignored_columns.join(" ")));
    }
    if table.total_rows > 0 {
        shown.push_str(&format!(", {} total", table.total_rows));
    }
    shown.push('\n');
    for day in &table.days {
        let ReportedDay { media_buy_id, package_id, line_item_id, .. } = day;
        let name = [media_buy_id, package_id, line_item_id].into_iter().flatten();
        let name: Vec<_> = name.map(String::as_str).collect();
        shown.push_str(&format!(
            "{} {} {}: {} {:?} {:?} {} {:?} {} {}\n",
            day.row,
            name.join("/"),
            day.day,
            day.impressions,
            day.clicks,
            day.completed_views,
            day.spend,
            day.currency,
            day.is_final,
            day.is_correction,
        ));
    }
    for problem in &table.problems {
        shown.push_str(&format!("{}\n", problem_line(problem, &table.columns)));
    }
    shown
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&shown(text.as_bytes(), &[]));
}

#[test]
fn our_own_columns_are_read() {
    check(
        "media_buy_id,package_id,date,impressions,clicks,completed_views,spend,currency,final,correction\n\
         mb_1,pkg_2,2026-07-01,1000,7,5,8.25,USD,yes,\n\
         mb_1,pkg_3,2026-07-01,10,,,0,,no,yes\n",
        &expect![[r#"
            media_buy_id package_id date impressions clicks completed_views spend currency final correction
            2 mb_1/pkg_2 2026-07-01: 1000 Some(7) Some(5) 8.25 Some("USD") true false
            3 mb_1/pkg_3 2026-07-01: 10 None None 0 None false true
        "#]],
    );
}

#[test]
fn an_export_with_title_semicolons_and_decimal_commas_is_read() {
    check(
        "\u{feff}Kampagnenbericht;;;;\n;;;;\nDatum;Line item ID;Impressionen;Klicks;Umsatz (EUR);Ort\n\
         01.07.2026;4711;1.234.567;1.234;1.234,50 €;Bonn\n\
         02.07.2026;4711;12.000;0;1.234;Bonn\n\
         Gesamt;;1.246.567;1.234;2.468,50;\n",
        &expect![[r#"
            date line_item_id impressions clicks spend, not Ort, 1 total
            4 4711 2026-07-01: 1234567 Some(1234) None 1234.5 Some("EUR") false false
            5 4711 2026-07-02: 12000 Some(0) None 1234 Some("EUR") false false
        "#]],
    );
}

#[test]
fn an_export_with_tabs_thousands_and_american_dates_is_read() {
    check(
        "Day\tLine Item ID\tTotal impressions\tTotal clicks\tTotal revenue\n\
         7/4/26\t9\t1,200\t3\t$1,200\n\
         7/14/26\t9\t1200.0\t3\t$1,234.56\n\
         Total\t\t2,400\t6\t$2,434.56\n",
        &expect![[r#"
            date line_item_id impressions clicks spend, 1 total
            2 9 2026-07-04: 1200 Some(3) None 1200 None false false
            3 9 2026-07-14: 1200 Some(3) None 1234.56 None false false
        "#]],
    );
}

#[test]
fn other_forms_of_dates_are_read() {
    check(
        "date,package,impressions,spend\n20260701,p,1,1\n2026/07/02,p,1,1\n2026-07-03T00:00:00Z,p,1,1\n\
         2026-07-04 00:00:00,p,1,1\n31/12/2026,p,1,1\n1/2/2026,p,1,1\n",
        &expect![[r#"
            date package_id impressions spend
            2 p 2026-07-01: 1 None None 1 None false false
            3 p 2026-07-02: 1 None None 1 None false false
            4 p 2026-07-03: 1 None None 1 None false false
            5 p 2026-07-04: 1 None None 1 None false false
            6 p 2026-12-31: 1 None None 1 None false false
            7 p 2026-02-01: 1 None None 1 None false false
        "#]],
    );
}

#[test]
fn days_with_a_time_or_an_end_are_refused() {
    check(
        "date,package,impressions,spend\n2026-06-30T22:00:00Z,p,1,1\n2026-07-01 - 2026-07-07,p,1,1\n\
         2026-07-01 05:00,p,1,1\n2026-07-01T,p,1,1\n1/31/2026 00:00:01,p,1,1\n2026-07-02 00:00,p,1,1\n\
         2026-07-03T00:00:00.000Z,p,1,1\n",
        &expect![[r#"
            date package_id impressions spend
            7 p 2026-07-02: 1 None None 1 None false false
            8 p 2026-07-03: 1 None None 1 None false false
            row 2, column "date": "2026-06-30T22:00:00Z" is no day; write the day alone, in the time zone of the publisher, such as 2026-05-03
            row 3, column "date": "2026-07-01 - 2026-07-07" is no day; write the day alone, in the time zone of the publisher, such as 2026-05-03
            row 4, column "date": "2026-07-01 05:00" is no day; write the day alone, in the time zone of the publisher, such as 2026-05-03
            row 5, column "date": "2026-07-01T" is no day; write the day alone, in the time zone of the publisher, such as 2026-05-03
            row 6, column "date": "1/31/2026 00:00:01" is no day; write the day alone, in the time zone of the publisher, such as 2026-05-03
        "#]],
    );
}

#[test]
fn counts_with_decimals_are_no_thousands() {
    check(
        "date,package,impressions,clicks,spend\n\
         2026-07-01,p,48210.000,48210.00,1\n2026-07-02,p,1234.567,1,1\n2026-07-03,p,0.125,1,1\n\
         2026-07-04,p,\"1,200.500\",1,1\n2026-07-05,p,\"1,200.000\",1.000,1\n2026-07-06,p,1.200.000,0.000,1\n\
         2026-07-07,p,\"1234,567,890\",1,1\n2026-07-08,p,1'200.0,12k,1\n2026-07-09,p,\"1.200,00\",\"1,20,00\",1\n",
        &expect![[r#"
            date package_id impressions clicks spend
            2 p 2026-07-01: 48210 Some(48210) None 1 None false false
            6 p 2026-07-05: 1200 Some(1000) None 1 None false false
            7 p 2026-07-06: 1200000 Some(0) None 1 None false false
            9 p 2026-07-08: 1200 Some(12000) None 1 None false false
            row 3, column "impressions": "1234.567" is no whole number; write a number such as 200000
            row 4, column "impressions": "0.125" is no whole number; write a number such as 200000
            row 5, column "impressions": "1,200.500" is no whole number; write a number such as 200000
            row 8, column "impressions": "1234,567,890" is no whole number; write a number such as 200000
            row 10, column "clicks": "1,20,00" is no whole number; write a number such as 200000
        "#]],
    );
}

#[test]
fn amounts_that_contradict_their_column_are_refused() {
    let column = |first: &str, second: &str| {
        let head = "date;package;impressions;spend";
        shown(format!("{head}\n2026-07-01;p;1;{first}\n2026-07-02;p;1;{second}\n").as_bytes(), &[])
    };
    let shown = [
        column("12,50", "0.125"),
        column("12.50", "1234,567"),
        column("12,50", "1.234"),
        column("12.50", "US$ 1,234,567"),
        column("12,50", "1.23,5"),
    ];
    expect![[r#"
            date package_id impressions spend
            2 p 2026-07-01: 1 None None 12.5 None false false
            row 3, column "spend": "0.125" can be read in two ways, beside the others of the column; write it without separators of thousands, and with two decimals: 1200.00 or 1.20
            date package_id impressions spend
            2 p 2026-07-01: 1 None None 12.5 None false false
            row 3, column "spend": "1234,567" can be read in two ways, beside the others of the column; write it without separators of thousands, and with two decimals: 1200.00 or 1.20
            date package_id impressions spend
            2 p 2026-07-01: 1 None None 12.5 None false false
            3 p 2026-07-02: 1 None None 1234 None false false
            date package_id impressions spend
            2 p 2026-07-01: 1 None None 12.5 None false false
            3 p 2026-07-02: 1 None None 1234567 Some("USD") false false
            date package_id impressions spend
            2 p 2026-07-01: 1 None None 12.5 None false false
            row 3, column "spend": "1.23,5" can be read in two ways, beside the others of the column; write it without separators of thousands, and with two decimals: 1200.00 or 1.20
        "#]].assert_eq(&shown.concat());
}

#[test]
fn currencies_of_a_row_that_differ_are_a_problem() {
    check(
        "date,package,impressions,revenue (EUR),currency\n2026-07-01,p,1,1,USD\n2026-07-02,p,1,£1,\n\
         2026-07-03,p,1,€1,EUR\n",
        &expect![[r#"
            date package_id impressions spend currency
            4 p 2026-07-03: 1 None None 1 Some("EUR") false false
            row 2, column "currency": the row names several currencies: EUR, USD; name the currency of the spend, once
            row 3, column "currency": the row names several currencies: EUR, GBP; name the currency of the spend, once
        "#]],
    );
}

#[test]
fn every_mistake_of_every_row_is_listed() {
    check(
        "date,package_id,impressions,clicks,spend,currency,final\n\
         1/2/2026,p,1.5,x,1.234,USD,yes\n\
         2026-02-30,p,-3,1,-1,EURO,perhaps\n\
         ,p,,1,,,\n\
         2026-07-01,p,1,1,1,USD,no,more\n\
         yesterday,p,1,1,cheap,USD,no\n",
        &expect![[r#"
            date package_id impressions clicks spend currency final
            row 2, column "date": "1/2/2026" can be read in two ways; write dates such as 2026-05-03
            row 2, column "impressions": "1.5" is no whole number; write a number such as 200000
            row 2, column "clicks": "x" is no whole number; write a number such as 200000
            row 2, column "spend": "1.234" can be read in two ways; write it without separators of thousands, and with two decimals: 1200.00 or 1.20
            row 3, column "date": "2026-02-30" is no date; write a date such as 2026-05-03
            row 3, column "impressions": "-3" is below zero; write what there was on the day, and not the difference
            row 3, column "spend": "-1" is below zero; write an amount that is not negative
            row 3, column "currency": "EURO" is no currency; write the three letters of ISO 4217, such as USD
            row 3, column "final": "perhaps" is neither yes nor no; write yes or no
            row 4, column "date": is empty; fill the cell, or leave the row out
            row 4, column "impressions": is empty; fill the cell, or leave the row out
            row 4, column "spend": is empty; fill the cell, or leave the row out
            row 5: has 8 cells for 7 headings; put cells that contain the separator in "quotation marks"
            row 6, column "date": "yesterday" is no date; write a date such as 2026-05-03
            row 6, column "spend": "cheap" is no amount; write a number such as 12.50
        "#]],
    );
}

#[test]
fn headings_that_are_missing_or_doubled_are_problems() {
    let double =
        "date,line item id,ad server impressions,total impressions,clicks\n2026-07-01,9,1,2,3\n";
    check(
        double,
        &expect![[r#"
        date line_item_id impressions impressions clicks
        row 1: the columns "ad server impressions", "total impressions" all hold impressions; say which one counts: --column "impressions=ad server impressions"
        row 1: no column holds spend; name it: --column "spend=HEADING"
    "#]],
    );
    let chosen = shown(
        b"date,flight,ad server impressions,total impressions,net\n2026-07-01,9,1,2,3\n",
        &["impressions=total impressions", "spend=net", "line_item_id=flight", "clicks=taps"],
    );
    expect![[r#"
        date line_item_id impressions spend, not ad server impressions
        row 1: there is no column "taps", which --column names; the headings are date, flight, ad server impressions, total impressions, net
    "#]]
    .assert_eq(&chosen);
    check(
        "a,b\n1,2\n",
        &expect![[r#"
        none of the first 20 rows has headings that are recognised; name the columns media_buy_id, package_id, date, impressions, clicks and spend, or map them with --column FIELD=HEADING
    "#]],
    );
    assert_eq!("clicks".parse::<HeadingChoice>().unwrap_err().split(' ').next(), Some("write"));
}

#[test]
fn hints_name_the_way_in_which_headings_can_be_given() {
    let hints = |mapping| {
        let double = "date,package_id,impressions,total impressions\n2026-07-01,9,1,2\n";
        let found = read(double.as_bytes(), &[], mapping).unwrap();
        let mut hints: Vec<_> =
            found.problems.into_iter().map(|problem| format!("{}\n", problem.hint)).collect();
        hints.push(read(b"a,b\n1,2\n", &[], mapping).unwrap_err().hint);
        hints.concat()
    };
    expect![[r#"
        say which one counts: --column "impressions=impressions"
        name it: --column "spend=HEADING"
        name the columns media_buy_id, package_id, date, impressions, clicks and spend, or map them with --column FIELD=HEADING"#]].assert_eq(&hints(ColumnMapping::CommandLine));
    expect![[r#"
        say which one counts: "impressions=impressions" under "Columns that are not recognised"
        name it: "spend=HEADING" under "Columns that are not recognised"
        name the columns media_buy_id, package_id, date, impressions, clicks and spend, or map them with FIELD=HEADING under "Columns that are not recognised""#]].assert_eq(&hints(ColumnMapping::Form));
    expect![[r#"
        say which one counts: make "impressions" the heading of one column alone
        name it: make "spend" the heading of one column alone
        name the columns media_buy_id, package_id, date, impressions, clicks and spend"#]]
    .assert_eq(&hints(ColumnMapping::Headings));
}

#[test]
fn sizes_are_limited() {
    let long =
        format!("date,package,impressions,spend\n{}", "2026-07-01,p,1,1\n".repeat(MAX_ROWS + 1));
    check(
        &long,
        &expect![[r#"
        the table has more than 10000 rows; split it into several files
    "#]],
    );
    let wide = format!("date,package,impressions,spend{}\n", ",x".repeat(253));
    check(
        &wide,
        &expect![[r#"
        the table has more than 256 columns; export fewer columns
    "#]],
    );
    let named = format!("date,package,impressions,spend,{}\n", "x".repeat(201));
    check(
        &named,
        &expect![[r#"
        a heading of row 1 has more than 200 characters; shorten it
    "#]],
    );
    let far = format!("date,package,impressions,spend\n2026-07-01,p,1,1{}far\n", ",".repeat(300));
    check(
        &far,
        &expect![[r#"
        date package_id impressions spend
        row 2: has 257 cells for 4 headings; put cells that contain the separator in "quotation marks"
    "#]],
    );
    let large = vec![b' '; MAX_BYTES + 1];
    expect![[r#"
        the file has more than 4 MiB; split it into several files
    "#]]
    .assert_eq(&shown(&large, &[]));
    let full = format!("date,package,impressions,spend\n{}", "2026-07-01,p,1,1\n".repeat(MAX_ROWS));
    assert_eq!(read(full.as_bytes(), &[], ColumnMapping::Form).unwrap().days.len(), MAX_ROWS);
}

#[test]
fn documents_list_every_problem() {
    let document = json!({"rows": [
        {"media_buy_id": "mb_1", "package_id": "pkg_2", "date": "2026-07-01", "impressions": 10, "spend": 1.25},
        {"date": "2026-7-1", "impressions": -1, "spend": "1", "final": 1, "colour": "red"},
        7,
        {"line_item_id": "", "impressions": 2.5},
    ]});
    let read = document::read(&document).unwrap();
    assert_eq!(read.days.len(), 1);
    assert_eq!(read.days[0].spend.to_string(), "1.25");
    let lines: String =
        read.problems.iter().map(|problem| problem_line(problem, &[]) + "\n").collect();
    expect![[r#"
        row 2, column "date": must be a date such as 2026-05-03; correct the row, and send all of them again
        row 2, column "impressions": must be >= 0; correct the row, and send all of them again
        row 2, column "spend": must be number; correct the row, and send all of them again
        row 2, column "final": must be boolean; correct the row, and send all of them again
        row 2: unknown property "colour"; correct the row, and send all of them again
        row 3: must be object; correct the row, and send all of them again
        row 4, column "line_item_id": must not be empty; correct the row, and send all of them again
        row 4, column "impressions": must be integer; correct the row, and send all of them again
        row 4: missing required property "date"; correct the row, and send all of them again
        row 4: missing required property "spend"; correct the row, and send all of them again
    "#]]
    .assert_eq(&lines);
    for wrong in [json!([]), json!({"row": []}), json!({"rows": [], "more": 1})] {
        assert!(document::read(&wrong).is_err(), "{wrong}");
    }
    let many: Value = from_str(&format!("{{\"rows\":[{}0]}}", "0,".repeat(MAX_ROWS))).unwrap();
    assert_eq!(
        document::read(&many).unwrap_err(),
        "there are 10001 rows, and at most 10000 are taken"
    );
}

proptest::proptest! {
    /// Whatever the bytes are, reading ends with rows or problems.
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let mut file = b"date,package,impressions,spend\n".to_vec();
        file.extend(bytes);
        let _ = read(&file, &[], ColumnMapping::Form);
    }

    /// Cells of digits and marks are read or refused, and never as another number.
    #[test]
    fn amounts_are_never_guessed(whole in 0_u32..5_000_000, cents in 0_u32..100) {
        let group = |mark: &str| {
            let digits = whole.to_string();
            let mut out = String::new();
            for (place, digit) in digits.chars().enumerate() {
                if place > 0 && (digits.len() - place) % 3 == 0 {
                    out.push_str(mark);
                }
                out.push(digit);
            }
            out
        };
        let expected = format!("{whole}.{cents:02}");
        let expected = money(&from_str(&expected).unwrap()).unwrap();
        for text in [
            format!("{whole}.{cents:02}"), format!("{whole},{cents:02}"),
            format!("{}.{cents:02}", group(",")), format!("{},{cents:02}", group(".")),
        ] {
            let mark = export::decimal_mark([text.as_str()].into_iter());
            for mark in [mark, None] {
                let read = export::amount(&text, mark).unwrap();
                proptest::prop_assert_eq!(read.amount, expected, "{}", text);
            }
        }
    }
}
