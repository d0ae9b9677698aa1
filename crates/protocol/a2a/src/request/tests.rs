use tradepost_document::json::json;

use super::*;

#[test]
fn both_spellings_and_unknown_members_are_accepted() {
    let params = json!({
        "message": {"message_id": "m", "context_id": "c", "role": "ROLE_USER", "kind": "message",
                    "parts": [{"data": {}, "media_type": "application/json"}, {"text": "hello"}]},
        "configuration": {"accepted_output_modes": ["*/*"]}, "metadata": {},
    });
    let read = send_message(Some(&params)).unwrap();
    assert_eq!((read.message.message_id.as_str(), read.message.parts.len()), ("m", 2));
    assert_eq!(read.message.context_id.as_deref(), Some("c"));
}

#[test]
fn every_wrong_field_is_named_by_its_path() {
    let params = json!({"message": {"messageId": "", "role": "user", "parts": [{}, {"text": 5}]}});
    let refusal = send_message(Some(&params)).unwrap_err();
    let fields: Vec<_> = refusal.violations.iter().map(|v| v.field.as_str()).collect();
    assert_eq!(
        fields,
        ["message.messageId", "message.role", "message.parts[0]", "message.parts[1].text"]
    );
    assert_eq!(
        refusal.message,
        "Invalid parameters: message.messageId: must not be empty; message.role: must be \
         ROLE_USER in a request; message.parts[0]: must have exactly one of text, raw, url, \
         data; message.parts[1].text: must be string"
    );
    let named = "message.messageId, message.role, message.parts[0], message.parts[1].text";
    assert_eq!(refusal.metadata, [("fields", named.to_owned())]);
    let refusal = send_message(None).unwrap_err();
    assert_eq!(refusal.violations[0].field, "params");
    let many = json!({"message": {"messageId": "m", "role": 1, "parts": vec![json!({}); 60]}});
    let refusal = send_message(Some(&many)).unwrap_err();
    assert!(
        refusal.message.ends_with(
            "message.parts[9]: must have exactly one of text, raw, \
        url, data; and 50 more"
        ),
        "{}",
        refusal.message
    );
}

#[test]
fn e_25_a_webhook_without_task_and_address_lacks_both() {
    for (params, wrong) in [
        (json!({}), &["url", "taskId"][..]),
        (json!({"task_id": "", "url": "https://buyer.example"}), &["taskId"]),
        (json!({"taskId": 5}), &["taskId", "url"]),
    ] {
        let operation = Operation::CreateTaskPushNotificationConfig;
        let refusal = read(operation, Some(&params)).unwrap_err();
        let fields: Vec<_> = refusal.violations.iter().map(|v| v.field.as_str()).collect();
        assert_eq!(fields, wrong, "{params}");
    }
}

#[test]
fn what_is_taken_is_what_is_read() {
    let part = |content: Value| json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": content}});
    for params in [
        part(json!([{"data": {"a": [1, "b"]}}, {"text": "c"}, {"data": null}, {"data": 1.50}])),
        part(json!([{"data": {"a": 1}, "text": "two contents"}])),
        part(json!([{"data": {"a": 1}}, 5])),
        part(json!({"data": 1})),
        json!({"message": 1}),
        json!([]),
    ] {
        for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
            let read = read(operation, Some(&params));
            assert_eq!(
                format!("{:?}", take(operation, Some(params.clone()))),
                format!("{read:?}"),
                "{params}"
            );
        }
    }
    let id = Some(json!({"id": "t"}));
    assert!(matches!(take(Operation::GetTask, id), Ok(A2aRequest::GetTask { .. })));
}
