//! From the definition in `proto/` to the tables that the crate reads and writes by, and to the
//! types of the usual implementation that the tests compare with. Both lie beside the code, so
//! that nobody who builds needs a compiler of definitions.

use std::fmt::Write as _;
use std::fs;

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
};

use crate::published;

const FILES: [&str; 2] = ["google/rpc/status.proto", "lf/a2a/v1/a2a.proto"];

#[test]
#[expect(clippy::disallowed_methods, reason = "the person at the keyboard chooses")]
fn what_is_generated_is_what_the_definition_says() {
    let definition = published::workspace().join("crates/protocol/a2a/proto");
    let set = protox::compile(FILES, [&definition]).unwrap();
    let outcome = [
        ("crates/protocol/a2a/src/protobuf/schema.rs", tables(&set)),
        ("crates/protocol/a2a/src/protobuf/descriptors.rs", descriptions(&set)),
        ("crates/protocol/tests/tests/it/protobuf/types.rs", types(&set)),
    ];
    for (path, text) in outcome {
        let path = published::workspace().join(path);
        if std::env::var("UPDATE_PROTO").is_ok_and(|value| value == "1") {
            fs::write(&path, &text).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == text,
            "{} is stale; UPDATE_PROTO=1 cargo test -p tradepost-protocol-tests --test it generate",
            path.display()
        );
    }
}

