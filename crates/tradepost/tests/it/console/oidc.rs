//! Signing in with an OpenID provider: a small real one, which can also issue wrong claims.

use std::collections::BTreeMap;
use std::sync::Mutex;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Redirect;
use base64::Engine as _;
use tradepost_keys::{Algorithm, SigningKey, encode, generate, sha256};
use tradepost_runtime::config::delivery::ConfigSecret;
use tradepost_runtime::config::oidc::{Oidc, RoleGrant};

use super::*;
use crate::process::{DEALER, Process};
use crate::support::h2;

const CLIENT: &str = "tradepost";
const SECRET: &str = "a secret & more";

fn seconds(moment: &str) -> i64 {
    at(moment).as_second()
}

type Members = BTreeMap<String, String>;

/// Change of the claims that the provider signs.
type ClaimChange = Box<dyn Fn(&mut Value) + Send>;

/// A wrong claim of a token: its description, and the change that makes it.
type WrongClaim = (&'static str, fn(&mut Value));

/// State of the provider, with the request behind each code that was not used yet.
struct ProviderState {
    issuer: String,
    published_issuer: String,
    key: SigningKey,
    foreign: SigningKey,
    signs_with_foreign: bool,
    change_claims: ClaimChange,
    codes: BTreeMap<String, Members>,
    exchanges: usize,
}

type Shared = Arc<Mutex<ProviderState>>;

struct Provider {
    provider_state: Shared,
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

fn key(id: &str) -> SigningKey {
    SigningKey::read(&generate(Algorithm::EdDsa).unwrap(), Some(id)).unwrap()
}

fn members(form: &str) -> Members {
    form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

async fn discovery(State(provider_state): State<Shared>) -> String {
    let provider_state = provider_state.lock().unwrap();
    let at = |path: &str| format!("{}{path}", provider_state.issuer);
    json!({
        "issuer": provider_state.published_issuer, "authorization_endpoint": at("/authorize?tenant=1"),
        "token_endpoint": at("/token"), "jwks_uri": at("/keys"),
    })
    .to_string()
}

async fn keys(State(provider_state): State<Shared>) -> String {
    json!({"keys": [provider_state.lock().unwrap().key.public_jwk()]}).to_string()
}

async fn authorize(State(provider_state): State<Shared>, uri: Uri) -> Redirect {
    let asked = members(uri.query().unwrap());
    let mut provider_state = provider_state.lock().unwrap();
    for (name, value) in [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("scope", "openid groups"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(asked[name], value);
    }
    let code = format!("code {}", uuid::Uuid::new_v4());
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("state", &asked["state"])
        .append_pair("code", &code)
        .finish();
    let back = format!("{}?{query}", asked["redirect_uri"]);
    provider_state.codes.insert(code, asked);
    Redirect::to(&back)
}

async fn token(
    State(provider_state): State<Shared>,
    headers: HeaderMap,
    form: String,
) -> (StatusCode, String) {
    let form = members(&form);
    let mut provider_state = provider_state.lock().unwrap();
    provider_state.exchanges += 1;
    let pair = format!("{CLIENT}:a+secret+%26+more");
    let basic = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair));
    assert_eq!(headers["authorization"], basic, "RFC 6749 §2.3.1");
    assert_eq!(form["grant_type"], "authorization_code");
    let Some(asked) = provider_state.codes.remove(&form["code"]) else {
        return (StatusCode::BAD_REQUEST, json!({"error": "invalid_grant"}).to_string());
    };
    assert_eq!(asked["redirect_uri"], form["redirect_uri"]);
    if encode(sha256(form["code_verifier"].as_bytes())) != asked["code_challenge"] {
        return (StatusCode::BAD_REQUEST, json!({"error": "invalid_grant"}).to_string());
    }
    let now = seconds(NOW);
    let mut claims = json!({
        "iss": provider_state.issuer, "aud": CLIENT, "sub": "248289761001", "nonce": asked["nonce"],
        "exp": now + 100_000, "iat": now, "login": "ada", "org": {"groups": ["all", "sales"]},
    });
    (provider_state.change_claims)(&mut claims);
    let key = if provider_state.signs_with_foreign {
        &provider_state.foreign
    } else {
        &provider_state.key
    };
    let header = json!({"alg": "EdDSA", "kid": "k"});
    let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let token = format!("{signed}.{}", encode(key.sign(signed.as_bytes()).unwrap()));
    let answer = json!({"access_token": "x", "token_type": "Bearer", "id_token": token});
    (StatusCode::OK, answer.to_string())
}

impl Provider {
    fn start() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let issuer = format!("http://{address}");
        let provider_state = Arc::new(Mutex::new(ProviderState {
            published_issuer: issuer.clone(),
            issuer,
            key: key("k"),
            foreign: key("k"),
            signs_with_foreign: false,
            change_claims: Box::new(|_| {}),
            codes: BTreeMap::new(),
            exchanges: 0,
        }));
        let router = axum::Router::new()
            .route("/.well-known/openid-configuration", axum::routing::get(discovery))
            .route("/keys", axum::routing::get(keys))
            .route("/authorize", axum::routing::get(authorize))
            .route("/token", axum::routing::post(token))
            .with_state(Arc::clone(&provider_state));
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { provider_state, address, _runtime: runtime }
    }

    fn settings(&self) -> Oidc {
        let grant = |value: &str, role, dealer: Option<&str>| RoleGrant {
            value: value.to_owned(),
            role,
            dealer_id: dealer.map(str::to_owned),
        };
        Oidc {
            label: "Acme <&>".to_owned(),
            issuer: format!("http://{}", self.address),
            client_id: CLIENT.to_owned(),
            secret: ConfigSecret::Text(SECRET.to_owned()),
            scope: "openid groups".to_owned(),
            name_claim: "login".to_owned(),
            role_claim: "org.groups".to_owned(),
            grants: vec![
                grant("it", StaffRole::Engineer, None),
                grant("sales", StaffRole::Desk, Some(ONE)),
            ],
        }
    }

    fn fixture(&self) -> Fixture {
        let settings = self.settings();
        Fixture::with(|config| {
            config.server.console.as_mut().unwrap().oidc = Some(settings);
        })
    }

    fn says(&self, change_claims: impl Fn(&mut Value) + Send + 'static) {
        self.provider_state.lock().unwrap().change_claims = Box::new(change_claims);
    }

    /// Signs somebody in there: where the browser is sent back to.
    fn visit(&self, location: &str) -> String {
        let path = location.strip_prefix(&format!("http://{}", self.address)).unwrap();
        let answer = client::request(self.address, "GET", path, &[], b"");
        let back = answer.header("location").unwrap();
        back[back.find("/console").unwrap()..].to_owned()
    }
}

/// Begins a sign-in: where the browser is sent, and its cookie.
fn leave(fixture: &Fixture) -> (String, String) {
    let answer = fixture.get("/console/sign-in/oidc?next=/console/leads");
    assert_eq!(answer.status, 303, "{}", text(&answer));
    let set = answer.header("set-cookie").unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
    (answer.header("location").unwrap().to_owned(), cookie(&answer, "tradepost-passing").unwrap())
}

fn come_back(fixture: &Fixture, path: &str, cookie: &str) -> Response {
    // As browsers say of somebody whom another site sends.
    let headers = [("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")];
    client::request(fixture.address, "GET", path, &headers, b"")
}

/// The whole way.
fn sign_in(fixture: &Fixture, provider: &Provider) -> Response {
    // Nobody is held up for coming often.
    fixture.hand.advance(SignedDuration::from_mins(6));
    let (location, cookie) = leave(fixture);
    come_back(fixture, &provider.visit(&location), &cookie)
}

fn is_refused(answer: &Response) -> bool {
    let is_in = cookie(answer, "tradepost-console").is_some();
    answer.status == 401 && !is_in && text(answer).contains("role=\"alert\"")
}

fn get(fixture: &Fixture, path: &str, session: &str) -> Response {
    client::request(fixture.address, "GET", path, &[("Cookie", session)], b"")
}

#[test]
fn whom_the_provider_vouches_for_has_their_groups_roles() {
    let provider = Provider::start();
    let fixture = provider.fixture();
    let page = text(&fixture.get("/console/sign-in?next=/console/leads"));
    assert!(page.contains("Sign in with Acme &#60;&#38;&#62;"), "{page}");
    assert!(page.contains("/console/sign-in/oidc?next=/console/leads"), "{page}");
    let answer = sign_in(&fixture, &provider);
    assert_eq!(answer.status, 200, "{}", text(&answer));
    assert!(text(&answer).contains("content=\"0; url=/console/leads\""), "{}", text(&answer));
    let session = cookie(&answer, "tradepost-console").unwrap();
    let leads = get(&fixture, "/console/leads", &session);
    assert_eq!(leads.status, 200);
    assert!(text(&leads).contains("oidc:ada") && text(&leads).contains("Sales desk"));
    assert_eq!(get(&fixture, "/console/audit", &session).status, 403);
    // That somebody may come in is in the record, and once: it is nothing new the next time.
    let expected = |who: &str, what: &str, detail: &str| {
        (who.to_owned(), what.to_owned(), Some(detail.to_owned()))
    };
    let begun =
        [expected("oidc", "member_added", "desk"), expected("oidc:ada", "signed_in", "oidc")];
    assert_eq!(fixture.record(ONE)[..2], begun);
    let refused = ("oidc:ada".into(), "access_refused".into(), Some("GET /console/audit".into()));
    assert_eq!(fixture.record(ONE)[2..], [refused]);
    assert_eq!(sign_in(&fixture, &provider).status, 200);
    assert_eq!(fixture.record(ONE).last(), Some(&expected("oidc:ada", "signed_in", "oidc")));
    assert_eq!(fixture.record(ONE).len(), 4);
    // Nobody comes in as them with a password, and passwords hold for those who have one.
    for password in ["", "correct horse battery"] {
        let (refused, _) = fixture.try_to_enter("oidc:ada", password);
        assert_eq!(refused.status, 401);
    }
    fixture.enter("dora");
    // What the provider says counts from then on.
    provider.says(|claims| claims["org"]["groups"] = json!("it all"));
    let answer = sign_in(&fixture, &provider);
    assert_eq!(answer.status, 200);
    // The session with the rights of before is over, and the new one has those of now.
    assert_eq!(get(&fixture, "/console/leads", &session).status, 303);
    let session = cookie(&answer, "tradepost-console").unwrap();
    let checklist = get(&fixture, "/console/checklist", &session);
    assert!(text(&checklist).contains("Engineer"), "{}", text(&checklist));
    // Whom nothing lets in any more is out.
    provider.says(|claims| claims["org"]["groups"] = json!(["all"]));
    let refused = sign_in(&fixture, &provider);
    assert!(is_refused(&refused) && text(&refused).contains("gives you no role in this console"));
    assert_eq!(get(&fixture, "/console/checklist", &session).status, 303);
    assert!(fixture.server.store.member("oidc:ada").unwrap().is_none());
    let recorded: Vec<_> =
        fixture.record("*").into_iter().map(|(who, what, _)| (who, what)).collect();
    let entry = |who: &str, what: &str| (who.to_owned(), what.to_owned());
    let expected = [entry("oidc", "member_removed"), entry("sign-in", "sign_in_failed")];
    assert_eq!(recorded[recorded.len() - 2..], expected);
}

#[test]
fn a_token_not_for_this_sign_in_lets_nobody_in() {
    let provider = Provider::start();
    let fixture = provider.fixture();
    let wrong_claims: [WrongClaim; 9] = [
        ("another nonce", |claims| claims["nonce"] = json!("another")),
        ("no nonce", |claims| drop(claims.as_object_mut().unwrap().shift_remove("nonce"))),
        ("another audience", |claims| claims["aud"] = json!("another")),
        ("several audiences", |claims| claims["aud"] = json!([CLIENT, "another"])),
        ("made for another", |claims| claims["azp"] = json!("another")),
        ("expired", |claims| claims["exp"] = json!(seconds(NOW) - 61)),
        ("another issuer", |claims| claims["iss"] = json!("http://127.0.0.1:1")),
        ("no name", |claims| claims["login"] = json!(7)),
        ("a name of two lines", |claims| claims["login"] = json!("ada\nmaria")),
    ];
    for (what, make_wrong) in wrong_claims {
        provider.says(make_wrong);
        assert!(is_refused(&sign_in(&fixture, &provider)), "{what}");
    }
    provider.says(|_| {});
    provider.provider_state.lock().unwrap().signs_with_foreign = true;
    assert!(is_refused(&sign_in(&fixture, &provider)), "a foreign key");
    provider.provider_state.lock().unwrap().signs_with_foreign = false;
    assert_eq!(sign_in(&fixture, &provider).status, 200, "the same without any lie");
    assert_eq!(fixture.server.store.members(None).unwrap().len(), 6, "nobody else became known");
}

#[test]
fn a_sign_in_ends_once_in_place_and_in_time() {
    let provider = Provider::start();
    let fixture = provider.fixture();
    let (location, cookie) = leave(&fixture);
    let back = provider.visit(&location);
    let exchanges = || provider.provider_state.lock().unwrap().exchanges;
    // Another browser, or one that began something else.
    assert!(is_refused(&come_back(&fixture, &back, "")));
    let (another, others) = leave(&fixture);
    assert!(is_refused(&come_back(&fixture, &back, &others)));
    assert_eq!(exchanges(), 0, "the provider hears nothing of it");
    assert_eq!(come_back(&fixture, &back, &cookie).status, 200);
    assert!(is_refused(&come_back(&fixture, &back, &cookie)), "a state that was used");
    assert_eq!(exchanges(), 1);
    // A code that was used, in a sign-in that is whole otherwise.
    let (_, code) = back.split_once("&code=").unwrap();
    let fresh = provider.visit(&another);
    let (state, _) = fresh.split_once("&code=").unwrap();
    let replayed = format!("{state}&code={code}");
    assert!(is_refused(&come_back(&fixture, &replayed, &others)));
    assert_eq!(exchanges(), 2);
    // A code of somebody else's sign-in: the verifier does not fit.
    fixture.hand.advance(SignedDuration::from_mins(6));
    let (mine, cookie) = leave(&fixture);
    let (theirs, _) = leave(&fixture);
    let mine = provider.visit(&mine);
    let theirs = provider.visit(&theirs);
    let (state, _) = mine.split_once("&code=").unwrap();
    let (_, code) = theirs.split_once("&code=").unwrap();
    assert!(is_refused(&come_back(&fixture, &format!("{state}&code={code}"), &cookie)));
    // Somebody who said no there, and somebody who was away for long.
    fixture.hand.advance(SignedDuration::from_mins(6));
    let (location, cookie) = leave(&fixture);
    let denied = "/console/sign-in/oidc/back?error=access_denied";
    assert!(is_refused(&come_back(&fixture, denied, &cookie)));
    let back = provider.visit(&location);
    fixture.hand.advance(SignedDuration::from_mins(11));
    assert!(is_refused(&come_back(&fixture, &back, &cookie)));
}

#[test]
fn passwords_work_while_the_provider_is_away_or_another() {
    let provider = Provider::start();
    let fixture = provider.fixture();
    provider.provider_state.lock().unwrap().published_issuer = "https://another.example".to_owned();
    let refused = fixture.get("/console/sign-in/oidc");
    assert!(is_refused(&refused) && text(&refused).contains("provider is unavailable"));
    drop(provider);
    assert!(is_refused(&fixture.get("/console/sign-in/oidc")));
    fixture.enter("dora");
    // Only pages of ours are led on to.
    let page = text(&fixture.get("/console/sign-in?next=https://evil.example"));
    assert!(!page.contains("evil.example"), "{page}");
}

#[test]
fn a_provider_that_is_away_uses_up_no_attempts() {
    let provider = Provider::start();
    let fixture = provider.fixture();
    leave(&fixture);
    // Where it is, is remembered for an hour.
    drop(provider);
    for number in 0..25 {
        let (location, cookie) = leave(&fixture);
        let state = members(location.split_once('?').unwrap().1)["state"].clone();
        let back = format!("/console/sign-in/oidc/back?state={state}&code=x");
        let answer = come_back(&fixture, &back, &cookie);
        assert_eq!(answer.status, 503, "{number}");
        assert!(text(&answer).contains("provider is unavailable"), "{}", text(&answer));
        // Whoever comes with a sign-in that is over, or of another browser, is not asked about.
        assert!(is_refused(&come_back(&fixture, &back, &cookie)), "{number}");
        assert!(is_refused(&come_back(&fixture, &format!("{back}y"), "")), "{number}");
    }
    let recorded = fixture.record("*");
    assert!(recorded.iter().all(|(_, action, _)| action != "sign_in_failed"), "{recorded:?}");
    fixture.enter("dora");
}

#[test]
fn a_made_up_passing_cookie_is_not_believed() {
    let provider = Provider::start();
    let fixture = provider.fixture();
    let (location, _) = leave(&fixture);
    let made_up = format!("{}.chosen..", seconds(NOW));
    let part = |purpose: &str| {
        encode(sha256(format!("tradepost console {purpose}\n{made_up}").as_bytes()))
    };
    let (start, query) = location.split_once('?').unwrap();
    let mut asked = members(query);
    asked.insert("state".to_owned(), part("oidc state"));
    asked.insert("nonce".to_owned(), part("oidc nonce"));
    let challenge = encode(sha256(part("oidc verifier").as_bytes()));
    asked.insert("code_challenge".to_owned(), challenge);
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(asked).finish();
    let back = provider.visit(&format!("{start}?{query}"));
    assert!(is_refused(&come_back(&fixture, &back, &format!("tradepost-passing={made_up}"))));
    assert_eq!(provider.provider_state.lock().unwrap().exchanges, 0);
}

#[test]
fn without_a_provider_there_is_no_way_to_one() {
    let fixture = Fixture::new();
    assert!(!text(&fixture.get("/console/sign-in")).contains("oidc"));
    for path in ["/console/sign-in/oidc", "/console/sign-in/oidc/back?state=a&code=b"] {
        assert_eq!(fixture.get(path).status, 404);
    }
}

#[test]
fn a_provider_that_never_answers_keeps_no_thread_from_others() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", silent.local_addr().unwrap());
    let (arrived, came) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // Kept open, so that whoever asks waits.
        let mut kept = Vec::new();
        for stream in silent.incoming().map_while(Result::ok) {
            kept.push(stream);
            if arrived.send(()).is_err() {
                return;
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let console = format!(
        r#"
        [server.console]
        listen = "127.0.0.1:0"
        [server.console.oidc]
        issuer = "{issuer}"
        client_id = "{CLIENT}"
        client_secret_file = "{}"
        role_claim = "groups"
        roles = [{{ value = "it", role = "engineer", all_dealers = true }}]
        "#,
        secret.display()
    );
    let config = DEALER.replace("trace", "info") + &console;
    let process = Process::configured(folder.path(), &config);
    let address = process.said("listening for the console address=");
    let address: SocketAddr = address.trim().parse().unwrap();

    // More than a process has threads that may wait.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (sender, mut answered) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..8 {
        let connection = h2::Connection::open(address);
        let sender = sender.clone();
        std::thread::spawn(move || {
            let target = format!("http://{address}/console/sign-in/oidc");
            let all = (0..100).map(|_| h2::request("GET", &target, &[], bytes::Bytes::new()));
            for answer in connection.send_all(all.collect()) {
                let _ = sender.send(answer.status);
            }
        });
    }
    drop(sender);
    came.recv().unwrap();
    for _ in 0..20 {
        let ready = client::request(process.address, "GET", "/readyz", &[], b"");
        assert_eq!(ready.status, 200, "{}", ready.json());
    }
    // Whoever wanted to sign in hears that the provider is away, and that it is no fault of theirs.
    let mut count = 0;
    while let Some(status) = runtime.block_on(answered.recv()) {
        assert_eq!(status, 401);
        count += 1;
    }
    assert_eq!(count, 800);
}

#[test]
fn whoever_signs_in_with_the_provider_proves_it_anew_there() {
    let provider = Provider::start();
    let mut settings = provider.settings();
    let grant =
        RoleGrant { value: "boss".into(), role: StaffRole::Manager, dealer_id: Some(ONE.into()) };
    settings.grants.insert(0, grant);
    let fixture = Fixture::with(|config| {
        config.server.console.as_mut().unwrap().oidc = Some(settings);
    });
    let lead = fixture.lead("one.example", &customer("Grace"));
    // The provider signs in whoever it knows from before, without a question, and does not say when.
    provider.says(|claims| claims["org"]["groups"] = json!(["boss"]));
    let session = cookie(&sign_in(&fixture, &provider), "tradepost-console").unwrap();
    let page = format!("/console/leads/{lead}");
    let take = |session: &str| {
        let proof = ("proof", proof(&get(&fixture, &page, session)));
        fixture.send(&format!("{page}/evidence"), session, &[], &[proof])
    };
    let asked = take(&session);
    assert_eq!(asked.status, 401);
    let again = format!("/console/sign-in/oidc?again=yes&#38;next={page}");
    assert!(text(&asked).contains(&again), "{}", text(&asked));
    let leave = || {
        let answer =
            get(&fixture, &format!("/console/sign-in/oidc?again=yes&next={page}"), &session);
        let location = answer.header("location").unwrap().to_owned();
        assert!(location.contains("&prompt=login&max_age=0"), "{location}");
        let cookie = cookie(&answer, "tradepost-passing").unwrap();
        (provider.visit(&location), cookie)
    };
    let seconds_ago = |ago: i64| {
        let now = seconds(NOW) + 6 * 60;
        move |claims: &mut Value| {
            claims["org"]["groups"] = json!(["boss"]);
            claims["auth_time"] = json!(now - ago);
        }
    };
    // It has asked for nothing, or does not say that it has.
    for change_claims in [seconds_ago(120), seconds_ago(3_600)] {
        provider.says(change_claims);
        // More often than an address may fail: it is the provider that did not do its part.
        for _ in 0..11 {
            let (back, cookie) = leave();
            let refused = come_back(&fixture, &back, &cookie);
            assert!(is_refused(&refused), "{}", refused.status);
            assert!(text(&refused).contains("did not ask you to sign in again"));
        }
    }
    let recorded = fixture.record("*");
    assert!(recorded.iter().all(|(_, action, _)| action != "sign_in_failed"), "{recorded:?}");
    assert_eq!(get(&fixture, "/console", &session).status, 200);
    provider.says(seconds_ago(0));
    let (back, passing) = leave();
    let answer = come_back(&fixture, &back, &passing);
    assert!(text(&answer).contains(&format!("url={page}")), "{}", text(&answer));
    let renewed = cookie(&answer, "tradepost-console").unwrap();
    assert_eq!(
        get(&fixture, "/console", &session).status,
        303,
        "the session goes on under another id"
    );
    assert_eq!(take(&renewed).status, 200);
    // Nobody gets so far without being in.
    let redirected = fixture.get("/console/sign-in/oidc?again=yes");
    assert_eq!(redirected.header("location"), Some("/console/sign-in"));
}
