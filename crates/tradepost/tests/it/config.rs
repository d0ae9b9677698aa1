//! Configuration files: what they mean, what is wrong with them, and what `init` writes.

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use proptest::prelude::*;
use tradepost_adcp::signing::DigestRule;
use tradepost_document::catalog::Vocabulary;
use tradepost_runtime::config::TEMPLATE;
use tradepost_runtime::config::read::{demo, read};
use tradepost_runtime::config::{Config, WebOrigin};

const MINIMAL: &str = r#"
[[dealers]]
id = "my-dealership"
name = "My Dealership"
[[dealers.rooftops]]
name = "My Dealership"
"#;

fn environment(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    variables.iter().map(owned).collect()
}

/// The mistakes of a file, one on each line.
fn mistakes(text: &str, variables: &[(&str, &str)]) -> String {
    match read(text, &environment(variables)) {
        Ok(_) => "valid\n".to_owned(),
        Err(mistakes) => mistakes
            .iter()
            .map(|mistake| match mistake.line {
                Some(line) => format!("{line}: {mistake}\n"),
                None => format!("-: {mistake}\n"),
            })
            .collect(),
    }
}

#[track_caller]
fn check(text: &str, variables: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&mistakes(text, variables));
}

fn same(a: &Config, b: &Config) -> bool {
    format!("{a:#?}") == format!("{b:#?}")
}

#[test]
fn an_id_a_name_and_a_rooftop_are_enough() {
    let config = read(MINIMAL, &[]).unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.server.max_body_bytes, 256 * 1024);
    let dealer = &config.dealers[0];
    assert_eq!((dealer.terms.search.default_limit, dealer.terms.search.max_limit), (20, 100));
    assert_eq!((dealer.terms.versions.len(), dealer.terms.skills.len()), (2, 5));
    assert_eq!(dealer.terms.tombstone_lifetime, SignedDuration::from_hours(90 * 24));
    assert_eq!(dealer.terms.leads.idempotency_lifetime, SignedDuration::from_hours(24));
    assert!(!dealer.require_version && !dealer.strict_output_modes && !dealer.http_json);
    assert!(dealer.terms.rooftops[0].appointments.types.is_empty());
}

#[test]
fn http_json_needs_the_version_that_has_it() {
    let dealer = |versions: &str| {
        MINIMAL.replacen("[[dealers]]", &format!("[[dealers]]\nhttp_json = true\n{versions}"), 1)
    };
    for good in ["", "versions = [\"1.0\", \"1.1\"]"] {
        assert!(read(&dealer(good), &[]).unwrap().dealers[0].speaks_http_json(), "{good}");
    }
    let mistakes = read(&dealer("versions = [\"1.1\"]"), &[]).unwrap_err();
    let keys: Vec<_> = mistakes.iter().map(|mistake| mistake.key.as_str()).collect();
    assert_eq!(keys, ["dealers[0].http_json"]);
    assert!(mistakes[0].message.contains("\"1.0\""), "{}", mistakes[0].message);
}

#[test]
fn the_demo_is_valid_and_has_its_two_rooftops() {
    let config = demo();
    let dealer = &config.dealers[0];
    assert_eq!(
        (dealer.terms.id.as_str(), dealer.terms.name.as_str()),
        ("larkspur", "Larkspur Motors")
    );
    let rooftops: Vec<_> = dealer
        .terms
        .rooftops
        .iter()
        .map(|rooftop| {
            (
                rooftop.profile.name.as_str(),
                rooftop.profile.timezone.as_deref().unwrap(),
                rooftop.appointments.types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" "),
            )
        })
        .collect();
    assert_eq!(
        rooftops,
        [
            (
                "Larkspur Motors Fairview",
                "America/Los_Angeles",
                "sales service test_drive trade_in".to_owned()
            ),
            ("Larkspur Motors Ridgemont", "America/Denver", "sales test_drive trade_in".to_owned()),
        ]
    );
    for rooftop in &dealer.terms.rooftops {
        assert!(!rooftop.fees.is_empty() && !rooftop.profile.schedules.is_empty());
        for phone in &rooftop.profile.phones {
            assert!(phone.value[5..].starts_with("55501"), "a fictional number");
        }
    }
}

