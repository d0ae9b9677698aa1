//! The page of a week: its figures, its neighbours, and what it does not show.

use expect_test::expect;
use tradepost_aap::Filters;
use tradepost_dealer::empty_search::EmptySearchText;
use tradepost_store::empty_searches::{EmptySearch, EmptySearchCount};
use tradepost_store::refusals::RefusalCount;

use super::*;

/// Midnight of the tests' day in Los Angeles.
const DAY: &str = "2026-04-30T07:00:00Z";

fn search(dealer: &str, question: &str, asked: i64) -> EmptySearchCount {
    let filters = Filters { query: Some(question.to_owned()), ..Filters::default() };
    let text = EmptySearchText::from_filters(&filters).unwrap();
    let reading = EmptySearchText::from_reading(&format!("No listing has \"{question}\"."));
    EmptySearchCount {
        dealer_id: dealer.to_owned(),
        day: at(DAY),
        search: Some(EmptySearch { text, reading }),
        asked,
    }
}

/// A week in which agents sent leads, were refused and searched in vain, and staff worked.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let agent =
        |name: &str, of: &str| with(customer(of), &[("/source_agent", json!({"name": name}))]);
    let ada = fixture.lead("one.example", &agent("shopper", "Ada"));
    fixture.lead("one.example", &agent("shopper", "Grace"));
    let appointment =
        json!({"appointment_type": "sales", "appointment_at": "2026-05-01T18:00:00Z"});
    let booked = with(agent("planner", "Edsger"), &[("/appointment", appointment)]);
    fixture.lead("one.example", &booked);
    fixture.lead("two.example", &agent("elsewhere", "Alan"));
    fixture.hand.advance(SignedDuration::from_mins(12));
    let maria = fixture.enter("maria");
    maria.get(&format!("/console/leads/{ada}"));
    maria.do_it(&format!("/console/leads/{ada}/stage"), &[("stage", "sold")]);
    let searches = [
        search(ONE, "hover car", 3),
        search(ONE, "<script>alert(1)</script>", 1),
        search(TWO, "submarine", 9),
    ];
    let refusals = [("VEHICLE_NOT_FOUND", 1_200), ("INVALID_CONSENT", 4)].map(|(code, refused)| {
        let hour = at(NOW);
        RefusalCount { agent_id: ONE.to_owned(), hour, code: code.to_owned(), refused }
    });
    let job = move |tx: &tradepost_store::StoreTransaction<'_>| {
        tx.count_empty_searches(&searches)?;
        tx.keep_refusals(&[], &refusals)
    };
    fixture.server.store.write_blocking(job).unwrap();
    fixture
}

/// The page between its head and its end.
fn main_part(page: &str) -> &str {
    let (_, main) = page.split_once("<main id=\"main\" tabindex=\"-1\">").unwrap();
    main.split_once("</main>").unwrap().0.trim()
}

