//! Checks of protocol versions and extensions (A2A §3.6, §4.6).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::json;

use crate::binding::Binding;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail_if, not_applicable, not_applicable_if, pass_if,
    verdict_of, warn,
};
use crate::reply::ProbedAnswer;
use crate::run::{HeaderOverride, ProbeRun, RequestOverrides};

const WHY: &str =
    "A client of another version would misread the answers; it has to be told before work starts.";
const FIX: &str =
    "compare Major.Minor of A2A-Version with the interface's protocolVersion before anything else";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.version.card-is-true", Binding, Must, ["V-09"], "A2A §8.3.1",
    "The version of the card is accepted", WHY, FIX => accepted(HeaderOverride::Text("1.0"), "");
    "a2a.version.unsupported", Binding, Must, ["V-03"], "A2A §3.6.2",
    "A version that the agent does not speak is refused", WHY, FIX => refused("9.9");
    "a2a.version.later-minor", Binding, Must, ["V-03"], "A2A §3.6.2",
    "A later minor version that the card does not offer is refused", WHY, FIX => refused("1.1");
    "a2a.version.nonsense", Binding, Must, ["V-03"], "A2A §3.6.2",
    "A version that is none is refused", WHY, FIX => refused("latest");
    "a2a.version.every-operation", Binding, Must, ["V-03"], "A2A §3.6.2",
    "The version is checked on every operation", WHY, FIX => every_operation();
    "a2a.version.absent", Binding, Must, ["V-04"], "A2A §3.6.2",
    "A request without a version is one of 0.3, and refused by an interface of 1.0", WHY, FIX => absent(HeaderOverride::Absent);
    "a2a.version.empty", Binding, Must, ["V-04"], "A2A §3.6.2",
    "A request with an empty version is one of 0.3, and refused by an interface of 1.0", WHY, FIX => absent(HeaderOverride::Text(""));
    "a2a.version.patch", Binding, Must, ["V-05"], "A2A §3.6",
    "The patch number is not considered: 1.0.3 is 1.0", WHY, FIX => accepted(HeaderOverride::Text("1.0.3"), "");
    "a2a.version.query", Binding, Must, ["V-06"], "A2A §3.6.1",
    "The version may be a query parameter in place of the header", "Not every client can set headers.",
    "read A2A-Version from the query when there is no header" => accepted(HeaderOverride::Absent, "A2A-Version=1.0");
    "a2a.extension.unknown", Binding, Should, ["X-02"], "A2A §4.6.3",
    "An extension that the agent does not know is ignored", "Clients ask for all that they know.",
    "ignore what is not yours" => unknown_extension();
    "a2a.extension.list", Binding, Must, ["X-05"], "A2A §3.2.6",
    "A2A-Extensions is a list, whatever else is on it", "Clients name several extensions in one header.",
    "split the header at commas" => extension_list();
    "a2a.extension.required", Binding, Must, ["X-01"], "A2A §3.3.4",
    "A request without a required extension is refused with -32008", "A client that does not know the extension would misread the answers.",
    "refuse it on every operation, and name the URI" => extension_required();
    "a2a.extension.echo", Binding, Should, ["X-04"], "A2A §4.6.2",
    "The answer lists the extensions that it activated", "A client has to know whether its wish was heard.",
    "send A2A-Extensions with the activated URIs" => extension_echo();
];

/// Requests a task that does not exist: the error shows whether the headers were accepted.
async fn ask(
    run: &mut ProbeRun,
    overrides: RequestOverrides<'_>,
) -> Result<ProbedAnswer, CheckVerdict> {
    let id = run.unknown_id();
    run.ask(overrides, Operation::GetTask, json!({"id": id})).await
}

async fn refused(run: &mut ProbeRun, version: &str) -> CheckResult {
    let offered = run.card.iter().flat_map(|card| card.interfaces.iter());
    let holds = offered.clone().any(|interface| interface.protocol_version == version);
    not_applicable_if(holds, format!("the card offers {version}"))?;
    let reply = ask(
        run,
        RequestOverrides { version: HeaderOverride::Text(version), ..RequestOverrides::default() },
    )
    .await?;
    reply.refused(&[A2aCode::VersionNotSupported])
}

async fn accepted(run: &mut ProbeRun, version: HeaderOverride<'_>, query: &str) -> CheckResult {
    not_applicable_if(
        run.binding == Binding::Grpc && !query.is_empty(),
        "calls of gRPC have no query",
    )?;
    let reply =
        ask(run, RequestOverrides { version, query, ..RequestOverrides::default() }).await?;
    pass_if(!reply.is(A2aCode::VersionNotSupported), format!("it is refused: {}", reply.describe()))
}

