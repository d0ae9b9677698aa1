//! Inventories that arrive by themselves, as people see them.

use jiff::Timestamp;
use tradepost_runtime::config::feeds::{Extent, FeedConfig, FeedOrigin, Guard};
use tradepost_store::{FeedOutcome, FeedRun};

use super::*;

fn feed(name: &str) -> FeedConfig {
    FeedConfig {
        name: name.to_owned(),
        from: FeedOrigin::Upload { max_bytes: 1_000 },
        mapping: None,
        extent: Extent::Full,
        guard: Guard { max_drop: 50, force: false },
        stale_after: Some(SignedDuration::from_hours(24)),
    }
}

/// Two feeds of the first dealer, and one of the second.
fn fixture() -> Fixture {
    Fixture::with(|config| {
        config.dealers[0].feeds = vec![feed("nightly"), feed("changes & more")];
        config.dealers[1].feeds = vec![feed("theirs")];
    })
}

fn end(fixture: &Fixture, id: &str, at: Timestamp, outcome: FeedOutcome) {
    let report = json!({
        "inventory": {"before": 1234, "added": 1, "changed": 2, "unchanged": 3, "removed": 700},
        "report": {
            "format": "table", "rows": 9, "accepted": 6, "sold": 1, "skipped": 2,
            "skips": [{"line": 4, "reason": "not_for_sale", "message": "the status is \"<script>\""}],
            "warnings": [{"kind": "not_priced", "count": 5,
                          "examples": [{"line": 7, "message": "buyers do not find it"}]}],
            "ignored_columns": ["Colour of Money"], "doubts": [],
        },
    });
    let run = FeedRun {
        run_id: id.to_owned(),
        dealer_id: ONE.to_owned(),
        feed: "nightly".to_owned(),
        began_at: at,
        ended_at: at,
        source: "<b>feed</b>.csv".to_owned(),
        outcome,
        message: (outcome != FeedOutcome::Taken).then(|| "700 of <i>1234</i> would vanish".into()),
        report: report.to_string(),
    };
    let of = fixture.server.store.write_blocking(move |tx| {
        if run.outcome == FeedOutcome::Taken {
            tx.feed_is_fresh(&run.dealer_id, &run.feed, run.began_at)?;
        }
        tx.end_feed_run(&run)
    });
    of.unwrap();
}

#[test]
fn feeds_are_shown_with_their_runs_and_each_rows_fate() {
    let fixture = fixture();
    let maria = fixture.enter("maria");
    let egon = fixture.enter("egon");
    let runs = "/console/feeds/runs?dealer=larkspur&feed=nightly".replace("larkspur", ONE);
    let page = text(&egon.get("/console/feeds"));
    assert!(page.contains("never imported") && page.contains("none yet"), "{page}");
    assert!(page.contains("feed=changes+%26+more"), "{page}");
    assert!(!page.contains("theirs"), "{page}");
    assert!(text(&egon.get(&runs)).contains("No run yet"));

    end(&fixture, "run_1", at(NOW), FeedOutcome::Taken);
    let taken = text(&maria.get(&runs));
    for part in [
        "chip big good\">fresh",
        "<h2 class=\"section\">Changes</h2>",
        "<dd>1,234</dd>",
        "marked as not for sale",
        "the status is &#34;&#60;script&#62;&#34;",
        "<span class=\"quiet\">Line 7:</span> buyers do not find it",
        "Colour of Money",
        "&#60;b&#62;feed&#60;/b&#62;.csv",
    ] {
        assert!(taken.contains(part), "{part}: {taken}");
    }
    assert!(!text(&maria.get("/console")).contains("Feed not imported"));

    fixture.hand.advance(SignedDuration::from_mins(5));
    let later = at(NOW) + SignedDuration::from_mins(5);
    end(&fixture, "run_2", later, FeedOutcome::Held);
    let held = text(&maria.get(&runs));
    assert!(held.contains("Changes that were not made"), "{held}");
    assert!(held.contains("700 of &#60;i&#62;1234&#60;/i&#62; would vanish"), "{held}");
    assert!(held.contains("tradepost feeds run nightly --force"), "{held}");
    assert!(text(&maria.get(&format!("{runs}&run=run_1"))).contains(">Changes</h2>"));
    let inbox = text(&maria.get("/console"));
    let title = "of Demo Auto Group is held back for review";
    assert!(inbox.contains("The feed nightly of") && inbox.contains(title), "{inbox}");
    assert!(inbox.contains("/console/feeds/runs?"), "{inbox}");
    let of_desk = text(&fixture.enter("dora").get("/console"));
    assert!(of_desk.contains("is held back"), "{of_desk}");
    assert!(!of_desk.contains("/console/feeds"), "the desk may not go there: {of_desk}");

    let since = later;
    let store = &fixture.server.store;
    store.write_blocking(move |tx| tx.feed_is_stale(ONE, "nightly", Some(since))).unwrap();
    assert!(text(&maria.get("/console")).contains("Stale inventory"));
    assert!(text(&maria.get("/console/feeds")).contains("chip bad\">stale"));
    let checklist = text(&maria.get("/console/checklist"));
    assert!(
        checklist
            .contains("Your inventory is not up to date</strong><span class=\"unseen\"> (to do)")
            && checklist.contains("The feed nightly was last imported 5 min ago.")
            && !checklist.contains("was confirmed"),
        "{checklist}"
    );

    end(&fixture, "run_3", later + SignedDuration::from_secs(1), FeedOutcome::Failed);
    let inbox = text(&maria.get("/console"));
    assert!(inbox.contains("of Demo Auto Group could not be fetched"), "{inbox}");
    assert!(inbox.contains("of Demo Auto Group is stale"), "{inbox}");
    assert!(inbox.contains("It was last imported 5 min ago."), "{inbox}");
}

#[test]
fn others_feeds_are_absent_and_the_desk_has_none() {
    let fixture = fixture();
    end(&fixture, "run_1", at(NOW), FeedOutcome::Taken);
    let address = |dealer: &str, feed: &str, run: &str| {
        format!("/console/feeds/runs?dealer={dealer}&feed={feed}{run}")
    };
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    let other = fixture.enter("other");
    assert_eq!(dora.get("/console/feeds").status, 403);
    assert_eq!(dora.get(&address(ONE, "nightly", "")).status, 403);
    assert_eq!(fixture.get("/console/feeds").status, 303);
    for (who, path, status) in [
        (&maria, address(ONE, "nightly", "&run=run_1"), 200),
        (&maria, address(ONE, "nightly", "&run=run_2"), 404),
        (&maria, address(ONE, "theirs", ""), 404),
        (&maria, address(TWO, "theirs", ""), 404),
        (&maria, "/console/feeds/runs".to_owned(), 404),
        (&other, address(TWO, "theirs", ""), 200),
        (&other, address(TWO, "theirs", "&run=run_1"), 404),
        (&other, address(ONE, "nightly", ""), 404),
    ] {
        assert_eq!(who.get(&path).status, status, "{path}");
    }
}
