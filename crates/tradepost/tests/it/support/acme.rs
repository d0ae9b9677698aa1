//! An authority that speaks ACME (RFC 8555) on a port of its own: it checks every signature and nonce, comes
//! to look at the names, and fails when it is told to.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256,
    PublicKeyData, SignatureAlgorithm,
};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest as _, Sha256};
use tradepost_document::json::{Value, json};

/// Deviations of the authority from the protocol, and records of its requests.
#[derive(Debug, Default)]
pub struct AuthorityBehavior {
    /// Where it looks for names.
    pub looks_at: Option<SocketAddr>,
    /// How many nonces it refuses although they are good.
    pub bad_nonces: u32,
    /// With what it refuses new orders: a status, headers and a body.
    pub refuses: Option<(u16, Option<&'static str>, String)>,
    /// For which names it issues, in the place of those that were ordered.
    pub issues_for: Option<Vec<String>>,
    /// Whether it forgets its accounts before the next order.
    pub forgets_accounts: bool,
    /// From which year to which its certificates are good.
    pub years: (i32, i32),
    /// Everything that was asked of it, by path.
    pub asked: Vec<String>,
    /// How many accounts it has made.
    pub accounts: u32,
    /// The contacts of the account that was last written.
    pub contact: Value,
    /// The certificates that it has issued.
    pub issued: u32,
}

#[derive(Default)]
struct Kept {
    nonces: BTreeSet<String>,
    fresh: u32,
    /// The public keys of accounts, and their thumbprints.
    accounts: Vec<(Vec<u8>, String)>,
    orders: Vec<Order>,
}

/// A name, its token, and what was seen there, once it was looked at.
type Ordered = (String, String, Option<Result<(), String>>);

struct Order {
    names: Vec<Ordered>,
    chain: Option<String>,
}

/// The authority.
#[derive(Clone)]
pub struct Authority {
    pub address: SocketAddr,
    pub pem: String,
    shared: Arc<Shared>,
}

struct Shared {
    behavior: Mutex<AuthorityBehavior>,
    kept: Mutex<Kept>,
    issuer: Issuer<'static, KeyPair>,
}

type Answer = (u16, Vec<(&'static str, String)>, String);

impl Authority {
    /// Starts it on a runtime.
    pub fn start(runtime: &tokio::runtime::Runtime) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "an authority of ACME");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let behavior = AuthorityBehavior { years: (2026, 2029), ..AuthorityBehavior::default() };
        let issuer = Issuer::new(params, key);
        let shared =
            Arc::new(Shared { behavior: Mutex::new(behavior), kept: Mutex::default(), issuer });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let authority = Self { address: listener.local_addr().unwrap(), pem, shared };
        let router = Router::new().fallback(answer).with_state(authority.clone());
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        authority
    }

    /// Where it says what it offers.
    pub fn directory(&self) -> String {
        self.url("directory")
    }

    pub fn behavior(&self) -> MutexGuard<'_, AuthorityBehavior> {
        self.shared.behavior.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    fn nonce(&self) -> String {
        let mut kept = self.kept();
        kept.fresh += 1;
        let nonce = format!("nonce-{}", kept.fresh);
        kept.nonces.insert(nonce.clone());
        nonce
    }

    fn handle(&self, method: &Method, path: &str, body: &[u8]) -> Answer {
        self.behavior().asked.push(path.to_owned());
        if path == "directory" {
            let url = |path| self.url(path);
            let document = json!({
                "newNonce": url("new-nonce"), "newAccount": url("new-account"),
                "newOrder": url("new-order"), "revokeCert": url("revoke"), "keyChange": url("key"),
            });
            return (200, Vec::new(), document.to_string());
        }
        if path == "new-nonce" {
            return (200, Vec::new(), String::new());
        }
        assert_eq!(method, Method::POST, "{path}");
        match self.verified(path, body) {
            Ok((payload, account)) => self.carry_out(path, &payload, account),
            Err(why) => problem(400, why, "what was sent is not to be believed"),
        }
    }

    /// The payload of a request that is signed as it has to be, and whose it is.
    fn verified(&self, path: &str, body: &[u8]) -> Result<(Value, Option<usize>), &'static str> {
        let jws: Value = tradepost_document::json::from_slice(body).map_err(|_| "malformed")?;
        let part = |name: &str| jws[name].as_str().unwrap_or_default().to_owned();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(part(name)).map_err(|_| "malformed");
        let head: Value =
            tradepost_document::json::from_slice(&bytes("protected")?).map_err(|_| "malformed")?;
        assert_eq!((&head["alg"], &head["url"]), (&json!("ES256"), &json!(self.url(path))));
        let known = head["kid"].as_str().and_then(|kid| kid.rsplit('/').next()?.parse().ok());
        let (key, account) = match known {
            Some(account) => {
                let account: usize = account;
                let known = self.kept().accounts.get(account).cloned();
                (known.ok_or("accountDoesNotExist")?.0, Some(account))
            }
            None => {
                assert_eq!(path, "new-account", "only an account is introduced by its key");
                (point(&head["jwk"]), None)
            }
        };
        let signed = format!("{}.{}", part("protected"), part("payload"));
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &key)
            .verify(signed.as_bytes(), &bytes("signature")?)
            .map_err(|_| "unauthorized")?;
        // After the signature: a nonce that somebody else spoils is not used up.
        let nonce = head["nonce"].as_str().unwrap_or_default();
        assert!(self.kept().nonces.remove(nonce), "{nonce} was never given, or used before");
        let mut behavior = self.behavior();
        if behavior.bad_nonces > 0 {
            behavior.bad_nonces -= 1;
            return Err("badNonce");
        }
        drop(behavior);
        if account.is_none() {
            let jwk = &head["jwk"];
            let text = |name: &str| jwk[name].as_str().unwrap_or_default();
            let thumb = format!(
                r#"{{"crv":"{}","kty":"{}","x":"{}","y":"{}"}}"#,
                text("crv"),
                text("kty"),
                text("x"),
                text("y")
            );
            let thumb = URL_SAFE_NO_PAD.encode(Sha256::digest(thumb));
            self.kept().accounts.push((key, thumb));
        }
        let payload = bytes("payload")?;
        let payload = tradepost_document::json::from_slice(&payload).unwrap_or(Value::Null);
        Ok((payload, account))
    }

    fn carry_out(&self, path: &str, payload: &Value, account: Option<usize>) -> Answer {
        let mut parts = path.split('/');
        let kind = parts.next().unwrap_or_default();
        let number = parts.next().and_then(|text| text.parse::<usize>().ok());
        let name = parts.next().and_then(|text| text.parse::<usize>().ok());
        match (kind, number, name) {
            ("new-account", ..) => {
                assert_eq!(payload["termsOfServiceAgreed"], true);
                let mut behavior = self.behavior();
                behavior.accounts += 1;
                behavior.contact = payload["contact"].clone();
                let account = self.kept().accounts.len() - 1;
                let location = self.url(&format!("account/{account}"));
                (201, vec![("location", location)], json!({"status": "valid"}).to_string())
            }
            ("account", ..) => {
                self.behavior().contact = payload["contact"].clone();
                (200, Vec::new(), json!({"status": "valid"}).to_string())
            }
            ("new-order", ..) => self.new_order(payload),
            ("order", Some(order), _) => (200, Vec::new(), self.order(order).to_string()),
            ("authorization", Some(order), Some(name)) => {
                (200, Vec::new(), self.authorization(order, name).to_string())
            }
            ("challenge", Some(order), Some(name)) => {
                let thumb = self.kept().accounts[account.unwrap()].1.clone();
                let (host, token, _) = self.kept().orders[order].names[name].clone();
                let digest = Sha256::digest(format!("{token}.{thumb}"));
                let at = self.behavior().looks_at;
                let seen = look(at, &host, &digest);
                self.kept().orders[order].names[name].2 = Some(seen);
                (200, Vec::new(), self.challenge(order, name).to_string())
            }
            ("finalize", Some(order), _) => {
                let request = payload["csr"].as_str().unwrap();
                let request = URL_SAFE_NO_PAD.decode(request).unwrap();
                let chain = self.issue(order, &request);
                self.kept().orders[order].chain = Some(chain);
                (200, Vec::new(), self.order(order).to_string())
            }
            ("certificate", Some(order), _) => {
                (200, Vec::new(), self.kept().orders[order].chain.clone().unwrap())
            }
            _ => problem(404, "malformed", "there is nothing here"),
        }
    }

    fn new_order(&self, payload: &Value) -> Answer {
        if std::mem::take(&mut self.behavior().forgets_accounts) {
            // Those that are known by now are nobody's any more.
            for (key, _) in &mut self.kept().accounts {
                key.clear();
            }
            return problem(400, "accountDoesNotExist", "nobody has this account");
        }
        if let Some((status, wait, body)) = self.behavior().refuses.clone() {
            let wait = wait.map(|wait| ("retry-after", wait.to_owned()));
            return (status, wait.into_iter().collect(), body);
        }
        let mut kept = self.kept();
        let number = kept.orders.len();
        let names = payload["identifiers"].as_array().unwrap().iter().enumerate();
        let names = names.map(|(place, name)| {
            assert_eq!(name["type"], "dns");
            (name["value"].as_str().unwrap().to_owned(), format!("token-{number}-{place}"), None)
        });
        let order = Order { names: names.collect(), chain: None };
        kept.orders.push(order);
        drop(kept);
        let location = self.url(&format!("order/{number}"));
        (201, vec![("location", location)], self.order(number).to_string())
    }

    fn order(&self, number: usize) -> Value {
        let kept = self.kept();
        let order = &kept.orders[number];
        let failed = order.names.iter().any(|(.., seen)| matches!(seen, Some(Err(_))));
        let ready = order.names.iter().all(|(.., seen)| matches!(seen, Some(Ok(()))));
        let status = match (&order.chain, failed, ready) {
            (Some(_), ..) => "valid",
            (None, true, _) => "invalid",
            (None, false, true) => "ready",
            (None, false, false) => "pending",
        };
        let names = order.names.iter().map(|(name, ..)| json!({"type": "dns", "value": name}));
        let authorizations = (0..order.names.len())
            .map(|name| Value::from(self.url(&format!("authorization/{number}/{name}"))));
        let mut document = json!({
            "status": status,
            "identifiers": names.collect::<Vec<_>>(),
            "authorizations": authorizations.collect::<Vec<_>>(),
            "finalize": self.url(&format!("finalize/{number}")),
        });
        if order.chain.is_some() {
            document["certificate"] = self.url(&format!("certificate/{number}")).into();
        }
        document
    }

    fn authorization(&self, order: usize, name: usize) -> Value {
        let challenge = self.challenge(order, name);
        let (host, ..) = self.kept().orders[order].names[name].clone();
        json!({
            "identifier": {"type": "dns", "value": host},
            "status": challenge["status"],
            "challenges": [
                {"type": "dns-01", "url": self.url("no"), "token": "no", "status": "pending"},
                challenge,
            ],
        })
    }

    fn challenge(&self, order: usize, name: usize) -> Value {
        let (_, token, seen) = self.kept().orders[order].names[name].clone();
        let mut challenge = json!({
            "type": "tls-alpn-01", "token": token,
            "url": self.url(&format!("challenge/{order}/{name}")),
            "status": match &seen { None => "pending", Some(Ok(())) => "valid", Some(Err(_)) => "invalid" },
        });
        if let Some(Err(why)) = seen {
            challenge["error"] = json!({
                "type": "urn:ietf:params:acme:error:connection", "detail": why,
            });
        }
        challenge
    }

    fn issue(&self, order: usize, request: &[u8]) -> String {
        let mut behavior = self.behavior();
        behavior.issued += 1;
        let ordered: Vec<_> =
            self.kept().orders[order].names.iter().map(|(name, ..)| name.clone()).collect();
        let names = behavior.issues_for.clone().unwrap_or(ordered);
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = rcgen::date_time_ymd(behavior.years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(behavior.years.1, 1, 1);
        let key = Asked(public_key(request).to_vec());
        let certificate = params.signed_by(&key, &self.shared.issuer).unwrap();
        format!("{}{}", certificate.pem(), self.pem)
    }
}

