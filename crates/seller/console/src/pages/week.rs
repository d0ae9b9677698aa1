//! Page of a dealer's week: what agents sent and asked, and what became of it. It names no customer.

use askama::Template;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use tradepost_admin::StaffPermission;
use tradepost_admin::week::{ShowWeek, WeekRefusal, WeekReport, show_week};
use tradepost_dealer::week::{CalendarWeek, DAYS};
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_runtime::recorder;
use tradepost_store::week::{
    AgentWeek, DayCounts, EmptySearchWeek, WaitingTime, WaitingTimes, WeekFigures, total,
};

use super::chart::{WeekChart, WeekDay};
use super::{
    Answer, Console, ConsoleReply, PageError, PageFrame, Visitor, duration_text, link, thousands,
};

/// Number of agents and codes with a row of their own.
const ROWS: usize = 12;

/// Number of rows with a colour of their own in a chart; the others share one.
const COLOURS: usize = 4;

#[derive(Debug, Template)]
#[template(path = "week.html")]
struct WeekPage {
    frame: PageFrame,
    dealers: Vec<DealerChoice>,
    dealer: String,
    /// Name of the week: `2026-W48`.
    name: String,
    /// Its days: `Nov 23 to Nov 29, 2026`.
    days: String,
    previous: String,
    /// `None` for the present week.
    next: Option<String>,
    present: Option<String>,
    figures: Vec<WeekFigure>,
    /// True when nothing at all happened.
    is_empty: bool,
    sees_checklist: bool,
    sees_refusals: bool,
    day_names: Vec<String>,
    sections: Vec<WeekSection>,
    searches: Vec<SearchText>,
    /// Note about searches that are not in the list.
    other_searches: Option<String>,
}

#[derive(Debug)]
struct DealerChoice {
    href: String,
    name: String,
    is_here: bool,
}

#[derive(Debug)]
struct WeekFigure {
    label: &'static str,
    value: String,
}

/// Part of the page: a chart, and a table with the same numbers.
#[derive(Debug)]
struct WeekSection {
    id: &'static str,
    title: &'static str,
    /// `None` while there is nothing to show.
    chart: Option<WeekChart>,
    /// What is said instead of a chart.
    nothing: &'static str,
    /// What the numbers are.
    note: &'static str,
    /// Heading of the first column.
    heading: &'static str,
    rows: Vec<WeekRow>,
    /// True when the refusals page has more about it.
    is_about_refusals: bool,
}

#[derive(Debug)]
struct WeekRow {
    name: String,
    detail: String,
    colour: Option<usize>,
    days: Vec<String>,
    all: String,
}

#[derive(Debug)]
struct SearchText {
    text: String,
    reading: String,
    asked: String,
}

/// Numbers of a kind on each day, with the name of the kind.
struct NamedCounts {
    name: String,
    detail: String,
    days: DayCounts,
}

impl Console {
    pub(crate) fn week(&self, visitor: &Visitor<'_>) -> Answer {
        let seller = &*self.dealer(visitor, visitor.asked.asked_for("dealer"))?;
        let dealers = [seller.dealer.scope()];
        let week = visitor.asked.asked_for("week").and_then(|week| week.parse().ok());
        let dealer_id = seller.dealer.terms.id.clone();
        let input = ShowWeek { dealer_id, week };
        let report = show_week(&self.admin(&dealers), &visitor.actor(), input);
        let report = report.map_err(|error| PageError::from_admin(error, refused))?;
        let here = self.local(&[self.dealer(visitor, Some(&seller.dealer.terms.id))?]);
        let present = CalendarWeek::from_date(here.date(here.now));
        let choice = |other: &std::sync::Arc<DealerAgent>| DealerChoice {
            href: address(other, report.week),
            name: other.dealer.terms.name.clone(),
            is_here: other.dealer.terms.id == seller.dealer.terms.id,
        };
        let role = visitor.member.role;
        let figures = &report.figures;
        let page = WeekPage {
            frame: self.frame(visitor, "Week")?,
            dealers: self.dealers(visitor).iter().map(choice).collect(),
            dealer: seller.dealer.terms.name.clone(),
            name: report.week.to_string(),
            days: days_of(report.week),
            previous: address(seller, report.week.previous()),
            next: (report.week < present).then(|| address(seller, report.week.next())),
            present: (report.week != present).then(|| address(seller, present)),
            figures: summary(figures),
            is_empty: is_empty(figures),
            sees_checklist: StaffPermission::Operate.is_of(role),
            sees_refusals: StaffPermission::SeeRefusals.is_of(role),
            day_names: report.week.days().map(|day| day.strftime("%a %-d").to_string()).into(),
            sections: sections(&report, self.clock.now()),
            searches: searches(&figures.empty_searches),
            other_searches: other_searches(&figures.empty_searches),
        };
        Ok(ConsoleReply::page(&page))
    }
}

