//! Server reflection of gRPC: tools read the definition from a running agent.

use tradepost_a2a::protobuf::descriptors;

use crate::client::{Client, FullResponse, framed};
use crate::echoed::start;

const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// A question whose only field is a text.
fn question(number: u8, text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    [&[number << 3 | 2, length], text.as_bytes()].concat()
}

/// Asks one question after another. Returns the messages of the answer, and the status.
async fn ask(client: &Client, path: &str, questions: &[Vec<u8>]) -> (Vec<Vec<u8>>, String) {
    let all = questions.iter().map(|question| framed(question)).collect::<Vec<_>>().concat();
    let headers = [("a2a-version", "1.0")];
    let answer = client.send_as(&headers, hyper::Method::POST, path, "application/grpc", all);
    let (head, bytes, trailers): FullResponse = answer.await;
    let status = trailers.as_ref().unwrap_or(head.headers())["grpc-status"].to_str().unwrap();
    let mut rest = &bytes[..];
    let mut messages = Vec::new();
    while let Some((prefix, after)) = rest.split_first_chunk::<5>() {
        let [_, length @ ..] = *prefix;
        let (message, others) = after.split_at(u32::from_be_bytes(length) as usize);
        messages.push(message.to_vec());
        rest = others;
    }
    (messages, status.to_owned())
}

fn contains(message: &[u8], part: &[u8]) -> bool {
    message.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn tools_find_the_service_and_every_file_of_its_definition() {
    let client = start().await;
    for path in PATHS {
        let mut questions = vec![
            question(7, ""),
            question(4, "lf.a2a.v1.A2AService"),
            question(4, "lf.a2a.v1.A2AService.SendMessage"),
            question(4, "lf.a2a.v1.Part"),
        ];
        questions.extend(descriptors::ALL.iter().map(|file| question(3, file.name)));
        let (answers, status) = ask(&client, path, &questions).await;
        assert_eq!((answers.len(), status.as_str()), (questions.len(), "0"), "{path}");
        assert!(contains(&answers[0], b"lf.a2a.v1.A2AService"));
        let definition = descriptors::ALL.iter().find(|file| file.name == "lf/a2a/v1/a2a.proto");
        for answer in &answers[1..4] {
            assert!(contains(answer, definition.unwrap().bytes), "{path}");
        }
        for (answer, file) in answers[4..].iter().zip(descriptors::ALL) {
            assert!(contains(answer, file.bytes), "{path}: {}", file.name);
        }
    }
}

#[tokio::test]
async fn an_unknown_name_is_an_error_in_a_successful_call() {
    let client = start().await;
    let questions = [question(4, "another.Service"), question(3, "no.proto"), question(7, "")];
    let (answers, status) = ask(&client, PATHS[0], &questions).await;
    assert_eq!((answers.len(), status.as_str()), (3, "0"));
    for answer in &answers[..2] {
        assert!(contains(answer, b"no file has this name or symbol"));
    }
    assert!(contains(&answers[2], b"lf.a2a.v1.A2AService"));
    // INVALID_ARGUMENT
    let (answers, status) = ask(&client, PATHS[0], &[vec![0xff; 3]]).await;
    assert_eq!((answers.len(), status.as_str()), (0, "3"));
    let long = [&[4 << 3 | 2, 0xff, 0x7f][..], &[b'x'; 16_383]].concat();
    // RESOURCE_EXHAUSTED
    assert_eq!(ask(&client, PATHS[0], &[long]).await.1, "8");
}
