//! How answers look in a snapshot: as flat as is readable, one problem on a line.

use tradepost_document::json::Value;

const WIDTH: usize = 150;

/// Replaces what differs from run to run by what it is.
pub fn redact(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(members) => {
            for (name, value) in members {
                let prefix = match name.as_str() {
                    "error_id" => "err_",
                    "lead_id" => "lead_",
                    "appointment_id" => "appt_",
                    "messageId" => "",
                    _ => {
                        redact(value);
                        continue;
                    }
                };
                let text = value.as_str().unwrap_or_default();
                let id = text.strip_prefix(prefix).unwrap_or_default();
                if uuid::Uuid::parse_str(id).is_ok() {
                    *value = format!("{prefix}<id>").into();
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes a value over as few lines as is readable: what fits stays on its line, and what holds
/// something that does not fit begins a new one.
pub fn lay_out(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 1);
    out
}

fn write(out: &mut String, value: &Value, depth: usize) {
    let flat = value.to_string();
    let room = |out: &String, text: &str| {
        let column = out.len() - out.rfind('\n').map_or(0, |newline| newline + 1);
        column + text.len() <= WIDTH
    };
    let break_line = |out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    if room(out, &flat) {
        out.push_str(&flat);
    } else if let Value::Array(items) = value {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            break_line(out);
            write(out, item, depth + 1);
        }
        out.push(']');
    } else if let Value::Object(members) = value {
        out.push('{');
        for (index, (name, member)) in members.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            let text = format!("\"{name}\":{member}");
            if index > 0 && !room(out, &text) {
                break_line(out);
            }
            out.push_str(&format!("\"{name}\":"));
            write(out, member, depth + 1);
        }
        out.push('}');
    } else {
        out.push_str(&flat);
    }
}
