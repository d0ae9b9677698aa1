//! One order: the account, the challenge for each name, and the issued certificate.

use std::time::Duration;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Error, Identifier, NewAccount,
    NewOrder, Order, OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tradepost_document::format;
use tradepost_document::json;
use tradepost_server::tls::challenge::Challenges;

use super::failure::{AcmeError, AcmeErrorCode, words};
use super::folder::AcmeFolder;
use super::web::AcmeClient;
use crate::config::acme::{Acme, CERTIFICATE};

/// Backoff and timeout of the polls for the authority's decision and for the certificate.
const POLL_POLICY: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(5 * 60));

/// Number of bytes reserved for a key and a chain.
const ROOM: usize = 16 * 1024;

/// The stored account.
#[derive(Serialize, Deserialize)]
struct AcmeAccount {
    /// Contact addresses that the authority has.
    contact: Vec<String>,
    credentials: AccountCredentials,
}

/// Orders a certificate. Returns the key, the certificate and its intermediate certificates in PEM.
pub(super) async fn obtain(
    settings: &Acme,
    folder: &AcmeFolder,
    web: &AcmeClient,
) -> Result<String, AcmeError> {
    let account = account(settings, folder, web).await?;
    let names: Vec<_> = settings.domains.iter().cloned().map(Identifier::Dns).collect();
    let order = match account.new_order(&NewOrder::new(&names)).await {
        Err(error) if AcmeError::is_of_a_lost_account(&error) => {
            // The authority no longer knows the account, so that a new one loses nothing.
            let account = introduce(settings, folder, web).await?;
            account.new_order(&NewOrder::new(&names)).await
        }
        order => order,
    };
    let mut order = order?;
    let shown = ShownChallenge { challenges: super::challenges(settings), folder };
    if let Some(cause) = show(&mut order, &shown).await? {
        return Err(unproven(&mut order, Some(cause)).await);
    }
    match order.poll_ready(&POLL_POLICY).await {
        Ok(OrderStatus::Ready) => {}
        Ok(_) => return Err(unproven(&mut order, None).await),
        Err(Error::Api(problem)) => {
            return Err(unproven(&mut order, Some(AcmeError::from_problem(&problem))).await);
        }
        Err(error) => return Err(error.into()),
    }
    let key = KeyPair::generate().map_err(unmade)?;
    let mut params = CertificateParams::new(settings.domains.clone()).map_err(unmade)?;
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key).map_err(unmade)?;
    // Checked before, because authorities limit the certificates for the same names per week, and one
    // that cannot be stored would be lost.
    folder.write_half(CERTIFICATE, &[b' '; ROOM])?;
    let issued = async {
        order.finalize_csr(request.der()).await?;
        order.poll_certificate(&POLL_POLICY).await
    };
    let chain = issued.await.map_err(|error| AcmeError::from(error).of_a_spent_order())?;
    Ok(format!("{}{chain}", key.serialize_pem()))
}

fn unmade(error: rcgen::Error) -> AcmeError {
    AcmeError::new(
        AcmeErrorCode::Refused,
        format_args!("the request could not be written: {error}"),
    )
}

/// Returns the account at the authority: the stored one, or a new one.
async fn account(
    settings: &Acme,
    folder: &AcmeFolder,
    web: &AcmeClient,
) -> Result<Account, AcmeError> {
    let name = account_file(settings);
    let Some(bytes) = folder.read(&name)? else {
        return introduce(settings, folder, web).await;
    };
    let known: AcmeAccount =
        json::from_slice(&bytes).map_err(|_| AcmeError::from_file(&name, "cannot be read"))?;
    let builder = Account::builder_with_http(Box::new(web.clone()));
    let same_contact = known.contact == settings.contact;
    let kept = json::to_value(&known.credentials)
        .map_err(|_| AcmeError::from_file(&name, "cannot be written"))?;
    let account = builder.from_credentials(known.credentials).await?;
    if !same_contact {
        let contact = addresses(settings);
        let contact: Vec<_> = contact.iter().map(String::as_str).collect();
        account.update_contacts(&contact).await?;
        keep(settings, folder, &kept)?;
    }
    Ok(account)
}

