//! The calendar as day, week and list: what its table shows, and moving an appointment to one of its slots.

use expect_test::expect;

use super::calendar::{drive, one_place};
use super::*;

const ROOFTOP: &str = "Demo Toyota San Francisco";

/// The address of a view of the first dealer's first rooftop.
fn view(name: &str, date: &str) -> String {
    format!("/console/appointments?view={name}&date={date}")
}

/// The table of a page as text: a line for each row, without what is equal everywhere.
fn table(page: &str) -> String {
    let (_, rest) = page.split_once("data-grid=").unwrap_or_else(|| panic!("no table: {page}"));
    let (table, _) = rest.split_once("</table>").unwrap();
    let mut out = String::new();
    for row in table.split("<tr>").skip(1) {
        let cells = row.split("</td>").flat_map(|part| part.split("</th>"));
        let cells = cells.filter(|cell| cell.starts_with("<td") || cell.starts_with("<th"));
        let cells: Vec<_> = cells.map(cell).collect();
        out += cells.join(" | ").trim_end();
        out.push('\n');
    }
    out
}

/// The texts of a cell, and its class before them.
fn cell(cell: &str) -> String {
    let (tag, mut rest) = cell.split_once('>').unwrap();
    let class = tag.split_once("class=\"").map(|(_, class)| class.split('"').next().unwrap());
    let mut words: Vec<String> = class.map(|class| format!("[{class}]")).into_iter().collect();
    while let Some((text, after)) = rest.split_once('<') {
        let text = text.trim();
        if !text.is_empty() && !text.starts_with("the appointment of") {
            words.push(text.to_owned());
        }
        rest = after.split_once('>').map_or("", |(_, rest)| rest);
    }
    words.push(rest.trim().to_owned());
    words.join(" ").trim_end().to_owned()
}

