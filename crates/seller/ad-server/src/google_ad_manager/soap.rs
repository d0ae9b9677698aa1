//! XML of the SOAP interface: an element tree, the envelope around a call, and what an answer or a fault says.

use quick_xml::events::{BytesEnd, BytesRef, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

use crate::client::garbled;
use crate::port::AdServerError;

/// Namespace of envelopes (SOAP 1.1).
const ENVELOPE: &str = "http://schemas.xmlsoap.org/soap/envelope/";

/// Namespace of `type`, by which an element says which kind of its type it is.
const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Name by which requests are found in Google's logs.
const APPLICATION: &str = "tradepost";

/// Maximum nesting depth of an answer.
const MAX_DEPTH: usize = 32;

/// An element: of a request with its namespace, of an answer by its local name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct XmlElement {
    name: String,
    namespace: Option<String>,
    /// Its `xsi:type`.
    kind: Option<String>,
    text: String,
    children: Vec<Self>,
}

impl XmlElement {
    /// Creates an empty element.
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Creates an element with a text.
    pub(super) fn leaf(name: &str, text: impl ToString) -> Self {
        Self { text: text.to_string(), ..Self::new(name) }
    }

    /// Says which kind of its type it is.
    pub(super) fn of_kind(mut self, kind: &str) -> Self {
        self.kind = Some(kind.to_owned());
        self
    }

    /// Adds an element at its end; the schema has an order.
    pub(super) fn with(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// Adds elements at its end.
    pub(super) fn with_all(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    /// Returns the first element inside with a name.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the text of an element inside, unless it is empty.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }

    fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>) -> std::io::Result<()> {
        let mut start = BytesStart::new(self.name.as_str());
        if let Some(namespace) = &self.namespace {
            start.push_attribute(("xmlns", namespace.as_str()));
        }
        if let Some(kind) = &self.kind {
            start.push_attribute(("xmlns:xsi", INSTANCE));
            start.push_attribute(("xsi:type", kind.as_str()));
        }
        writer.write_event(Event::Start(start))?;
        if !self.text.is_empty() {
            writer.write_event(Event::Text(BytesText::new(&allowed(&self.text))))?;
        }
        for child in &self.children {
            child.write(writer)?;
        }
        writer.write_event(Event::End(BytesEnd::new(self.name.as_str())))
    }

    /// Reads a document. Only XML's own entities are resolved, and document types are rejected.
    pub(super) fn read(document: &str) -> Result<Self, AdServerError> {
        let mut reader = Reader::from_str(document);
        let mut open: Vec<Self> = Vec::new();
        loop {
            let event = reader.read_event().map_err(|_| garbled("it is not XML"))?;
            match event {
                Event::Start(start) => {
                    if open.len() >= MAX_DEPTH {
                        return Err(garbled("its XML is nested too deeply"));
                    }
                    open.push(started(&start));
                }
                Event::Empty(start) => {
                    let element = started(&start);
                    match open.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => return Ok(element),
                    }
                }
                Event::End(_) => {
                    let element = open.pop().ok_or_else(|| garbled("it is not XML"))?;
                    match open.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => return Ok(element),
                    }
                }
                Event::Text(text) => add(&mut open, &text),
                Event::CData(text) => add(&mut open, &text),
                Event::GeneralRef(reference) => {
                    let text = resolve(&reference)
                        .ok_or_else(|| garbled("its XML has an entity of its own"))?;
                    add(&mut open, &text);
                }
                Event::DocType(_) => return Err(garbled("its XML has a document type")),
                Event::Eof => return Err(garbled("it is not XML")),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            }
        }
    }
}