fn refused(refusal: WeekRefusal) -> PageError {
    match refusal {
        WeekRefusal::UnknownDealer(_) => PageError::NotFound,
    }
}

fn address(seller: &DealerAgent, week: CalendarWeek) -> String {
    let dealer = seller.dealer.terms.id.as_str();
    let week = week.to_string();
    link("week", [("dealer", Some(dealer)), ("week", Some(&week))])
}

fn days_of(week: CalendarWeek) -> String {
    let [monday, .., sunday] = week.days();
    format!("{} to {}", monday.strftime("%b %-d"), sunday.strftime("%b %-d, %Y"))
}

fn leads(figures: &WeekFigures) -> u64 {
    figures.leads.iter().map(|agent| total(&agent.leads)).sum()
}

fn refusals_of(figures: &WeekFigures) -> u64 {
    figures.refusals.iter().map(|code| total(&code.refused)).sum()
}

fn is_empty(figures: &WeekFigures) -> bool {
    let days = [
        &figures.booked,
        &figures.moved,
        &figures.cancelled,
        &figures.no_shows,
        &figures.sold,
        &figures.lost,
        &figures.empty_searches.asked,
    ];
    leads(figures) == 0 && refusals_of(figures) == 0 && days.iter().all(|counts| total(counts) == 0)
}

/// Returns the numbers at the top.
fn summary(figures: &WeekFigures) -> Vec<WeekFigure> {
    let number = |label, number| WeekFigure { label, value: thousands(number) };
    let answer = WeekFigure {
        label: "median time to first answer",
        value: waited(figures.first_answer.week.median),
    };
    vec![
        number("leads", leads(figures)),
        answer,
        number("appointments booked", total(&figures.booked)),
        number("sold", total(&figures.sold)),
        number("refusals", refusals_of(figures)),
        number("searches that found nothing", total(&figures.empty_searches.asked)),
    ]
}

