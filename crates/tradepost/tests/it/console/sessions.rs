//! Who is let in, and for how long.

use expect_test::expect;

use super::*;

/// An answer without what differs from run to run.
fn same(answer: &Response) -> (u16, String) {
    let body = text(answer);
    let proof = proof(answer);
    (answer.status, body.replace(&proof, "<proof>"))
}

#[test]
fn a_wrong_name_and_a_wrong_password_look_alike() {
    let fixture = Fixture::new();
    let (unknown, _) = fixture.try_to_enter("nobody", PASSWORD);
    let (wrong, _) = fixture.try_to_enter("dora", "wrong horse battery");
    assert_eq!(unknown.status, 401);
    assert_eq!(same(&unknown), same(&wrong));
    assert!(cookie(&wrong, "tradepost-console").is_none());
    // Names are written as people write them.
    let (answer, _) = fixture.try_to_enter("Dora", PASSWORD);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/console")));
}

#[test]
fn whoever_guesses_is_stopped_and_comes_in_later() {
    let fixture = Fixture::new();
    for _ in 0..10 {
        let (answer, _) = fixture.try_to_enter("dora", "wrong horse battery");
        assert!(text(&answer).contains("The name or the password is wrong"));
    }
    let (answer, _) = fixture.try_to_enter("dora", PASSWORD);
    assert_eq!(answer.status, 429);
    assert!(text(&answer).contains("Too many attempts"), "even with the right one");
    let (answer, _) = fixture.try_to_enter("maria", PASSWORD);
    assert_eq!(answer.status, 303, "others are not kept out");
    for _ in 0..10 {
        fixture.try_to_enter("nobody", "wrong horse battery");
    }
    let (answer, _) = fixture.try_to_enter("egon", PASSWORD);
    assert!(text(&answer).contains("Too many attempts"), "one address has twenty");
    fixture.hand.advance(SignedDuration::from_mins(5));
    let (answer, _) = fixture.try_to_enter("dora", PASSWORD);
    assert_eq!(answer.status, 303);
}

#[test]
fn whoever_guesses_elsewhere_keeps_nobody_out() {
    let fixture = Fixture::with(|config| config.server.trust_forwarded_for = true);
    let try_from = |address: &str, password: &str| {
        let page = fixture.get("/console/sign-in");
        let form = cookie(&page, "tradepost-form").unwrap();
        let fields =
            [("proof", proof(&page)), ("name", "dora".into()), ("password", password.into())];
        let headers = [("X-Forwarded-For", address)];
        fixture.send("/console/sign-in", &form, &headers, &fields)
    };
    for _ in 0..10 {
        try_from("192.0.2.1", "wrong horse battery");
    }
    assert!(text(&try_from("192.0.2.1", PASSWORD)).contains("Too many attempts"));
    assert_eq!(try_from("192.0.2.2", PASSWORD).status, 303);
}

#[test]
fn a_session_ends_by_time_person_and_password() {
    let fixture = Fixture::new();
    let status = |browser: &Browser<'_>| browser.get("/console").status;
    // By doing nothing for too long; a page that looks for news by itself is nobody at work.
    let idle = fixture.enter("dora");
    let by_itself = [("Cookie", idle.cookie.as_str()), ("X-Tradepost-By-Itself", "1")];
    fixture.hand.advance(SignedDuration::from_mins(119));
    assert_eq!(client::request(fixture.address, "GET", "/console", &by_itself, b"").status, 200);
    fixture.hand.advance(SignedDuration::from_mins(2));
    assert_eq!(status(&idle), 303);
    // However busy somebody is.
    let busy = fixture.enter("dora");
    for _ in 0..11 {
        fixture.hand.advance(SignedDuration::from_mins(60));
        assert_eq!(status(&busy), 200);
    }
    fixture.hand.advance(SignedDuration::from_mins(60));
    assert_eq!(status(&busy), 303);
    // By signing out: the cookie is of no use any more.
    let out = fixture.enter("dora");
    assert_eq!(out.do_it("/console/sign-out", &[]), "/console/sign-in");
    assert_eq!(status(&out), 303);
    // By another password, and with whoever has it.
    let changed = fixture.enter("dora");
    let hashed = password::hash("another horse battery").unwrap();
    fixture.server.store.write_blocking(move |tx| tx.set_password("dora", &hashed)).unwrap();
    assert_eq!(status(&changed), 303);
    let removed = fixture.enter("egon");
    fixture.server.store.write_blocking(|tx| tx.remove_member("egon")).unwrap();
    assert_eq!(status(&removed), 303);
}

