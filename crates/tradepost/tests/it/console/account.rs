//! One's own account: the password, the second factor, and what asks for the password again.

use expect_test::expect;
use totp_rs::{Builder, Secret};
use tradepost_admin::people::own_account::{
    ChangeOwnPassword, ReplaceRecoveryCodes, SetSecondFactor, change_own_password,
    remove_own_second_factor, replace_recovery_codes, set_second_factor,
};
use tradepost_admin::people::provider_members::{
    RemoveProviderMember, add_provider_member, remove_provider_member,
};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_console::request::session_hash;
use tradepost_store::staff::StaffSession;

use super::*;
use crate::support::postgres::Scratch;

const NEW: &str = "another horse battery";

impl Browser<'_> {
    /// Sends a form, and goes on with the session that the answer begins, if it does.
    fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        let answer = self.post(path, fields);
        if let Some(fresh) = cookie(&answer, "tradepost-console") {
            assert_ne!(fresh, self.cookie);
            self.cookie = last_session(&answer);
            self.proof = proof(&self.get("/console/people"));
        }
        answer
    }
}

/// The session that a browser has after an answer: of several cookies of one name the last.
fn last_session(answer: &Response) -> String {
    let set = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let mut pairs = set.filter_map(|(_, value)| value.split(';').next());
    pairs.rfind(|pair| pair.starts_with("tradepost-console=")).unwrap().to_owned()
}

/// The problems that a page lists.
fn problems(answer: &Response) -> Vec<String> {
    let page = text(answer);
    let (_, rest) = page.split_once("role=\"alert\"").unwrap_or_else(|| panic!("{page}"));
    let (list, _) = rest.split_once("</div>").unwrap();
    list.split("<li>").skip(1).map(|item| item.split("</li>").next().unwrap().to_owned()).collect()
}

fn actions(fixture: &Fixture) -> Vec<String> {
    let outline = |(who, what, detail): (String, String, Option<String>)| {
        format!("{who} {what} {}", detail.unwrap_or_default()).trim_end().to_owned()
    };
    fixture.record(ONE).into_iter().map(outline).collect()
}