async fn every_operation(run: &mut ProbeRun) -> CheckResult {
    let id = run.unknown_id();
    // If the version is ignored, the unknown task stops the message.
    let message = run.about(Operation::SendMessage, &id);
    let mut wrong = Vec::new();
    for (operation, params) in [
        (Operation::SendMessage, message),
        (Operation::GetTask, json!({"id": id})),
        (Operation::ListTasks, json!({"pageSize": 1})),
        (Operation::CancelTask, json!({"id": id})),
    ] {
        let asked = RequestOverrides {
            version: HeaderOverride::Text("9.9"),
            ..RequestOverrides::default()
        };
        let reply = run.ask(asked, operation, params).await?;
        if reply.refused(&[A2aCode::VersionNotSupported]).is_err() {
            wrong.push(format!("{operation}: {}", reply.describe()));
        }
    }
    verdict_of(&wrong)
}

async fn absent(run: &mut ProbeRun, version: HeaderOverride<'_>) -> CheckResult {
    not_applicable_if(
        run.speaks_aap,
        "AAP's own requests name no version (requirements aap.md C-33)",
    )?;
    let mut offered = run.card.iter().flat_map(|card| card.interfaces.iter());
    let holds = offered.any(|interface| interface.protocol_version.starts_with("0.3"));
    not_applicable_if(holds, "the card offers 0.3")?;
    let reply = ask(run, RequestOverrides { version, ..RequestOverrides::default() }).await?;
    reply.refused(&[A2aCode::VersionNotSupported])
}

async fn unknown_extension(run: &mut ProbeRun) -> CheckResult {
    let mut wanted = run.required_extensions();
    wanted.push("urn:tradepost:probe:unknown".to_owned());
    let list = wanted.join(",");
    let reply = ask(
        run,
        RequestOverrides { extensions: HeaderOverride::Text(&list), ..RequestOverrides::default() },
    )
    .await?;
    reply.refused(&[A2aCode::TaskNotFound, A2aCode::UnsupportedOperation])
}

/// Returns the extensions of the card.
fn declared(run: &ProbeRun) -> Result<Vec<String>, CheckVerdict> {
    let extensions = run.card.iter().flat_map(|card| card.extensions.iter());
    let uris: Vec<_> = extensions.map(|extension| extension.uri.clone()).collect();
    if uris.is_empty() { not_applicable("the card declares no extension") } else { Ok(uris) }
}

async fn extension_list(run: &mut ProbeRun) -> CheckResult {
    let list = format!("urn:tradepost:probe:unknown, {}", declared(run)?.join(" ,"));
    let reply = ask(
        run,
        RequestOverrides { extensions: HeaderOverride::Text(&list), ..RequestOverrides::default() },
    )
    .await?;
    fail_if(reply.is(A2aCode::ExtensionSupportRequired), "the extension is not found in the list")?;
    reply.refused(&[A2aCode::TaskNotFound, A2aCode::UnsupportedOperation])
}

async fn extension_required(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(run.required_extensions().is_empty(), "the card requires no extension")?;
    let reply = ask(
        run,
        RequestOverrides { extensions: HeaderOverride::Absent, ..RequestOverrides::default() },
    )
    .await?;
    if run.speaks_aap && !reply.is(A2aCode::ExtensionSupportRequired) {
        // AAP v1.0's card requires its extension, and its example requests do not name it (aap.md C-32).
        let text = "the card requires AAP's extension and the agent does not insist on it";
        return warn(text.to_owned());
    }
    reply.refused(&[A2aCode::ExtensionSupportRequired])
}

async fn extension_echo(run: &mut ProbeRun) -> CheckResult {
    let declared = declared(run)?;
    let list = declared.join(", ");
    let reply = ask(
        run,
        RequestOverrides { extensions: HeaderOverride::Text(&list), ..RequestOverrides::default() },
    )
    .await?;
    let sample = match run.sample_with(&list).await {
        Ok(sample) => sample,
        // An error about a task may activate no extension.
        Err(_) => reply,
    };
    let echoed = sample.response.header("a2a-extensions").unwrap_or_default();
    let holds = declared.iter().any(|uri| echoed.contains(uri.as_str()));
    pass_if(holds, format!("asked for {list}, the answer lists {echoed:?}"))
}

impl ProbeRun {
    /// Sends a harmless message with these extensions.
    async fn sample_with(&mut self, extensions: &str) -> Result<ProbedAnswer, CheckVerdict> {
        self.sample().await?;
        let message = self.message("probe");
        let asked = RequestOverrides {
            extensions: HeaderOverride::Text(extensions),
            ..RequestOverrides::default()
        };
        self.ask(asked, Operation::SendMessage, json!({"message": message})).await
    }
}
