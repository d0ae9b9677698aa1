//! Leads as mail, to a server that takes, refuses, is slow and lies.

use tradepost_runtime::config::delivery::{Smtp, SmtpTls};

use super::*;
use crate::adf::{complaints, validator};
use crate::support::mail::{MailBehavior, MailServer, Secured, tls};
use crate::support::tls::Authority;

/// A CRM that takes ADF by mail, without TLS.
pub fn mailbox(server: &MailServer) -> DeliveryConfig {
    let smtp = Smtp {
        host: "127.0.0.1".into(),
        port: server.address.port(),
        tls: SmtpTls::None,
        ca_file: None,
        login: None,
        from: "leads@dealer.example".into(),
        to: vec!["crm@vendor.example".into(), "desk@dealer.example".into()],
    };
    let by = DeliveryMethod::Smtp(Box::new(smtp));
    DeliveryConfig {
        timeout: Duration::from_secs(1),
        ..destination("mail", MessageFormat::Adf(AdfOptions::default()), by)
    }
}

#[test]
fn a_lead_is_a_mail_whose_body_is_the_document() {
    let mut server = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let fixture = Fixture::running(vec![mailbox(&server)]);
    let lead_id = fixture.send(&drive(ELEVEN));
    let kept = fixture.settled(&lead_id, 1);
    assert_eq!(outline(&kept), [("mail", DELIVERED, 1, "SMTP 250")]);
    let [mail] = server.wait(1) else { panic!() };
    assert_eq!(mail.from, "MAIL FROM:<leads@dealer.example>");
    assert_eq!(mail.to, ["RCPT TO:<crm@vendor.example>", "RCPT TO:<desk@dealer.example>"]);
    assert_eq!(mail.header("Content-Type"), Some("text/plain; charset=utf-8"));
    let subject = mail.data.split("\nSubject: ").nth(1).unwrap();
    let subject = subject.split("\nDate:").next().unwrap().replace("\n ", " ");
    assert!(subject.starts_with("New lead: test drive, 2024 Honda"), "{subject}");
    for personal in ["Lovelace", "ada@example.com"] {
        assert!(!subject.contains(personal), "{subject}");
    }
    let id = format!("<{}@dealer.example>", kept[0].id());
    assert_eq!(mail.header("Message-ID"), Some(id.as_str()));
    assert!(mail.body().starts_with("<?xml version=\"1.0\""), "{}", mail.body());
    assert!(mail.body().contains("<prospect status=\"new\">"));
    if let Some(dtd) = validator() {
        assert_eq!(complaints(mail.body(), &dtd), "");
    }
}

#[test]
fn each_mail_servers_answer_decides_what_becomes_of_a_delivery() {
    // What the first connection meets; how it ends, after how many attempts, with which last
    // answer; and whether the documents that arrived say that there was one before.
    for (behavior, state, attempts, last, arrived) in [
        (MailBehavior::Say("MAIL", "451 try later"), DELIVERED, 2, "SMTP 250", &["new"][..]),
        (MailBehavior::Say("MAIL", "550 seekrit no"), DEAD, 1, "SMTP 550", &[]),
        (MailBehavior::Say("MAIL", "530 log in"), DELIVERED, 2, "SMTP 250", &["new"]),
        (MailBehavior::Say("RCPT TO:<desk", "450 busy"), DELIVERED, 2, "SMTP 250", &["new"]),
        (MailBehavior::Say("RCPT TO:<desk", "553 nobody"), DEAD, 1, "SMTP 553", &[]),
        (MailBehavior::Say("DATA", "421 going down"), DELIVERED, 2, "SMTP 250", &["new"]),
        (MailBehavior::Say("EHLO", "554 not you"), DEAD, 1, "SMTP 554", &[]),
        (MailBehavior::Judge("452 full"), DELIVERED, 2, "SMTP 250", &["new"]),
        (MailBehavior::Judge("554 no ADF here"), DEAD, 1, "SMTP 554", &[]),
        (MailBehavior::Stall("EHLO"), DELIVERED, 2, "SMTP 250", &["new"]),
        (MailBehavior::Stall("DATA"), DELIVERED, 2, "SMTP 250", &["new"]),
        (MailBehavior::StallAfterData, DELIVERED, 2, "SMTP 250", &["new", "resend"]),
        (MailBehavior::HangUpAfterData, DELIVERED, 2, "SMTP 250", &["new", "resend"]),
        (MailBehavior::NoGoodbye, DELIVERED, 1, "SMTP 250", &["new"]),
    ] {
        let mut server =
            MailServer::start(
                Secured::No,
                move |number| {
                    if number == 0 { behavior } else { MailBehavior::Take }
                },
            );
        let fixture = Fixture::running(vec![mailbox(&server)]);
        let lead_id = fixture.send(&lead());
        let kept = fixture.settled(&lead_id, 1);
        assert_eq!(outline(&kept), [("mail", state, attempts, last)], "{behavior:?}");
        let mails = server.wait(arrived.len());
        for (mail, status) in mails.iter().zip(arrived) {
            let said = format!("<prospect status=\"{status}\">");
            assert!(mail.body().contains(&said), "{behavior:?}: {}", mail.body());
        }
        let mut ids: Vec<_> = mails.iter().map(|mail| mail.header("Message-ID")).collect();
        ids.dedup();
        assert!(ids.len() <= 1, "the same mail: {ids:?}");
    }
}

#[test]
fn the_password_is_said_only_to_trusted_servers() {
    let ours = Authority::new("ours");
    let other = Authority::new("another's");
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, &ours.pem).unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "seekrit-password\n").unwrap();
    let good = tls(&ours.server());
    let bad = tls(&other.server());
    let no_tls = "no TLS that can be trusted";
    let no_offer = "the server does not offer what is needed (TLS or a way to log in)";
    for (secured, tls, delivered, last) in [
        (Secured::StartTls(good.clone()), SmtpTls::StartTls, true, "SMTP 250"),
        (Secured::FirstByte(good), SmtpTls::Required, true, "SMTP 250"),
        (Secured::StartTls(bad.clone()), SmtpTls::StartTls, false, no_tls),
        (Secured::FirstByte(bad), SmtpTls::Required, false, no_tls),
        (Secured::No, SmtpTls::StartTls, false, no_offer),
    ] {
        let mut server = MailServer::start(secured, |_| MailBehavior::Take);
        let mut delivery = DeliveryConfig { attempts: 1, ..mailbox(&server) };
        if let DeliveryMethod::Smtp(smtp) = &mut delivery.by {
            smtp.host = "localhost".into();
            smtp.tls = tls;
            smtp.ca_file = Some(ca_file.clone());
            smtp.login = Some(("leads".into(), ConfigSecret::File(password.clone())));
        }
        let fixture = Fixture::running(vec![delivery]);
        let kept = fixture.settled(&fixture.send(&lead()), 1);
        let state = if delivered { DELIVERED } else { DEAD };
        assert_eq!(outline(&kept), [("mail", state, 1, last)], "{tls:?}");
        if delivered {
            let [mail] = server.wait(1) else { panic!() };
            assert!(mail.is_secure);
            assert_eq!(mail.login.as_deref(), Some("|leads|seekrit-password"));
        }
    }
}