#[test]
fn people_change_their_own_password_and_their_other_sessions_end() {
    let fixture = Fixture::new();
    let mut dora = fixture.enter("dora");
    let elsewhere = fixture.enter("dora");
    let before = dora.cookie.clone();
    assert_eq!(dora.get("/console/account").status, 200);
    let path = "/console/account/password";
    let fields = |present, new, again| [("present", present), ("new", new), ("again", again)];
    for (present, new, again, expected) in [
        (
            PASSWORD,
            "dora",
            "other",
            expect![[r#"
            [
                "a password must have at least 12 characters and at most 256 bytes",
                "a password must not be the name, also not repeated or with digits and signs",
                "the two entries of the new password differ",
            ]
        "#]],
        ),
        (
            PASSWORD,
            "Password123456",
            "Password123456",
            expect![[r#"
            [
                "it is one of the most common passwords",
            ]
        "#]],
        ),
        (
            PASSWORD,
            PASSWORD,
            PASSWORD,
            expect![[r#"
            [
                "the new password is the current one",
            ]
        "#]],
        ),
        (
            "wrong horse battery",
            NEW,
            NEW,
            expect![[r#"
            [
                "the current password is wrong",
            ]
        "#]],
        ),
    ] {
        let answer = dora.post(path, &fields(present, new, again));
        assert_eq!(answer.status, 422);
        expected.assert_debug_eq(&problems(&answer));
        assert!(!text(&answer).contains(new) || new == "dora", "nothing typed is shown again");
    }
    assert_eq!(elsewhere.get("/console").status, 200, "nothing has changed yet");
    let answer = dora.submit(path, &fields(PASSWORD, NEW, NEW));
    assert_eq!(answer.header("location"), Some("/console/account?done=password"));
    assert_ne!(dora.cookie, before);
    assert_eq!(dora.get("/console").status, 200);
    assert_eq!(elsewhere.get("/console").status, 303);
    assert_eq!(fixture.get_with("/console", &before).status, 303, "the old cookie is of no use");
    assert_eq!(fixture.try_to_enter("dora", PASSWORD).0.status, 401);
    assert_eq!(fixture.try_to_enter("dora", NEW).0.status, 303);
    let recorded = actions(&fixture);
    assert_eq!(recorded[2], "sign-in sign_in_failed password from 127.0.0.0/24");
    // `audit verify` finds a password that nobody recorded by the hash in the entry.
    assert!(recorded[3].starts_with("dora password_set password:"), "{}", recorded[3]);
}

#[test]
fn guesses_at_the_own_password_are_limited_too() {
    let fixture = Fixture::new();
    let dora = fixture.enter("dora");
    let path = "/console/account/password";
    let fields = [("present", "wrong horse battery"), ("new", NEW), ("again", NEW)];
    for _ in 0..10 {
        assert_eq!(dora.post(path, &fields).status, 422);
    }
    let answer = dora.post(path, &[("present", PASSWORD), ("new", NEW), ("again", NEW)]);
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some());
}

/// What was proven at a sign-in holds only as long as nothing of it is changed.
fn proofs_end_with_what_they_prove(store: Store) {
    let member = |name: &str| store.member(name).unwrap().unwrap();
    let holds = |proven: &StaffMember, has_code: bool| {
        let proven = proven.clone();
        store.write_blocking(move |tx| tx.still_signs_in_with(&proven, has_code)).unwrap()
    };
    let added = StaffMember {
        name: "dora".to_owned(),
        dealer_id: None,
        role: StaffRole::Desk,
        password: "first".to_owned(),
        created_at: at(NOW),
    };
    store.write_blocking(move |tx| tx.add_member(&added)).unwrap();
    let first = member("dora");
    assert!(holds(&first, false) && !holds(&first, true));
    // The password is another one meanwhile.
    store.write_blocking(|tx| tx.set_password("dora", "second")).unwrap();
    assert!(!holds(&first, false));
    // A second factor counts meanwhile, and none any more.
    let second = member("dora");
    store.write_blocking(|tx| tx.begin_second_factor("dora", "GEZD", at(NOW))).unwrap();
    assert!(holds(&second, false), "it is not confirmed");
    store.write_blocking(|tx| tx.confirm_second_factor("dora", 1, &[], at(NOW))).unwrap();
    assert!(!holds(&second, false) && holds(&second, true));
    store.write_blocking(|tx| tx.remove_second_factor("dora")).unwrap();
    assert!(!holds(&second, true));
    // Nobody chooses a password by one that is over, or in a session that is.
    for id in ["kept", "other"] {
        let session = StaffSession {
            id: id.to_owned(),
            name: "dora".to_owned(),
            begun_at: at(NOW),
            seen_at: at(NOW),
            expires_at: at(NOW) + SignedDuration::from_hours(1),
            browser: String::new(),
            proven_at: None,
        };
        let hash = session_hash(id);
        store.write_blocking(move |tx| tx.begin_session(&session, &hash)).unwrap();
    }
    let sessions = || store.sessions(None, at(NOW)).unwrap().len();
    for (present, session) in [("first", "kept"), ("second", "ended")] {
        let change = store
            .write_blocking(move |tx| tx.change_own_password("dora", present, "third", session));
        assert!(!change.unwrap(), "{present} {session}");
        assert_eq!(member("dora").password, "second");
        assert_eq!(sessions(), 2, "no session ends for that");
    }
    let change =
        store.write_blocking(|tx| tx.change_own_password("dora", "second", "third", "kept"));
    assert!(change.unwrap());
    assert_eq!(member("dora").password, "third");
    assert_eq!(sessions(), 1);
    store.write_blocking(|tx| tx.remove_member("dora")).unwrap();
    assert!(!holds(&second, false), "nobody has the name");
}

#[test]
fn what_was_proven_ends_with_password_factor_and_session() {
    let folder = tempfile::tempdir().unwrap();
    proofs_end_with_what_they_prove(Store::open(folder.path()).unwrap());
}

#[test]
fn proof_ends_with_password_factor_and_session_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    proofs_end_with_what_they_prove(scratch.store());
}

/// Returns true when the store has failed.
fn is_broken<T, R>(outcome: &Result<T, AdminError<R>>) -> bool {
    matches!(outcome, Err(AdminError::Broken(_)))
}

#[test]
fn no_account_changes_without_its_audit_entry() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let unsaved = |name: &str| StaffMember {
        name: name.to_owned(),
        dealer_id: Some(ONE.to_owned()),
        role: StaffRole::Desk,
        password: "first".to_owned(),
        created_at: at(NOW),
    };
    // Both have begun a second factor, and Maria has confirmed it.
    let session = StaffSession {
        id: "kept".to_owned(),
        name: "dora".to_owned(),
        begun_at: at(NOW),
        seen_at: at(NOW),
        expires_at: at(NOW) + SignedDuration::from_hours(1),
        browser: String::new(),
        proven_at: None,
    };
    let members = [unsaved("dora"), unsaved("maria")];
    let written = store.write_blocking(move |tx| {
        for member in &members {
            tx.add_member(member)?;
            tx.begin_second_factor(&member.name, "GEZD", at(NOW))?;
        }
        tx.confirm_second_factor("maria", 1, &[[1; 32]], at(NOW))?;
        tx.begin_session(&session, &session_hash("kept"))
    });
    written.unwrap();
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    let takes_no_entry = "CREATE TRIGGER is_full BEFORE INSERT ON audit_log
        BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
    database.execute_batch(takes_no_entry).unwrap();

    let context = AdminContext { store: &store, dealers: &[], now: at(NOW) };
    let dora = Actor::from_member(&unsaved("dora"));
    let session_id = "kept".to_owned();
    let change = ChangeOwnPassword {
        present: "first".to_owned(),
        password: "second".to_owned(),
        session_id: session_id.clone(),
    };
    assert!(is_broken(&change_own_password(&context, &dora, change)));
    assert_eq!(store.member("dora").unwrap().unwrap().password, "first");
    let set = SetSecondFactor { step: 1, code_hashes: Vec::new(), session_id };
    assert!(is_broken(&set_second_factor(&context, &dora, set)));
    assert!(!store.has_second_factor("dora").unwrap());

    let maria = Actor::from_member(&unsaved("maria"));
    let replace = ReplaceRecoveryCodes { code_hashes: Vec::new() };
    assert!(is_broken(&replace_recovery_codes(&context, &maria, replace)));
    assert_eq!(store.second_factor("maria").unwrap().unwrap().codes_left, 1);
    assert!(is_broken(&remove_own_second_factor(&context, &maria)));
    assert!(store.has_second_factor("maria").unwrap());

    let ada = unsaved("oidc:ada");
    let added = store.write_blocking(move |tx| add_provider_member(tx, &ada, at(NOW)));
    assert!(added.is_err());
    assert_eq!(store.member("oidc:ada").unwrap(), None);
    let input = RemoveProviderMember { name: "maria".to_owned() };
    assert!(remove_provider_member(&context, input).is_err());
    assert!(store.member("maria").unwrap().is_some());
}

#[test]
fn asking_again_after_a_wrong_password_keeps_one_username() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let maria = fixture.enter("maria");
    fixture.hand.advance(SignedDuration::from_mins(5));
    let sent = [("username", "maria"), ("confirm_password", "wrong horse battery")];
    let page = text(&maria.post(&format!("/console/leads/{lead}/evidence"), &sent));
    assert_eq!(page.matches("name=\"username\"").count(), 1, "{page}");
}

#[test]
fn erasing_and_evidence_ask_for_the_password_again() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let mut maria = fixture.enter("maria");
    fixture.hand.advance(SignedDuration::from_mins(5));
    let before = maria.cookie.clone();
    let evidence = format!("/console/leads/{lead}/evidence");
    let erase = format!("/console/leads/{lead}/erase");
    for (path, fields) in [(&evidence, vec![]), (&erase, vec![("sure", "yes")])] {
        let asked = maria.post(path, &fields);
        let page = text(&asked);
        assert_eq!(asked.status, 401);
        assert!(page.contains(&format!("action=\"{path}\"")), "{page}");
        assert_eq!(page.contains("name=\"sure\" value=\"yes\""), !fields.is_empty());
        let wrong = [&fields[..], &[("confirm_password", "wrong horse battery")]].concat();
        let refused = maria.post(path, &wrong);
        assert_eq!(refused.status, 401);
        assert!(text(&refused).contains("The password is wrong"));
    }
    let lead_is_there = |browser: &Browser<'_>| {
        text(&browser.get(&format!("/console/leads/{lead}"))).contains("Ada")
    };
    assert!(lead_is_there(&maria));
    let confirmed = [("sure", "yes"), ("confirm_password", PASSWORD)];
    let taken = maria.submit(&evidence, &confirmed[1..]);
    assert_eq!(taken.status, 200);
    assert!(taken.header("content-disposition").is_some());
    assert_ne!(maria.cookie, before, "the session goes on under another id");
    assert_eq!(fixture.get_with("/console", &before).status, 303);
    // It counts for a few minutes.
    fixture.hand.advance(SignedDuration::from_mins(4));
    assert_eq!(maria.post(&evidence, &[]).status, 200);
    fixture.hand.advance(SignedDuration::from_mins(1));
    assert_eq!(maria.post(&erase, &[("sure", "yes")]).status, 401);
    // What cannot be done keeps the renewed session all the same.
    assert_eq!(maria.submit(&erase, &confirmed[1..]).status, 422);
    assert_eq!(maria.submit(&erase, &[("sure", "yes")]).status, 303);
    assert!(!lead_is_there(&maria));
    assert!(actions(&fixture).contains(&"maria identity_confirmed".to_owned()));
}

/// The code that an app shows for a secret at a moment of the console's clock.
fn code(secret: &str, passed: SignedDuration) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    let totp = Builder::new().with_secret(secret).build().unwrap();
    let seconds = (at(NOW) + passed).as_second();
    totp.generate(u64::try_from(seconds).unwrap()).to_string()
}

/// Sets a second factor up: its secret, and the recovery codes.
pub(super) fn set_up(browser: &mut Browser<'_>, passed: SignedDuration) -> (String, Vec<String>) {
    assert_eq!(browser.post("/console/account/factor", &[]).status, 303);
    let page = text(&browser.get("/console/account/factor"));
    assert!(page.contains("<svg") && page.contains("role=\"img\""), "{page}");
    let (_, rest) = page.split_once("<code class=\"words\">").unwrap();
    let secret = rest.split('<').next().unwrap().replace(' ', "");
    let wrong = browser.post("/console/account/factor/confirm", &[("code", "000000")]);
    assert_eq!(wrong.status, 422);
    let now = code(&secret, passed);
    let shown = browser.submit("/console/account/factor/confirm", &[("code", &now)]);
    assert_eq!(shown.status, 200, "{}", text(&shown));
    let page = text(&shown);
    let codes =
        page.split("<li><code>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned());
    let codes: Vec<_> = codes.collect();
    assert_eq!(codes.len(), 10);
    (secret, codes)
}

/// Gives the password, and then a code: the answer to the code.
fn enter_with_code(fixture: &Fixture, name: &str, code: &str) -> Response {
    let (answer, _) = fixture.try_to_enter(name, PASSWORD);
    assert_eq!(answer.header("location"), Some("/console/sign-in/code"));
    assert!(cookie(&answer, "tradepost-console").is_none(), "nobody is in with a password alone");
    let awaited = cookie(&answer, "tradepost-code").unwrap();
    let page = fixture.get_with("/console/sign-in/code", &awaited);
    let fields = [("proof", proof(&page)), ("code", code.to_owned())];
    fixture.send("/console/sign-in/code", &awaited, &[], &fields)
}

fn second_factor(fixture: &Fixture) {
    let mut dora = fixture.enter("dora");
    let elsewhere = fixture.enter("dora");
    let mut passed = SignedDuration::ZERO;
    let (secret, recovery) = set_up(&mut dora, passed);
    assert_eq!(dora.get("/console").status, 200);
    assert_eq!(elsewhere.get("/console").status, 303, "sessions of the password alone end");
    // The code that has confirmed it was used with that.
    assert_eq!(enter_with_code(fixture, "dora", &code(&secret, passed)).status, 401);
    passed += SignedDuration::from_secs(30);
    fixture.hand.advance(SignedDuration::from_secs(30));
    let now = code(&secret, passed);
    let spaced = format!("{} {}", &now[..3], &now[3..]);
    assert_eq!(enter_with_code(fixture, "dora", &spaced).status, 303);
    assert_eq!(enter_with_code(fixture, "dora", &now).status, 401, "a code is used once");
    // Recovery codes stand in for the phone, once each, however they are typed.
    let typed = recovery[3].to_uppercase().replace('-', "");
    assert_eq!(enter_with_code(fixture, "dora", &typed).status, 303);
    assert_eq!(enter_with_code(fixture, "dora", &typed).status, 401);
    let account = text(&dora.get("/console/account"));
    assert!(account.contains("9 recovery codes"), "{account}");
    for old in &recovery {
        assert!(!account.contains(old), "they are shown once");
    }
    // New ones take their place.
    let fresh = text(&dora.post("/console/account/codes", &[]));
    assert_eq!(fresh.matches("<li><code>").count(), 10);
    assert_eq!(enter_with_code(fixture, "dora", &recovery[4]).status, 401);
    // Switching it off takes a code, and then the password is enough.
    assert_eq!(dora.post("/console/account/factor/off", &[("code", "000000")]).status, 422);
    passed += SignedDuration::from_secs(30);
    fixture.hand.advance(SignedDuration::from_secs(30));
    let off = dora.do_it("/console/account/factor/off", &[("code", &code(&secret, passed))]);
    assert_eq!(off, "factor_off");
    assert_eq!(fixture.try_to_enter("dora", PASSWORD).0.header("location"), Some("/console"));
    let recorded = actions(fixture).into_iter().filter(|action| !action.contains("sign"));
    assert_eq!(
        recorded.collect::<Vec<_>>(),
        [
            "dora second_factor_set",
            "dora recovery_code_used 9 left",
            "dora recovery_codes_made",
            "dora second_factor_removed",
        ]
    );
}

#[test]
fn a_second_factor_is_asked_and_counts_once() {
    second_factor(&Fixture::new());
}

#[test]
fn a_second_factor_is_asked_and_counts_once_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    second_factor(&Fixture::on(scratch.store()));
}

#[test]
fn guessed_codes_are_limited_and_the_step_does_not_last() {
    let fixture = Fixture::new();
    let mut dora = fixture.enter("dora");
    let (secret, _) = set_up(&mut dora, SignedDuration::ZERO);
    let (answer, _) = fixture.try_to_enter("dora", PASSWORD);
    let awaited = cookie(&answer, "tradepost-code").unwrap();
    let page = fixture.get_with("/console/sign-in/code", &awaited);
    let give = |code: &str, proof: &str| {
        let fields = [("proof", proof.to_owned()), ("code", code.to_owned())];
        fixture.send("/console/sign-in/code", &awaited, &[], &fields)
    };
    let proof = proof(&page);
    assert_eq!(give("000000", "forged").status, 401);
    for number in 0..10 {
        assert_eq!(give(&format!("00000{number}"), &proof).status, 401);
    }
    let limited = give("000000", &proof);
    assert_eq!(limited.status, 429);
    assert!(limited.header("retry-after").is_some());
    fixture.hand.advance(SignedDuration::from_mins(5));
    let late = give(&code(&secret, SignedDuration::from_mins(5)), &proof);
    assert_eq!(late.status, 401);
    assert!(text(&late).contains("took too long"));
    assert_eq!(fixture.get_with("/console/sign-in/code", &awaited).status, 303);
    let counted = fixture.metrics.write().unwrap();
    let line = "tradepost_console_sign_ins_total{outcome=\"wrong_code\"} 10";
    assert!(counted.lines().any(|counted| counted == line), "{counted}");
}

#[test]
fn where_a_second_factor_is_required_nothing_comes_before_it() {
    let fixture = Fixture::with(|config| {
        config.server.console.as_mut().unwrap().second_factor = SecondFactorPolicy::Required;
    });
    let (answer, _) = fixture.try_to_enter("dora", PASSWORD);
    let session = cookie(&answer, "tradepost-console").unwrap();
    let page = fixture.get_with("/console/account/factor", &session);
    let mut dora = Browser { fixture: &fixture, cookie: session, proof: proof(&page) };
    for path in ["/console", "/console/leads", "/console/account", "/console/people"] {
        let answer = dora.get(path);
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, Some("/console/account/factor"))
        );
    }
    let answer = dora.post("/console/leads/lead_1/notes", &[("text", "Called.")]);
    assert_eq!(answer.header("location"), Some("/console/account/factor"));
    let (_, _) = set_up(&mut dora, SignedDuration::ZERO);
    assert_eq!(dora.get("/console/leads").status, 200);
    let off = dora.post("/console/account/factor/off", &[("code", "000000")]);
    assert_eq!(off.status, 422);
    assert!(text(&off).contains("requires a second factor"));
}