/// Creates an account. A configuration is only valid when it agrees to the authority's terms.
async fn introduce(
    settings: &Acme,
    folder: &AcmeFolder,
    web: &AcmeClient,
) -> Result<Account, AcmeError> {
    let contact = addresses(settings);
    let contact: Vec<_> = contact.iter().map(String::as_str).collect();
    let new = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let builder = Account::builder_with_http(Box::new(web.clone()));
    let (account, credentials) = builder.create(&new, settings.directory.clone(), None).await?;
    let name = account_file(settings);
    let credentials = json::to_value(&credentials)
        .map_err(|_| AcmeError::from_file(&name, "cannot be written"))?;
    keep(settings, folder, &credentials)?;
    tracing::info!("the authority has a new account of ours");
    Ok(account)
}

fn keep(settings: &Acme, folder: &AcmeFolder, credentials: &json::Value) -> Result<(), AcmeError> {
    let known = json::json!({"contact": settings.contact, "credentials": credentials});
    folder.write(&account_file(settings), known.to_string().as_bytes())
}

fn addresses(settings: &Acme) -> Vec<String> {
    settings.contact.iter().map(|address| format!("mailto:{address}")).collect()
}

/// Returns the name of the account file, one for each authority.
fn account_file(settings: &Acme) -> String {
    let digest = Sha256::digest(&settings.directory);
    format!("account-{}.json", format::hex(digest.iter().take(8)))
}

/// Answers the challenge of each name that is not validated yet. Returns the authority's immediate
/// refusal of a name, if any.
async fn show(
    order: &mut Order,
    shown: &ShownChallenge<'_>,
) -> Result<Option<AcmeError>, AcmeError> {
    let mut cause = None;
    let mut authorizations = order.authorizations();
    while let Some(next) = authorizations.next().await {
        let mut authorization = next?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let name = authorization.identifier().to_string();
        let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
            let says = format!("{name}: the authority does not offer tls-alpn-01");
            return Err(AcmeError::new(AcmeErrorCode::Refused, says));
        };
        shown.put(&name, challenge.key_authorization().digest().as_ref())?;
        match challenge.set_ready().await {
            // The other names are tried all the same, so that all errors are reported.
            Err(Error::Api(problem)) => cause = Some(AcmeError::from_problem(&problem)),
            other => other?,
        }
    }
    Ok(cause)
}

/// Returns the names that the authority did not accept, with its reasons.
async fn unproven(order: &mut Order, cause: Option<AcmeError>) -> AcmeError {
    let mut says = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(next) = authorizations.next().await {
        let Ok(mut authorization) = next else { continue };
        if authorization.refresh().await.is_err() {
            continue;
        }
        let name = authorization.identifier().to_string();
        let challenges = authorization.challenges.iter();
        let problems = challenges.filter_map(|challenge| challenge.error.as_ref());
        says.extend(problems.flat_map(words).map(|text| format!("{name}: {text}")));
    }
    match cause {
        Some(cause) if says.is_empty() => cause,
        None if says.is_empty() => AcmeError::new(
            AcmeErrorCode::Unproven,
            "the authority has ended the order and does not say why",
        ),
        Some(_) | None => AcmeError::all(AcmeErrorCode::Unproven, says),
    }
}

/// Challenge certificates, deleted when the order ends.
struct ShownChallenge<'a> {
    challenges: Challenges,
    folder: &'a AcmeFolder,
}

impl ShownChallenge<'_> {
    /// Writes a certificate with the digest that the authority checks (RFC 8737 §3).
    fn put(&self, name: &str, digest: &[u8]) -> Result<(), AcmeError> {
        let unasked =
            || AcmeError::new(AcmeErrorCode::Refused, format_args!("{name} was not ordered"));
        let file = self.challenges.file(name).ok_or_else(unasked)?;
        if digest.len() != 32 {
            return Err(unasked());
        }
        let key = KeyPair::generate().map_err(unmade)?;
        let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(unmade)?;
        params.custom_extensions.push(CustomExtension::new_acme_identifier(digest));
        let certificate = params.self_signed(&key).map_err(unmade)?;
        let pem = format!("{}{}", key.serialize_pem(), certificate.pem());
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.folder.write(name, pem.as_bytes())
    }
}

impl Drop for ShownChallenge<'_> {
    fn drop(&mut self) {
        for file in self.challenges.files() {
            let _ = std::fs::remove_file(file);
        }
    }
}
