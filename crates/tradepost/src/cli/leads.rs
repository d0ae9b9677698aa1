//! `tradepost leads`: read, show and export the leads received.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use tradepost_wire::format;

use super::output::Failure;
use super::output::table::Fit;
use super::{Context, Outcome, check_config, dealers};
use crate::aap::adf;
use crate::config::{Dealer, read};
use crate::store::{LeadRecord, Store};

pub mod export;
#[cfg(test)]
mod tests;
pub mod text;

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the leads, newest first.
    List(Selection),
    /// Show all that is known about a lead, consent included.
    Show {
        /// The lead.
        id: String,
        #[command(flatten)]
        place: Place,
    },
    /// Write leads to standard output for other programs.
    Export(Export),
}

#[derive(Debug, clap::Args)]
struct Place {
    /// The folder in which `serve` keeps its data.
    #[arg(long, value_name = "DIR", default_value = dealers::DATA)]
    data: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Selection {
    #[command(flatten)]
    place: Place,
    /// Only leads of this dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Only leads received since this date (UTC) or moment.
    #[arg(long, value_name = "DATE", value_parser = since)]
    since: Option<Timestamp>,
}

#[derive(Debug, clap::Args)]
struct Export {
    #[command(flatten)]
    selection: Selection,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Include submissions that repeat an earlier lead; each has its own consent.
    #[arg(long)]
    duplicates: bool,
    /// The configuration that describes the dealers, for adf. Without it a dealer is named by its
    /// id and has no contact.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Describe the demo's dealer, for adf.
    #[arg(long, conflicts_with = "config")]
    demo: bool,
    /// adf: how the prolog is written.
    #[arg(long, value_enum, default_value_t = Prolog::Xml)]
    adf_prolog: Prolog,
    /// adf: how the customer's name is written.
    #[arg(long, value_enum, default_value_t = Names::Full)]
    adf_names: Names,
    /// adf: what stands for a vehicle of interest that the lead does not name.
    #[arg(long, value_enum, default_value_t = NoVehicle::Unknown)]
    adf_no_vehicle: NoVehicle,
    /// adf: write contact values that no consented channel can use, too. Whoever receives them
    /// must keep to the CONSENT line.
    #[arg(long)]
    adf_all_contacts: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// An array of the records as they are kept.
    Json,
    /// RFC 4180, with a header; safe to open in a spreadsheet.
    Csv,
    /// ADF 1.0, for CRM systems.
    Adf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Prolog {
    /// Well-formed XML.
    Xml,
    /// As in the original ADF text, which is not well-formed XML.
    Legacy,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Names {
    /// One element.
    Full,
    /// First and last name apart.
    Parts,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NoVehicle {
    /// A vehicle whose year, make and model are Unknown.
    Unknown,
    /// An empty element, which the DTD forbids.
    Empty,
    /// Nothing, which the DTD forbids unless there is a trade-in.
    Omit,
}

/// Runs it.
///
/// # Errors
/// When the store cannot be read, or there is no such lead.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    match arguments.command {
        Command::List(selection) => {
            let leads = select(&open(&selection.place)?, &selection)?;
            if context.output.is_json() {
                context.output.raw(export::json(&leads).as_bytes());
            } else if leads.is_empty() {
                context.output.talk("no leads");
            } else {
                context.output.line(text::table(Fit::Terminal, &leads));
            }
        }
        Command::Show { id, place } => {
            let submissions = open(&place)?.lead(&id).map_err(|fault| Failure::fault(&fault))?;
            if submissions.is_empty() {
                return Err(Failure::usage("there is no such lead")
                    .hint("`tradepost leads list` names them"));
            }
            if context.output.is_json() {
                context.output.raw(export::json(&submissions).as_bytes());
            } else {
                context.output.line(text::details(&submissions).trim_end());
            }
        }
        Command::Export(arguments) => write(&arguments, context)?,
    }
    Ok(())
}

/// Exports.
fn write(arguments: &Export, context: &Context) -> Outcome {
    // The configuration first: its mistakes should not wait for the store.
    let dealers = dealers(arguments, context)?;
    let store = open(&arguments.selection.place)?;
    let mut leads = select(&store, &arguments.selection)?;
    if arguments.duplicates {
        let mut all = Vec::new();
        for lead in &leads {
            let submissions = store.lead(&lead.lead_id);
            all.extend(submissions.map_err(|fault| Failure::fault(&fault))?);
        }
        leads = all;
    }
    match arguments.format {
        Format::Json => context.output.raw(export::json(&leads).as_bytes()),
        Format::Csv => {
            let csv = export::csv(&leads).map_err(|error| Failure::fault(&error))?;
            context.output.raw(&csv);
        }
        Format::Adf => match adf::write(&leads, &dealers, &arguments.options()) {
            Some(document) => context.output.raw(document.as_bytes()),
            None => context.output.talk("no leads, and ADF has no empty document"),
        },
    }
    Ok(())
}

impl Export {
    fn options(&self) -> adf::Options {
        adf::Options {
            prolog: match self.adf_prolog {
                Prolog::Xml => adf::Prolog::Xml,
                Prolog::Legacy => adf::Prolog::Legacy,
            },
            names: match self.adf_names {
                Names::Full => adf::NameParts::Full,
                Names::Parts => adf::NameParts::FirstLast,
            },
            no_vehicle: match self.adf_no_vehicle {
                NoVehicle::Unknown => adf::NoVehicle::Unknown,
                NoVehicle::Empty => adf::NoVehicle::Empty,
                NoVehicle::Omit => adf::NoVehicle::Omit,
            },
            contacts: if self.adf_all_contacts {
                adf::ContactValues::All
            } else {
                adf::ContactValues::Consented
            },
        }
    }
}

fn dealers(arguments: &Export, context: &Context) -> Result<Vec<Dealer>, Failure> {
    match &arguments.config {
        Some(path) => Ok(check_config::load(path, &context.environment)?.dealers),
        None if arguments.demo => Ok(read::demo().dealers),
        None => Ok(Vec::new()),
    }
}

fn open(place: &Place) -> Result<Store, Failure> {
    // Opening creates, which would hide a mistyped folder.
    if !place.data.is_dir() {
        let message = format!("there is no folder {}", place.data.display());
        return Err(Failure::usage(message).hint("name the folder of `serve` with --data"));
    }
    Store::open(&place.data).map_err(|fault| Failure::fault(&fault))
}

fn select(store: &Store, selection: &Selection) -> Result<Vec<LeadRecord>, Failure> {
    let mut leads =
        store.leads(selection.dealer.as_deref()).map_err(|fault| Failure::fault(&fault))?;
    if let Some(since) = selection.since {
        leads.retain(|lead| lead.received_at >= since);
    }
    Ok(leads)
}

fn since(text: &str) -> Result<Timestamp, String> {
    let midnight = || {
        let date: civil::Date = text.parse().ok().filter(|_| format::is_date(text))?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    format::timestamp(text).or_else(midnight).ok_or_else(|| {
        "write a date such as 2026-05-03 or a moment such as 2026-05-03T11:00:00-07:00".to_owned()
    })
}