#[test]
fn sessions_are_listed_and_ended_by_owner_and_manager() {
    let fixture = Fixture::new();
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    let other = fixture.enter("other");
    let id = |browser: &Browser<'_>, name: &str| {
        let page = text(&browser.get("/console/people"));
        let row = page.split("<tr>").find(|row| row.contains(&format!("\"row\">{name}")));
        let (_, rest) = row?.split_once("/console/sessions/")?;
        Some(format!("/console/sessions/{}", rest.split('"').next()?))
    };
    assert!(id(&dora, "maria").is_none(), "the desk sees its own alone");
    assert!(id(&maria, "other").is_none(), "and a manager those of the same dealer");
    let of_dora = id(&maria, "dora").unwrap();
    let of_maria = id(&maria, "maria").unwrap();
    assert_eq!(dora.post(&of_maria, &[]).status, 404);
    assert_eq!(other.post(&of_dora, &[]).status, 404);
    assert_eq!(dora.get("/console").status, 200);
    assert_eq!(maria.do_it(&of_dora, &[]), "session");
    assert_eq!(dora.get("/console").status, 303);
    assert_eq!(maria.do_it(&of_maria, &[]), "/console/sign-in", "one's own");
    let actions: Vec<_> =
        fixture.record(ONE).into_iter().map(|(who, what, _)| (who, what)).collect();
    let action = |who: &str, what: &str| (who.to_owned(), what.to_owned());
    assert_eq!(
        actions,
        [
            action("dora", "signed_in"),
            action("maria", "signed_in"),
            action("maria", "session_ended"),
            action("maria", "signed_out"),
        ]
    );
}

#[test]
fn sign_in_leads_where_they_wanted_and_nowhere_else() {
    let fixture = Fixture::new();
    let answer = fixture.get("/console/leads/lead_1");
    let location = answer.header("location").unwrap();
    assert_eq!((answer.status, location), (303, "/console/sign-in?next=/console/leads/lead_1"));
    for (wanted, expected) in [
        ("/console/leads/lead_1", "/console/leads/lead_1"),
        ("//evil.example", "/console"),
        ("https://evil.example/console", "/console"),
        ("/console/../a2a", "/console"),
        ("/console//evil", "/console"),
        ("/console/\r\nSet-Cookie: a=b", "/console"),
        ("/consoles", "/console"),
    ] {
        let page = fixture.get("/console/sign-in");
        let form = cookie(&page, "tradepost-form").unwrap();
        let fields = [
            ("proof", proof(&page)),
            ("name", "dora".into()),
            ("password", PASSWORD.into()),
            ("next", wanted.to_owned()),
        ];
        let answer = fixture.send("/console/sign-in", &form, &[], &fields);
        assert_eq!(answer.header("location"), Some(expected), "{wanted}");
        fixture.hand.advance(SignedDuration::from_mins(5));
    }
}

