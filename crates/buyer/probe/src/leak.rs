//! Signs that an answer reveals details of the agent's implementation.

/// Texts that reveal an implementation, each with its meaning.
const SIGNS: &[(&str, &str)] = &[
    ("Traceback (most recent call last)", "a Python traceback"),
    ("site-packages/", "a Python path"),
    (".py\", line ", "a Python traceback"),
    ("node_modules/", "a JavaScript path"),
    ("    at Object.", "a JavaScript stack"),
    ("    at process.", "a JavaScript stack"),
    ("    at async ", "a JavaScript stack"),
    ("goroutine ", "a Go stack"),
    ("thread 'main' panicked", "a Rust panic"),
    ("stack backtrace:", "a Rust backtrace"),
    ("java.lang.", "a Java exception"),
    ("System.NullReferenceException", "a .NET exception"),
    ("SQLSTATE", "an error of a database"),
    ("sqlite3.", "an error of a database"),
    ("UNIQUE constraint failed", "an error of a database"),
    ("psycopg", "an error of a database"),
    ("password=", "a password"),
    ("-----BEGIN PRIVATE KEY", "a private key"),
    ("-----BEGIN RSA PRIVATE KEY", "a private key"),
    ("/home/", "a path of the machine"),
    ("/usr/lib/", "a path of the machine"),
    ("/var/lib/", "a path of the machine"),
];

/// Returns the meaning of the first such text in an answer.
pub(super) fn sign(text: &str) -> Option<&'static str> {
    SIGNS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, what)| *what)
}
