//! `tradepost leads assign`, `stage` and `next`: who has a lead, how far it is, and what comes next.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_admin::leads::work::{
    AssignLeads, CompleteNextStep, LeadSelection, LeadsChanged, MAX_LEADS, RefusedLead,
    SetLeadStages, SetNextStep, assign_leads, complete_next_step, set_lead_stages, set_next_step,
};
use tradepost_admin::leads::{LeadChanged, LeadRefusal};
use tradepost_admin::people::stored_name;
use tradepost_dealer::appointment::change::WantedTime;
use tradepost_dealer::staff::lead_work::ExpectedOwner;
use tradepost_dealer::staff::{LostReason, NextStep, NextStepKind, StaffStage};
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_store::Store;

use super::selection::Selection;
use super::{StoreOptions, beginning_of_date, history, refused};
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::{CommandFailure, explained};
use crate::cli::{Context, Outcome};

/// Leads to change: by their ids, or all that are selected.
#[derive(Debug, clap::Args)]
pub(super) struct ChosenLeads {
    /// Lead ids.
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// Change all leads that the options select, up to 10,000 at once.
    #[arg(long)]
    all: bool,
    /// Make the change. Without --yes, --all changes nothing and fails with the number of selected
    /// leads.
    #[arg(long, requires = "all")]
    yes: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost leads assign`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Assign {
    #[command(flatten)]
    leads: ChosenLeads,
    /// Member who has the leads from now on.
    #[arg(long, value_name = "NAME", required_unless_present = "nobody")]
    to: Option<String>,
    /// Nobody has them from now on.
    #[arg(long, conflicts_with = "to")]
    nobody: bool,
    /// Leave leads alone that another than this member owns.
    #[arg(long, value_name = "NAME")]
    if_owner: Option<String>,
    /// Leave leads alone that anybody owns.
    #[arg(long, conflicts_with = "if_owner")]
    if_unassigned: bool,
}

/// Arguments of `tradepost leads stage`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Stage {
    #[command(flatten)]
    leads: ChosenLeads,
    /// Stage from now on.
    #[arg(long, value_parser = explained::<StaffStage>())]
    stage: StaffStage,
    /// Reason for which the leads are lost.
    #[arg(long, value_parser = explained::<LostReason>())]
    reason: Option<LostReason>,
}

/// Arguments of `tradepost leads next`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Next {
    /// Lead id.
    id: String,
    /// What comes next.
    #[arg(
        long, value_name = "KIND", value_parser = explained::<NextStepKind>(), requires = "at",
        required_unless_present_any = ["done", "remove"]
    )]
    step: Option<NextStepKind>,
    /// Time at which it is due: local time of the lead's rooftop (2026-05-03T11:00), a date, which
    /// means its beginning there, or a time with an offset. Local time is UTC if the time zone of
    /// the rooftop is not known.
    #[arg(long, value_name = "TIME", value_parser = due_time, requires = "step")]
    at: Option<WantedTime>,
    /// The step is done.
    #[arg(long, conflicts_with_all = ["step", "remove"])]
    done: bool,
    /// The step is no longer to be done.
    #[arg(long, conflicts_with = "step")]
    remove: bool,
    #[command(flatten)]
    place: StoreOptions,
}

/// Runs `tradepost leads assign`.
pub(super) fn assign(arguments: Assign, context: &Context) -> Outcome {
    let Assign { leads, to, nobody: _, if_owner, if_unassigned } = arguments;
    let expected = match (if_unassigned, if_owner) {
        (true, _) => ExpectedOwner::Nobody,
        (false, Some(name)) => ExpectedOwner::Member(stored_name(&name)),
        (false, None) => ExpectedOwner::Anyone,
    };
    let store = leads.place.open(None, context)?;
    let context_of_admin = admin(&store, &[]);
    let selected = leads.selected(&store, context_of_admin.now, context)?;
    let input = AssignLeads { leads: selected, owner: to.clone(), expected };
    let result = assign_leads(&context_of_admin, &operator(context), input);
    let result = result.map_err(|error| failure(error, refused))?;
    let word = to.map_or("now nobody's".to_owned(), |name| format!("assigned to {name}"));
    print_result(&result, &word, context)
}

/// Runs `tradepost leads stage`.
pub(super) fn stage(arguments: Stage, context: &Context) -> Outcome {
    let Stage { leads, stage, reason } = arguments;
    let store = leads.place.open(None, context)?;
    let context_of_admin = admin(&store, &[]);
    let selected = leads.selected(&store, context_of_admin.now, context)?;
    let input = SetLeadStages { leads: selected, stage, lost_reason: reason };
    let result = set_lead_stages(&context_of_admin, &operator(context), input);
    let result = result.map_err(|error| failure(error, refused))?;
    print_result(&result, &format!("now {stage}"), context)
}

/// Runs `tradepost leads next`.
pub(super) fn next(arguments: Next, context: &Context) -> Outcome {
    let Next { id, step, at, done, remove: _, place } = arguments;
    let store = place.open(None, context)?;
    let admin = admin(&store, &[]);
    let actor = operator(context);
    let step = match step.zip(at) {
        Some((kind, at)) => Some(NextStep { kind, at: due_moment(at, &store, &id)? }),
        None => None,
    };
    let changed = match step {
        Some(step) => set_next_step(&admin, &actor, SetNextStep { lead_id: id, step }),
        None => {
            let input = CompleteNextStep { lead_id: id, is_done: done };
            complete_next_step(&admin, &actor, input)
        }
    };
    let LeadChanged { lead_id, is_changed } = changed.map_err(|error| failure(error, refused))?;
    let shown = step.map(|step| json!({"kind": step.kind, "at": rfc3339(step.at)}));
    let document = json!({"lead_id": lead_id, "next_step": shown, "changed": is_changed});
    let text = match (step, is_changed) {
        (Some(step), true) => format!("{lead_id}: next {}", step.detail()),
        (Some(_), false) => format!("{lead_id}: this is the next step already"),
        (None, true) if done => format!("{lead_id}: the next step is done"),
        (None, true) => format!("{lead_id}: the next step is removed"),
        (None, false) => format!("{lead_id}: there is no next step"),
    };
    context.output.answer(&document, text);
    Ok(())
}

/// Reads a time as people write it. A date means its beginning.
fn due_time(text: &str) -> Result<WantedTime, String> {
    let beginning = || beginning_of_date(text).map(WantedTime::Local);
    WantedTime::parse(text).or_else(beginning).ok_or_else(|| {
        "write a local time of the rooftop such as 2026-05-03T11:00, a date such as 2026-05-03, or \
         a time with an offset such as 2026-05-03T11:00:00-07:00"
            .to_owned()
    })
}

/// Returns the moment at which a step is due, in the time zone of the lead's rooftop.
fn due_moment(at: WantedTime, store: &Store, lead_id: &str) -> Result<Timestamp, CommandFailure> {
    let zone = match at {
        WantedTime::Local(_) => history(store, lead_id)?.lead.zone(),
        WantedTime::Exact(_) => TimeZone::UTC,
    };
    at.resolve(&zone).ok_or_else(|| {
        CommandFailure::usage("the time of the next step is out of range")
            .hint("name a time before the year 9999")
    })
}

impl ChosenLeads {
    /// Returns the leads to change. Fails with the number of selected leads when `--all` is given
    /// without `--yes`.
    fn selected(
        &self,
        store: &Store,
        now: Timestamp,
        context: &Context,
    ) -> Result<LeadSelection<'_>, CommandFailure> {
        self.selection.check_dealer(store, &self.place, context)?;
        if !self.all {
            if self.selection.is_narrowed() {
                return Err(CommandFailure::usage("options that select leads need --all")
                    .hint("name leads by their ids, or add --all"));
            }
            return Ok(LeadSelection::Ids(self.ids.clone()));
        }
        let filter = self.selection.filter(now);
        if !self.yes {
            let number = store.count_leads(&filter)?;
            return Err(CommandFailure::usage(format!("the options select {number} leads"))
                .hint("add --yes to change all of them; `tradepost leads list` shows them")
                .data(json!({"leads": number})));
        }
        Ok(LeadSelection::Filter(filter))
    }
}

/// Prints the result of a change of many leads.
fn print_result(result: &LeadsChanged, word: &str, context: &Context) -> Outcome {
    let document = json!({
        "changed": result.changed,
        "unchanged": result.unchanged,
        "refused": result.refused.iter().map(refused_lead).collect::<Vec<_>>(),
        "is_cut": result.is_cut,
    });
    if context.output.is_json() && result.refused.is_empty() {
        context.output.document(&document);
    } else if !context.output.is_json() {
        for id in &result.changed {
            context.output.line(format!("{id} is {word}"));
        }
        if !result.unchanged.is_empty() {
            let number = result.unchanged.len();
            context.output.talk(format!("{number} stood so already"));
        }
    }
    if result.is_cut {
        let text = format!("more than {MAX_LEADS} leads are selected: run the command again");
        context.output.talk(text);
    }
    if result.refused.is_empty() {
        return Ok(());
    }
    let lines = result
        .refused
        .iter()
        .map(|one| format!("{}: {}", one.lead_id, refused(one.refusal.clone()).message));
    Err(CommandFailure::usage(format!("{} leads were left alone", result.refused.len()))
        .data(document)
        .lines(lines.collect()))
}

fn refused_lead(lead: &RefusedLead) -> Value {
    let owner =
        if let LeadRefusal::OwnedBy(owner) = &lead.refusal { owner.as_deref() } else { None };
    json!({
        "lead_id": lead.lead_id,
        "reason": lead.refusal.name(),
        "message": refused(lead.refusal.clone()).message,
        "owner": owner,
    })
}
