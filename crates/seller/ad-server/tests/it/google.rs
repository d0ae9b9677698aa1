//! Google Ad Manager where it fails: errors of REST, faults of SOAP, tokens, reports and states. What is made, changed and
//! read back is driven by `interop/ad-server/google_ad_manager.py`.

use std::time::Duration;

use expect_test::expect;
use jiff::civil::date;
use tradepost_ad_server::{
    AdServer, AdServerError, AdServerKind, PackageProblem, RemoteStateChange,
};
use tradepost_document::json::{Map, from_str};
use tradepost_publisher::ad_server::{
    GoalUnit, LineItemGoal, LineItemPricing, LineItemSpec, RemoteId, RemoteState,
};

use crate::server::{PreparedAnswer, PreparedRoute, PreparedServer, adapter};
use crate::specs;

/// The network, which bills in US dollars by New York's days.
const NETWORK: &str = r#"{"name": "networks/12345", "displayName": "Gazette", "currencyCode": "USD", "timeZone": "America/New_York"}"#;

fn route(part: &'static str, status: u16, body: impl Into<Vec<u8>>) -> PreparedRoute {
    PreparedRoute { part, answer: PreparedAnswer::new(status, body) }
}

/// A server with prepared answers, and the adapter in front of it.
struct PreparedGoogle {
    server: PreparedServer,
    adapter: Box<dyn AdServer>,
}

async fn start(routes: Vec<PreparedRoute>) -> PreparedGoogle {
    let server = PreparedServer::with_routes(routes).await;
    let adapter = adapter(AdServerKind::GoogleAdManager, &server.url);
    PreparedGoogle { server, adapter }
}

fn word<T>(result: Result<T, AdServerError>) -> String {
    match result {
        Ok(_) => "done".to_owned(),
        Err(AdServerError::Refused { reason, detail }) => format!("{reason:?} ({detail})"),
        Err(other) => format!("{other:?}"),
    }
}