#[test]
fn a_week_is_shown_with_charts_and_tables() {
    let fixture = fixture();
    let page = text(&fixture.enter("maria").get("/console/week"));
    expect![[r#"
        <div class="head"><div><h1>Week 2026-W18</h1><p class="quiet">Apr 27 to May 3, 2026 · Demo Auto Group</p></div>
        <nav class="pages" aria-label="Weeks"><a class="button plain" href="/console/week?dealer=demo-auto-group&#38;week=2026-W17" rel="prev">Previous</a></nav></div>


        <dl class="figures">
        <div class="figure"><dt>leads</dt><dd>3</dd></div>
        <div class="figure"><dt>median time to first answer</dt><dd>12 min</dd></div>
        <div class="figure"><dt>appointments booked</dt><dd>1</dd></div>
        <div class="figure"><dt>sold</dt><dd>1</dd></div>
        <div class="figure"><dt>refusals</dt><dd>1,204</dd></div>
        <div class="figure"><dt>searches that found nothing</dt><dd>4</dd></div>
        </dl>

        <section class="week" aria-labelledby="leads">
        <h2 class="section" id="leads">Leads by agent</h2>

        <p class="quiet small">Leads by the day of their arrival, with the ones that are held back; an agent is named as it names itself.</p>
        <div class="card"><svg class="chart" viewBox="-10 -6 720 146" role="img" aria-labelledby="leads-title leads-words">
        <title id="leads-title">Leads by agent</title><desc id="leads-words">Mon Apr 27: none; Tue Apr 28: none; Wed Apr 29: none; Thu Apr 30: 2 shopper, 1 planner; Fri May 1: none; Sat May 2: none; Sun May 3: none.</desc>
        <line x1="0" y1="120" x2="700" y2="120"/>
        <g><title>Mon Apr 27: none</title><rect class="hover" x="0" y="0" width="100" height="120"/><text x="50" y="137">Mon 27</text></g>
        <g><title>Tue Apr 28: none</title><rect class="hover" x="100" y="0" width="100" height="120"/><text x="150" y="137">Tue 28</text></g>
        <g><title>Wed Apr 29: none</title><rect class="hover" x="200" y="0" width="100" height="120"/><text x="250" y="137">Wed 29</text></g>
        <g><title>Thu Apr 30: 2 shopper, 1 planner</title><rect class="hover" x="300" y="0" width="100" height="120"/><rect class="kind-0" x="320" y="40" width="60" height="80"/><rect class="kind-1" x="320" y="0" width="60" height="40"/><text x="350" y="137">Thu 30</text></g>
        <g><title>Fri May 1: none</title><rect class="hover" x="400" y="0" width="100" height="120"/><text x="450" y="137">Fri 1</text></g>
        <g><title>Sat May 2: none</title><rect class="hover" x="500" y="0" width="100" height="120"/><text x="550" y="137">Sat 2</text></g>
        <g><title>Sun May 3: none</title><rect class="hover" x="600" y="0" width="100" height="120"/><text x="650" y="137">Sun 3</text></g>
        </svg></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Leads by agent, by day">
        <table>
        <caption class="unseen">Leads by agent, by day</caption>
        <thead><tr><th scope="col">Agent</th><th scope="col" class="number">Week</th><th scope="col" class="number">Mon 27</th><th scope="col" class="number">Tue 28</th><th scope="col" class="number">Wed 29</th><th scope="col" class="number">Thu 30</th><th scope="col" class="number">Fri 1</th><th scope="col" class="number">Sat 2</th><th scope="col" class="number">Sun 3</th></tr></thead>
        <tbody>
        <tr><th scope="row"><span class="swatch kind-0" aria-hidden="true"></span>shopper<br><span class="quiet small">not verified · 1 sold</span></th><td class="number"><strong>2</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">2</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        <tr><th scope="row"><span class="swatch kind-1" aria-hidden="true"></span>planner<br><span class="quiet small">not verified</span></th><td class="number"><strong>1</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        </tbody>
        </table>
        </div>


        </section>

        <section class="week" aria-labelledby="answers">
        <h2 class="section" id="answers">Time to first answer</h2>

        <p class="quiet small">From the arrival of a lead until staff first took it on or ended it, by the day of its arrival. Leads that are held back do not count.</p>
        <div class="card"><svg class="chart" viewBox="-10 -6 720 146" role="img" aria-labelledby="answers-title answers-words">
        <title id="answers-title">Time to first answer</title><desc id="answers-words">Mon Apr 27: no answer; Tue Apr 28: no answer; Wed Apr 29: no answer; Thu Apr 30: half within 12 min, 9 of 10 within 12 min; Fri May 1: no answer; Sat May 2: no answer; Sun May 3: no answer.</desc>
        <line x1="0" y1="120" x2="700" y2="120"/>
        <g><title>Mon Apr 27: no answer</title><rect class="hover" x="0" y="0" width="100" height="120"/><text x="50" y="137">Mon 27</text></g>
        <g><title>Tue Apr 28: no answer</title><rect class="hover" x="100" y="0" width="100" height="120"/><text x="150" y="137">Tue 28</text></g>
        <g><title>Wed Apr 29: no answer</title><rect class="hover" x="200" y="0" width="100" height="120"/><text x="250" y="137">Wed 29</text></g>
        <g><title>Thu Apr 30: half within 12 min, 9 of 10 within 12 min</title><rect class="hover" x="300" y="0" width="100" height="120"/><rect class="kind-0" x="320" y="0" width="60" height="120"/><text x="350" y="137">Thu 30</text></g>
        <g><title>Fri May 1: no answer</title><rect class="hover" x="400" y="0" width="100" height="120"/><text x="450" y="137">Fri 1</text></g>
        <g><title>Sat May 2: no answer</title><rect class="hover" x="500" y="0" width="100" height="120"/><text x="550" y="137">Sat 2</text></g>
        <g><title>Sun May 3: no answer</title><rect class="hover" x="600" y="0" width="100" height="120"/><text x="650" y="137">Sun 3</text></g>
        </svg></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Time to first answer, by day">
        <table>
        <caption class="unseen">Time to first answer, by day</caption>
        <thead><tr><th scope="col">Leads</th><th scope="col" class="number">Week</th><th scope="col" class="number">Mon 27</th><th scope="col" class="number">Tue 28</th><th scope="col" class="number">Wed 29</th><th scope="col" class="number">Thu 30</th><th scope="col" class="number">Fri 1</th><th scope="col" class="number">Sat 2</th><th scope="col" class="number">Sun 3</th></tr></thead>
        <tbody>
        <tr><th scope="row"><span class="swatch kind-0" aria-hidden="true"></span>Answered: half within</th><td class="number"><strong>12 min</strong></td><td class="number">–</td><td class="number">–</td><td class="number">–</td><td class="number">12 min</td><td class="number">–</td><td class="number">–</td><td class="number">–</td></tr>
        <tr><th scope="row"><span class="swatch kind-1" aria-hidden="true"></span>Answered: 9 of 10 within</th><td class="number"><strong>12 min</strong></td><td class="number">–</td><td class="number">–</td><td class="number">–</td><td class="number">12 min</td><td class="number">–</td><td class="number">–</td><td class="number">–</td></tr>
        <tr><th scope="row">Answered leads</th><td class="number"><strong>1</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        <tr><th scope="row">Seen: half within</th><td class="number"><strong>12 min</strong></td><td class="number">–</td><td class="number">–</td><td class="number">–</td><td class="number">12 min</td><td class="number">–</td><td class="number">–</td><td class="number">–</td></tr>
        <tr><th scope="row">Seen: 9 of 10 within</th><td class="number"><strong>12 min</strong></td><td class="number">–</td><td class="number">–</td><td class="number">–</td><td class="number">12 min</td><td class="number">–</td><td class="number">–</td><td class="number">–</td></tr>
        <tr><th scope="row">Seen leads</th><td class="number"><strong>1</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        </tbody>
        </table>
        </div>


        </section>

        <section class="week" aria-labelledby="appointments">
        <h2 class="section" id="appointments">Appointments</h2>

        <p class="quiet small">An appointment counts as booked on the day on which it first had a time, by the agent or by staff.</p>
        <div class="card"><svg class="chart" viewBox="-10 -6 720 146" role="img" aria-labelledby="appointments-title appointments-words">
        <title id="appointments-title">Appointments</title><desc id="appointments-words">Mon Apr 27: none; Tue Apr 28: none; Wed Apr 29: none; Thu Apr 30: 1 Booked; Fri May 1: none; Sat May 2: none; Sun May 3: none.</desc>
        <line x1="0" y1="120" x2="700" y2="120"/>
        <g><title>Mon Apr 27: none</title><rect class="hover" x="0" y="0" width="100" height="120"/><text x="50" y="137">Mon 27</text></g>
        <g><title>Tue Apr 28: none</title><rect class="hover" x="100" y="0" width="100" height="120"/><text x="150" y="137">Tue 28</text></g>
        <g><title>Wed Apr 29: none</title><rect class="hover" x="200" y="0" width="100" height="120"/><text x="250" y="137">Wed 29</text></g>
        <g><title>Thu Apr 30: 1 Booked</title><rect class="hover" x="300" y="0" width="100" height="120"/><rect class="kind-0" x="320" y="0" width="60" height="120"/><text x="350" y="137">Thu 30</text></g>
        <g><title>Fri May 1: none</title><rect class="hover" x="400" y="0" width="100" height="120"/><text x="450" y="137">Fri 1</text></g>
        <g><title>Sat May 2: none</title><rect class="hover" x="500" y="0" width="100" height="120"/><text x="550" y="137">Sat 2</text></g>
        <g><title>Sun May 3: none</title><rect class="hover" x="600" y="0" width="100" height="120"/><text x="650" y="137">Sun 3</text></g>
        </svg></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Appointments, by day">
        <table>
        <caption class="unseen">Appointments, by day</caption>
        <thead><tr><th scope="col">Change</th><th scope="col" class="number">Week</th><th scope="col" class="number">Mon 27</th><th scope="col" class="number">Tue 28</th><th scope="col" class="number">Wed 29</th><th scope="col" class="number">Thu 30</th><th scope="col" class="number">Fri 1</th><th scope="col" class="number">Sat 2</th><th scope="col" class="number">Sun 3</th></tr></thead>
        <tbody>
        <tr><th scope="row"><span class="swatch kind-0" aria-hidden="true"></span>Booked</th><td class="number"><strong>1</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        <tr><th scope="row"><span class="swatch kind-1" aria-hidden="true"></span>Moved by staff</th><td class="number"><strong>0</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        <tr><th scope="row"><span class="swatch kind-2" aria-hidden="true"></span>Cancelled</th><td class="number"><strong>0</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        <tr><th scope="row"><span class="swatch kind-3" aria-hidden="true"></span>No-show</th><td class="number"><strong>0</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        </tbody>
        </table>
        </div>


        </section>

        <section class="week" aria-labelledby="outcomes">
        <h2 class="section" id="outcomes">Sold and lost</h2>

        <p class="quiet small">Leads that were marked in this week and still are, whenever they arrived.</p>
        <div class="card"><svg class="chart" viewBox="-10 -6 720 146" role="img" aria-labelledby="outcomes-title outcomes-words">
        <title id="outcomes-title">Sold and lost</title><desc id="outcomes-words">Mon Apr 27: none; Tue Apr 28: none; Wed Apr 29: none; Thu Apr 30: 1 Sold; Fri May 1: none; Sat May 2: none; Sun May 3: none.</desc>
        <line x1="0" y1="120" x2="700" y2="120"/>
        <g><title>Mon Apr 27: none</title><rect class="hover" x="0" y="0" width="100" height="120"/><text x="50" y="137">Mon 27</text></g>
        <g><title>Tue Apr 28: none</title><rect class="hover" x="100" y="0" width="100" height="120"/><text x="150" y="137">Tue 28</text></g>
        <g><title>Wed Apr 29: none</title><rect class="hover" x="200" y="0" width="100" height="120"/><text x="250" y="137">Wed 29</text></g>
        <g><title>Thu Apr 30: 1 Sold</title><rect class="hover" x="300" y="0" width="100" height="120"/><rect class="kind-0" x="320" y="0" width="60" height="120"/><text x="350" y="137">Thu 30</text></g>
        <g><title>Fri May 1: none</title><rect class="hover" x="400" y="0" width="100" height="120"/><text x="450" y="137">Fri 1</text></g>
        <g><title>Sat May 2: none</title><rect class="hover" x="500" y="0" width="100" height="120"/><text x="550" y="137">Sat 2</text></g>
        <g><title>Sun May 3: none</title><rect class="hover" x="600" y="0" width="100" height="120"/><text x="650" y="137">Sun 3</text></g>
        </svg></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Sold and lost, by day">
        <table>
        <caption class="unseen">Sold and lost, by day</caption>
        <thead><tr><th scope="col">Stage</th><th scope="col" class="number">Week</th><th scope="col" class="number">Mon 27</th><th scope="col" class="number">Tue 28</th><th scope="col" class="number">Wed 29</th><th scope="col" class="number">Thu 30</th><th scope="col" class="number">Fri 1</th><th scope="col" class="number">Sat 2</th><th scope="col" class="number">Sun 3</th></tr></thead>
        <tbody>
        <tr><th scope="row"><span class="swatch kind-0" aria-hidden="true"></span>Sold</th><td class="number"><strong>1</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">1</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        <tr><th scope="row"><span class="swatch kind-1" aria-hidden="true"></span>Lost</th><td class="number"><strong>0</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        </tbody>
        </table>
        </div>


        </section>

        <section class="week" aria-labelledby="refusals">
        <h2 class="section" id="refusals">Refusals by code</h2>

        <p class="quiet small">Requests of agents that were refused, by error code. Codes with many refusals show what agents get wrong. <a href="/console/refusals">Meaning of the codes, and the latest refusals</a></p>
        <div class="card"><svg class="chart" viewBox="-10 -6 720 146" role="img" aria-labelledby="refusals-title refusals-words">
        <title id="refusals-title">Refusals by code</title><desc id="refusals-words">Mon Apr 27: none; Tue Apr 28: none; Wed Apr 29: none; Thu Apr 30: 1,200 VEHICLE_NOT_FOUND, 4 INVALID_CONSENT; Fri May 1: none; Sat May 2: none; Sun May 3: none.</desc>
        <line x1="0" y1="120" x2="700" y2="120"/>
        <g><title>Mon Apr 27: none</title><rect class="hover" x="0" y="0" width="100" height="120"/><text x="50" y="137">Mon 27</text></g>
        <g><title>Tue Apr 28: none</title><rect class="hover" x="100" y="0" width="100" height="120"/><text x="150" y="137">Tue 28</text></g>
        <g><title>Wed Apr 29: none</title><rect class="hover" x="200" y="0" width="100" height="120"/><text x="250" y="137">Wed 29</text></g>
        <g><title>Thu Apr 30: 1,200 VEHICLE_NOT_FOUND, 4 INVALID_CONSENT</title><rect class="hover" x="300" y="0" width="100" height="120"/><rect class="kind-0" x="320" y="2" width="60" height="118"/><rect class="kind-1" x="320" y="0" width="60" height="2"/><text x="350" y="137">Thu 30</text></g>
        <g><title>Fri May 1: none</title><rect class="hover" x="400" y="0" width="100" height="120"/><text x="450" y="137">Fri 1</text></g>
        <g><title>Sat May 2: none</title><rect class="hover" x="500" y="0" width="100" height="120"/><text x="550" y="137">Sat 2</text></g>
        <g><title>Sun May 3: none</title><rect class="hover" x="600" y="0" width="100" height="120"/><text x="650" y="137">Sun 3</text></g>
        </svg></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Refusals by code, by day">
        <table>
        <caption class="unseen">Refusals by code, by day</caption>
        <thead><tr><th scope="col">Code</th><th scope="col" class="number">Week</th><th scope="col" class="number">Mon 27</th><th scope="col" class="number">Tue 28</th><th scope="col" class="number">Wed 29</th><th scope="col" class="number">Thu 30</th><th scope="col" class="number">Fri 1</th><th scope="col" class="number">Sat 2</th><th scope="col" class="number">Sun 3</th></tr></thead>
        <tbody>
        <tr><th scope="row"><span class="swatch kind-0" aria-hidden="true"></span>VEHICLE_NOT_FOUND</th><td class="number"><strong>1,200</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">1,200</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        <tr><th scope="row"><span class="swatch kind-1" aria-hidden="true"></span>INVALID_CONSENT</th><td class="number"><strong>4</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">4</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        </tbody>
        </table>
        </div>


        </section>

        <section class="week" aria-labelledby="searches">
        <h2 class="section" id="searches">Searches that found nothing</h2>

        <p class="quiet small">What buyers looked for and you do not offer, or what your listings do not say.</p>
        <div class="card"><svg class="chart" viewBox="-10 -6 720 146" role="img" aria-labelledby="searches-title searches-words">
        <title id="searches-title">Searches that found nothing</title><desc id="searches-words">Mon Apr 27: none; Tue Apr 28: none; Wed Apr 29: none; Thu Apr 30: 4 Searches; Fri May 1: none; Sat May 2: none; Sun May 3: none.</desc>
        <line x1="0" y1="120" x2="700" y2="120"/>
        <g><title>Mon Apr 27: none</title><rect class="hover" x="0" y="0" width="100" height="120"/><text x="50" y="137">Mon 27</text></g>
        <g><title>Tue Apr 28: none</title><rect class="hover" x="100" y="0" width="100" height="120"/><text x="150" y="137">Tue 28</text></g>
        <g><title>Wed Apr 29: none</title><rect class="hover" x="200" y="0" width="100" height="120"/><text x="250" y="137">Wed 29</text></g>
        <g><title>Thu Apr 30: 4 Searches</title><rect class="hover" x="300" y="0" width="100" height="120"/><rect class="kind-0" x="320" y="0" width="60" height="120"/><text x="350" y="137">Thu 30</text></g>
        <g><title>Fri May 1: none</title><rect class="hover" x="400" y="0" width="100" height="120"/><text x="450" y="137">Fri 1</text></g>
        <g><title>Sat May 2: none</title><rect class="hover" x="500" y="0" width="100" height="120"/><text x="550" y="137">Sat 2</text></g>
        <g><title>Sun May 3: none</title><rect class="hover" x="600" y="0" width="100" height="120"/><text x="650" y="137">Sun 3</text></g>
        </svg></div>
        <div class="scroll" tabindex="0" role="region" aria-label="Searches that found nothing, by day">
        <table>
        <caption class="unseen">Searches that found nothing, by day</caption>
        <thead><tr><th scope="col">Searches</th><th scope="col" class="number">Week</th><th scope="col" class="number">Mon 27</th><th scope="col" class="number">Tue 28</th><th scope="col" class="number">Wed 29</th><th scope="col" class="number">Thu 30</th><th scope="col" class="number">Fri 1</th><th scope="col" class="number">Sat 2</th><th scope="col" class="number">Sun 3</th></tr></thead>
        <tbody>
        <tr><th scope="row"><span class="swatch kind-0" aria-hidden="true"></span>Searches</th><td class="number"><strong>4</strong></td><td class="number">0</td><td class="number">0</td><td class="number">0</td><td class="number">4</td><td class="number">0</td><td class="number">0</td><td class="number">0</td></tr>
        </tbody>
        </table>
        </div>

        <div class="scroll" tabindex="0" role="region" aria-label="Words of these searches">
        <table>
        <caption class="unseen">Words of the searches that found nothing</caption>
        <thead><tr><th scope="col">Asked</th><th scope="col">How it was read</th><th scope="col" class="number">Searches</th></tr></thead>
        <tbody>
        <tr><th scope="row">hover car</th><td class="meaning">No listing has &#34;hover car&#34;.</td><td class="number">3</td></tr>
        <tr><th scope="row">&#60;script&#62;alert(1)&#60;/script&#62;</th><td class="meaning">No listing has &#34;&#60;script&#62;alert(1)&#60;/script&#62;&#34;.</td><td class="number">1</td></tr>
        </tbody>
        </table>
        </div>

        <p class="quiet small">Addresses, long numbers and links are removed before a text is stored. Texts are kept for 30 days.</p>


        </section>"#]].assert_eq(main_part(&page));
}

#[test]
fn a_week_names_no_customer_and_no_other_dealer() {
    let fixture = fixture();
    for name in ["dora", "maria", "egon", "group"] {
        let page = text(&fixture.enter(name).get("/console/week"));
        for theirs in ["Ada", "Lovelace", "example.com", "lead_", "submarine"] {
            assert!(!page.contains(theirs), "{name} sees {theirs}");
        }
        assert!(page.contains("hover car"), "{name}: {page}");
        // The desk may not see refusals one by one, nor the checklist.
        assert_eq!(page.contains("href=\"/console/refusals\""), name != "dora", "{name}");
    }
    let group = fixture.enter("group");
    let second = text(&group.get("/console/week?dealer=second"));
    assert!(second.contains("submarine") && !second.contains("hover car"), "{second}");
    assert!(second.contains("elsewhere") && !second.contains("shopper"), "{second}");
}

#[test]
fn weeks_lead_to_the_ones_beside_them() {
    let fixture = fixture();
    let maria = fixture.enter("maria");
    let present = text(&maria.get("/console/week"));
    let address = |week: &str| {
        format!("<a class=\"button plain\" href=\"/console/week?dealer={ONE}&#38;week={week}\"")
    };
    assert!(present.contains(&address("2026-W17")) && !present.contains(&address("2026-W19")));
    assert_eq!(main_part(&text(&maria.get("/console/week?week=2026-W18"))), main_part(&present));
    let before = text(&maria.get("/console/week?week=2026-W17"));
    assert!(before.contains("No agent has asked in this week"), "{before}");
    assert!(before.contains("<a href=\"/console/checklist\">"), "{before}");
    assert!(before.contains("Apr 20 to Apr 26, 2026"), "{before}");
    for week in ["2026-W16", "2026-W18"] {
        assert!(before.contains(&address(week)), "{week}: {before}");
    }
    let of_desk = text(&fixture.enter("dora").get("/console/week?week=2026-W17"));
    assert!(!of_desk.contains("/console/checklist"), "{of_desk}");
}