/// The start of a slot as the table offers it for moving an appointment there.
fn offered(page: &str) -> Vec<String> {
    let parts = page.split("data-at=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
}

fn block(maria: &Browser<'_>, starts: &str, ends: &str, reason: &str) {
    let fields = [
        ("dealer", ONE),
        ("rooftop", ROOFTOP),
        ("department", "sales"),
        ("starts", starts),
        ("ends", ends),
        ("reason", reason),
    ];
    assert_eq!(maria.do_it("/console/blocked-times", &fields), "blocked");
}

#[test]
fn a_day_shows_slots_with_capacity_blocks_and_appointments() {
    let fixture = Fixture::new();
    for (name, at) in [("Ada", "2026-05-01T18:00:00Z"), ("Bob", "2026-05-01T18:00:00Z")] {
        fixture.lead("one.example", &drive(name, at));
    }
    fixture.lead("one.example", &drive("Cyril", "2026-05-01T19:00:00Z"));
    let maria = fixture.enter("maria");
    block(&maria, "2026-05-01T13:00", "2026-05-01T14:00", "Training");
    let page = text(&maria.get(&view("day", "2026-05-01")));
    let shown = table(&page);
    let rows: Vec<_> = shown.lines().filter(|row| !row.ends_with("[free] 0 of 2")).collect();
    expect![[r#"
        Time | Sales 9:00 AM – 7:00 PM
        11:00 AM | [full] full, 2 of 2 11:00 AM PDT Ada Lovelace Test drive Change 11:00 AM PDT Bob Lovelace Test drive Change
        12:00 PM | [part] 1 of 2 12:00 PM PDT Cyril Lovelace Test drive Change
        1:00 PM | [blocked] blocked Blocked: Training
        1:30 PM | [blocked] blocked"#]]
    .assert_eq(&rows.join("\n"));
    assert!(page.contains("data-at=\"2026-05-01T11:00:00-07:00\""), "{page}");
    assert!(page.contains("data-name=\"Friday May 1, 11:30 AM: 0 of 2\""), "{page}");
}

#[test]
fn a_week_shows_hours_holidays_and_closed_days() {
    let fixture = Fixture::new();
    let dora = fixture.enter("dora");
    // Monday, May 25 is a holiday of the rooftop.
    let page = text(&dora.get(&view("week", "2026-05-27")));
    let shown = table(&page);
    let first: Vec<_> = shown.lines().take(4).collect();
    expect![[r#"
        Time | Mon May 25 Closed (holiday) | Tue May 26 9:00 AM – 7:00 PM | Wed May 27 9:00 AM – 7:00 PM | Thu May 28 9:00 AM – 7:00 PM | Fri May 29 9:00 AM – 7:00 PM | Sat May 30 10:00 AM – 6:00 PM | Sun May 31 11:00 AM – 4:00 PM
        9:00 AM | [closed] closed | [free] 0 of 2 | [free] 0 of 2 | [free] 0 of 2 | [free] 0 of 2 | [closed] closed | [closed] closed
        9:30 AM | [closed] closed | [free] 0 of 2 | [free] 0 of 2 | [free] 0 of 2 | [free] 0 of 2 | [closed] closed | [closed] closed
        10:00 AM | [closed] closed | [free] 0 of 2 | [free] 0 of 2 | [free] 0 of 2 | [free] 0 of 2 | [free] 0 of 2 | [closed] closed"#]].assert_eq(&first.join("\n"));
    assert!(page.contains("May 25 – May 31, 2026"), "{page}");
    let service = text(&dora.get(&format!("{}&department=service", view("week", "2026-05-20"))));
    let shown = table(&service);
    expect![[r#"
        Time | Mon May 18 7:30 AM – 6:00 PM | Tue May 19 Closed | Wed May 20 Closed | Thu May 21 Closed | Fri May 22 Closed | Sat May 23 Closed | Sun May 24 Closed
        7:30 AM | [free] 0 of 2 | [closed] closed | [closed] closed | [closed] closed | [closed] closed | [closed] closed | [closed] closed"#]].assert_eq(shown.lines().take(2).collect::<Vec<_>>().join("\n").as_str());
}

#[test]
fn slots_of_days_on_which_clocks_change_are_distinct() {
    let fixture = Fixture::with(|config| {
        let week = json!({"open": "00:00", "close": "05:00"});
        let profile = &mut config.dealers[0].terms.rooftops[0].profile;
        let week = json!({
            "monday": week, "tuesday": week, "wednesday": week, "thursday": week, "friday": week,
            "saturday": week, "sunday": week,
        });
        let schedules = json!([{"name": "sales", "value": week}]);
        profile.schedules = tradepost_document::json::from_value(schedules).unwrap();
    });
    let dora = fixture.enter("dora");
    // The hour from 1:00 on takes place twice, and the one from 2:00 on not at all.
    let back = text(&dora.get(&view("day", "2026-11-01")));
    expect![[r#"
        2026-11-01T00:00:00-07:00
        2026-11-01T00:30:00-07:00
        2026-11-01T01:00:00-07:00
        2026-11-01T01:30:00-07:00
        2026-11-01T01:00:00-08:00
        2026-11-01T01:30:00-08:00
        2026-11-01T02:00:00-08:00
        2026-11-01T02:30:00-08:00
        2026-11-01T03:00:00-08:00
        2026-11-01T03:30:00-08:00
        2026-11-01T04:00:00-08:00
        2026-11-01T04:30:00-08:00"#]]
    .assert_eq(&offered(&back).join("\n"));
    assert!(table(&back).contains("\n1:30 AM PST |"), "{}", table(&back));
    let page = text(&dora.get(&view("day", "2027-03-14")));
    let ahead = offered(&page);
    assert_eq!(ahead.len(), 8, "{ahead:?}");
    assert!(ahead.contains(&"2027-03-14T01:30:00-08:00".to_owned()), "{ahead:?}");
    assert!(ahead.contains(&"2027-03-14T03:00:00-07:00".to_owned()), "{ahead:?}");
    assert!(!table(&page).contains("\n2:00 AM"), "{}", table(&page));
}

#[test]
fn a_slot_of_the_table_is_where_the_form_moves() {
    let fixture = Fixture::with(one_place);
    let lead = fixture.lead("one.example", &drive("Ada", "2026-05-01T18:00:00Z"));
    fixture.lead("one.example", &drive("Bob", "2026-05-01T19:00:00Z"));
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    block(&maria, "2026-05-01T13:00", "2026-05-01T14:00", "Training");
    let booked = || fixture.server.history(&json!(lead)).lead.appointment.unwrap();
    let id = booked().appointment_id;
    let path = format!("/console/appointments/{id}/move");
    let page = text(&dora.get(&view("week", "2026-05-01")));
    assert!(page.contains(&format!("data-visit=\"{id}\"")), "{page}");
    assert!(page.contains(&format!("id=\"appt-{id}\"")), "{page}");
    assert!(page.contains(&path), "{page}");
    let place = [
        ("in_view", "week"),
        ("in_date", "2026-05-01"),
        ("in_dealer", ONE),
        ("in_rooftop", ROOFTOP),
        ("in_department", "sales"),
    ];
    for (name, value) in place {
        let field = format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
        assert!(page.contains(&field), "{field}: {page}");
    }
    let to = |at: &'static str, version: &'static str| {
        let mut fields = vec![("version", version), ("at", at)];
        fields.extend(place);
        fields
    };

    // What is full or blocked, and what somebody else has moved, changes nothing.
    for at in ["2026-05-01T12:00:00-07:00", "2026-05-01T13:30:00-07:00"] {
        let stopped = dora.post(&path, &to(at, "1"));
        assert_eq!(stopped.status, 409);
        assert!(text(&stopped).contains("Every place is taken then."), "{}", text(&stopped));
    }
    let moved = dora.post(&path, &to("2026-05-01T11:30:00-07:00", "1"));
    assert_eq!(moved.status, 303);
    assert_eq!(
        moved.header("location"),
        Some(
            "/console/appointments?view=week&date=2026-05-01&dealer=demo-auto-group\
             &rooftop=Demo+Toyota+San+Francisco&department=sales&done=moved"
        )
    );
    let late = maria.post(&path, &to("2026-05-01T14:00:00-07:00", "1"));
    assert_eq!(late.status, 409);
    let said = text(&late);
    assert!(said.contains("it is confirmed for Friday May 1, 11:30 AM PDT now"), "{said}");
    assert_eq!(booked().starts_at, Some(at("2026-05-01T18:30:00Z")));
    assert_eq!(booked().version, 2);
}

#[test]
fn an_appointment_outside_of_the_hours_has_its_row() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &drive("Ada", "2026-05-01T18:00:00Z"));
    let booked = fixture.server.history(&json!(lead)).lead.appointment.unwrap();
    let dora = fixture.enter("dora");
    let path = format!("/console/appointments/{}/move", booked.appointment_id);
    let fields = [("version", "1"), ("at", "2026-05-01T20:15"), ("outside_hours", "yes")];
    assert_eq!(dora.do_it(&path, &fields), "moved");
    let shown = table(&text(&dora.get(&view("day", "2026-05-01"))));
    expect!["8:15 PM | [closed] closed 8:15 PM PDT Ada Lovelace Test drive Change"]
        .assert_eq(shown.lines().last().unwrap());
}

#[test]
fn a_past_slot_is_no_target() {
    let fixture = Fixture::new();
    let dora = fixture.enter("dora");
    // It is 5:00 in the morning; two days later it is past noon.
    assert_eq!(offered(&text(&dora.get(&view("day", "2026-04-29")))).len(), 0);
    assert_eq!(offered(&text(&dora.get(&view("day", "2026-04-30")))).len(), 20);
    fixture.hand.advance(SignedDuration::from_hours(8));
    let dora = fixture.enter("dora");
    assert_eq!(offered(&text(&dora.get(&view("day", "2026-04-30")))).len(), 12);
}

#[test]
fn views_rooftops_and_days_are_chosen_by_links() {
    let fixture = Fixture::new();
    let dora = fixture.enter("dora");
    let page = text(&dora.get(&view("week", "2026-05-01")));
    for link in [
        "view=day&#38;date=2026-05-01",
        "view=list&#38;date=2026-05-01",
        "view=week&#38;date=2026-04-24",
        "view=week&#38;date=2026-05-08",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
    assert!(page.contains("aria-current=\"page\">Week</a>"), "{page}");
    assert!(page.contains("name=\"date\" value=\"2026-05-01\""), "{page}");
    for (query, status) in [
        ("view=month", 404),
        ("view=week&department=parts", 404),
        ("view=week&rooftop=Nowhere", 404),
        ("view=week&dealer=second", 404),
        ("view=week&date=soon", 200),
        ("view=week&date=9999-12-31", 200),
        ("view=day&date=-9999-01-01", 200),
        ("view=day&rooftop=DEMO+TOYOTA+SAN+FRANCISCO", 200),
    ] {
        let answer = dora.get(&format!("/console/appointments?{query}"));
        assert_eq!(answer.status, status, "{query}");
    }
}

#[test]
fn a_view_of_all_dealers_shows_one_rooftop_at_a_time() {
    let fixture = Fixture::new();
    fixture.lead("one.example", &drive("Ada", "2026-05-01T18:00:00Z"));
    let group = fixture.enter("group");
    let other = fixture.enter("other");
    let path = view("week", "2026-05-01");
    assert!(text(&group.get(&path)).contains("Ada Lovelace"));
    assert!(!text(&group.get(&format!("{path}&dealer=second"))).contains("Ada Lovelace"));
    assert!(!text(&other.get(&path)).contains("Ada Lovelace"));
    assert_eq!(other.get(&format!("{path}&dealer={ONE}")).status, 404);
}

#[test]
fn names_in_the_table_stay_text() {
    let fixture = Fixture::new();
    let evil = r#"<b onclick=alert(3)>"'"#;
    let payload = with(
        drive("Ada", "2026-05-01T18:00:00Z"),
        &[("/customer/first_name", json!(evil)), ("/customer/last_name", json!("<i>L</i>"))],
    );
    fixture.lead("one.example", &payload);
    let maria = fixture.enter("maria");
    block(&maria, "2026-05-01T13:00", "2026-05-01T14:00", evil);
    for name in ["day", "week", "list"] {
        let page = text(&maria.get(&view(name, "2026-05-01")));
        for markup in ["<b onclick", "<i>L"] {
            assert!(!page.contains(markup), "{name} has {markup}: {page}");
        }
        assert!(page.contains("&#60;b onclick"), "{name}: {page}");
    }
}

#[test]
fn the_keys_are_listed_on_a_page_of_their_own() {
    let fixture = Fixture::new();
    let dora = fixture.enter("dora");
    let page = text(&dora.get("/console/help"));
    assert!(page.contains("<h1>Keyboard shortcuts</h1>"), "{page}");
    assert!(page.contains("href=\"/console/help\" data-help"), "{page}");
    assert!(page.contains("<dialog id=\"help\""), "{page}");
}

#[test]
fn an_erased_customer_is_not_in_the_table() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &drive("Ada", "2026-05-01T18:00:00Z"));
    let maria = fixture.enter("maria");
    assert_eq!(maria.do_it(&format!("/console/leads/{lead}/erase"), &[("sure", "yes")]), "erased");
    let page = text(&maria.get(&view("week", "2026-05-01")));
    assert!(!page.contains("Lovelace") && !page.contains("data-visit"), "{page}");
}