#[test]
fn a_manager_resets_the_second_factor_of_own_people_alone() {
    let fixture = Fixture::new();
    let mut browsers = ["dora", "maria", "other"].map(|name| fixture.enter(name));
    for browser in &mut browsers {
        set_up(browser, SignedDuration::ZERO);
    }
    let [dora, maria, other] = &browsers;
    let reset = |browser: &Browser<'_>, name: &str| {
        browser.post(&format!("/console/members/{name}/factor/reset"), &[])
    };
    assert_eq!(reset(dora, "maria").status, 403);
    assert_eq!(reset(maria, "other").status, 404);
    assert_eq!(reset(other, "dora").status, 404);
    assert_eq!(reset(maria, "egon").status, 404, "there is none");
    assert_eq!(reset(maria, "maria").status, 422, "one's own takes somebody else");
    let people = text(&maria.get("/console/people"));
    assert!(people.contains("Reset the second factor of dora"), "{people}");
    assert_eq!(reset(maria, "dora").header("location"), Some("/console/people?done=factor_reset"));
    assert_eq!(dora.get("/console").status, 303, "sessions end");
    assert_eq!(fixture.try_to_enter("dora", PASSWORD).0.header("location"), Some("/console"));
    assert!(actions(&fixture).contains(&"maria second_factor_reset".to_owned()));
}

