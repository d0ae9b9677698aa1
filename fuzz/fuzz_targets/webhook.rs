//! What a webhook's receiver reads: bytes become a delivery that is known again however it is spelled,
//! or a refusal that repeats nothing of them; and where AdCP's data is in any JSON.

#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use tradepost_adcp::payload;
use tradepost_client::receiver::delivery::{KnownTask, NoDelivery, PushDelivery, ReceivedDelivery};
use tradepost_document::json;
use tradepost_document::json::Value;

/// Shorter text may stand in a message by chance, as a word of ours.
const LONG: usize = 24;

fuzz_target!(|body: &[u8]| {
    let now = Timestamp::UNIX_EPOCH;
    match ReceivedDelivery::read(body, "s", now) {
        Ok(ReceivedDelivery::Delivery(delivery)) => {
            look(&delivery, |text| match ReceivedDelivery::read(text, "s", now) {
                Ok(ReceivedDelivery::Delivery(again)) => *again,
                other => panic!("{other:?}"),
            })
        }
        Ok(ReceivedDelivery::Challenge(challenge)) => {
            assert!((32..=255).contains(&challenge.len()))
        }
        Err(NoDelivery::Webhook(no)) => {
            assert!(no.problems.total() > 0 && !no.code().is_empty());
            let text = String::from_utf8_lossy(body);
            for problem in no.problems {
                let long = problem.message.len() >= LONG && text.contains(&problem.message);
                assert!(!long, "{} is repeated", problem.message);
            }
        }
        Err(NoDelivery::Ambiguous | NoDelivery::Other(_)) => {}
    }
    if let Ok(delivery) = PushDelivery::from_poll(body, "s", now) {
        look(&delivery, |text| {
            PushDelivery::from_poll(text, "s", now).expect("it was read before")
        });
    }
    let Ok(value) = tradepost_document::json::from_slice::<Value>(body) else { return };
    if let Some(data) = payload::of_tool(&value) {
        assert!(data.is_object());
    }
    if let Ok(Some(data)) = payload::of_task(&value) {
        assert!(data.is_object());
    }
    let _ = payload::of_webhook(&value);
});

/// What was read is read again from what is kept, and says nothing new then.
fn look(delivery: &PushDelivery, read: impl Fn(&[u8]) -> PushDelivery) {
    let again = read(delivery.body.get().as_bytes());
    assert_eq!((&again.id, &again.fingerprint), (&delivery.id, &delivery.fingerprint));
    let spelled = json::read(delivery.body.get()).expect("it was read before").to_string();
    assert_eq!(read(spelled.as_bytes()).fingerprint, delivery.fingerprint);
    let mut known = KnownTask::default();
    known.add(delivery);
    assert_eq!(known.ended, delivery.is_terminal());
}