/// Returns the document of a call.
pub(super) fn envelope(
    namespace: &str,
    network: &str,
    call: XmlElement,
) -> Result<String, AdServerError> {
    let header = XmlElement::new("RequestHeader")
        .in_namespace(namespace)
        .with(XmlElement::leaf("networkCode", network))
        .with(XmlElement::leaf("applicationName", APPLICATION));
    let header = XmlElement::new("soapenv:Header").with(header);
    let body = XmlElement::new("soapenv:Body").with(call.in_namespace(namespace));
    let mut writer = Writer::new(Vec::new());
    let mut start = BytesStart::new("soapenv:Envelope");
    start.push_attribute(("xmlns:soapenv", ENVELOPE));
    let write = |writer: &mut Writer<Vec<u8>>| -> std::io::Result<()> {
        writer.write_event(Event::Start(start))?;
        header.write(writer)?;
        body.write(writer)?;
        writer.write_event(Event::End(BytesEnd::new("soapenv:Envelope")))
    };
    // Writing to memory does not fail; nothing was sent if it did.
    write(&mut writer).map_err(|_| AdServerError::Unsent)?;
    String::from_utf8(writer.into_inner()).map_err(|_| AdServerError::Unsent)
}

/// A fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SoapFault {
    /// Names of the errors, such as `ForecastError.NO_FORECAST_YET`.
    pub(super) names: Vec<String>,
    /// Text of the fault.
    pub(super) text: String,
    /// True if its code says that the request is wrong (`Client`, SOAP 1.1 §4.4.1).
    pub(super) is_of_client: bool,
}

/// Returns the fault of an answer, if it is one.
pub(super) fn fault(answer: &XmlElement) -> Option<SoapFault> {
    let fault = answer.child("Body")?.child("Fault")?;
    let exception = fault.child("detail").and_then(|detail| detail.child("ApiExceptionFault"));
    let errors = exception.map(|exception| exception.children.as_slice()).unwrap_or_default();
    let errors = errors.iter().filter(|child| child.name == "errors");
    let names = errors.filter_map(|error| {
        let stated = error.text_of("errorString").map(str::to_owned);
        stated.or_else(|| {
            let kind = error.kind.as_deref().unwrap_or("ApiError");
            Some(format!("{kind}.{}", error.text_of("reason")?))
        })
    });
    let text = fault.text_of("faultstring").unwrap_or_default().to_owned();
    // The prefix of the code is the answer's own choice, and more may follow after a dot.
    let code = fault.text_of("faultcode").and_then(|code| code.rsplit(':').next());
    let is_of_client = code.and_then(|code| code.split('.').next()) == Some("Client");
    Some(SoapFault { names: names.collect(), text, is_of_client })
}

/// Returns what a call has returned: the elements `rval` of its answer, in one.
pub(super) fn returned(answer: &XmlElement) -> Result<&XmlElement, AdServerError> {
    let body = answer.child("Body").ok_or_else(|| garbled("it is no SOAP envelope"))?;
    body.children.first().ok_or_else(|| garbled("it is no answer to a call"))
}

fn started(start: &BytesStart<'_>) -> XmlElement {
    let mut element = XmlElement::new(start.local_name().as_ref());
    let attributes = start.attributes().flatten();
    let kind = attributes.into_iter().find(|one| one.key.local_name().as_ref() == "type");
    // The prefix of the kind's namespace is the answer's own choice.
    element.kind = kind.and_then(|kind| kind.value.rsplit(':').next().map(str::to_owned));
    element
}

fn add(open: &mut [XmlElement], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// Resolves a character reference, or one of XML's five entities.
fn resolve(reference: &BytesRef<'_>) -> Option<String> {
    if reference.is_char_ref() {
        return reference.resolve_char_ref().ok().flatten().map(String::from);
    }
    quick_xml::escape::resolve_xml_entity(reference).map(str::to_owned)
}

/// Leaves out the characters that XML 1.0 cannot have.
fn allowed(text: &str) -> String {
    let is_allowed = |c: &char| match c {
        '\n' | '\r' | '\t' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        other => !other.is_control(),
    };
    text.chars().filter(is_allowed).collect()
}

#[cfg(test)]
mod tests;
