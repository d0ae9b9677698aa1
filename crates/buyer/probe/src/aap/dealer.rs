//! Checks of `dealer.information` (R-DI).

use tradepost_aap::Skill;
use tradepost_document::format;
use tradepost_document::json::Value;

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, not_applicable, not_applicable_if, verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, items, text};

const WHY: &str = "Buyer agents tell their users when and where to come by it.";

pub(super) const CHECKS: &[Check] = checks![
    "aap.dealer.answer", Version, Must, ["R-DI-02"], "AAP dealer-information",
    "The dealer has a name, and one rooftop with a name at least", WHY,
    "fill in name and rooftops" => answer();
    "aap.dealer.closed", Version, Must, ["R-DI-02"], "AAP dealer-information schema",
    "The profile has no member that the schema does not have", "Buyers that validate refuse the whole answer.",
    "leave out what the schema does not list" => closed();
    "aap.dealer.hours", Version, Must, ["R-DI-03"], "AAP dealer-information schema",
    "Opening hours are HH:MM on a 24 hour clock, or null where it is closed", WHY,
    "write open and close as HH:MM for each day" => hours();
    "aap.dealer.position", Version, Must, ["R-DI-03"], "AAP dealer-information schema",
    "A position has latitude and longitude", WHY,
    "give both, or leave geo out" => position();
    "aap.dealer.contacts", Version, Must, ["R-DI-03"], "AAP dealer-information schema",
    "Every e-mail address and telephone number has a value", WHY,
    "give value for each" => contacts();
    "aap.dealer.no-null", Version, Must, ["R-DI-02"], "AAP dealer-information schema",
    "What is not known is left out, and not null", "Only a closed day is null in the schema.",
    "omit absent members" => no_null();
];

async fn profile(run: &mut ProbeRun) -> Result<Value, CheckVerdict> {
    run.known(Skill::DealerInformation, "{}").await
}

async fn answer(run: &mut ProbeRun) -> CheckResult {
    let data = run.data(Skill::DealerInformation, "{}").await?;
    let mut wrong = ShapeProblems::default();
    wrong.text(&data, "name", "the dealer");
    wrong.unless(items(&data, "rooftops").count() > 0, "there are no rooftops");
    for rooftop in items(&data, "rooftops") {
        wrong.text(rooftop, "name", "a rooftop");
    }
    verdict_of(&wrong.0)
}

async fn closed(run: &mut ProbeRun) -> CheckResult {
    const ROOFTOP: &[&str] = &[
        "name",
        "legal_name",
        "website",
        "geo",
        "emails",
        "phones",
        "address",
        "schedules",
        "timezone",
        "notes",
        "capabilities",
    ];
    const ADDRESS: &[&str] =
        &["country", "state", "city", "address_line_1", "address_line_2", "zip"];
    const DAYS: &[&str] =
        &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let data = profile(run).await?;
    let mut wrong = ShapeProblems::default();
    wrong.closed(&data, &["name", "welcome_message", "rooftops"], "the dealer");
    for rooftop in items(&data, "rooftops") {
        wrong.closed(rooftop, ROOFTOP, "a rooftop");
        let part = |name| rooftop.get(name).cloned().unwrap_or_default();
        wrong.closed(&part("geo"), &["latitude", "longitude"], "geo");
        wrong.closed(&part("address"), ADDRESS, "the address");
        for contact in items(rooftop, "emails").chain(items(rooftop, "phones")) {
            wrong.closed(contact, &["name", "value"], "a contact");
        }
        for schedule in items(rooftop, "schedules") {
            wrong.closed(schedule, &["name", "value"], "a schedule");
            let week = schedule.get("value").cloned().unwrap_or_default();
            wrong.closed(&week, DAYS, "a week");
        }
    }
    verdict_of(&wrong.0)
}

async fn hours(run: &mut ProbeRun) -> CheckResult {
    let data = profile(run).await?;
    let mut wrong = ShapeProblems::default();
    let mut weeks = 0;
    for schedule in items(&data, "rooftops").flat_map(|rooftop| items(rooftop, "schedules")) {
        let week = schedule.get("value").and_then(Value::as_object);
        wrong.unless(week.is_some(), "a schedule has no value");
        weeks += 1;
        for (day, hours) in week.into_iter().flatten().filter(|(_, hours)| !hours.is_null()) {
            for name in ["open", "close"] {
                let time = text(hours, name).unwrap_or_default();
                let good = format::is_time_of_day(time);
                wrong.unless(good, format!("{day} has the {name} time {time:?}"));
            }
        }
    }
    if weeks == 0 { not_applicable("the dealer gives no hours") } else { verdict_of(&wrong.0) }
}

async fn position(run: &mut ProbeRun) -> CheckResult {
    let data = profile(run).await?;
    let positions: Vec<_> =
        items(&data, "rooftops").filter_map(|rooftop| rooftop.get("geo")).collect();
    not_applicable_if(positions.is_empty(), "the dealer gives no position")?;
    let mut wrong = ShapeProblems::default();
    for position in positions {
        for (name, limit) in [("latitude", 90.0), ("longitude", 180.0)] {
            let value = position.get(name).and_then(Value::as_f64);
            let good = value.is_some_and(|value| value.abs() <= limit);
            wrong.unless(good, format!("{name} is {value:?}"));
        }
    }
    verdict_of(&wrong.0)
}

async fn contacts(run: &mut ProbeRun) -> CheckResult {
    let data = profile(run).await?;
    let mut wrong = ShapeProblems::default();
    for rooftop in items(&data, "rooftops") {
        for contact in items(rooftop, "emails").chain(items(rooftop, "phones")) {
            wrong.text(contact, "value", "a contact");
        }
    }
    verdict_of(&wrong.0)
}

async fn no_null(run: &mut ProbeRun) -> CheckResult {
    let data = profile(run).await?;
    let mut wrong = ShapeProblems::default();
    for rooftop in items(&data, "rooftops").chain([&data]) {
        for (name, value) in rooftop.as_object().into_iter().flatten() {
            wrong.unless(!value.is_null(), format!("{name} is null"));
        }
    }
    verdict_of(&wrong.0)
}
