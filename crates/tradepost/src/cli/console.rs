//! `tradepost console`: manages the users of the console, and lists the audit log of their actions.
//! A running server applies changes at its next request.

use std::io::Read as _;

use clap::{Subcommand, ValueEnum};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_admin::audit::{PageRecord, page_record, verify_chains};
use tradepost_admin::people::{
    AddMember, RemoveMember, ResetSecondFactor, SetPassword, StaffEmployer, StaffRefusal,
    add_member, remove_member, reset_second_factor, set_password, stored_name,
};
use tradepost_console::{name_bucket, password};
use tradepost_dealer::consent::hex;
use tradepost_dealer::local_time::short;
use tradepost_dealer::staff::{AuditEntry, EVERYBODY, RecordCheck, StaffRole, readable_detail};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json, object};
use tradepost_runtime::random;
use tradepost_server::auth::key::is_name;
use tradepost_server::clock::Clock;
use tradepost_store::Store;
use tradepost_store::staff::StaffMember;

use super::audit::not_done;
use super::operator::{admin, failure, operator};
use super::output::CommandFailure;
use super::output::table::Cells;
use super::output::table::TableColumn::Text;
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers};

/// Number of audit entries that are listed.
const ENTRIES: u32 = 1_000;

/// Subcommands of `tradepost console`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add, list, change and remove users.
    User {
        #[command(subcommand)]
        command: User,
    },
    /// List the audit log, or verify that nobody has tampered with it.
    Audit {
        /// Audit log to list: a dealer's id, or * for actions that concern all dealers.
        #[arg(long, value_name = "ID", default_value = EVERYBODY)]
        dealer: String,
        /// Verify the hash chains of all audit logs instead.
        #[arg(long, conflicts_with = "dealer")]
        verify: bool,
        #[command(flatten)]
        place: StoreOptions,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum User {
    /// Add a user. Without --password-stdin, the command generates a password and shows it once.
    Add {
        /// Name with which the user signs in.
        #[arg(value_parser = name)]
        name: String,
        /// Role of the user.
        #[arg(long, value_enum)]
        role: AccountKind,
        /// Dealer of the user: the id of a dealer of the configuration, of a hosted dealer, or of
        /// one that the store knows.
        #[arg(
            long,
            value_name = "ID",
            required_unless_present_any = ["all_dealers", "publisher"],
            conflicts_with = "publisher"
        )]
        dealer: Option<String>,
        /// Publisher of the user, instead of a dealer. The roles at a publisher are seller,
        /// approver and viewer.
        #[arg(long, value_name = "ID", conflicts_with = "all_dealers")]
        publisher: Option<String>,
        /// Give the user access to every dealer of the server.
        #[arg(long, conflicts_with = "dealer")]
        all_dealers: bool,
        /// Read the password from standard input.
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// List the users.
    List {
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Set a new password for a user, and end the user's sessions. Earlier failed sign-ins no
    /// longer lock the name.
    SetPassword {
        /// Name of the user.
        name: String,
        /// Read the password from standard input.
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Remove the second factor and the recovery codes of a user, and end the user's sessions. The
    /// user signs in with only the password until a new second factor is set up.
    ResetSecondFactor {
        /// Name of the user.
        name: String,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Remove a user, and end the user's sessions.
    Remove {
        /// Name of the user.
        name: String,
        #[command(flatten)]
        place: StoreOptions,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum AccountKind {
    /// At a dealer: reads leads and works on them.
    Desk,
    /// At a dealer: also releases and erases leads, and reads the audit log.
    Manager,
    /// Operates the server, without access to customer data.
    Engineer,
    /// At a publisher: reads, suspends, resumes, and records payments.
    Seller,
    /// At a publisher: also approves, declines, closes and grants, and reads the audit log.
    Approver,
    /// At a publisher: reads, and changes nothing.
    Viewer,
}

impl From<AccountKind> for StaffRole {
    fn from(kind: AccountKind) -> Self {
        match kind {
            AccountKind::Desk => Self::Desk,
            AccountKind::Manager => Self::Manager,
            AccountKind::Engineer => Self::Engineer,
            AccountKind::Seller => Self::Seller,
            AccountKind::Approver => Self::Approver,
            AccountKind::Viewer => Self::Viewer,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be used, or a name or a password is invalid.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    let now = Clock::system().now();
    match command {
        Command::User { command } => match command {
            User::Add { name, role, dealer, publisher, all_dealers: _, password_stdin, place } => {
                let role = role.into();
                let employer = match (&publisher, &dealer) {
                    (Some(id), _) => StaffEmployer::Publisher(id.clone()),
                    (None, Some(id)) => StaffEmployer::Dealer(id.clone()),
                    (None, None) => StaffEmployer::AllDealers,
                };
                // Before the store is opened, and the password read.
                employer.check_role(role).map_err(refused)?;
                let store = place.create(None, context)?;
                match &publisher {
                    Some(id) => publisher_known(id, &store, &place, context)?,
                    None => dealers::check_known(dealer.as_deref(), &store, &place, context)?,
                }
                let (text, is_shown) = new_password(password_stdin, &name)?;
                let password = password::hash(&text)?;
                let input = AddMember { name, employer, role, password };
                let added = add_member(&admin(&store, &[]), &operator(context), input);
                added.map_err(|error| failure(error, refused))?;
                print_password(&text, is_shown, context)
            }
            User::List { place } => list(&place.open(None, context)?, context),
            User::SetPassword { name, password_stdin, place } => {
                let store = place.open(None, context)?;
                let name = stored_name(&name);
                let (text, is_shown) = new_password(password_stdin, &name)?;
                let password = password::hash(&text)?;
                let sign_in_budget = name_bucket(&name);
                let input = SetPassword { name, password, sign_in_budget };
                let set = set_password(&admin(&store, &[]), &operator(context), input);
                set.map_err(|error| failure(error, refused))?;
                print_password(&text, is_shown, context)
            }
            User::ResetSecondFactor { name, place } => {
                let store = place.open(None, context)?;
                let input = ResetSecondFactor { name: name.clone() };
                let reset = reset_second_factor(&admin(&store, &[]), &operator(context), input);
                reset.map_err(|error| failure(error, refused))?;
                let name = stored_name(&name);
                let said = "signs in with only the password until a new second factor is set up";
                context.output.talk(format!("{name} {said}"));
                Ok(())
            }
            User::Remove { name, place } => {
                let store = place.open(None, context)?;
                let input = RemoveMember { name: name.clone() };
                let removed = remove_member(&admin(&store, &[]), &operator(context), input);
                removed.map_err(|error| failure(error, refused))?;
                let name = stored_name(&name);
                context.output.talk(format!("{name} was removed"));
                Ok(())
            }
        },
        Command::Audit { verify: true, place, .. } => check(&place.open(None, context)?, context),
        Command::Audit { dealer, place, .. } => {
            let store = place.open(None, context)?;
            super::audit::check_chain(Some(&dealer), &store, &place, context)?;
            audit(&store, &dealer, now, context)
        }
    }
}

/// Returns the failure for a refused operation on staff.
pub(super) fn refused(refusal: StaffRefusal) -> CommandFailure {
    match refusal {
        StaffRefusal::NameTaken => CommandFailure::usage("another user has this name")
            .hint("`tradepost console user list` lists all users"),
        StaffRefusal::UnknownMember(name) => {
            CommandFailure::usage(format!("there is no user {name}"))
                .hint("`tradepost console user list` lists all users")
        }
        StaffRefusal::WrongRole { role, possible } => {
            let whose = if role.is_of_publisher() { "a dealer" } else { "a publisher" };
            let possible: Vec<_> = possible.iter().map(|role| role.name()).collect();
            CommandFailure::usage(format!("{role} is not a role at {whose}"))
                .hint(format!("its roles are: {}", possible.join(", ")))
        }
        StaffRefusal::NoSecondFactor(name) => {
            CommandFailure::usage(format!("{name} has no second factor"))
        }
        StaffRefusal::NoPassword(name) => CommandFailure::usage(format!(
            "{name} signs in at a sign-in provider, without a password"
        ))
        .hint("`tradepost console user add` adds a user with a password"),
        StaffRefusal::OwnSecondFactor => {
            CommandFailure::usage("users cannot reset their own second factor")
        }
        StaffRefusal::UnknownSession => CommandFailure::usage("there is no such session"),
    }
}

/// Checks that the publisher is known: in the configuration, or without one in the store.
fn publisher_known(
    id: &str,
    store: &Store,
    place: &StoreOptions,
    context: &Context,
) -> Result<(), CommandFailure> {
    let Some(config) = place.load_config_if_there(context)? else {
        return dealers::check_known(Some(id), store, place, context);
    };
    if config.publishers.iter().any(|publisher| publisher.profile.id == id) {
        return Ok(());
    }
    Err(super::publisher::unknown(&config.publishers))
}

/// Reads the name of a user, as it is typed to sign in.
pub(super) fn name(text: &str) -> Result<String, String> {
    let text = text.to_lowercase();
    if is_name(&text) {
        return Ok(text);
    }
    Err("must be up to 64 letters, digits, dots, dashes and underscores, and begin with a letter or a \
         digit"
        .to_owned())
}

/// Returns the password, and true when it was generated and has to be shown.
fn new_password(from_stdin: bool, name: &str) -> Result<(String, bool), CommandFailure> {
    if !from_stdin {
        let made_up = random::token()?;
        return Ok((made_up, true));
    }
    let mut text = String::new();
    std::io::stdin()
        // More than the longest password is enough to see that it is too long.
        .take(4 * password::MAX_BYTES as u64)
        .read_to_string(&mut text)
        .map_err(CommandFailure::fault)?;
    let text = text.trim();
    let problems = password::problems(text, name);
    if !problems.is_empty() {
        let message = problems.join("; ");
        return Err(CommandFailure::usage(message).hint("use three or four unrelated words"));
    }
    Ok((text.to_owned(), false))
}

fn print_password(password: &str, is_shown: bool, context: &Context) -> Outcome {
    if is_shown {
        context.output.answer(&json!({"password": password}), password);
    }
    if is_shown && !context.output.is_json() {
        context.output.talk("the password is shown only this time; the store has only its hash");
    }
    Ok(())
}

fn list(store: &Store, context: &Context) -> Outcome {
    let members = store.members(None)?;
    let with_factor = store.second_factor_names()?;
    let document = |member: &StaffMember| {
        let is_of_publisher = member.role.is_of_publisher();
        let whose = member.dealer_id.as_ref();
        object!({
            "name": member.name, "role": member.role,
            "dealer": whose.filter(|_| !is_of_publisher),
            "publisher"?: whose.filter(|_| is_of_publisher),
            "created_at": rfc3339(member.created_at),
            "second_factor": with_factor.contains(&member.name),
        })
    };
    let nothing = "there are no users; add one with `tradepost console user add`";
    let columns: [Cells<'_, StaffMember>; 3] = [
        (Text("NAME"), &|member| member.name.clone()),
        (Text("ROLE"), &|member| member.role.name().to_owned()),
        (Text("OF"), &|member| member.dealer_id.clone().unwrap_or("every one".to_owned())),
    ];
    context.output.list(&members, document, nothing, &columns);
    Ok(())
}

fn audit(store: &Store, chain: &str, now: Timestamp, context: &Context) -> Outcome {
    let input = PageRecord { chain: chain.to_owned(), before: None, limit: ENTRIES };
    let entries = page_record(&admin(store, &[]), &operator(context), input);
    let entries = entries.map_err(not_done)?;
    let document = |entry: &AuditEntry| {
        json!({
            "seq": entry.seq, "at": rfc3339(entry.said.at), "actor": entry.said.actor,
            "action": entry.said.action, "subject": entry.said.subject,
            "detail": entry.said.detail, "hash": hex(&entry.hash),
        })
    };
    entries_of(&[], &entries, document, now, context);
    Ok(())
}

/// Lists audit entries; the columns of `first` precede those of every such list.
pub(super) fn entries_of(
    first: &[Cells<'_, AuditEntry>],
    entries: &[AuditEntry],
    document: impl Fn(&AuditEntry) -> Value,
    now: Timestamp,
    context: &Context,
) {
    let columns: [Cells<'_, AuditEntry>; 6] = [
        (Text("NO"), &|entry| entry.seq.to_string()),
        (Text("WHEN"), &|entry| short(entry.said.at, &TimeZone::UTC, now)),
        (Text("WHO"), &|entry| entry.said.actor.clone()),
        (Text("DID"), &|entry| entry.said.action.name().to_owned()),
        (Text("WITH"), &|entry| entry.said.subject.clone().unwrap_or_default()),
        (Text("DETAIL"), &|entry| {
            entry.said.detail.as_deref().and_then(readable_detail).unwrap_or_default()
        }),
    ];
    let columns = [first, &columns].concat();
    context.output.list(entries, document, "the audit log has no such entries", &columns);
}

fn check(store: &Store, context: &Context) -> Outcome {
    let checks = verify_chains(&admin(store, &[]), &operator(context)).map_err(not_done)?;
    if context.output.is_json() {
        let document = |check: &RecordCheck| {
            json!({
                "of": check.chain, "entries": check.entries, "head": hex(&check.head),
                "tampered_with": check.faults,
            })
        };
        context.output.document(&checks.iter().map(document).collect::<Vec<_>>());
    } else {
        for RecordCheck { chain, entries, head, .. } in &checks {
            context.output.line(format!("{chain}: {entries} entries, head {}", hex(head)));
        }
    }
    let chain_faults = |RecordCheck { chain, faults, .. }: &RecordCheck| {
        let entry_fault = |seq| format!("{chain}: entry {seq} or one before it");
        faults.iter().map(entry_fault).collect::<Vec<_>>()
    };
    let faults: Vec<_> = checks.iter().flat_map(chain_faults).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(CommandFailure::new(1, "the audit log was tampered with").lines(faults))
}
