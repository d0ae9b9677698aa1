//! Random requests of buyers and decisions of the staff, compared with a model that counts everything anew.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

/// Units of the pool on each day.
const CAPACITY: u64 = 100_000;

/// One step.
#[derive(Debug, Clone)]
enum Step {
    Buy { product: usize, budget: u32, start: u8, days: u8 },
    Budget { buy: usize, budget: u32 },
    Lengthen { buy: usize, days: u8 },
    Pause { buy: usize },
    Cancel { buy: usize },
    Decide { task: usize, step: DecisionStep },
    Commit { budget: u32 },
    Wait { hours: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    let budget = 500..1500_u32;
    prop_oneof![
        4 => (0..3_usize, budget.clone(), 1..20_u8, 1..9_u8).prop_map(
            |(product, budget, start, days)| Step::Buy { product, budget, start, days }
        ),
        2 => (0..9_usize, budget.clone()).prop_map(|(buy, budget)| Step::Budget { buy, budget }),
        2 => (0..9_usize, 1..12_u8).prop_map(|(buy, days)| Step::Lengthen { buy, days }),
        1 => (0..9_usize).prop_map(|buy| Step::Pause { buy }),
        1 => (0..9_usize).prop_map(|buy| Step::Cancel { buy }),
        2 => (0..3_usize, any::<bool>()).prop_map(|(task, approves)| {
            let step = if approves { DecisionStep::Approve } else { DecisionStep::Decline };
            Step::Decide { task, step }
        }),
        1 => budget.prop_map(|budget| Step::Commit { budget }),
        1 => (1..40_u8).prop_map(|hours| Step::Wait { hours }),
    ]
}

/// A buy as the model knows it.
#[derive(Debug, Clone)]
struct ModelBuy {
    id: String,
    package: String,
    /// Price for a thousand.
    cpm: u64,
    budget: u64,
    start: u8,
    days: u8,
}

impl ModelBuy {
    /// Units of each day of July.
    fn units(&self) -> BTreeMap<u8, u64> {
        let total = (self.budget * 1000).div_ceil(self.cpm);
        spread(total, self.start, self.days)
    }
}

fn spread(total: u64, start: u8, days: u8) -> BTreeMap<u8, u64> {
    let count = u64::from(days);
    let units = |index: u8| total / count + u64::from(u64::from(index) < total % count);
    (0..days).map(|index| (start + index, units(index))).collect()
}

/// What the model knows.
#[derive(Debug, Default)]
struct Model {
    buys: Vec<ModelBuy>,
    tasks: Vec<ModelTask>,
    holds: Vec<ModelHold>,
}

/// A buy that waits.
#[derive(Debug)]
struct ModelTask {
    id: String,
    buy: ModelBuy,
}

/// Units that a proposal holds, and how long.
#[derive(Debug)]
struct ModelHold {
    units: BTreeMap<u8, u64>,
    until: jiff::Timestamp,
}

impl Model {
    fn waiting(&self) -> impl Iterator<Item = &ModelBuy> {
        self.tasks.iter().map(|task| &task.buy)
    }

    /// Units that are booked on a day.
    fn booked(&self, day: u8) -> u64 {
        let buys = self.buys.iter().chain(self.waiting());
        buys.map(|buy| buy.units().get(&day).copied().unwrap_or(0)).sum()
    }

    fn held(&self, day: u8, now: jiff::Timestamp) -> u64 {
        let holds = self.holds.iter().filter(|hold| hold.until > now);
        holds.map(|hold| hold.units.get(&day).copied().unwrap_or(0)).sum()
    }

