//! What we read and write, beside what the usual implementation does with the same bytes.

use prost::Message as _;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Timestamp, Value as Proto};
use tradepost_a2a::protobuf::{Mismatch, read, schema, write};
use tradepost_document::json::{Value, json};

use super::types::a2a::{self, part::Content};
use super::types::rpc;

fn value(kind: Kind) -> Proto {
    Proto { kind: Some(kind) }
}

fn number(number: f64) -> Proto {
    value(Kind::NumberValue(number))
}

fn object(members: &[(&str, Proto)]) -> Struct {
    Struct { fields: members.iter().map(|(key, v)| ((*key).to_owned(), v.clone())).collect() }
}

fn part(content: Content) -> a2a::Part {
    a2a::Part { content: Some(content), ..Default::default() }
}

#[test]
fn a_request_is_read_as_the_json_it_means() {
    let list = vec![number(1.5), value(Kind::NullValue(0)), value(Kind::BoolValue(true))];
    let data = object(&[
        ("empty", value(Kind::StructValue(Struct::default()))),
        ("list", value(Kind::ListValue(ListValue { values: list }))),
        ("number", number(-42.0)),
    ]);
    let message = a2a::Message {
        message_id: "m".to_owned(),
        role: a2a::Role::User.into(),
        parts: vec![
            a2a::Part { media_type: "text/plain".to_owned(), ..part(Content::Text(String::new())) },
            a2a::Part { filename: "f".to_owned(), ..part(Content::Raw(vec![0xfb, 0xff])) },
            part(Content::Url("https://example.com".to_owned())),
            part(Content::Data(value(Kind::StructValue(data.clone())))),
            part(Content::Data(Proto { kind: None })),
            a2a::Part::default(),
        ],
        metadata: Some(data),
        extensions: vec!["urn:x".to_owned(), String::new()],
        ..Default::default()
    };
    let request = a2a::SendMessageRequest {
        tenant: "t".to_owned(),
        message: Some(message),
        configuration: Some(a2a::SendMessageConfiguration {
            history_length: Some(0),
            task_push_notification_config: Some(a2a::TaskPushNotificationConfig::default()),
            ..Default::default()
        }),
        metadata: None,
    };
    let data = json!({"empty": {}, "list": [1.5, null, true], "number": -42});
    let expected = json!({
        "tenant": "t",
        "message": {
            "messageId": "m", "role": "ROLE_USER",
            "parts": [
                {"text": "", "mediaType": "text/plain"}, {"raw": "+/8=", "filename": "f"},
                {"url": "https://example.com"}, {"data": data}, {"data": null}, {},
            ],
            "metadata": data, "extensions": ["urn:x", ""],
        },
        "configuration": {"taskPushNotificationConfig": {}, "historyLength": 0},
    });
    let read = read(&schema::SEND_MESSAGE_REQUEST, &request.encode_to_vec()).unwrap();
    assert_eq!(read, expected);
    // As written back, except that a value without a kind has become null.
    let mut same = request;
    let null = part(Content::Data(value(Kind::NullValue(0))));
    same.message.as_mut().unwrap().parts[4] = null;
    let written = write(&schema::SEND_MESSAGE_REQUEST, &expected).unwrap();
    assert_eq!(a2a::SendMessageRequest::decode(written.as_slice()).unwrap(), same);
}

#[test]
fn other_requests_keep_what_was_set_and_what_was_not() {
    let list = a2a::ListTasksRequest {
        status: a2a::TaskState::InputRequired.into(),
        page_size: Some(-1),
        status_timestamp_after: Some(Timestamp { seconds: 1_777_550_400, nanos: 5_000_000 }),
        include_artifacts: Some(false),
        ..Default::default()
    };
    assert_eq!(
        read(&schema::LIST_TASKS_REQUEST, &list.encode_to_vec()).unwrap(),
        json!({"status": "TASK_STATE_INPUT_REQUIRED", "pageSize": -1,
               "statusTimestampAfter": "2026-04-30T12:00:00.005Z", "includeArtifacts": false})
    );
    let strange = a2a::ListTasksRequest {
        status: 99,
        status_timestamp_after: Some(Timestamp { seconds: i64::MAX, nanos: -1 }),
        ..Default::default()
    };
    assert_eq!(
        read(&schema::LIST_TASKS_REQUEST, &strange.encode_to_vec()).unwrap(),
        json!({"status": "99", "statusTimestampAfter": "9223372036854775807s -1ns"})
    );
    assert_eq!(read(&schema::LIST_TASKS_REQUEST, &[]).unwrap(), json!({}));
}