#[test]
fn a_second_factor_is_encrypted_by_the_privacy_key() {
    use tradepost_store::privacy::OperatorKeys;
    let folder = tempfile::tempdir().unwrap();
    let keys = |text: &str| OperatorKeys::read(text).unwrap();
    let first = OperatorKeys::generate().unwrap();
    let second = OperatorKeys::generate().unwrap();
    let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    let raw = || {
        let file = folder.path().join("tradepost.sqlite");
        let database = rusqlite::Connection::open(file).unwrap();
        let sql = "SELECT secret, sealed_by FROM second_factors";
        database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let begin = |store: &Store| {
        store.write_blocking(move |tx| tx.begin_second_factor("dora", secret, at(NOW))).unwrap()
    };
    let store = Store::open(folder.path()).unwrap();
    assert!(begin(&store));
    assert_eq!(raw(), (secret.to_owned(), None::<String>), "without a key it is in clear");
    store.unlock(&keys(&first), true, at(NOW)).unwrap();
    assert_eq!(store.rekey(|_| {}).unwrap().rows, 1);
    let (sealed, by) = raw();
    assert_eq!(by.as_deref(), Some(keys(&first).ids()[0]));
    assert!(!sealed.contains(secret));
    assert_eq!(store.second_factor("dora").unwrap().unwrap().secret, secret);
    drop(store);
    // Another key takes the place of the first, which is forgotten then.
    let store = Store::open(folder.path()).unwrap();
    store.unlock(&keys(&format!("{second} {first}")), true, at(NOW)).unwrap();
    assert_eq!(store.rekey(|_| {}).unwrap().rows, 1);
    assert_eq!(store.privacy_keys().unwrap(), keys(&second).ids());
    assert!(begin(&store), "a new secret is sealed, too");
    assert!(!raw().0.contains(secret));
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert!(store.second_factor("dora").is_err(), "without its key nobody reads it");
}