async fn answer(
    State(authority): State<Authority>,
    method: Method,
    uri: Uri,
    _: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().trim_start_matches('/').to_owned();
    let here = authority.clone();
    let handled = tokio::task::spawn_blocking(move || here.handle(&method, &path, &body));
    let (status, headers, body) = handled.await.unwrap();
    let mut response = Response::builder().status(status).header("replay-nonce", authority.nonce());
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).unwrap()
}

fn problem(status: u16, kind: &str, detail: &str) -> Answer {
    let kind = format!("urn:ietf:params:acme:error:{kind}");
    (status, Vec::new(), json!({"type": kind, "detail": detail}).to_string())
}

/// A public key as a point of P-256.
fn point(jwk: &Value) -> Vec<u8> {
    let half = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    [vec![4], half("x"), half("y")].concat()
}

/// The point in a request for a certificate (RFC 2986 §4.1): the key of P-256 has it at its end.
fn public_key(request: &[u8]) -> &[u8] {
    const P256: &[u8] = &[
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
        0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ];
    let at = request.windows(P256.len()).position(|part| part == P256).unwrap();
    &request[at + P256.len()..][..65]
}

struct Asked(Vec<u8>);

impl PublicKeyData for Asked {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

/// Looks whether a name leads to somebody who knows the digest (RFC 8737 §3).
fn look(at: Option<SocketAddr>, host: &str, digest: &[u8]) -> Result<(), String> {
    let at = at.ok_or("nobody is there")?;
    let stream = std::net::TcpStream::connect(at).map_err(|error| error.kind().to_string())?;
    let mut config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
    config.alpn_protocols = vec![b"acme-tls/1".to_vec()];
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|error| error.to_string())?;
    }
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"acme-tls/1"[..]));
    let shown = stream.conn.peer_certificates().and_then(<[_]>::first).cloned().unwrap();
    // 1.3.6.1.5.5.7.1.31, critical, an octet string in an octet string (RFC 8737 §3).
    let extension = [
        &[0x06, 0x08, 0x2b, 6, 1, 5, 5, 7, 1, 0x1f, 0x01, 0x01, 0xff, 0x04, 0x22, 0x04, 0x20],
        digest,
    ]
    .concat();
    let has_it = shown.windows(extension.len()).any(|part| part == extension);
    has_it.then_some(()).ok_or_else(|| "the certificate has another digest".to_owned())
}

/// Takes any certificate: what is in it is looked at afterwards.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