#[test]
fn an_event_is_written_as_the_usual_implementation_reads_it() {
    let event = json!({"artifactUpdate": {
        "taskId": "t", "contextId": "c", "append": true, "lastChunk": false,
        "artifact": {"artifactId": "a", "parts": [{"raw": "-_8"}, {"data": 9_007_199_254_740_993_u64}]},
        "unknown": 1,
    }});
    let bytes = write(&schema::STREAM_RESPONSE, &event).unwrap();
    let update = a2a::TaskArtifactUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        artifact: Some(a2a::Artifact {
            artifact_id: "a".to_owned(),
            parts: vec![
                part(Content::Raw(vec![0xfb, 0xff])),
                // 2^53 + 1 is no double.
                part(Content::Data(number(9_007_199_254_740_992.0))),
            ],
            ..Default::default()
        }),
        append: true,
        ..Default::default()
    };
    let payload = Some(a2a::stream_response::Payload::ArtifactUpdate(update));
    assert_eq!(
        a2a::StreamResponse::decode(bytes.as_slice()).unwrap(),
        a2a::StreamResponse { payload }
    );
    let status = json!({"task": {"id": "t", "contextId": "c", "status": {
        "state": "TASK_STATE_WORKING", "timestamp": "1969-12-31T23:59:59.250Z"}}});
    let bytes = write(&schema::STREAM_RESPONSE, &status).unwrap();
    let read_back = a2a::StreamResponse::decode(bytes.as_slice()).unwrap();
    let Some(a2a::stream_response::Payload::Task(task)) = read_back.payload else { panic!() };
    let before = Timestamp { seconds: -1, nanos: 250_000_000 };
    assert_eq!(task.status.unwrap().timestamp, Some(before));
    assert_eq!(
        read(&schema::STREAM_RESPONSE, &bytes).unwrap()["task"]["status"]["timestamp"],
        "1969-12-31T23:59:59.25Z"
    );
}

#[test]
fn a_card_survives_whole() {
    let card = json!({
        "name": "A", "description": "d",
        "supportedInterfaces": [
            {"url": "a:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
        "provider": {"url": "https://example.com", "organization": "O"},
        "version": "1",
        "capabilities": {
            "streaming": false, "pushNotifications": true,
            "extensions": [{"uri": "urn:x", "required": true, "params": {"z": 1, "a": [null]}}],
            "extendedAgentCard": true},
        "securitySchemes": {
            "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "m": {"mtlsSecurityScheme": {}},
            "o": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {
                "authorizationUrl": "https://a", "tokenUrl": "https://t",
                "scopes": {"one": "first"}, "pkceRequired": true}}, "oauth2MetadataUrl": "https://m"}},
            "k": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
        "securityRequirements": [{"schemes": {"b": {"list": ["one"]}, "m": {}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}],
        "signatures": [{"protected": "e30", "signature": "c2ln", "header": {"kid": "k"}}],
        "iconUrl": "",
    });
    let bytes = write(&schema::AGENT_CARD, &card).unwrap();
    assert_eq!(read(&schema::AGENT_CARD, &bytes).unwrap(), card);
    let theirs = a2a::AgentCard::decode(bytes.as_slice()).unwrap();
    let mut again = read(&schema::AGENT_CARD, &theirs.encode_to_vec()).unwrap();
    // Maps have no order there.
    again["securitySchemes"].as_object_mut().unwrap().sort_keys();
    let mut sorted = card;
    sorted["securitySchemes"].as_object_mut().unwrap().sort_keys();
    assert_eq!(again, sorted);
}

#[test]
fn details_of_errors_are_packed_by_their_type() {
    let status = json!({"code": 5, "message": "no", "details": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "R", "domain": "d",
         "metadata": {"k": "v"}},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.25s"},
    ]});
    let bytes = write(&schema::STATUS, &status).unwrap();
    assert_eq!(read(&schema::STATUS, &bytes).unwrap(), status);
    let theirs = rpc::Status::decode(bytes.as_slice()).unwrap();
    let info = rpc::ErrorInfo::decode(theirs.details[0].value.as_slice()).unwrap();
    assert_eq!((info.reason.as_str(), info.metadata["k"].as_str()), ("R", "v"));
    let retry = rpc::RetryInfo::decode(theirs.details[1].value.as_slice()).unwrap();
    let delay = retry.retry_delay.unwrap();
    assert_eq!((delay.seconds, delay.nanos), (1, 250_000_000));
    let strange = rpc::Status {
        details: vec![prost_types::Any { type_url: "x/y.Z".to_owned(), value: vec![1] }],
        ..Default::default()
    };
    assert_eq!(
        read(&schema::STATUS, &strange.encode_to_vec()).unwrap(),
        json!({"details": [{"@type": "x/y.Z", "value": "AQ=="}]})
    );
}

#[test]
fn what_a_double_cannot_hold_is_rounded_and_never_refused() {
    let data: Value = tradepost_document::json::from_str(
        r#"[1.0,1e400,-1e400,0.1,123456789012345678901234567890]"#,
    )
    .unwrap();
    let bytes = write(&schema::PART, &json!({"data": data})).unwrap();
    let theirs = a2a::Part::decode(bytes.as_slice()).unwrap();
    let Some(Content::Data(Proto { kind: Some(Kind::ListValue(list)) })) = theirs.content else {
        panic!()
    };
    let expected = [1.0, f64::MAX, f64::MIN, 0.1, 1.234_567_890_123_456_8e29].map(number);
    assert_eq!(list.values, expected);
    let back = read(&schema::PART, &bytes).unwrap();
    assert_eq!(back["data"][0].to_string(), "1", "protocol buffers do not tell 1 from 1.0");
}

#[test]
fn a_misfit_names_the_member_and_not_its_value() {
    let cases = [
        (json!({"parts": [{"raw": "not base64!"}]}), "lf.a2a.v1.Part", "raw"),
        (json!({"messageId": 5}), "lf.a2a.v1.Message", "messageId"),
        (json!({"parts": {}}), "lf.a2a.v1.Message", "parts"),
        (json!({"role": "secret"}), "lf.a2a.v1.Message", "role"),
        (json!({"metadata": []}), "lf.a2a.v1.Message", "metadata"),
        (json!([]), "lf.a2a.v1.Message", ""),
    ];
    for (value, message, field) in cases {
        assert_eq!(write(&schema::MESSAGE, &value), Err(Mismatch { message, field }), "{value}");
    }
}
