//! Forms with a file (`multipart/form-data`, RFC 7578), as browsers send them.

use std::convert::Infallible;

use axum::body::Bytes;
use futures_util::{FutureExt as _, future, stream};
use multer::Multipart;
use tradepost_document::http::MediaType;

use super::route::LARGE_FORM;

/// Maximum number of parts that are read: a form of the console has a handful.
const MAX_PARTS: usize = 32;

/// Maximum length of a kept file name in characters.
const MAX_NAME: usize = 200;

/// A file that was chosen in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormFile {
    /// Name at the sender's, without its folder and shortened.
    pub(super) name: String,
    /// Its content.
    pub(super) bytes: Bytes,
}

/// Fields of a form, and its first file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileForm {
    pub(super) fields: Vec<(String, String)>,
    pub(super) file: Option<FormFile>,
}

/// Returns true for the media type of such a form.
pub(super) fn is_one(content_type: &str) -> bool {
    MediaType::new(content_type).is("multipart/form-data")
}

/// Reads a form. `None` when the body is none, or is cut off.
pub(super) fn read(content_type: &str, body: &[u8]) -> Option<FileForm> {
    let boundary = multer::parse_boundary(content_type).ok().filter(|named| !named.is_empty())?;
    let body = Bytes::copy_from_slice(body);
    let body = stream::once(future::ready(Ok::<_, Infallible>(body)));
    // All of the body is here, so that there is nothing to wait for.
    read_parts(Multipart::new(body, boundary)).now_or_never()?
}

async fn read_parts(mut parts: Multipart<'_>) -> Option<FileForm> {
    let mut form = FileForm::default();
    let mut count = 0;
    let mut text_bytes = 0;
    while let Some(part) = parts.next_field().await.ok()? {
        count += 1;
        if count > MAX_PARTS {
            return None;
        }
        let name = part.name()?.to_owned();
        let file_name = part.file_name().map(str::to_owned);
        let content = part.bytes().await.ok()?;
        match file_name {
            // A file input in which nothing was chosen sends a file without name and content.
            Some(named) if !named.is_empty() || !content.is_empty() => {
                let file = FormFile { name: plain_name(&named), bytes: content };
                form.file.get_or_insert(file);
            }
            Some(_) => {}
            None => {
                text_bytes += content.len();
                if text_bytes > LARGE_FORM {
                    return None;
                }
                form.fields.push((name, String::from_utf8_lossy(&content).into_owned()));
            }
        }
    }
    Some(form)
}

/// Returns a file's name without folders and control characters. Browsers write `"` as `%22`.
fn plain_name(named: &str) -> String {
    let named = named.replace("%22", "\"");
    let last = named.rsplit(['/', '\\']).next().unwrap_or_default();
    last.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=--x";

    fn field(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn fields_and_the_file_are_read() {
        let body = "----x\r\nContent-Disposition: form-data; name=\"proof\"\r\n\r\nabc\r\n\
                    ----x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"C:\\a;name=b\\j%22.csv\"\r\n\
                    Content-Type: text/csv\r\n\r\na,b\r\n\r\n--1,2\r\n\r\n\
                    ----x\r\ncontent-disposition: form-data; name=columns\r\n\r\n\r\n----x--\r\n";
        for content_type in [TYPE, "Multipart/Form-Data; charset=utf-8; boundary=\"--x\""] {
            let form = read(content_type, body.as_bytes()).unwrap();
            assert_eq!(form.fields, [field("proof", "abc"), field("columns", "")]);
            let file = form.file.unwrap();
            assert_eq!(
                (file.name.as_str(), file.bytes.as_ref()),
                ("j\".csv", &b"a,b\r\n\r\n--1,2\r\n"[..])
            );
        }
    }

    #[test]
    fn a_file_input_without_a_choice_is_no_file() {
        let empty = "----x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\"\r\n\
                     Content-Type: application/octet-stream\r\n\r\n\r\n----x--";
        assert_eq!(read(TYPE, empty.as_bytes()), Some(FileForm::default()));
        let named = empty.replace("filename=\"\"", "filename=\"a.csv\"");
        let file = read(TYPE, named.as_bytes()).and_then(|form| form.file);
        assert_eq!(file, Some(FormFile { name: "a.csv".to_owned(), bytes: Bytes::new() }));
    }

    #[test]
    fn what_is_cut_off_or_endless_is_no_form() {
        let whole = "----x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n----x--";
        assert!(read(TYPE, whole.as_bytes()).is_some());
        for end in 0..whole.len() {
            assert_eq!(read(TYPE, whole.as_bytes().get(..end).unwrap()), None, "{end}");
        }
        let part = whole.strip_suffix("--").unwrap();
        let many = format!("{}--", part.repeat(MAX_PARTS + 1).replace("----x----x", "----x"));
        assert_eq!(read(TYPE, many.as_bytes()), None);
        let long = whole.replace("\r\n1\r\n", &format!("\r\n{}\r\n", "1".repeat(LARGE_FORM + 1)));
        assert_eq!(read(TYPE, long.as_bytes()), None);
        for content_type in ["text/plain", "multipart/form-data", "multipart/form-data; boundary="]
        {
            assert_eq!(read(content_type, whole.as_bytes()), None, "{content_type}");
        }
    }
}
