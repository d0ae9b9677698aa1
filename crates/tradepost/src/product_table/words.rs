//! Words for products, as people write them: countries, ends of offers, pricing models, delivery types, channels.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use tradepost_runtime::text_table::cells::{CellMistake, items, quoted};
use tradepost_runtime::text_table::normalised;

/// Reads countries, in two letters each. All countries are an empty list.
pub(super) fn countries(text: &str) -> Result<Vec<String>, CellMistake> {
    let mut found = Vec::new();
    for item in items(text) {
        let country = match item.to_uppercase().as_str() {
            "ALL" | "GLOBAL" | "WORLDWIDE" | "WW" | "WORLD" => continue,
            "USA" | "UNITED STATES" | "U.S." => "US".to_owned(),
            "UK" | "UNITED KINGDOM" | "GREAT BRITAIN" => "GB".to_owned(),
            code if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                code.to_owned()
            }
            _ => {
                return Err(CellMistake::new(
                    format!("{} is no country", quoted(item)),
                    "write the two letters of ISO 3166-1, such as US; CA; DE",
                ));
            }
        };
        if !found.contains(&country) {
            found.push(country);
        }
    }
    Ok(found)
}

/// Reads the end of an offer: a time, or the last day of it (UTC).
pub(super) fn end(text: &str) -> Result<String, CellMistake> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment.to_string());
    }
    let after = text.parse::<Date>().ok().and_then(|date| date.checked_add(1.day()).ok());
    let start = after.and_then(|date| date.to_zoned(TimeZone::UTC).ok());
    start.map(|start| start.timestamp().to_string()).ok_or_else(|| {
        CellMistake::new(
            format!("{} is no date", quoted(text)),
            "write the year first, as in 2027-12-31",
        )
    })
}

/// The pricing models that a table can say. Others need more than one number.
pub(super) const PRICING_MODELS: &[&str] = &["cpm", "vcpm", "cpc", "cpcv", "flat_rate"];

/// Returns the pricing model that a word means, of those that a table can say.
pub(super) fn pricing_model(text: &str) -> Option<&'static str> {
    match normalised(text).as_str() {
        "cpm" | "cost per thousand" | "cost per mille" | "per thousand" | "tkp" | "cpt" => {
            Some("cpm")
        }
        "vcpm" | "viewable cpm" => Some("vcpm"),
        "cpc" | "cost per click" | "per click" => Some("cpc"),
        "cpcv" | "cost per completed view" | "per completed view" => Some("cpcv"),
        "flat rate" | "flat" | "flat fee" | "fixed fee" | "sponsorship" | "lump sum" => {
            Some("flat_rate")
        }
        _ => None,
    }
}

/// Returns the delivery type that a word means.
pub(super) fn delivery_type(text: &str) -> Option<&'static str> {
    match normalised(text).as_str() {
        "guaranteed"
        | "yes"
        | "y"
        | "true"
        | "reserved"
        | "direct"
        | "programmatic guaranteed"
        | "pg"
        | "sponsorship"
        | "fixed" => Some("guaranteed"),
        "non guaranteed" | "nonguaranteed" | "not guaranteed" | "no" | "n" | "false"
        | "auction" | "open auction" | "private auction" | "pmp" | "rtb" | "open" | "remnant"
        | "unreserved" | "bid" => Some("non_guaranteed"),
        _ => None,
    }
}

/// Words that people use for channels of AdCP, beside their names.
const CHANNEL_WORDS: &[ChannelWord] = &[
    ChannelWord { word: "web", channel: "display" },
    ChannelWord { word: "banner", channel: "display" },
    ChannelWord { word: "online", channel: "display" },
    ChannelWord { word: "native", channel: "display" },
    ChannelWord { word: "video", channel: "olv" },
    ChannelWord { word: "online video", channel: "olv" },
    ChannelWord { word: "preroll", channel: "olv" },
    ChannelWord { word: "connected tv", channel: "ctv" },
    ChannelWord { word: "ott", channel: "ctv" },
    ChannelWord { word: "tv", channel: "linear_tv" },
    ChannelWord { word: "television", channel: "linear_tv" },
    ChannelWord { word: "audio", channel: "streaming_audio" },
    ChannelWord { word: "streaming", channel: "streaming_audio" },
    ChannelWord { word: "newsletter", channel: "email" },
    ChannelWord { word: "e mail", channel: "email" },
    ChannelWord { word: "mail", channel: "email" },
    ChannelWord { word: "newspaper", channel: "print" },
    ChannelWord { word: "magazine", channel: "print" },
    ChannelWord { word: "out of home", channel: "ooh" },
    ChannelWord { word: "outdoor", channel: "ooh" },
    ChannelWord { word: "digital out of home", channel: "dooh" },
];

struct ChannelWord {
    word: &'static str,
    channel: &'static str,
}

/// Returns the channel that a word means. A name that is no channel is found when the catalogue is checked.
pub(super) fn channel(text: &str) -> String {
    let words = normalised(text);
    let known = CHANNEL_WORDS.iter().find(|known| known.word == words);
    known.map_or_else(|| words.replace(' ', "_"), |known| known.channel.to_owned())
}