#[test]
fn nothing_is_kept_by_browsers_or_loaded_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let fixture = Fixture::on_with(store, |listings| {
        let photos = [
            "https://photos.example/1.jpg",
            "http://photos.example/2.jpg",
            "https://a@b.example/3.jpg",
        ];
        listings[0].vehicle.photos = vec![photos[0].to_owned()];
        listings[1].vehicle.photos = photos[1..].iter().map(|photo| (*photo).to_owned()).collect();
    });
    let headers = |answer: &Response| -> String {
        let shown = |(name, _): &&(String, String)| {
            !["date", "content-length", "vary", "connection"].contains(&name.as_str())
        };
        let line = |(name, value): &(String, String)| {
            let value = value.split_once('=').filter(|_| name == "set-cookie");
            let rest = value.and_then(|(_, rest)| rest.split_once(';'));
            (name.clone(), rest.map(|(_, rest)| rest.to_owned()))
        };
        let all = answer.headers.iter().filter(shown);
        all.map(|pair| match line(pair) {
            (name, Some(rest)) => format!("{name}: <cookie>;{rest}\n"),
            (name, None) => format!("{name}: {}\n", pair.1),
        })
        .collect()
    };
    let sign_in = fixture.get("/console/sign-in");
    expect![[r#"
        content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        cache-control: no-store
        x-content-type-options: nosniff
        x-frame-options: DENY
        referrer-policy: same-origin
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        permissions-policy: camera=(), geolocation=(), microphone=()
        x-robots-tag: noindex
        content-type: text/html; charset=utf-8
        set-cookie: <cookie>; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict
    "#]]
    .assert_eq(&headers(&sign_in));
    let maria = fixture.enter("maria");
    for path in ["/console", "/console/leads", "/console/console.css", "/console/nothing", "/other"]
    {
        let answer = headers(&maria.get(path));
        for header in ["no-store", "default-src 'none'", "nosniff", "DENY"] {
            assert!(answer.contains(header), "{path} {header}: {answer}");
        }
    }
    // Photos come from where the dealer's own listings say, and only on pages that show them.
    let policy = |path: &str| {
        let answer = maria.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        policy.split("; ").find(|part| part.starts_with("img-src")).unwrap().to_owned()
    };
    assert_eq!(policy("/console/leads"), "img-src 'self'");
    assert_eq!(policy("/console/inventory"), "img-src 'self' https://photos.example");
}

#[test]
fn behind_tls_cookies_never_travel_without() {
    let fixture = Fixture::with(|config| {
        let console = config.server.console.as_mut().unwrap();
        console.public_url = Some("https://desk.example".to_owned());
    });
    let page = fixture.get("/console/sign-in");
    let form = cookie(&page, "__Host-tradepost-form").unwrap();
    let fields =
        [("proof", proof(&page)), ("name", "dora".into()), ("password", PASSWORD.to_owned())];
    let answer = fixture.send("/console/sign-in", &form, &[], &fields);
    assert_eq!(answer.status, 303);
    let set =
        answer.headers.iter().find(|(_, value)| value.starts_with("__Host-tradepost-console="));
    let (_, attributes) = set.unwrap().1.split_once(';').unwrap();
    assert_eq!(attributes, " Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
}

/// Reads a configuration with these sections of the server.
fn read(server: &str) -> Result<Settings, String> {
    let text = format!(
        "{server}\n[[dealers]]\nid = \"d\"\nname = \"D\"\n[[dealers.rooftops]]\nname = \"R\"\n"
    );
    let read = tradepost_runtime::config::read::read(&text, &[]);
    read.map(|config| config.server.console.unwrap()).map_err(|mistakes| {
        mistakes.into_iter().map(|mistake| mistake.to_string()).collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn what_a_provider_needs_is_named_all_at_once() {
    let console = "[server.console]\nlisten = \"127.0.0.1:8090\"\n[server.console.oidc]\n";
    let whole = "issuer = \"https://id.example\"\nclient_id = \"a\"\nclient_secret_file = \"/s\"\n\
                 role_claim = \"groups\"\nroles = [{ value = \"it\", role = \"engineer\", all_dealers = true }]\n";
    let oidc = read(&format!("{console}{whole}")).unwrap().oidc.unwrap();
    assert_eq!((oidc.grants[0].dealer_id.as_deref(), oidc.name_claim.as_str()), (None, "sub"));
    let wrong = "issuer = \"http://id.example\"\nclient_id = \"a\"\nscope = \"profile\"\n\
                 roles = [{ value = \"it\", role = \"boss\", dealer = \"d\" }, { value = \"it\", role = \"desk\" }]\n";
    expect![[r#"
        server.console.oidc.client_secret_file: is missing; it has no default
        server.console.oidc.role_claim: is missing; it has no default
        server.console.oidc.issuer: must be an address with https, such as https://www.example.com/page; http only on 127.0.0.1 or [::1]
        server.console.oidc.scope: must have openid among its words
        server.console.oidc.roles[0].role: must be desk, manager or engineer, or at a publisher seller, approver or viewer
        server.console.oidc.roles[1]: needs either the id of a dealer or of a publisher, or all_dealers = true"#]].assert_eq(&read(&format!("{console}{wrong}")).unwrap_err());
}

#[test]
fn without_tls_the_console_is_for_this_machine_alone() {
    let console = |rest: &str| format!("[server.console]\nlisten = \"0.0.0.0:8090\"\n{rest}");
    expect![[r#"
        server.console.listen: must be on this machine, such as 127.0.0.1:8090, unless there is [server.tls] or a proxy with TLS, which public_url names"#]]
    .assert_eq(&read(&console("")).unwrap_err());
    assert!(read(&console("public_url = \"http://desk.example\"")).is_err());
    assert!(read(&console("public_url = \"https://desk.example\"")).is_ok());
    let tls = "[server.tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"";
    assert!(read(&console(tls)).is_ok());
    let here = read("[server.console]\nlisten = \"127.0.0.1:8090\"").unwrap();
    assert_eq!(here.session_lifetime, SignedDuration::from_hours(12));
    assert_eq!(here.session_idle, SignedDuration::from_mins(30));
    assert_eq!(here.second_factor, SecondFactorPolicy::Optional);
    let second = |word: &str| {
        read(&format!("[server.console]\nlisten = \"127.0.0.1:8090\"\nsecond_factor = \"{word}\""))
    };
    assert_eq!(second("required").unwrap().second_factor, SecondFactorPolicy::Required);
    expect![[r#"
        server.console.second_factor: must be one of optional, required"#]]
    .assert_eq(&second("always").unwrap_err());
}
