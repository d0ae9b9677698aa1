//! A client as buyers have one: messages of types that are generated from the definition, and the
//! details of an error by their types.

use crate::conformance::Profile;
use prost::Message as _;
use prost_types::value::Kind;
use tonic::Code;
use types::a2a::part::Content;
use types::a2a::stream_response::Payload;
use types::a2a::{self, TaskState};
use types::rpc;

use super::client::{Client, Raw, SERVICE};
use super::start_agent;

#[rustfmt::skip]
#[expect(dead_code, clippy::enum_variant_names, reason = "generated; a test needs some of it")]
#[path = "../../../../protocol/tests/tests/it/protobuf/types.rs"]
mod types;

fn call<T: prost::Message + Default>(
    client: &Client,
    method: &str,
    request: &impl prost::Message,
) -> Result<T, tonic::Status> {
    let path = format!("{SERVICE}/{method}").parse().unwrap();
    let mut request = tonic::Request::new(request.encode_to_vec());
    request.metadata_mut().insert("a2a-version", "1.0".parse().unwrap());
    client.runtime.block_on(async {
        let mut grpc = tonic::client::Grpc::new(client.channel.clone());
        grpc.ready().await.unwrap();
        let answer = grpc.unary(request, path, Raw).await?;
        Ok(T::decode(answer.into_inner()).unwrap())
    })
}

fn stream(
    client: &Client,
    method: &str,
    request: &impl prost::Message,
) -> tonic::Streaming<bytes::Bytes> {
    let path = format!("{SERVICE}/{method}").parse().unwrap();
    let mut request = tonic::Request::new(request.encode_to_vec());
    request.metadata_mut().insert("a2a-version", "1.0".parse().unwrap());
    client.runtime.block_on(async {
        let mut grpc = tonic::client::Grpc::new(client.channel.clone());
        grpc.ready().await.unwrap();
        grpc.server_streaming(request, path, Raw).await.unwrap().into_inner()
    })
}

fn rest(client: &Client, mut stream: tonic::Streaming<bytes::Bytes>) -> Vec<Payload> {
    client.runtime.block_on(async {
        let mut events = Vec::new();
        while let Some(message) = stream.message().await.unwrap() {
            events.push(a2a::StreamResponse::decode(message).unwrap().payload.unwrap());
        }
        events
    })
}

fn send(id: &str, return_immediately: bool) -> a2a::SendMessageRequest {
    let part = a2a::Part { content: Some(Content::Text("hello".to_owned())), ..Default::default() };
    let message = a2a::Message {
        message_id: id.to_owned(),
        role: a2a::Role::User.into(),
        parts: vec![part],
        ..Default::default()
    };
    let configuration = a2a::SendMessageConfiguration { return_immediately, ..Default::default() };
    a2a::SendMessageRequest {
        message: Some(message),
        configuration: Some(configuration),
        ..Default::default()
    }
}

fn begin(client: &Client, id: &str, return_immediately: bool) -> a2a::Task {
    let answer: a2a::SendMessageResponse =
        call(client, "SendMessage", &send(id, return_immediately)).unwrap();
    match answer.payload.unwrap() {
        a2a::send_message_response::Payload::Task(task) => task,
        a2a::send_message_response::Payload::Message(message) => panic!("{message:?}"),
    }
}

fn state(task: &a2a::Task) -> TaskState {
    task.status.as_ref().unwrap().state()
}

#[test]
fn a_buyer_sends_reads_lists_cancels_streams_and_subscribes() {
    let (_server, client) = start_agent(Profile::Streaming);
    let task = begin(&client, "tck-artifact-data", false);
    assert_eq!(state(&task), TaskState::Completed);
    let Some(Content::Data(data)) = &task.artifacts[0].parts[0].content else { panic!() };
    let Some(Kind::StructValue(data)) = &data.kind else { panic!() };
    assert_eq!(data.fields["count"].kind, Some(Kind::NumberValue(42.0)));
    assert_eq!(task.status.as_ref().unwrap().timestamp.unwrap().seconds, 1_777_550_400);

    let get = a2a::GetTaskRequest { id: task.id.clone(), ..Default::default() };
    assert_eq!(call::<a2a::Task>(&client, "GetTask", &get).unwrap(), task);
    let list = a2a::ListTasksRequest { page_size: Some(5), ..Default::default() };
    let page: a2a::ListTasksResponse = call(&client, "ListTasks", &list).unwrap();
    assert_eq!((page.total_size, page.page_size, page.tasks.len()), (1, 5, 1));

    let work = begin(&client, "tck-cancel", true);
    let cancel = a2a::CancelTaskRequest { id: work.id, ..Default::default() };
    let canceled: a2a::Task = call(&client, "CancelTask", &cancel).unwrap();
    assert_eq!(state(&canceled), TaskState::Canceled);

    let sent = stream(&client, "SendStreamingMessage", &send("tck-artifact-file", false));
    let events = rest(&client, sent);
    assert!(matches!(events[0], Payload::Task(_)));
    let file = events.iter().find_map(|event| match event {
        Payload::ArtifactUpdate(update) => update.artifact.as_ref()?.parts[0].content.clone(),
        Payload::Task(_) | Payload::Message(_) | Payload::StatusUpdate(_) => None,
    });
    assert_eq!(file, Some(Content::Raw(b"Generated file content".to_vec())));

    let waits = begin(&client, "tck-input-required", false);
    let subscribe = a2a::SubscribeToTaskRequest { id: waits.id.clone(), ..Default::default() };
    let cancel = a2a::CancelTaskRequest { id: waits.id, ..Default::default() };
    let follower = stream(&client, "SubscribeToTask", &subscribe);
    call::<a2a::Task>(&client, "CancelTask", &cancel).unwrap();
    let Some(Payload::StatusUpdate(last)) = rest(&client, follower).pop() else { panic!() };
    assert_eq!(last.status.unwrap().state(), TaskState::Canceled);
}

#[test]
fn a_buyer_reads_an_errors_details_by_type() {
    let (_server, client) = start_agent(Profile::Streaming);
    let details = |status: &tonic::Status| -> rpc::Status {
        let details = rpc::Status::decode(status.details()).unwrap();
        assert_eq!(
            (details.code, details.message.as_str()),
            (status.code() as i32, status.message())
        );
        details
    };
    let get = a2a::GetTaskRequest { id: "absent".to_owned(), ..Default::default() };
    let status = call::<a2a::Task>(&client, "GetTask", &get).unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    let info = details(&status).details.remove(0);
    assert_eq!(info.type_url, "type.googleapis.com/google.rpc.ErrorInfo");
    let info = rpc::ErrorInfo::decode(info.value.as_slice()).unwrap();
    assert_eq!(
        (info.reason.as_str(), info.domain.as_str()),
        ("TASK_NOT_FOUND", "a2a-protocol.org")
    );

    let empty = a2a::SendMessageRequest::default();
    let status = call::<a2a::SendMessageResponse>(&client, "SendMessage", &empty).unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let bad = details(&status).details.remove(1);
    assert_eq!(bad.type_url, "type.googleapis.com/google.rpc.BadRequest");
    let bad = rpc::BadRequest::decode(bad.value.as_slice()).unwrap();
    assert_eq!(bad.field_violations[0].field, "message");
}
