//! The first buyer agent with its key, and the first person who approves.

use std::path::{Path, PathBuf};

use tradepost_admin::keys::{CreateKey, create_key};
use tradepost_admin::people::{AddMember, StaffEmployer, add_member};
use tradepost_console::password;
use tradepost_dealer::staff::StaffRole;
use tradepost_document::json::json;
use tradepost_runtime::random;
use tradepost_server::auth::key::NewApiKey;
use tradepost_server::clock::Clock;
use tradepost_server::private_file::{create_folder, write_new};
use tradepost_store::{ApiKey, Store};

use super::super::draft::{Draft, SECRETS};
use super::super::prompt::{Dialogue, Question};
use super::{NONE, PUBLISHER};
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::CommandFailure;
use crate::cli::store_location::StoreOptions;
use crate::cli::{Context, Outcome, console, data_folder, keys};

/// First person who approves.
pub(super) struct FirstApprover {
    name: String,
    password: String,
    /// True when the password was made here, and has to be shown.
    is_made: bool,
}

/// Asks for the first buyer agent, which gets a key. Returns its id.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask_agent(
    dialogue: &mut Dialogue,
    draft: &mut Draft,
) -> Result<Option<String>, CommandFailure> {
    let question = Question::new(
        "Id of the first buyer agent, which gets a key (none: later)",
        "write small letters, digits and hyphens, such as the agency's name",
    );
    let question = question.with_default("first-buyer");
    dialogue.until_accepted(question.hint, |dialogue| {
        let answer = dialogue.ask(&question)?;
        if answer.eq_ignore_ascii_case(NONE) {
            return Ok(None);
        }
        let mut candidate = draft.clone();
        let agent = candidate.add(PUBLISHER, "agents");
        candidate.set(&agent, "id", json!(answer));
        candidate.set(&agent, "credentials", json!([answer]));
        draft.accept(candidate, &[agent])?;
        Ok(Some(answer))
    })
}

/// Asks for the first person who approves in the console.
///
/// # Errors
/// Fails when the input has ended.
pub(super) fn ask_approver(
    dialogue: &mut Dialogue,
) -> Result<Option<FirstApprover>, CommandFailure> {
    let question = Question::new("Sign-in name of the first approver (none: later)", "");
    let question = question.with_default("approver");
    let name = dialogue.until_accepted(question.hint, |dialogue| {
        let answer = dialogue.ask(&question)?;
        if answer.eq_ignore_ascii_case(NONE) {
            return Ok(None);
        }
        let name = console::name(&answer).map_err(|reason| vec![reason])?;
        Ok(Some(name))
    })?;
    let Some(name) = name else { return Ok(None) };
    dialogue.until_accepted("use three or four unrelated words", |dialogue| {
        let first =
            dialogue.ask_secret("Password, of 12 characters or more (empty: one is made)")?;
        if first.is_empty() {
            let password = random::token()?;
            return Ok(Some(FirstApprover { name: name.clone(), password, is_made: true }));
        }
        let mut problems = password::problems(&first, &name);
        if problems.is_empty() && dialogue.ask_secret("The same password again")? != first {
            problems.push("the two passwords differ".to_owned());
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        Ok(Some(FirstApprover { name: name.clone(), password: first, is_made: false }))
    })
}

/// Configuration whose store gets people and keys.
#[derive(Clone, Copy)]
pub(super) struct StaffPlace<'a> {
    pub(super) folder: &'a Path,
    pub(super) config: &'a Path,
    pub(super) publisher_id: &'a str,
}

impl StaffPlace<'_> {
    fn store(&self, context: &Context) -> Result<Store, CommandFailure> {
        let place = StoreOptions::folder(&self.folder.join(data_folder::DATA));
        place.with_config(Some(PathBuf::from(self.config))).create(None, context)
    }

    /// Adds the first approver.
    pub(super) fn add_approver(&self, approver: FirstApprover, context: &Context) -> Outcome {
        let FirstApprover { name, password, is_made } = approver;
        let store = self.store(context)?;
        let input = AddMember {
            name: name.clone(),
            employer: StaffEmployer::Publisher(self.publisher_id.to_owned()),
            role: StaffRole::Approver,
            password: password::hash(&password)?,
        };
        let added = add_member(&admin(&store, &[]), &operator(context), input);
        added.map_err(|error| failure(error, console::refused))?;
        context.output.line(format!("approver {name} can sign in to the console"));
        if is_made {
            context.output.line(format!("password, which is shown only this time: {password}"));
        }
        Ok(())
    }

    /// Creates the key of an agent, and writes it to a file.
    pub(super) fn add_key(&self, agent: &str, context: &Context) -> Outcome {
        let store = self.store(context)?;
        let fresh = NewApiKey::generate()?;
        let path = self.write_key(agent, &fresh.text).map_err(|error| {
            CommandFailure::usage(format!("cannot write the key of {agent}: {}", error.kind()))
                .hint(format!(
                    "create one: tradepost keys create --publisher {} --name {agent}",
                    self.publisher_id
                ))
        })?;
        let key = ApiKey {
            id: fresh.id,
            agent_id: self.publisher_id.to_owned(),
            name: agent.to_owned(),
            hash: fresh.hash,
            scopes: None,
            created_at: Clock::system().now(),
            expires_at: None,
            revoked_at: None,
            last_used_on: None,
        };
        // A folder that was used before may have a key of this name.
        let input = CreateKey { key, same_caller: true };
        let created = create_key(&admin(&store, &[]), &operator(context), input);
        created.map_err(|error| failure(error, keys::refused))?;
        context
            .output
            .line(format!("the key of {agent} is in {}, which only you can read", path.display()));
        Ok(())
    }

    /// Writes a key to a new file; an earlier one keeps its name.
    fn write_key(&self, agent: &str, text: &str) -> std::io::Result<PathBuf> {
        let folder = self.folder.join(SECRETS);
        create_folder(&folder)?;
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = folder.join(format!("{agent}-key{suffix}"));
            match write_new(&path, format!("{text}\n").as_bytes()) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}
