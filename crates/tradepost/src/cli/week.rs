//! `tradepost week`: figures of a dealer's week, which name no customer.

use std::iter::once;

use jiff::SignedDuration;
use tradepost_admin::week::{ShowWeek, WeekRefusal, WeekReport, show_week};
use tradepost_dealer::week::CalendarWeek;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{Config, DealerConfig};
use tradepost_runtime::hosting::{self, Fixed};
use tradepost_store::Store;
use tradepost_store::week::{
    DayCounts, EmptySearchRow, EmptySearchWeek, WaitingTime, WaitingTimes, WeekFigures, total,
};

use super::operator::{admin, failure, operator};
use super::output::CommandFailure;
use super::output::table::TableColumn::{Number, Text};
use super::output::table::{self, Cells, TableColumn, TableWidth};
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers};

/// Arguments of `tradepost week`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only this dealer; the default is every dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Week by its number, such as 2026-W48; the default is the present one. Days are those of the
    /// dealer's first rooftop, or of UTC without a configuration.
    #[arg(long, value_name = "WEEK")]
    week: Option<CalendarWeek>,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// A dealer's week.
struct DealerWeek {
    dealer_id: String,
    report: WeekReport,
}

/// Runs the command.
///
/// # Errors
/// Fails when the dealer is unknown, or the configuration or the store cannot be read.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let Arguments { dealer, week, source, place } = arguments;
    let config = source.load_if_there(place, context)?;
    let store = place.open(config.as_ref(), context)?;
    let configured = configured_dealers(config, &store)?;
    let is_configured = |id: &String| configured.iter().any(|known| known.terms.id == *id);
    if !dealer.as_ref().is_some_and(is_configured) {
        dealers::check_known(dealer.as_deref(), &store, place, context)?;
    }
    let ids = match dealer {
        Some(id) => vec![id.clone()],
        None if configured.is_empty() => store.known_agents()?,
        None => configured.iter().map(|dealer| dealer.terms.id.clone()).collect(),
    };
    let scopes: Vec<_> = configured.iter().map(DealerConfig::scope).collect();
    let mut weeks = Vec::with_capacity(ids.len());
    for dealer_id in ids {
        let input = ShowWeek { dealer_id: dealer_id.clone(), week: *week };
        let report = show_week(&admin(&store, &scopes), &operator(context), input);
        weeks.push(DealerWeek {
            dealer_id,
            report: report.map_err(|error| failure(error, refused))?,
        });
    }
    if context.output.is_json() {
        context.output.document(&weeks.iter().map(document).collect::<Vec<_>>());
    } else if weeks.is_empty() {
        context.output.talk("no dealer is known here; name the configuration with --config");
    } else {
        weeks.iter().for_each(|week| show(week, context));
    }
    Ok(())
}

fn refused(refusal: WeekRefusal) -> CommandFailure {
    match refusal {
        WeekRefusal::UnknownDealer(id) => {
            CommandFailure::usage(format!("there is no dealer {id:?}"))
        }
    }
}

/// Returns the dealers of a configuration, and those that the store hosts for it.
fn configured_dealers(
    config: Option<Config>,
    store: &Store,
) -> Result<Vec<DealerConfig>, CommandFailure> {
    let Some(config) = config else { return Ok(Vec::new()) };
    let hosted = match config.server.hosting {
        true => hosting::kept_dealers(store, &Fixed::from_config(&config))?,
        false => Vec::new(),
    };
    Ok(config.dealers.into_iter().chain(hosted).collect())
}

/// A row of the table: a name, the days, and the week.
type TableRow = Vec<String>;

fn show(week: &DealerWeek, context: &Context) {
    let DealerWeek { dealer_id, report } = week;
    let [monday, .., sunday] = report.week.days();
    context.output.line(format!(
        "{dealer_id}: week {}, {} to {}",
        report.week,
        monday.strftime("%b %-d"),
        sunday.strftime("%b %-d, %Y")
    ));
    let rows = rows(&report.figures);
    if rows.is_empty() {
        context.output.talk(format!("no agent has asked {dealer_id} in this week"));
        return;
    }
    let days = report.week.days().map(|day| day.strftime("%a %-d").to_string());
    let columns = days.iter().map(|day| Number(day));
    let columns: Vec<TableColumn<'_>> =
        once(Text("WHAT")).chain(columns).chain(once(Number("WEEK"))).collect();
    context.output.line(table::rows(TableWidth::Terminal, &columns, &rows));
    let searches = &report.figures.empty_searches;
    if !searches.texts.is_empty() {
        let columns: [Cells<'_, EmptySearchRow>; 3] = [
            (Text("ASKED IN VAIN"), &|row| row.text.clone()),
            (Text("READ AS"), &|row| row.reading.clone()),
            (Number("SEARCHES"), &|row| row.asked.to_string()),
        ];
        context.output.line("");
        context.output.line(table::items(TableWidth::Terminal, &searches.texts, &columns));
    }
}