/// The types of the usual implementation.
fn types(set: &FileDescriptorSet) -> String {
    let folder = tempfile();
    let mut config = prost_build::Config::new();
    config.disable_comments(["."]).out_dir(&folder).include_file("all.rs");
    config.compile_fds(set.clone()).unwrap();
    let mut out = "// Generated from proto/ by the test beside; do not edit.\n\n".to_owned();
    for (module, file) in [("a2a", "lf.a2a.v1.rs"), ("rpc", "google.rpc.rs")] {
        let text = fs::read_to_string(folder.join(file)).unwrap().replace("pub ", "pub(crate) ");
        let text: String =
            text.lines().filter(|line| !line.starts_with("//")).fold(String::new(), |out, line| {
                let indent = if line.is_empty() { "" } else { "    " };
                out + indent + line + "\n"
            });
        writeln!(out, "pub(crate) mod {module} {{\n{text}}}").unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
    out
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("tradepost-types-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The tables of `tradepost_a2a::protobuf`.
fn tables(set: &FileDescriptorSet) -> String {
    let mut out =
        "//! The messages of A2A and of its errors. Generated from `proto/` by the test\n\
                   //! `what_is_generated_is_what_the_definition_says`; do not edit.\n\n\
                   use super::{FieldLabel, FieldType, MessageDescriptor, field};\n\
                   use crate::Operation;\n\n"
            .to_owned();
    let files = || set.file.iter().filter(|file| file.package() != "google.protobuf");
    for file in files() {
        for known in &file.enum_type {
            write_enum(&mut out, known);
        }
    }
    let mut messages = Vec::new();
    for file in files() {
        for message in &file.message_type {
            collect(&format!("{}.{}", file.package(), message.name()), message, &mut messages);
        }
    }
    for (name, message) in &messages {
        write_message(&mut out, name, message);
    }
    out.push_str(
        "/// `google.protobuf.Empty`.\n\
         pub static EMPTY: MessageDescriptor = \
         MessageDescriptor { name: \"google.protobuf.Empty\", fields: &[] };\n\n",
    );
    out.push_str("/// Every message.\npub static ALL: &[&MessageDescriptor] = &[\n");
    let mut line = "   ".to_owned();
    for name in messages.iter().map(|(name, _)| constant(name)).chain(["EMPTY".to_owned()]) {
        if line.len() + name.len() + " &,".len() > 100 {
            writeln!(out, "{line}").unwrap();
            line = "   ".to_owned();
        }
        write!(line, " &{name},").unwrap();
    }
    writeln!(out, "{line}\n];").unwrap();
    let methods: Vec<_> =
        files().flat_map(|file| &file.service).flat_map(|known| &known.method).collect();
    for (function, docs) in
        [("request", "What an operation takes."), ("answer", "What an operation tells.")]
    {
        writeln!(
            out,
            "\n/// {docs}\n#[must_use]\n\
             pub fn {function}(operation: Operation) -> &'static MessageDescriptor {{\n    \
             match operation {{"
        )
        .unwrap();
        for method in &methods {
            let of = if function == "request" { method.input_type() } else { method.output_type() };
            writeln!(out, "        Operation::{} => &{},", method.name(), constant(of)).unwrap();
        }
        out.push_str("    }\n}\n");
    }
    out
}

/// The definition for gRPC reflection, without that of errors, which no method names.
fn descriptions(set: &FileDescriptorSet) -> String {
    let mut out = "//! The definition of A2A and what it imports, for gRPC reflection. Generated from `proto/` by the test\n\
                   //! `what_is_generated_is_what_the_definition_says`; do not edit.\n\n\
                   use super::FileDescription;\n\n\
                   /// Every file.\npub static ALL: &[FileDescription] = &[\n"
        .to_owned();
    for file in set.file.iter().filter(|file| file.package() != "google.rpc") {
        // Comments and places are for people who have the definition.
        let file = FileDescriptorProto { source_code_info: None, ..file.clone() };
        let mut symbols = Vec::new();
        for service in &file.service {
            let name = format!("{}.{}", file.package(), service.name());
            symbols.extend(service.method.iter().map(|method| format!("{name}.{}", method.name())));
            symbols.push(name);
        }
        let mut messages = Vec::new();
        for message in &file.message_type {
            collect(&format!("{}.{}", file.package(), message.name()), message, &mut messages);
        }
        symbols.extend(messages.into_iter().map(|(name, _)| name));
        let enums = file.enum_type.iter();
        symbols.extend(enums.map(|known| format!("{}.{}", file.package(), known.name())));
        let bytes: String = file.encode_to_vec().escape_ascii().to_string();
        writeln!(
            out,
            "    FileDescription {{\n        name: {:?},\n        symbols: &{symbols:?},\n        \
             bytes: b\"{bytes}\",\n    }},",
            file.name()
        )
        .unwrap();
    }
    out.push_str("];\n");
    out
}

fn collect<'d>(name: &str, of: &'d DescriptorProto, out: &mut Vec<(String, &'d DescriptorProto)>) {
    out.push((name.to_owned(), of));
    for nested in of.nested_type.iter().filter(|nested| !is_entry(nested)) {
        collect(&format!("{name}.{}", nested.name()), nested, out);
    }
}

fn is_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry)
}

fn write_enum(out: &mut String, known: &EnumDescriptorProto) {
    writeln!(out, "static {}: &[(i32, &str)] = &[", snake(known.name())).unwrap();
    for value in &known.value {
        writeln!(out, "    ({}, \"{}\"),", value.number(), value.name()).unwrap();
    }
    out.push_str("];\n\n");
}

fn write_message(out: &mut String, name: &str, message: &DescriptorProto) {
    let constant = constant(name);
    writeln!(out, "/// `{name}`.").unwrap();
    writeln!(
        out,
        "pub static {constant}: MessageDescriptor = \
         MessageDescriptor {{ name: \"{name}\", fields: &["
    )
    .unwrap();
    let mut fields: Vec<_> = message.field.iter().collect();
    fields.sort_by_key(|field| field.number());
    for field in fields {
        let entry = message
            .nested_type
            .iter()
            .filter(|nested| is_entry(nested))
            .find(|nested| field.type_name().rsplit('.').next() == Some(nested.name()));
        let (kind, rule) = match entry {
            Some(entry) => (kind(&entry.field[1]), "FieldLabel::Map".to_owned()),
            None => (kind(field), rule(field)),
        };
        let number = field.number();
        let json = camel(field.name());
        assert_eq!(json, field.json_name(), "{name}");
        writeln!(out, "    field({number}, \"{json}\", {kind}, {rule}),").unwrap();
    }
    out.push_str("] };\n\n");
}

fn rule(field: &FieldDescriptorProto) -> String {
    if field.label() == Label::Repeated {
        // Numbers would be packed, which our reader does not know; there are none.
        assert!(matches!(field.r#type(), Type::String | Type::Bytes | Type::Message));
        return "FieldLabel::Repeated".to_owned();
    }
    match field.oneof_index {
        Some(index) if !field.proto3_optional() => format!("FieldLabel::Oneof({index})"),
        Some(_) => "FieldLabel::Explicit".to_owned(),
        None if field.r#type() == Type::Message => "FieldLabel::Explicit".to_owned(),
        None => "FieldLabel::Implicit".to_owned(),
    }
}

fn kind(field: &FieldDescriptorProto) -> String {
    let name = field.type_name();
    match field.r#type() {
        Type::String => "FieldType::Text".to_owned(),
        Type::Bytes => "FieldType::Bytes".to_owned(),
        Type::Bool => "FieldType::Bool".to_owned(),
        Type::Int32 => "FieldType::Int32".to_owned(),
        Type::Enum => format!("FieldType::Enum({})", snake(name.rsplit('.').next().unwrap())),
        Type::Message => match name {
            ".google.protobuf.Value" => "FieldType::Json".to_owned(),
            ".google.protobuf.Struct" => "FieldType::Object".to_owned(),
            ".google.protobuf.Timestamp" => "FieldType::Timestamp".to_owned(),
            ".google.protobuf.Duration" => "FieldType::Duration".to_owned(),
            ".google.protobuf.Any" => "FieldType::Any".to_owned(),
            _ => format!("FieldType::Message(&{})", constant(name)),
        },
        other => panic!("{name}: a kind that our reader does not know: {other:?}"),
    }
}

/// `.lf.a2a.v1.TaskStatus` is `TASK_STATUS`.
fn constant(name: &str) -> String {
    let name = name.trim_start_matches('.');
    let name = ["lf.a2a.v1.", "google.rpc.", "google.protobuf."]
        .iter()
        .find_map(|package| name.strip_prefix(package))
        .unwrap_or(name);
    name.split('.').map(snake).collect::<Vec<_>>().join("_")
}

/// `APIKeySecurityScheme` is `API_KEY_SECURITY_SCHEME`.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(index + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase())
            });
        if begins {
            out.push('_');
        }
        out.push(letter.to_ascii_uppercase());
    }
    out
}

/// `task_id` is `taskId`.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |out, word| {
        let (head, tail) = word.split_at(1);
        out + &head.to_ascii_uppercase() + tail
    })
}