    /// True when units fit beside everything that is not `own`.
    fn fits(
        &self,
        wanted: &BTreeMap<u8, u64>,
        own: &BTreeMap<u8, u64>,
        now: jiff::Timestamp,
    ) -> bool {
        wanted.iter().all(|(day, units)| {
            let had = own.get(day).copied().unwrap_or(0);
            let others = self.booked(*day) - had + self.held(*day, now);
            *units <= CAPACITY.saturating_sub(others).max(had)
        })
    }
}

fn day(day: u8) -> String {
    format!("2026-07-{day:02}")
}

fn run(steps: Vec<Step>) {
    let mut script = script();
    let mut model = Model::default();
    for step in steps {
        let now = script.harness.now;
        match step {
            Step::Buy { product, budget, start, days } => {
                let name = ["news", "sport", "cover"][product];
                let cpm = [10, 20, 10][product];
                let request = order(name, budget, &day(start), &day(start + days));
                let answer = script.ask(AdcpTool::CreateMediaBuy, request);
                let mut buy = ModelBuy {
                    id: id(&answer),
                    package: String::new(),
                    cpm,
                    budget: budget.into(),
                    start,
                    days,
                };
                let fits = model.fits(&buy.units(), &BTreeMap::new(), now);
                let expected = match (fits, name) {
                    (false, _) => "PRODUCT_UNAVAILABLE packages[0].product_id",
                    (true, "cover") => "submitted",
                    (true, _) => "completed",
                };
                assert_eq!(outcome(&answer), expected, "{answer:#}");
                if expected == "completed" {
                    let package = answer["packages"][0]["package_id"].as_str();
                    package.unwrap().clone_into(&mut buy.package);
                    model.buys.push(buy);
                } else if expected == "submitted" {
                    let task = answer["task_id"].as_str().unwrap().to_owned();
                    model.tasks.push(ModelTask { id: task, buy });
                }
            }
            Step::Budget { buy, budget } => {
                let Some(known) = model.buys.get(buy).cloned() else { continue };
                let request = json!({
                    "media_buy_id": known.id,
                    "packages": [{"package_id": known.package, "budget": budget}],
                });
                let answer = script.ask(AdcpTool::UpdateMediaBuy, request);
                let changed = ModelBuy { budget: budget.into(), ..known.clone() };
                if model.fits(&changed.units(), &known.units(), now) {
                    assert_eq!(outcome(&answer), "completed");
                    model.buys[buy] = changed;
                } else {
                    assert_eq!(outcome(&answer), "PRODUCT_UNAVAILABLE packages[0].budget");
                }
            }
            Step::Lengthen { buy, days } => {
                let Some(known) = model.buys.get(buy).cloned() else { continue };
                let end = format!("{}T00:00:00Z", day(known.start + days));
                let request = json!({"media_buy_id": known.id, "end_time": end});
                let answer = script.ask(AdcpTool::UpdateMediaBuy, request);
                let changed = ModelBuy { days, ..known.clone() };
                if model.fits(&changed.units(), &known.units(), now) {
                    assert_eq!(outcome(&answer), "completed");
                    model.buys[buy] = changed;
                } else {
                    assert_eq!(outcome(&answer), "PRODUCT_UNAVAILABLE end_time");
                }
            }
            Step::Pause { buy } => {
                let Some(known) = model.buys.get(buy) else { continue };
                let request = json!({"media_buy_id": known.id, "paused": true});
                let outcome = outcome(&script.ask(AdcpTool::UpdateMediaBuy, request));
                // A paused one cannot be paused again.
                let known = ["completed", "ACTION_NOT_ALLOWED paused"];
                assert!(known.contains(&outcome.as_str()), "{outcome}");
            }
            Step::Cancel { buy } => {
                if buy >= model.buys.len() {
                    continue;
                }
                let known = model.buys.remove(buy);
                let request = json!({"media_buy_id": known.id, "canceled": true});
                assert_eq!(outcome(&script.ask(AdcpTool::UpdateMediaBuy, request)), "completed");
            }
            Step::Decide { task, step } => {
                if task >= model.tasks.len() {
                    continue;
                }
                let ModelTask { id, buy } = model.tasks.remove(task);
                let decided = decision(DecisionSubject::Task, &id, step);
                decide(&script.harness, &decided).unwrap();
                if step == DecisionStep::Approve {
                    // Its id is for its buyer to find out; the model changes it no more.
                    let package = String::new();
                    model.holds.push(ModelHold {
                        units: ModelBuy { package, ..buy }.units(),
                        until: jiff::Timestamp::MAX,
                    });
                }
            }
            Step::Commit { budget } => commit_in(&mut script, &mut model, budget),
            Step::Wait { hours } => {
                // Never into July, where flights would have run.
                let later = now + SignedDuration::from_hours(hours.into());
                script.harness.now = later.min("2026-06-29T00:00:00Z".parse().unwrap());
            }
        }
        compare(&script, &model);
    }
}

fn commit_in(script: &mut Script, model: &mut Model, budget: u32) {
    let now = script.harness.now;
    let committed = commit(script, budget);
    let proposal = &committed["proposals"][0];
    let Some(parts) = proposal["allocations"].as_array() else { return };
    if outcome(&committed) != "completed" {
        assert_eq!(outcome(&committed), "PRODUCT_UNAVAILABLE refine[0].proposal_id");
        return;
    }
    let mut units = BTreeMap::new();
    for part in parts {
        let cpm = if part["product_id"] == "sport" { 20 } else { 10 };
        let share = u64::from(budget) * 10 * part["allocation_percentage"].as_u64().unwrap();
        for (day, number) in spread(share.div_ceil(cpm), 1, 2) {
            *units.entry(day).or_insert(0) += number;
        }
    }
    assert!(model.fits(&units, &BTreeMap::new(), now), "{committed:#}");
    let until = proposal["expires_at"].as_str().unwrap().parse().unwrap();
    model.holds.push(ModelHold { units, until });
}

fn compare(script: &Script, model: &Model) {
    let now = script.harness.now;
    for row in rows(&script.harness, "news", "2026-07-01", "2026-08-01") {
        let number = row["date"].as_str().unwrap()[8..].parse().unwrap();
        let taken = row["booked"].as_u64().unwrap() + row["held"].as_u64().unwrap();
        assert_eq!(taken, model.booked(number) + model.held(number, now), "{row} {model:#?}");
        assert_eq!(row["oversold"], 0, "{row}");
    }
    check_books(&script.harness);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever buyers and staff do, the books say what a naive count says, and nothing is sold twice.
    #[test]
    fn the_books_agree_with_a_naive_count(steps in prop::collection::vec(step(), 1..30)) {
        run(steps);
    }
}