#[test]
fn every_mistake_is_reported_at_once_in_file_order() {
    let text = r#"
[server]
listen = "localhost"
lisen = "127.0.0.1:80"
max_body_bytes = "big"
read_timeout = "10 parsecs"
log_filter = "tradepost=loud"

[[dealers]]
id = "My Dealership"
public_url = "/agents"
versions = ["1.0", "2.0", "1.0"]
tombstone_lifetime = 90

[dealers.search]
default_limit = 200

[dealers.leads]
idempotency_lifetime = "1h"

[[dealers.rooftops]]
name = "One"
timezone = "America/Los_Angles"
phones = ["(415) 555-0123", { name = "Sales", value = "+14155550123" }]
emails = [{ name = "Sales" }]
geo = { latitude = 91, longitude = 0 }

[dealers.rooftops.schedules.sales]
monday = "18:00-09:00"
tuesday = "9-18"
munday = "09:00-18:00"

[[dealers.rooftops]]
name = "one"
colour = "red"
[dealers.rooftops.appointments]
types = ["sales", "service"]
closed_on = [2026-12-25, "2026-02-30"]
"#;
    check(
        text,
        &[],
        expect![[r#"
            3: server.listen: must be an IP address and a port such as 127.0.0.1:8080 or [::]:8080
            4: server.lisen: unknown key; did you mean "listen"?
            5: server.max_body_bytes: must be a whole number
            6: server.read_timeout: must be a duration such as "10s", "15m", "24h" or "90d"
            7: server.log_filter: must be a log filter such as info or warn,tradepost=debug
            9: dealers[0].name: is missing; it has no default
            10: dealers[0].id: must have 1 to 64 characters a-z, 0-9, - and _, and start with a letter or digit
            11: dealers[0].public_url: must be an absolute web address without query, such as https://agents.example.com
            12: dealers[0].versions[1]: must be one of 1.0, 1.1
            12: dealers[0].versions: must not repeat an item
            13: dealers[0].tombstone_lifetime: must be a text in "quotes"
            16: dealers[0].search.default_limit: must be at most max_limit, which is 100
            19: dealers[0].leads.idempotency_lifetime: must be from 24h to 3650d
            23: dealers[0].rooftops[0].timezone: must be a time zone of the IANA database such as America/Los_Angeles
            24: dealers[0].rooftops[0].phones[0]: must be E.164, e.g. +14155550123
            25: dealers[0].rooftops[0].emails[0].value: is missing; it has no default
            26: dealers[0].rooftops[0].geo.latitude: must be <= 90
            29: dealers[0].rooftops[0].schedules.sales.monday: must open before it closes, on the same day
            30: dealers[0].rooftops[0].schedules.sales.tuesday: must be hours such as "09:00-18:00", or "closed"
            31: dealers[0].rooftops[0].schedules.sales.munday: unknown key; did you mean "monday"?
            34: dealers[0].rooftops[1].name: another rooftop of this dealer has this name already
            35: dealers[0].rooftops[1].colour: unknown key; the keys here are name, feed_names, legal_name, website, geo, emails, phones, address, timezone, notes, capabilities, schedules, fees, appointments
            37: dealers[0].rooftops[1].appointments.types: offering appointments needs the rooftop's timezone
            37: dealers[0].rooftops[1].appointments.types: offering these appointments needs a day on which schedules.sales is open
            37: dealers[0].rooftops[1].appointments.types: offering these appointments needs a day on which schedules.service is open
            38: dealers[0].rooftops[1].appointments.closed_on[1]: must be a calendar date, YYYY-MM-DD
        "#]],
    );
}

#[test]
fn who_believes_signatures_has_an_address_and_covers_bodies() {
    let with = |more: &str| {
        format!(
            "[[publishers]]\nid = \"gazette\"\nname = \"Gazette\"\ndomain = \"gazette.example\"\n\
             request_signing = {{}}\n{more}"
        )
    };
    check(
        &with(""),
        &[],
        expect![[r#"
        5: publishers[0].request_signing: needs public_url or hosts: a signature holds for the address that it was made for, and without them nobody can tell whether that is this one
    "#]],
    );
    check(
        &with("hosts = []"),
        &[],
        expect![[r#"
        5: publishers[0].request_signing: needs public_url or hosts: a signature holds for the address that it was made for, and without them nobody can tell whether that is this one
    "#]],
    );
    for more in ["hosts = [\"ads.example\"]", "public_url = \"https://ads.example\""] {
        let config = read(&with(more), &[]).unwrap();
        let signing = config.publishers[0].profile.signing.requests.as_ref().unwrap();
        assert_eq!(signing.digest, DigestRule::Required);
    }
}

#[test]
fn web_origins_are_origins() {
    let with = |origins: &str| {
        format!(
            "[server]\nweb_origins = {origins}\n[[dealers]]\nid = \"a\"\nname = \"A\"\n\
                 [[dealers.rooftops]]\nname = \"A\""
        )
    };
    let origins = |text: &str| read(&with(text), &[]).unwrap().server.web_origins;
    let named = WebOrigin::Named("https://a.example".to_owned());
    assert_eq!(origins(r#"["*", "https://A.example/"]"#), [WebOrigin::Any, named]);
    assert_eq!(origins("[]"), []);
    check(
        &with(r#"["null", "https://a.example/path", "a.example"]"#),
        &[],
        expect![[r#"
        2: server.web_origins[0]: must be an absolute web address without query, such as https://agents.example.com
        2: server.web_origins[1]: must be "*" or an origin such as https://www.example.com
        2: server.web_origins[2]: must be an absolute web address without query, such as https://agents.example.com
    "#]],
    );
}

#[test]
fn dealers_share_neither_ids_nor_hosts() {
    let text = r#"
[[dealers]]
id = "a"
name = "A"
hosts = ["a.example", "both.example"]
[[dealers.rooftops]]
name = "A"

[[dealers]]
id = "a"
name = "B"
hosts = ["Both.Example"]
[[dealers.rooftops]]
name = "B"

[[dealers]]
id = "c"
name = "C"
[[dealers.rooftops]]
name = "C"
"#;
    check(
        text,
        &[],
        expect![[r#"
        10: dealers[1].id: another seller has this id already
        12: dealers[1].hosts[0]: this host name is used already
        16: dealers[2].hosts: is missing; with several sellers each needs its own host names
    "#]],
    );
}

#[test]
fn a_file_without_dealers_says_what_is_missing() {
    check(
        "",
        &[],
        expect![[r#"
        -: dealers: is missing; there has to be a dealer or a publisher
    "#]],
    );
    check(
        "dealers = []",
        &[],
        expect![[r#"
        1: dealers: must have at least 1 item
    "#]],
    );
    check(
        "dealers = [{}]",
        &[],
        expect![[r#"
        1: dealers[0].id: is missing; it has no default
        1: dealers[0].name: is missing; it has no default
        1: dealers[0].rooftops: is missing; it has no default
    "#]],
    );
}

#[test]
fn syntax_mistakes_have_lines_and_messages() {
    check(
        "[server]\nlisten = \n\n[[dealers]\nid = \"a\nname = 1 2\n",
        &[],
        expect![[r#"
            2: not TOML: string values must be quoted, expected literal string
            4: not TOML: unclosed array table, expected `]`
        "#]],
    );
    check(
        "[server]\nlisten = \"a\"\nlisten = \"b\"\n",
        &[],
        expect![[r#"
        3: not TOML: duplicate key
    "#]],
    );
    check(
        "[server]\nmax_body_bytes = 99999999999999999999\n",
        &[],
        expect![[r#"
        2: server.max_body_bytes: must be a number of ordinary size
    "#]],
    );
}

#[test]
fn many_mistakes_end_with_their_number() {
    let unknown: String = (0..60).map(|n| format!("key_{n} = 1\n")).collect();
    let all = mistakes(&format!("[server]\n{unknown}"), &[]);
    assert_eq!(all.lines().count(), 51);
    assert!(all.ends_with("-: 11 further mistakes are not listed; fix these first\n"), "{all}");
}

#[test]
fn variables_override_the_file() {
    let config = read(
        MINIMAL,
        &environment(&[
            ("PATH", "/bin"),
            ("TRADEPOST_DATA", "not a setting"),
            ("TRADEPOST_SERVER__LISTEN", "0.0.0.0:9000"),
            ("TRADEPOST_SERVER__LOG_JSON", "true"),
            ("TRADEPOST_DEALERS__0__NAME", "Named Otherwise"),
            ("TRADEPOST_DEALERS__0__AGENT_VERSION", "2.0"),
            ("TRADEPOST_DEALERS__0__HOSTS", r#"["a.example", "b.example"]"#),
            ("TRADEPOST_DEALERS__0__LEADS__CONSENT_LIFETIME", "30d"),
            ("TRADEPOST_DEALERS__0__ROOFTOPS__0__PHONES__0__VALUE", "+14155550123"),
            ("TRADEPOST_DEALERS__0__ROOFTOPS__1__NAME", "Second"),
        ]),
    )
    .unwrap();
    assert_eq!(config.server.listen.to_string(), "0.0.0.0:9000");
    assert!(config.server.log_json);
    let dealer = &config.dealers[0];
    assert_eq!(
        (dealer.terms.name.as_str(), dealer.agent_version.as_str()),
        ("Named Otherwise", "2.0")
    );
    assert_eq!(dealer.hosts, ["a.example", "b.example"]);
    assert_eq!(dealer.terms.leads.consent_lifetime, Some(SignedDuration::from_hours(30 * 24)));
    assert_eq!(dealer.terms.rooftops[0].profile.phones[0].value, "+14155550123");
    assert_eq!(dealer.terms.rooftops[1].profile.name, "Second");
}

#[test]
fn variables_alone_are_a_configuration() {
    let config = read(
        "",
        &environment(&[
            ("TRADEPOST_DEALERS__0__ROOFTOPS__0__NAME", "Main"),
            ("TRADEPOST_DEALERS__0__ID", "7"),
            ("TRADEPOST_DEALERS__0__NAME", "Seven"),
        ]),
    )
    .unwrap();
    assert_eq!(config.dealers[0].terms.id, "7");
}

#[test]
fn mistakes_of_variables_name_the_variable() {
    check(
        MINIMAL,
        &[
            ("TRADEPOST_SERVER__LISTEN", "nowhere"),
            ("TRADEPOST_SERVER__LISEN", "127.0.0.1:80"),
            ("TRADEPOST_DEALERS__0__HOSTS", "a.example"),
            ("TRADEPOST_DEALERS__2__NAME", "Third"),
            ("TRADEPOST_DEALERS__FIRST__NAME", "First"),
            ("TRADEPOST_DEALERS__0__ID__X", "1"),
            ("TRADEPOST_DEALERS__0__ROOFTOPS__1__NOTES", "no name"),
        ],
        expect![[r#"
            -: dealers[0].id.x: there is nothing below this setting, since it is no table (set by TRADEPOST_DEALERS__0__ID__X)
            -: dealers[2].name: the next free place in this list is 1 (set by TRADEPOST_DEALERS__2__NAME)
            -: dealers.first.name: this is a list; name a place in it, from 0 (set by TRADEPOST_DEALERS__FIRST__NAME)
            -: dealers[0].rooftops[1].name: is missing; it has no default (set by TRADEPOST_DEALERS__0__ROOFTOPS__1__NOTES)
            -: dealers[0].hosts: must be a list in [brackets] (set by TRADEPOST_DEALERS__0__HOSTS)
            -: server.lisen: unknown key; did you mean "listen"? (set by TRADEPOST_SERVER__LISEN)
            -: server.listen: must be an IP address and a port such as 127.0.0.1:8080 or [::]:8080 (set by TRADEPOST_SERVER__LISTEN)
        "#]],
    );
}

#[test]
fn whoever_wants_credentials_has_to_say_which() {
    let auth = |text: &str| format!("[[dealers]]\nauth = {text}\n{}", &MINIMAL[12..]);
    let jwt = |keys: &str| auth(&format!("{{ jwt = {{ issuer = 'i', audience = 'a', {keys} }} }}"));
    check(
        &auth("{ required = true }"),
        &[],
        expect![[r#"
            2: dealers[0].auth.required: nobody could call: set api_keys = true, describe tokens with jwt, or list certificates
        "#]],
    );
    check(
        &auth("{ jwt = { scope = 'x' } }"),
        &[],
        expect![[r#"
        2: dealers[0].auth.jwt.scope: unknown key; the keys here are issuer, audience, jwks_file, jwks_url, scope_claim
        2: dealers[0].auth.jwt.issuer: is missing; it has no default
        2: dealers[0].auth.jwt.audience: is missing; it has no default
        2: dealers[0].auth.jwt: needs the issuer's keys: either jwks_file or jwks_url
    "#]],
    );
    check(
        &jwt("jwks_file = 'f', jwks_url = 'https://login.example'"),
        &[],
        expect![[r#"
        2: dealers[0].auth.jwt: needs the issuer's keys: either jwks_file or jwks_url
    "#]],
    );
    check(
        &jwt("jwks_url = 'http://login.example/jwks'"),
        &[],
        expect![[r#"
        2: dealers[0].auth.jwt.jwks_url: must be an address with https, such as https://www.example.com/page; http only on 127.0.0.1 or [::1]
    "#]],
    );
    let tricks = ["http://127.0.0.1.example/", "http://127.0.0.1:80x/", "ftp://127.0.0.1/"];
    for address in tricks {
        let read = read(&jwt(&format!("jwks_url = '{address}'")), &[]);
        assert!(read.is_err(), "{address}");
    }
    for good in
        ["jwks_file = 'f'", "jwks_url = 'http://127.0.0.1:8/x'", "jwks_url = 'https://l.example'"]
    {
        assert_eq!(mistakes(&jwt(good), &[]), "valid\n", "{good}");
    }
    assert_eq!(mistakes(&auth("{ required = true, api_keys = true }"), &[]), "valid\n");
}

#[test]
fn a_certificate_is_in_files_or_ordered_on_agreed_terms() {
    let with = |acme: &str| format!("[server.tls.acme]\n{acme}\n{MINIMAL}");
    let good = "domains = ['b.example', 'A.example', 'a.example']\nterms_agreed = true\n\
                folder = 'f'\ncontact = ['it@example.com']";
    assert_eq!(mistakes(&with(good), &[]), "valid\n");
    let config = read(&with(good), &[]).unwrap();
    let acme = config.server.acme.unwrap();
    assert_eq!(acme.domains, ["a.example", "b.example"]);
    assert_eq!(acme.directory, "https://acme-v02.api.letsencrypt.org/directory");
    assert_eq!(config.server.tls.unwrap().key, acme.file());
    check(
        &with(
            "terms_agreed = false\nfolder = ''\ndirectory = 'http://ca.example'\ncontact = ['x']\n\
               domains = ['*.example.com', '192.0.2.1', '[::1]', 'https://a.example', 'ok.example']",
        ),
        &[],
        expect![[r#"
        2: server.tls.acme.terms_agreed: must be true: read the terms of the authority, which orders a certificate for nobody who does not agree to them
        3: server.tls.acme.folder: must not be empty
        4: server.tls.acme.directory: must be an address with https, such as https://www.example.com/page; http only on 127.0.0.1 or [::1]
        5: server.tls.acme.contact[0]: must be an e-mail address such as leads@crm.example.com
        6: server.tls.acme.domains[0]: must be one host name such as cars.example.com: an address, or a wildcard, cannot be shown to be ours in this way
        6: server.tls.acme.domains[1]: must be one host name such as cars.example.com: an address, or a wildcard, cannot be shown to be ours in this way
        6: server.tls.acme.domains[2]: must be one host name such as cars.example.com: an address, or a wildcard, cannot be shown to be ours in this way
        6: server.tls.acme.domains[3]: must be a host name without scheme and port, such as cars.example.com
    "#]],
    );
    let both = format!("[server.tls]\ncertificate = 'c'\n[server.tls.acme]\n{MINIMAL}");
    let mistakes = mistakes(&both, &[]);
    for line in [
        "server.tls.certificate: is what [server.tls.acme] orders; keep one of the two\n",
        "server.tls.acme.domains: is missing; it has no default\n",
        "server.tls.acme.terms_agreed: is missing; it has no default\n",
        "server.tls.acme.folder: is missing; it has no default\n",
    ] {
        assert!(mistakes.contains(line), "{mistakes}");
    }
    assert_eq!(mistakes.lines().count(), 4, "{mistakes}");
}

#[test]
fn the_provider_of_adf_is_direct_or_a_named_network() {
    let with = |adf: &str| {
        format!(
            "{MINIMAL}\n[[dealers.deliveries]]\nname = 'crm'\nby = 'https'\n\
             url = 'https://crm.example/leads'\nadf = {{ {adf} }}\n"
        )
    };
    for good in [
        "provider = 'direct'",
        "provider = 'network', network = 'Acme Leads'",
        "provider = 'network', network = 'Acme Leads', network_url = 'https://leads.example'",
    ] {
        assert_eq!(mistakes(&with(good), &[]), "valid\n", "{good}");
    }
    for (bad, message) in [
        ("provider = 'network'", "network: is missing; a provider that is a network has a name"),
        ("provider = 'direct', network = 'x'", "network: belongs to provider = \"network\""),
        ("network_url = 'https://a.example'", "network_url: belongs to provider = \"network\""),
        ("provider = 'network', network = ''", "network: must not be empty"),
        (
            "provider = 'network', network = 'x', network_url = 'a'",
            "network_url: must be an absolute web address such as https://www.example.com/page",
        ),
    ] {
        let mistakes = mistakes(&with(bad), &[]);
        let line = format!("dealers[0].deliveries[0].adf.{message}\n");
        assert!(mistakes.ends_with(&line) && mistakes.lines().count() == 1, "{bad}: {mistakes}");
    }
}

#[test]
fn certificates_are_meant_by_one_thing_and_need_an_authority() {
    let dealer = |certificates: &str| {
        format!("[[dealers]]\nauth.certificates = [\n{certificates}]\n{}", &MINIMAL[12..])
    };
    let tls = "[server.tls]\ncertificate = 'c'\nkey = 'k'\n";
    let secure = |certificates: &str| format!("{tls}client_ca = 'a'\n{}", dealer(certificates));
    let good = format!(
        "{{ name = 'a', fingerprint = '{}' }},\n{{ name = 'a', dns = 'A.example' }},\n\
         {{ name = 'b', uri = 'spiffe://b.example/x', scopes = ['lead:write'] }},\n",
        "ab".repeat(32)
    );
    assert_eq!(mistakes(&secure(&good), &[]), "valid\n");
    check(
        &format!("{tls}{}", dealer(&good)),
        &[],
        expect![[r#"
        5: dealers[0].auth.certificates: needs server.tls.client_ca
    "#]],
    );
    check(
        "[server.tls]\ncertificate = ''\nclient_ca = 1\n",
        &[],
        expect![[r#"
        1: server.tls.key: is missing; name the file, or have the server order a certificate by [server.tls.acme]
        2: server.tls.certificate: must not be empty
        3: server.tls.client_ca: must be a text in "quotes"
        -: dealers: is missing; there has to be a dealer or a publisher
    "#]],
    );
    check(
        &secure(
            "{ name = 'a b' },\n\
             { name = 'a', dns = 'a.example', uri = 'x:y' },\n\
             { name = 'a', fingerprint = 'sha1:00' },\n\
             { name = 'a', dns = 'https://a.example' },\n\
             { name = 'a', uri = 'a.example', scopes = ['admin'] },\n\
             { name = 'a', dns = 'twice.example' },\n\
             { name = 'b', dns = 'Twice.example', scopes = [] },\n",
        ),
        &[],
        expect![[r#"
            7: dealers[0].auth.certificates[0].name: must have 1 to 64 characters A-Z, a-z, 0-9, -, _ and ., and start with a letter or digit
            7: dealers[0].auth.certificates[0]: needs one of fingerprint, dns and uri, and only one
            8: dealers[0].auth.certificates[1]: needs one of fingerprint, dns and uri, and only one
            9: dealers[0].auth.certificates[2].fingerprint: must be the SHA-256 of the certificate: sha256: and 64 hexadecimal digits
            10: dealers[0].auth.certificates[3].dns: must be a host name without scheme and port, such as cars.example.com
            11: dealers[0].auth.certificates[4].uri: must be an absolute URI such as spiffe://example.com/agent
            11: dealers[0].auth.certificates[4].scopes[0]: must be one of dealer:read, inventory:read, lead:write, feed:write, tasks:read, tasks:write
            13: dealers[0].auth.certificates[6].scopes: must have at least 1 item
        "#]],
    );
    check(
        &secure("{ name = 'a', dns = 'twice.example' },\n{ name = 'b', dns = 'Twice.example' },\n"),
        &[],
        expect![[r#"
            8: dealers[0].auth.certificates[1]: the same certificate is listed before
        "#]],
    );
}

#[test]
fn alerts_and_traces_say_whom_they_are_for() {
    check(
        r#"
[alerts]
every = "1s"
[[alerts.destinations]]
name = "people"
by = "https"
url = "https://ops.example"
rooftops = ["Downtown"]
[[alerts.destinations]]
name = "people"
by = "webhook"
url = "http://ops.example"
[traces]
percent = 101
[[dealers]]
id = "a"
name = "A"
[[dealers.rooftops]]
name = "Downtown"
"#,
        &[],
        expect![[r#"
            3: alerts.every: must be from 1m to 24h
            6: alerts.destinations[0].by: must be smtp, webhook or chat: https carries ADF
            8: alerts.destinations[0].rooftops: is for destinations of leads
            9: alerts.destinations[1].hmac_key_file: is missing; a destination by webhook needs a key with which it can tell who sends
            10: alerts.destinations[1].name: another destination of alerts has this name already
            12: alerts.destinations[1].url: must be an address with https, such as https://www.example.com/page; http only on 127.0.0.1 or [::1]
            13: traces.endpoint: is missing; it has no default
            14: traces.percent: must be <= 100
        "#]],
    );
}

#[test]
fn the_template_is_valid_and_means_the_defaults() {
    let written = read(TEMPLATE, &[]).unwrap();
    let minimal = read(MINIMAL, &[]).unwrap();
    assert!(same(&written, &minimal));
}

/// A line of the template that shows a default: `#key = value`.
fn default_of(line: &str) -> Option<&str> {
    line.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// The part of the template that is about dealers, and the one about publishers.
fn parts() -> (&'static str, &'static str) {
    TEMPLATE.split_once("# A publisher that sells").unwrap()
}

/// A line with what it shows: a header or an example, without the sign before it.
fn shown(line: &'static str) -> &'static str {
    let header = line.strip_prefix('#').filter(|rest| rest.starts_with('['));
    line.strip_prefix("# e.g. ").or(header).unwrap_or(line)
}

#[test]
fn every_default_of_the_template_is_the_default() {
    let (dealers, publishers) = parts();
    let uncommented: Vec<_> =
        dealers.lines().map(|line| default_of(line).unwrap_or(line)).collect();
    let changed = dealers.lines().filter(|line| default_of(line).is_some()).count();
    assert!(changed > 25, "{changed}");
    let read_all = read(&uncommented.join("\n"), &[]).unwrap();
    assert!(same(&read_all, &read(MINIMAL, &[]).unwrap()));

    let examples: Vec<_> = publishers.lines().map(shown).collect();
    let with_defaults: Vec<_> =
        examples.iter().map(|line| default_of(line).unwrap_or(line)).collect();
    assert!(with_defaults != examples);
    let of = |lines: &[&str]| format!("{:?}", read(&lines.join("\n"), &[]).unwrap());
    assert_eq!(of(&with_defaults[1..]), of(&examples[1..]));
}

#[test]
fn every_example_of_the_template_is_valid() {
    let uncommented: Vec<_> = TEMPLATE.lines().map(shown).collect();
    // Where there are several sellers, each has its own host names.
    let text = uncommented.join("\n").replace("#hosts = []", r#"hosts = ["cars.example"]"#);
    let with_examples = read(&text, &[]).unwrap();
    let rooftop = &with_examples.dealers[0].terms.rooftops[0];
    assert_eq!(rooftop.profile.schedules.len(), 3);
    assert_eq!(rooftop.profile.address.as_ref().unwrap().city.as_deref(), Some("Fairview"));
    assert_eq!(rooftop.fees.len(), 1);
    let publisher = &with_examples.publishers[0];
    assert_eq!(publisher.profile.agents.len(), 1);
    assert_eq!(publisher.profile.onboarding.houses.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_file_and_no_variable_breaks_the_reader(
        start in 0..TEMPLATE.len(),
        length in 0..200_usize,
        noise in any::<String>(),
        path in "[A-Z0-9_]{0,20}",
    ) {
        let bytes = TEMPLATE.as_bytes();
        let end = (start + length).min(bytes.len());
        let text = [&bytes[..start], noise.as_bytes(), &bytes[end..]].concat();
        // What is cut out of a character is noise, too.
        let text = String::from_utf8_lossy(&text);
        let name = format!("TRADEPOST_DEALERS__0__{path}");
        if let Err(mistakes) = read(&text, &environment(&[(&name, &noise)])) {
            prop_assert!(!mistakes.is_empty());
            let last = text.lines().count() + 1;
            for mistake in mistakes {
                prop_assert!(mistake.line.is_none_or(|line| (1..=last).contains(&line)));
            }
        }
    }
}

#[test]
fn nothing_in_an_sftp_name_means_something_to_the_program() {
    let file = |url: &str, keys: &str| {
        format!(
            "{MINIMAL}[[dealers.feeds]]\nname = \"a\"\nfrom = \"pull\"\nurl = '{url}'\n{keys}\n"
        )
    };
    let both = "key_file = \"/etc/key\"\nknown_hosts = \"/etc/hosts\"";
    for url in [
        "sftp://dealer@sftp.example.com/out/feed.csv",
        "sftp://dealer%40group@[::1]:2222/a%20feed.csv",
    ] {
        assert_eq!(mistakes(&file(url, both), &[]), "valid\n", "{url}");
    }
    for url in [
        "sftp://sftp.example.com/feed.csv",
        "sftp://-oProxyCommand=x@sftp.example.com/feed.csv",
        "sftp://dealer@-oProxyCommand=x/feed.csv",
        "sftp://dealer:secret@sftp.example.com/feed.csv",
        "sftp://dealer@sftp.example.com/",
        "sftp://dealer@sftp.example.com/out/",
        "sftp://dealer@sftp.example.com/*.csv",
        "sftp://dealer@sftp.example.com/a%22%20feed.csv",
        "sftp://dealer@sftp.example.com/a%0Arm%20feed.csv",
        "sftp://dealer@sftp.example.com/feed.csv?x",
    ] {
        let text = mistakes(&file(url, both), &[]);
        assert!(text.contains("must be an address such as sftp://"), "{url}: {text}");
    }
    check(
        &file("sftp://dealer@sftp.example.com/feed.csv", "bearer = \"x\"\nkey_file = \"/a%h\""),
        &[],
        expect![[r#"
            7: dealers[0].feeds[0].known_hosts: is missing; a feed from a server of SFTP needs it
            11: dealers[0].feeds[0].bearer: belongs to web addresses; SFTP has key_file
            12: dealers[0].feeds[0].key_file: must be a path without % $ " \ and without ~ at its beginning
        "#]],
    );
    check(
        &file("https://www.example.com/feed.csv", both),
        &[],
        expect![[r#"
        11: dealers[0].feeds[0].key_file: belongs to addresses with sftp
        12: dealers[0].feeds[0].known_hosts: belongs to addresses with sftp
    "#]],
    );
}

#[test]
fn amounts_for_two_people_are_one_for_each_currency() {
    let publisher = |approvals: &str| {
        format!(
            "[[publishers]]\nid = \"gazette\"\nname = \"The Gazette\"\ndomain = \"gazette.example\"\n\
             approvals = {approvals}\n"
        )
    };
    let limits = r#"[{ currency = "USD", amount = 50000 }, { currency = "EUR", amount = 0 }]"#;
    let read = read(&publisher(&format!("{{ four_eyes_above = {limits} }}")), &[]).unwrap();
    let four_eyes = &read.publishers[0].profile.four_eyes;
    let shown: Vec<_> =
        four_eyes.iter().map(|limit| format!("{} {}", limit.above, limit.currency)).collect();
    assert_eq!(shown, ["50000 USD", "0 EUR"]);
    let wrong = r#"{ four_eyes_above = [{ currency = "usd", amount = -1 }, { currency = "EUR", amount = 1 }, { currency = "EUR", amount = 2 }], eyes = 4 }"#;
    check(
        &publisher(wrong),
        &[],
        expect![[r#"
        5: publishers[0].approvals.four_eyes_above[0].currency: must be a currency of ISO 4217, such as USD
        5: publishers[0].approvals.four_eyes_above[0].amount: must be zero or an amount above it
        5: publishers[0].approvals.eyes: unknown key; the keys here are four_eyes_above
    "#]],
    );
}