/// Returns the rows that are not empty.
fn rows(figures: &WeekFigures) -> Vec<TableRow> {
    let leads = figures.leads.iter().map(|agent| {
        let name = agent.agent.as_deref().unwrap_or("(no name)");
        counts(&format!("leads of {name}, {}", agent.principal), &agent.leads)
    });
    let refusals = figures.refusals.iter();
    let refusals = refusals.map(|code| counts(&format!("refused: {}", code.code), &code.refused));
    let median = |time: &WaitingTime| time.median;
    let most = |time: &WaitingTime| time.of_90_percent;
    let times = [
        times("first look, median", &figures.first_look, median),
        times("first look, 90 of 100", &figures.first_look, most),
        times("first answer, median", &figures.first_answer, median),
        times("first answer, 90 of 100", &figures.first_answer, most),
    ];
    let changes = [
        counts("appointments booked", &figures.booked),
        counts("appointments moved", &figures.moved),
        counts("appointments cancelled", &figures.cancelled),
        counts("no-shows", &figures.no_shows),
        counts("leads sold", &figures.sold),
        counts("leads lost", &figures.lost),
    ];
    let searches = counts("searches that found nothing", &figures.empty_searches.asked);
    let all = leads.chain(times).chain(changes).chain(refusals).chain(once(searches));
    all.flatten().collect()
}

fn counts(name: &str, days: &DayCounts) -> Option<TableRow> {
    let cells = days.iter().map(u64::to_string);
    let row = once(name.to_owned()).chain(cells).chain(once(total(days).to_string()));
    (total(days) > 0).then(|| row.collect())
}

fn times(
    name: &str,
    times: &WaitingTimes,
    of: impl Fn(&WaitingTime) -> Option<SignedDuration>,
) -> Option<TableRow> {
    let shown = |time: &WaitingTime| match of(time) {
        Some(took) => format!("{:#}", SignedDuration::from_secs(took.as_secs())),
        None => "-".to_owned(),
    };
    let cells = times.days.iter().map(&shown);
    let row = once(name.to_owned()).chain(cells).chain(once(shown(&times.week)));
    (times.week.leads > 0).then(|| row.collect())
}

/// Returns a week as JSON.
fn document(week: &DealerWeek) -> Value {
    let DealerWeek { dealer_id, report } = week;
    let figures = &report.figures;
    let by_day = |days: &DayCounts| json!({"total": total(days), "days": days.to_vec()});
    let leads = figures.leads.iter().map(|agent| {
        json!({
            "agent": agent.agent, "principal": agent.principal, "total": total(&agent.leads),
            "days": agent.leads.to_vec(), "held": agent.held, "sold": agent.sold,
        })
    });
    let refusals = figures.refusals.iter().map(|code| {
        let refused = &code.refused;
        json!({"code": code.code, "total": total(refused), "days": refused.to_vec()})
    });
    json!({
        "dealer": dealer_id,
        "week": report.week.to_string(),
        "time_zone": report.zone.iana_name().unwrap_or("UTC"),
        "days": report.week.days().map(|day| day.to_string()).to_vec(),
        "leads": leads.collect::<Vec<_>>(),
        "first_look": waiting(&figures.first_look),
        "first_answer": waiting(&figures.first_answer),
        "appointments": {
            "booked": by_day(&figures.booked), "moved": by_day(&figures.moved),
            "cancelled": by_day(&figures.cancelled), "no_show": by_day(&figures.no_shows),
        },
        "sold": by_day(&figures.sold),
        "lost": by_day(&figures.lost),
        "refusals": refusals.collect::<Vec<_>>(),
        "empty_searches": searches(&figures.empty_searches),
    })
}

fn waiting(times: &WaitingTimes) -> Value {
    let time = |time: &WaitingTime| {
        let seconds = |took: Option<SignedDuration>| took.map(|took| took.as_secs());
        json!({
            "leads": time.leads, "median_seconds": seconds(time.median),
            "of_90_percent_seconds": seconds(time.of_90_percent),
        })
    };
    json!({"week": time(&times.week), "days": times.days.iter().map(time).collect::<Vec<_>>()})
}

fn searches(week: &EmptySearchWeek) -> Value {
    let texts = week.texts.iter();
    let texts =
        texts.map(|row| json!({"text": row.text, "reading": row.reading, "searches": row.asked}));
    json!({
        "total": total(&week.asked), "days": week.asked.to_vec(), "others": week.others,
        "texts": texts.collect::<Vec<_>>(),
    })
}