fn sections(report: &WeekReport, now: Timestamp) -> Vec<WeekSection> {
    let days = report.week.days();
    let figures = &report.figures;
    let [first, ..] = report.days;
    let is_older = |kept: i64| now.duration_since(first) > SignedDuration::from_hours(24 * kept);
    let named = |name: &str, days: &DayCounts| NamedCounts {
        name: name.to_owned(),
        detail: String::new(),
        days: *days,
    };
    let agents = figures.leads.iter().map(agent);
    let codes = figures.refusals.iter().map(|code| named(&code.code, &code.refused));
    let appointments = vec![
        named("Booked", &figures.booked),
        named("Moved by staff", &figures.moved),
        named("Cancelled", &figures.cancelled),
        named("No-show", &figures.no_shows),
    ];
    let outcomes = vec![named("Sold", &figures.sold), named("Lost", &figures.lost)];
    let asked = vec![named("Searches", &figures.empty_searches.asked)];
    let section = |id, title, heading, nothing, note, all: Vec<NamedCounts>| {
        let all = with_others(all);
        let is_there = all.iter().any(|counts| total(&counts.days) > 0);
        WeekSection {
            id,
            title,
            chart: is_there.then(|| chart(id, title, &days, &all)),
            nothing,
            note,
            heading,
            rows: if is_there { rows(&all) } else { Vec::new() },
            is_about_refusals: false,
        }
    };
    let refused = section(
        "refusals",
        "Refusals by code",
        "Code",
        match is_older(recorder::DAYS) {
            true => "No refusal is stored: they are kept for 30 days.",
            false => "No request was refused in this week.",
        },
        "Requests of agents that were refused, by error code. Codes with many refusals show what agents get wrong.",
        codes.collect(),
    );
    vec![
        section(
            "leads",
            "Leads by agent",
            "Agent",
            "No agent sent a lead in this week.",
            "Leads by the day of their arrival, with the ones that are held back; an agent is named as it names itself.",
            agents.collect(),
        ),
        answers(figures, &days),
        section(
            "appointments",
            "Appointments",
            "Change",
            "No appointment was booked or changed in this week.",
            "An appointment counts as booked on the day on which it first had a time, by the agent or by staff.",
            appointments,
        ),
        section(
            "outcomes",
            "Sold and lost",
            "Stage",
            "No lead was marked sold or lost in this week.",
            "Leads that were marked in this week and still are, whenever they arrived.",
            outcomes,
        ),
        WeekSection { is_about_refusals: true, ..refused },
        section(
            "searches",
            "Searches that found nothing",
            "Searches",
            match is_older(recorder::DAYS) {
                true => "No search is stored: they are kept for 30 days.",
                false => "Every search of an agent found a vehicle, or none was made.",
            },
            "What buyers looked for and you do not offer, or what your listings do not say.",
            asked,
        ),
    ]
}

/// Returns the section with the waiting times of leads.
fn answers(figures: &WeekFigures, days: &[Date; DAYS]) -> WeekSection {
    let id = "answers";
    let title = "Time to first answer";
    let answers = &figures.first_answer;
    let is_there = answers.week.leads > 0 || figures.first_look.week.leads > 0;
    let minutes = |time: Option<SignedDuration>| {
        time.map_or(0, |time| u32::try_from(time.as_mins().max(1)).unwrap_or(u32::MAX))
    };
    let mut places = answers.days.iter();
    let bars = days.map(|date| {
        let day = places.next().copied().unwrap_or_default();
        let median = minutes(day.median);
        let more = minutes(day.of_90_percent).saturating_sub(median);
        WeekDay { date, counts: vec![median, more] }
    });
    let say = |counts: &[u32]| match counts {
        [0, 0] | [] => "no answer".to_owned(),
        counts => {
            let median = counts.first().copied().unwrap_or_default();
            let all = counts.iter().fold(0, |sum: u32, count| sum.saturating_add(*count));
            let shown = |minutes: u32| duration_text(SignedDuration::from_mins(i64::from(minutes)));
            format!("half within {}, 9 of 10 within {}", shown(median), shown(all))
        }
    };
    let row = |name: &str, colour, times: &dyn Fn(&WaitingTime) -> String, of: &WaitingTimes| {
        let WaitingTimes { week, days } = of;
        WeekRow {
            name: name.to_owned(),
            detail: String::new(),
            colour,
            days: days.iter().map(times).collect(),
            all: times(week),
        }
    };
    let median = |time: &WaitingTime| waited(time.median);
    let most = |time: &WaitingTime| waited(time.of_90_percent);
    let number = |time: &WaitingTime| thousands(time.leads);
    let rows = vec![
        row("Answered: half within", Some(0), &median, answers),
        row("Answered: 9 of 10 within", Some(1), &most, answers),
        row("Answered leads", None, &number, answers),
        row("Seen: half within", None, &median, &figures.first_look),
        row("Seen: 9 of 10 within", None, &most, &figures.first_look),
        row("Seen leads", None, &number, &figures.first_look),
    ];
    WeekSection {
        id,
        title,
        chart: is_there.then(|| WeekChart::new(id, title, &bars, say)),
        nothing: "No lead of this week has been seen or answered yet.",
        note: "From the arrival of a lead until staff first took it on or ended it, by the day of its arrival. Leads that are held back do not count.",
        heading: "Leads",
        rows: if is_there { rows } else { Vec::new() },
        is_about_refusals: false,
    }
}