#[tokio::test]
async fn errors_of_rest_mean_what_their_names_say() {
    let mut table = String::new();
    for (status, stated, names) in [
        (400, "INVALID_ARGUMENT", r#"{"errorCode": "FORECAST_ERROR_NO_FORECAST_YET"}"#),
        (
            400,
            "INVALID_ARGUMENT",
            r#"{"errorCode": "NO_FORECAST_YET"}, {"errorCode": "NOT_ENOUGH_INVENTORY"}"#,
        ),
        (
            400,
            "INVALID_ARGUMENT",
            r#"{"errorCode": "NO_FORECAST_YET"}, {"errorCode": "SERVER_ERROR"}"#,
        ),
        (400, "FAILED_PRECONDITION", r#"{"errorCode": "ORDER_ERROR_NOT_ALLOWED"}"#),
        (403, "PERMISSION_DENIED", r#"{"errorCode": "PERMISSION_DENIED"}"#),
        (403, "PERMISSION_DENIED", r#"{"reason": "SERVICE_DISABLED"}"#),
        (404, "NOT_FOUND", ""),
        (409, "ALREADY_EXISTS", ""),
        (409, "ABORTED", ""),
        (429, "RESOURCE_EXHAUSTED", r#"{"retryDelay": "2.5s"}"#),
        (501, "UNIMPLEMENTED", ""),
        // Whatever it says, a server that broke may have acted.
        (500, "INTERNAL", r#"{"errorCode": "NO_FORECAST_YET"}"#),
        (503, "UNAVAILABLE", ""),
    ] {
        let body = format!(
            r#"{{"error": {{"code": {status}, "message": "No.", "status": "{stated}", "details": [{names}]}}}}"#
        );
        let google = start(vec![route("", status, body)]).await;
        let result = google.adapter.create_order(&specs::order()).await;
        table.push_str(&format!("{status} {stated} {names}: {}\n", word(result)));
    }
    expect![[r#"
        400 INVALID_ARGUMENT {"errorCode": "FORECAST_ERROR_NO_FORECAST_YET"}: NotYet { retry_after: None }
        400 INVALID_ARGUMENT {"errorCode": "NO_FORECAST_YET"}, {"errorCode": "NOT_ENOUGH_INVENTORY"}: NoInventory (NO_FORECAST_YET, NOT_ENOUGH_INVENTORY: No.)
        400 INVALID_ARGUMENT {"errorCode": "NO_FORECAST_YET"}, {"errorCode": "SERVER_ERROR"}: Unanswered
        400 FAILED_PRECONDITION {"errorCode": "ORDER_ERROR_NOT_ALLOWED"}: Invalid (ORDER_ERROR_NOT_ALLOWED: No.)
        403 PERMISSION_DENIED {"errorCode": "PERMISSION_DENIED"}: Permission (PERMISSION_DENIED: No.)
        403 PERMISSION_DENIED {"reason": "SERVICE_DISABLED"}: Permission (SERVICE_DISABLED: No.)
        404 NOT_FOUND : Missing (No.)
        409 ALREADY_EXISTS : Conflict (No.)
        409 ABORTED : NotYet { retry_after: None }
        429 RESOURCE_EXHAUSTED {"retryDelay": "2.5s"}: NotYet { retry_after: Some(3s) }
        501 UNIMPLEMENTED : Unsupported (No.)
        500 INTERNAL {"errorCode": "NO_FORECAST_YET"}: Unanswered
        503 UNAVAILABLE : Unanswered
    "#]].assert_eq(&table);
}

/// Path of the service of SOAP for creatives.
const CREATIVES: &str = "/soap/v202511/CreativeService";

/// Path of the service of SOAP for associations.
const ASSOCIATIONS: &str = "/soap/v202511/LineItemCreativeAssociationService";

fn fault(errors: &str) -> String {
    format!(
        "<?xml version='1.0'?><S:Envelope xmlns:S='http://schemas.xmlsoap.org/soap/envelope/' \
         xmlns:x='http://www.w3.org/2001/XMLSchema-instance'><S:Body><S:Fault><faultcode>S:Server</faultcode>\
         <faultstring>It &amp; more</faultstring><detail><ApiExceptionFault xmlns='https://www.google.com/apis/ads/publisher/v202511'>\
         <message>m</message>{errors}</ApiExceptionFault></detail></S:Fault></S:Body></S:Envelope>"
    )
}

#[tokio::test]
async fn a_fault_of_soap_says_if_it_has_acted() {
    let named = |name: &str| format!("<errors><errorString>{name}</errorString></errors>");
    let mut answers: Vec<(&str, u16, String)> = [
        "ForecastError.NO_FORECAST_YET",
        "QuotaError.EXCEEDED_QUOTA",
        "ServerError.SERVER_BUSY",
        "ServerError.SERVER_ERROR",
        "ServerError.UNKNOWN",
        "InternalApiError.UNEXPECTED_INTERNAL_API_ERROR",
        "InternalApiError.TRANSIENT_ERROR",
        "CreativeError.UNKNOWN",
        "PermissionError.PERMISSION_DENIED",
        "AuthenticationError.AUTHENTICATION_FAILED",
        "AuthenticationError.NETWORK_NOT_FOUND",
        "AuthenticationError.MISSING_AUTHENTICATION_HTTP_HEADER",
        "AuthenticationError.CONNECTION_ERROR",
        "CommonError.ALREADY_EXISTS",
        "CommonError.NOT_FOUND",
        "CreativeError.DESTINATION_URL_NOT_SUPPORTED",
    ]
    .map(|name| (name, 500, fault(&named(name))))
    .into();
    let typed = "<errors x:type='ns2:QuotaError'><reason>EXCEEDED_QUOTA</reason></errors>";
    answers.push(("a type and a reason", 500, fault(typed)));
    answers.push(("without errors", 500, fault("")));
    let of_client = fault("").replace("S:Server", "S:Client.Version");
    answers.push(("without errors, of the client", 500, of_client));
    answers.push(("500, a page", 500, "<html>".to_owned()));
    answers.push(("503", 503, String::new()));
    answers.push(("200, a page", 200, "<html>".to_owned()));
    answers.push(("200, no envelope", 200, "<a/>".to_owned()));
    answers.push((
        "200, a document type",
        200,
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>".to_owned(),
    ));
    answers.push(("200, too deep", 200, "<a>".repeat(100)));
    let empty = "<E><Body><createCreativesResponse/></Body></E>";
    answers.push(("200, nothing made", 200, empty.to_owned()));
    let made = "<E><Body><createCreativesResponse><rval><id>9</id></rval></createCreativesResponse></Body></E>";
    answers.push(("200, made", 200, made.to_owned()));
    let mut table = String::new();
    for (name, status, body) in answers {
        let routes = vec![route(CREATIVES, status, body), route("", 200, "{}")];
        let google = start(routes).await;
        let mut words = vec![word(google.adapter.create_creative(&specs::creative()).await)];
        // A token that was kept may have ended; the one after it has not.
        if name.starts_with("AuthenticationError.") {
            words.push(word(google.adapter.create_creative(&specs::creative()).await));
        }
        table.push_str(&format!("{name}: {}\n", words.join(", then ")));
        let sent = google.server.seen().iter().filter(|one| one.starts_with("POST")).count();
        assert_eq!(sent, words.len(), "{name}");
    }
    expect![[r#"
        ForecastError.NO_FORECAST_YET: NotYet { retry_after: None }
        QuotaError.EXCEEDED_QUOTA: NotYet { retry_after: None }
        ServerError.SERVER_BUSY: NotYet { retry_after: None }
        ServerError.SERVER_ERROR: Unanswered
        ServerError.UNKNOWN: Unanswered
        InternalApiError.UNEXPECTED_INTERNAL_API_ERROR: Unanswered
        InternalApiError.TRANSIENT_ERROR: Unanswered
        CreativeError.UNKNOWN: Unanswered
        PermissionError.PERMISSION_DENIED: Permission (PermissionError.PERMISSION_DENIED)
        AuthenticationError.AUTHENTICATION_FAILED: NotYet { retry_after: None }, then Credential (AuthenticationError.AUTHENTICATION_FAILED)
        AuthenticationError.NETWORK_NOT_FOUND: NotYet { retry_after: None }, then Credential (AuthenticationError.NETWORK_NOT_FOUND)
        AuthenticationError.MISSING_AUTHENTICATION_HTTP_HEADER: NotYet { retry_after: None }, then Credential (AuthenticationError.MISSING_AUTHENTICATION_HTTP_HEADER)
        AuthenticationError.CONNECTION_ERROR: Unanswered, then Unanswered
        CommonError.ALREADY_EXISTS: Conflict (CommonError.ALREADY_EXISTS)
        CommonError.NOT_FOUND: Missing (CommonError.NOT_FOUND)
        CreativeError.DESTINATION_URL_NOT_SUPPORTED: Invalid (CreativeError.DESTINATION_URL_NOT_SUPPORTED)
        a type and a reason: NotYet { retry_after: None }
        without errors: Unanswered
        without errors, of the client: Invalid (It & more)
        500, a page: Unanswered
        503: Unanswered
        200, a page: Garbled { detail: "it is not XML" }
        200, no envelope: Garbled { detail: "it is no SOAP envelope" }
        200, a document type: Garbled { detail: "its XML has a document type" }
        200, too deep: Garbled { detail: "its XML is nested too deeply" }
        200, nothing made: Garbled { detail: "it is no creative" }
        200, made: done
    "#]].assert_eq(&table);
}

#[tokio::test]
async fn states_follow_from_status_archive_and_dates() {
    let order = RemoteId("5".to_owned());
    let mut table = String::new();
    for rest in [
        r#""status": "DRAFT""#,
        r#""status": "PENDING_APPROVAL""#,
        r#""status": "APPROVED", "startTime": "2999-01-01T00:00:00Z""#,
        r#""status": "APPROVED", "startTime": "2001-01-01T00:00:00Z", "endTime": "2999-01-01T00:00:00Z""#,
        r#""status": "APPROVED", "endTime": "2001-01-01T00:00:00Z""#,
        r#""status": "PAUSED""#,
        r#""status": "DISAPPROVED""#,
        r#""status": "CANCELED""#,
        r#""status": "DRAFT", "archived": true"#,
        r#""status": "SOMETHING_NEW""#,
        r#""displayName": "without a status""#,
    ] {
        let body = format!(r#"{{"name": "networks/12345/orders/5", {rest}}}"#);
        let google = start(vec![route("GET", 200, body), route("POST", 200, "{}")]).await;
        let state = google.adapter.order_state(&order).await;
        let state = state.map_or_else(|error| format!("{error:?}"), |state| state.to_string());
        table.push_str(&format!("{rest}: {state}\n"));
        for change in [
            RemoteStateChange::Approve,
            RemoteStateChange::Pause,
            RemoteStateChange::Resume,
            RemoteStateChange::Cancel,
        ] {
            let before = google.server.seen().len();
            let result = word(google.adapter.change_order_state(&order, change).await);
            let actions = google.server.seen().split_off(before);
            let verb = |one: &String| one.split(':').nth(1)?.split(' ').next().map(str::to_owned);
            let actions: Vec<String> =
                actions.iter().filter(|one| one.starts_with("POST")).filter_map(verb).collect();
            table.push_str(&format!("    {change:?} {}: {result}\n", actions.join(", ")));
        }
    }
    expect![[r#"
        "status": "DRAFT": draft
            Approve batchApprove: Garbled { detail: "it shows the state from before the change" }
            Pause : done
            Resume : done
            Cancel batchArchive: Garbled { detail: "it shows the state from before the change" }
        "status": "PENDING_APPROVAL": pending_approval
            Approve batchApprove: done
            Pause : done
            Resume : done
            Cancel batchArchive: Garbled { detail: "it shows the state from before the change" }
        "status": "APPROVED", "startTime": "2999-01-01T00:00:00Z": ready
            Approve : done
            Pause batchPause: Garbled { detail: "it shows the state from before the change" }
            Resume : done
            Cancel batchPause, batchArchive: Garbled { detail: "it shows the state from before the change" }
        "status": "APPROVED", "startTime": "2001-01-01T00:00:00Z", "endTime": "2999-01-01T00:00:00Z": delivering
            Approve : done
            Pause batchPause: Garbled { detail: "it shows the state from before the change" }
            Resume : done
            Cancel batchPause, batchArchive: Garbled { detail: "it shows the state from before the change" }
        "status": "APPROVED", "endTime": "2001-01-01T00:00:00Z": completed
            Approve : done
            Pause : done
            Resume : done
            Cancel batchArchive: Garbled { detail: "it shows the state from before the change" }
        "status": "PAUSED": paused
            Approve : done
            Pause : done
            Resume batchResume: Garbled { detail: "it shows the state from before the change" }
            Cancel batchArchive: Garbled { detail: "it shows the state from before the change" }
        "status": "DISAPPROVED": rejected
            Approve : done
            Pause : Invalid (it was disapproved at Google)
            Resume : Invalid (it was disapproved at Google)
            Cancel batchArchive: Garbled { detail: "it shows the state from before the change" }
        "status": "CANCELED": canceled
            Approve : Invalid (it is archived at Google, and stays it)
            Pause : Invalid (it is archived at Google, and stays it)
            Resume : Invalid (it is archived at Google, and stays it)
            Cancel : done
        "status": "DRAFT", "archived": true: canceled
            Approve : Invalid (it is archived at Google, and stays it)
            Pause : Invalid (it is archived at Google, and stays it)
            Resume : Invalid (it is archived at Google, and stays it)
            Cancel : done
        "status": "SOMETHING_NEW": Garbled { detail: "the status SOMETHING_NEW of the order is unknown" }
            Approve : Garbled { detail: "the status SOMETHING_NEW of the order is unknown" }
            Pause : Garbled { detail: "the status SOMETHING_NEW of the order is unknown" }
            Resume : Garbled { detail: "the status SOMETHING_NEW of the order is unknown" }
            Cancel : Garbled { detail: "the status SOMETHING_NEW of the order is unknown" }
        "displayName": "without a status": Garbled { detail: "it is no order" }
            Approve : Garbled { detail: "it is no order" }
            Pause : Garbled { detail: "it is no order" }
            Resume : Garbled { detail: "it is no order" }
            Cancel : Garbled { detail: "it is no order" }
    "#]].assert_eq(&table);
}

#[tokio::test]
async fn a_token_is_used_until_it_is_refused() {
    let google = start(vec![route("", 401, "{}")]).await;
    let mut words = Vec::new();
    for _ in 0..3 {
        words.push(word(google.adapter.check().await));
    }
    // A new token that is refused is none of the account's rights; every one here is new.
    assert_eq!(words, ["Credential (it answered 401)"; 3]);
    assert_eq!(google.server.seen().len(), 3);
}

#[tokio::test]
async fn a_report_is_read_entirely_or_not_at_all() {
    let operation = r#"{"name": "networks/12345/operations/reports/runs/8", "done": true, "response": {"reportResult": "networks/12345/reports/7/results/9"}}"#;
    let row = |day: &str, item: &str, metrics: &str| {
        format!(
            r#"{{"rows": [{{"dimensionValues": [{day}, {item}], "metricValueGroups": [{{"primaryValues": [{metrics}]}}]}}]}}"#
        )
    };
    let metrics =
        r#"{"intValue": "2"}, {"intValue": "1"}, {"intValue": "0"}, {"doubleValue": 9.1234567}"#;
    let day = r#"{"intValue": "20261201"}"#;
    let item = r#"{"intValue": "5"}"#;
    let whole = r#"{"intValue": "2"}, {"intValue": "1"}, {}, {"intValue": "9000000"}"#;
    let free = r#"{"intValue": 2}, {"intValue": 1}, {}, {"intValue": "0"}"#;
    let cases = [
        (operation.to_owned(), "{}".to_owned()),
        (operation.to_owned(), row(day, item, metrics)),
        (operation.to_owned(), row(r#"{"stringValue": "2026-12-01"}"#, item, free)),
        (operation.to_owned(), row(r#"{"stringValue": "soon"}"#, item, metrics)),
        (operation.to_owned(), row(day, "{}", metrics)),
        // A whole number leaves open what it counts.
        (operation.to_owned(), row(day, item, whole)),
        (operation.to_owned(), row(day, item, r#"{"intValue": "-2"}, {}, {}, {}"#)),
        (operation.to_owned(), row(day, item, r#"{"intValue": "2"}"#)),
        (operation.replace(r#""done": true, "#, ""), String::new()),
        (operation.replace("12345/reports", "999/reports"), String::new()),
        (operation.replace("reports/7", "reports/../../7"), String::new()),
        (
            r#"{"name": "n", "done": true, "error": {"message": "too\u0007 large"}}"#.to_owned(),
            String::new(),
        ),
        (r#"{"name": "n", "done": true, "response": {}}"#.to_owned(), String::new()),
    ];
    let mut table = String::new();
    for (operation, rows) in cases {
        let started = r#"{"name": "networks/12345/operations/reports/runs/8"}"#;
        let routes = vec![
            route("GET /v1/networks/12345/operations", 200, operation),
            route(":fetchRows", 200, rows),
            route("POST /v1/networks/12345/reports/7:run", 200, started),
            route(
                "POST /v1/networks/12345/reports",
                200,
                r#"{"name": "networks/12345/reports/7"}"#,
            ),
            route("GET /v1/networks/12345/reports", 200, "{}"),
            route("GET /v1/networks/12345", 200, NETWORK),
        ];
        let google = start(routes).await;
        let order = RemoteId("1".to_owned());
        let rows = google.adapter.delivery(&order, date(2026, 12, 1), date(2026, 12, 2)).await;
        let text = rows.map_or_else(
            |error| format!("{error:?}"),
            |rows| {
                let rows = rows.iter().map(|row| {
                    format!(
                        "{} on {}: {} {} {:?} {}",
                        row.line_item.0,
                        row.day,
                        row.impressions,
                        row.clicks,
                        row.completed_views,
                        row.spend
                    )
                });
                format!("[{}]", rows.collect::<Vec<_>>().join(", "))
            },
        );
        table.push_str(&text);
        table.push('\n');
    }
    expect![[r#"
        []
        [5 on 2026-12-01: 2 1 Some(0) 9.123457]
        [5 on 2026-12-01: 2 1 None 0]
        Garbled { detail: "a row of the report has no date" }
        Garbled { detail: "a row of the report has no line item" }
        Garbled { detail: "the revenue is no amount" }
        Garbled { detail: "the revenue is no amount" }
        Garbled { detail: "a row of the report has other metrics" }
        NotYet { retry_after: None }
        Garbled { detail: "a name is none of the network's" }
        Garbled { detail: "a name is none of the network's" }
        Refused { reason: Invalid, detail: "the report failed: too large" }
        Garbled { detail: "the report has no result" }
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn a_request_to_wait_says_how_long() {
    let busy = PreparedAnswer::new(429, "").with("retry-after", "7");
    let google = start(vec![PreparedRoute { part: "", answer: busy }]).await;
    let error = google.adapter.check().await.unwrap_err();
    assert_eq!(error, AdServerError::NotYet { retry_after: Some(Duration::from_secs(7)) });
}

#[tokio::test]
async fn an_association_that_is_there_already_is_done() {
    let mut table = String::new();
    for name in ["CommonError.ALREADY_EXISTS", "CommonError.NOT_FOUND"] {
        let body = fault(&format!("<errors><errorString>{name}</errorString></errors>"));
        let listed = |status: &str| {
            format!(
                r#"{{"lineItemCreativeAssociations": [{{"creative": "networks/12345/creatives/9", "status": "{status}"}}]}}"#
            )
        };
        for known in ["{}".to_owned(), listed("INACTIVE")] {
            let routes =
                vec![route(ASSOCIATIONS, 500, body.clone()), route("GET", 200, known.clone())];
            let google = start(routes).await;
            let id = |text: &str| RemoteId(text.to_owned());
            let adapter = &google.adapter;
            let result = adapter.associate_creative(&id("1"), &id("5"), &id("9")).await;
            table.push_str(&format!("{name}, {known}: {}\n", word(result)));
        }
    }
    expect![[r#"
        CommonError.ALREADY_EXISTS, {}: done
        CommonError.ALREADY_EXISTS, {"lineItemCreativeAssociations": [{"creative": "networks/12345/creatives/9", "status": "INACTIVE"}]}: Conflict (CommonError.ALREADY_EXISTS)
        CommonError.NOT_FOUND, {}: Missing (CommonError.NOT_FOUND)
        CommonError.NOT_FOUND, {"lineItemCreativeAssociations": [{"creative": "networks/12345/creatives/9", "status": "INACTIVE"}]}: Missing (CommonError.NOT_FOUND)
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn a_start_that_has_not_come_is_changed() {
    let item = RemoteId("5".to_owned());
    let order = RemoteId("1".to_owned());
    let far = "2999-01-01T00:00:00Z";
    let past = "2001-01-01T00:00:00Z";
    let mut table = String::new();
    for (there, wanted) in [
        (far, "2998-01-01T00:00:00.5Z"),
        (far, "2999-01-01T00:00:00.5Z"),
        // One that has to start at once takes the soonest start.
        (far, past),
        (past, far),
        (past, past),
    ] {
        let shown = format!(
            r#"{{"name": "networks/12345/lineItems/5", "status": "READY", "startTime": "{there}"}}"#
        );
        let routes = vec![route("lineItems/5", 200, shown), route("GET", 200, NETWORK)];
        let google = start(routes).await;
        let mut spec = specs::line_item("ad_unit/1");
        spec.start_time = wanted.parse().unwrap();
        spec.end_time = "2999-12-31T00:00:00.25Z".parse().unwrap();
        google.adapter.change_line_item(&order, &item, &spec).await.unwrap();
        let sent = google.server.seen().pop().unwrap();
        assert!(sent.contains(r#""targetEndTime":"2999-12-31T00:00:00Z""#), "{sent}");
        let start = sent.split(r#""startTime":""#).nth(1);
        let start = start.and_then(|rest| rest.split('"').next());
        let start = start.map_or("not sent", |start| {
            if start.starts_with('2') && start < "2900" { "the soonest" } else { start }
        });
        table.push_str(&format!("{there}, {wanted}: {start}\n"));
    }
    expect![[r#"
        2999-01-01T00:00:00Z, 2998-01-01T00:00:00.5Z: 2998-01-01T00:00:00Z
        2999-01-01T00:00:00Z, 2999-01-01T00:00:00.5Z: not sent
        2999-01-01T00:00:00Z, 2001-01-01T00:00:00Z: the soonest
        2001-01-01T00:00:00Z, 2999-01-01T00:00:00Z: not sent
        2001-01-01T00:00:00Z, 2001-01-01T00:00:00Z: not sent
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn inactive_line_items_can_be_paused_and_count_as_running() {
    let order = RemoteId("1".to_owned());
    let item = RemoteId("5".to_owned());
    let shown = r#""name": "networks/12345/lineItems/5", "status": "INACTIVE""#;
    let google = start(vec![
        route(":batchPause", 200, "{}"),
        route("lineItems/5/creatives", 200, "{}"),
        route("lineItems/5", 200, format!("{{{shown}}}")),
        route("lineItems", 200, format!(r#"{{"lineItems": [{{{shown}}}]}}"#)),
    ])
    .await;
    let state =
        google.adapter.change_line_item_state(&order, &item, RemoteStateChange::Pause).await;
    assert_eq!(state, Ok(RemoteState::Ready));
    let paused = google.server.seen().iter().filter(|one| one.contains(":batchPause")).count();
    assert_eq!(paused, 1);
    let views = google.adapter.inspect(&order).await.unwrap();
    assert_eq!(views[0].object.state, Some(RemoteState::Delivering));
}

#[tokio::test]
async fn of_several_objects_the_first_one_of_the_advertiser_counts() {
    let orders = r#"{"orders": [
        {"name": "networks/12345/orders/12", "displayName": "A [mb_1]", "status": "DRAFT"},
        {"name": "networks/12345/orders/9", "displayName": "B [mb_1]", "status": "DRAFT"},
        {"name": "networks/12345/orders/8", "displayName": "C [mb_11]", "status": "DRAFT"}]}"#;
    let creatives = r#"{"creatives": [
        {"name": "networks/12345/creatives/12", "displayName": "A [cr_1@1]", "advertiser": "networks/12345/companies/3"},
        {"name": "networks/12345/creatives/11", "displayName": "B [cr_1@1]", "advertiser": "networks/12345/companies/3"},
        {"name": "networks/12345/creatives/9", "displayName": "C [cr_1@1]", "advertiser": "networks/12345/companies/4"}]}"#;
    let google =
        start(vec![route("/orders", 200, orders), route("/creatives", 200, creatives)]).await;
    let order = google.adapter.create_order(&specs::order()).await.unwrap();
    assert_eq!(order.id, RemoteId("9".to_owned()));
    let creative = google.adapter.create_creative(&specs::creative()).await.unwrap();
    assert_eq!(creative.id, RemoteId("11".to_owned()));
    assert!(google.server.seen().iter().all(|one| one.starts_with("GET")));
    assert!(google.server.seen()[0].contains("pageSize=100&"));
}

/// Returns a line item that targets places.
fn targeted(targeting: &str) -> LineItemSpec {
    let mut spec = specs::line_item("ad_unit/1");
    spec.targeting = from_str::<Map>(targeting).unwrap();
    spec
}

#[tokio::test]
async fn places_that_are_not_there_are_asked_for_once() {
    let google = start(vec![route("geoTargets", 200, "{}"), route("GET", 200, NETWORK)]).await;
    let order = specs::order();
    let fields = |problems: Vec<PackageProblem>| -> Vec<String> {
        problems.into_iter().map(|one| format!("{}: {}", one.field, one.message)).collect()
    };
    let line_item = targeted(r#"{"geo_countries": ["US"]}"#);
    for _ in 0..2 {
        let line_items = std::slice::from_ref(&line_item);
        let problems = google.adapter.validate(&order, line_items).await.unwrap();
        assert_eq!(
            fields(problems),
            ["targeting_overlay.geo_countries: The ad server cannot target US."]
        );
    }
    // The network and the country.
    assert_eq!(google.server.seen().len(), 2);
}

#[tokio::test]
async fn many_places_are_looked_up_in_several_steps() {
    let metro = r#"{"name": "networks/12345/geoTargets/200500", "type": "DMA_REGION", "regionCode": "US",
                    "targetable": true}"#;
    let google = start(vec![
        route("geoTargets", 200, metro),
        route("/lineItems", 200, r#"{"name": "networks/12345/lineItems/5", "status": "DRAFT"}"#),
        route("GET", 200, NETWORK),
    ])
    .await;
    let order = specs::order();
    let metros = |numbers: std::ops::Range<u32>| {
        let values: Vec<String> = numbers.map(|number| format!("\"{number}\"")).collect();
        let values = values.join(", ");
        targeted(&format!(
            r#"{{"geo_metros": [{{"system": "nielsen_dma", "values": [{values}]}}]}}"#
        ))
    };
    let many = [metros(500..530), metros(520..551)];
    let not_yet = AdServerError::NotYet { retry_after: None };
    let looked_up = || {
        google
            .server
            .seen()
            .iter()
            .filter(|one| one.starts_with("GET") && one.contains("geoTargets"))
            .count()
    };
    // A slow machine may need more steps, because a call looks things up for two seconds at most.
    let validated = async |line_items: &[LineItemSpec]| {
        let before = looked_up();
        assert_eq!(google.adapter.validate(&order, line_items).await, Err(not_yet.clone()));
        assert!(looked_up() - before <= 50);
        loop {
            match google.adapter.validate(&order, line_items).await {
                Err(AdServerError::NotYet { .. }) => {}
                answered => return answered,
            }
        }
    };
    assert_eq!(validated(&many).await, Ok(Vec::new()));
    assert_eq!(looked_up(), 51);
    // What is wrong is said when everything is known: the caller drops problems that are none of its own.
    let mut wrong = metros(600..660);
    wrong.currency = "EUR".to_owned();
    let problems = validated(&[wrong]).await.unwrap();
    let fields: Vec<&str> = problems.iter().map(|one| one.field.as_str()).collect();
    assert!(!fields.is_empty() && fields.iter().all(|field| *field == "pricing_option_id"));
    assert_eq!(looked_up(), 111);
    // A line item that is made after a restart takes several steps, too.
    let order = RemoteId("1".to_owned());
    let later = metros(700..760);
    assert_eq!(google.adapter.create_line_item(&order, &later).await, Err(not_yet.clone()));
    while google.adapter.create_line_item(&order, &later).await == Err(not_yet.clone()) {}
    assert_eq!(looked_up(), 171);
}

#[tokio::test]
async fn completed_views_are_refused_before_the_sale() {
    let google = start(vec![route("GET", 200, NETWORK)]).await;
    let mut line_item = specs::line_item("ad_unit/1");
    line_item.pricing = LineItemPricing::Cpcv;
    line_item.goal = Some(LineItemGoal { unit: GoalUnit::CompletedViews, amount: 7 });
    let problems = google.adapter.validate(&specs::order(), &[line_item]).await.unwrap();
    let found: Vec<&str> = problems.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(found, ["The ad server cannot bill by cpcv."]);
}