fn agent(agent: &AgentWeek) -> NamedCounts {
    let identity = match agent.principal.as_str() {
        "anonymous" => "not verified",
        principal => principal,
    };
    let mut details = vec![identity.to_owned()];
    details.extend((agent.held > 0).then(|| format!("{} held back", thousands(agent.held))));
    details.extend((agent.sold > 0).then(|| format!("{} sold", thousands(agent.sold))));
    NamedCounts {
        name: agent.agent.clone().unwrap_or_else(|| "(no name)".to_owned()),
        detail: details.join(" · "),
        days: agent.leads,
    }
}

/// Returns the first kinds, and the sum of the others as one more.
fn with_others(mut all: Vec<NamedCounts>) -> Vec<NamedCounts> {
    let others = all.split_off(all.len().min(ROWS));
    if others.is_empty() {
        return all;
    }
    let mut days = DayCounts::default();
    for counts in &others {
        for (sum, count) in days.iter_mut().zip(counts.days) {
            *sum += count;
        }
    }
    let name = format!("{} others", thousands(others.len() as u64));
    all.push(NamedCounts { name, detail: String::new(), days });
    all
}

fn chart(
    id: &'static str,
    title: &'static str,
    days: &[Date; DAYS],
    all: &[NamedCounts],
) -> WeekChart {
    let colours = all.len().min(COLOURS + 1);
    let mut place = 0;
    let bars = days.map(|date| {
        let mut counts = vec![0_u32; colours];
        for (kind, of) in all.iter().enumerate() {
            let count = of.days.get(place).copied().unwrap_or_default();
            if let Some(sum) = counts.get_mut(kind.min(COLOURS)) {
                *sum = sum.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            }
        }
        place += 1;
        WeekDay { date, counts }
    });
    WeekChart::new(id, title, &bars, |counts| {
        let each = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let each = each.map(|(kind, count)| {
            let name = all.get(kind).filter(|_| kind < COLOURS).map(|of| of.name.as_str());
            format!("{} {}", thousands(u64::from(*count)), name.unwrap_or("others"))
        });
        let each = each.collect::<Vec<_>>().join(", ");
        if each.is_empty() { "none".to_owned() } else { each }
    })
}

fn rows(all: &[NamedCounts]) -> Vec<WeekRow> {
    let row = |(place, counts): (usize, &NamedCounts)| WeekRow {
        name: counts.name.clone(),
        detail: counts.detail.clone(),
        colour: Some(place.min(COLOURS)),
        days: counts.days.iter().map(|count| thousands(*count)).collect(),
        all: thousands(total(&counts.days)),
    };
    all.iter().enumerate().map(row).collect()
}

fn waited(time: Option<SignedDuration>) -> String {
    time.map_or_else(|| "–".to_owned(), duration_text)
}

fn searches(week: &EmptySearchWeek) -> Vec<SearchText> {
    let shown = week.texts.iter().map(|row| SearchText {
        text: row.text.clone(),
        reading: row.reading.clone(),
        asked: thousands(row.asked),
    });
    shown.collect()
}

fn other_searches(week: &EmptySearchWeek) -> Option<String> {
    let listed: u64 = week.texts.iter().map(|row| row.asked).sum();
    let more = total(&week.asked).saturating_sub(listed);
    (more > 0 && listed > 0)
        .then(|| format!("{} more searches with other words are only counted.", thousands(more)))
}
