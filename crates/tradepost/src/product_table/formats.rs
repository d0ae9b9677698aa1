//! Creative formats by the words that people use for them: 300x250, video 30s, native.

use tradepost_document::json::{Map, Value, json};
use tradepost_runtime::text_table::cells::{CellMistake, quoted};
use tradepost_runtime::text_table::normalised;

/// Format that a word means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedFormat {
    /// Its id.
    pub(super) id: String,
    /// Its document, for a catalogue that lacks it.
    pub(super) document: Map,
}

/// Banner that has a name of its own.
struct BannerName {
    words: &'static str,
    size: PixelSize,
}

/// Size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PixelSize {
    width: u32,
    height: u32,
}

const BANNER_NAMES: &[BannerName] = &[
    BannerName { words: "leaderboard", size: PixelSize { width: 728, height: 90 } },
    BannerName { words: "super leaderboard", size: PixelSize { width: 970, height: 90 } },
    BannerName { words: "medium rectangle", size: PixelSize { width: 300, height: 250 } },
    BannerName { words: "mpu", size: PixelSize { width: 300, height: 250 } },
    BannerName { words: "mrec", size: PixelSize { width: 300, height: 250 } },
    BannerName { words: "half page", size: PixelSize { width: 300, height: 600 } },
    BannerName { words: "billboard", size: PixelSize { width: 970, height: 250 } },
    BannerName { words: "skyscraper", size: PixelSize { width: 160, height: 600 } },
    BannerName { words: "wide skyscraper", size: PixelSize { width: 160, height: 600 } },
    BannerName { words: "mobile banner", size: PixelSize { width: 320, height: 50 } },
];

/// Words that may stand beside the size of a banner.
const BANNER_WORDS: &[&str] = &["display", "banner", "image", "static", "px", "pixels", "ad"];

/// Words that make a format a film, and those of a length.
const VIDEO_WORDS: &[&str] = &[
    "video", "film", "preroll", "pre", "roll", "midroll", "mid", "olv", "ctv", "spot", "instream",
];
const AUDIO_WORDS: &[&str] = &["audio", "podcast", "radio", "spot"];
const LENGTH_WORDS: &[&str] = &["s", "sec", "secs", "second", "seconds"];

/// Maximum length of a film or spot in seconds.
const MAX_SECONDS: u32 = 3_600;

/// Reads a format.
pub(super) fn named(text: &str) -> Result<NamedFormat, CellMistake> {
    let words = normalised(&text.replace('×', "x"));
    if matches!(words.as_str(), "native" | "native teaser" | "native ad" | "teaser") {
        return Ok(native());
    }
    let banner = BANNER_NAMES.iter().find(|name| name.words == words).map(|name| name.size);
    if let Some(size) = banner.or_else(|| size_in(&words)) {
        return Ok(display(size));
    }
    let all: Vec<&str> = words.split(' ').collect();
    let is_of = |kinds: &[&str]| all.iter().any(|word| kinds.contains(word));
    // "spot" alone may be either.
    let is_audio = is_of(&["audio", "podcast", "radio"]);
    let is_video = !is_audio && is_of(VIDEO_WORDS) && words != "spot";
    let beside = if is_audio { AUDIO_WORDS } else { VIDEO_WORDS };
    match seconds_in(&all, beside) {
        Some(seconds) if is_audio => Ok(audio(seconds)),
        Some(seconds) if is_video => Ok(video(seconds)),
        Some(_) | None if is_audio || is_video => Err(CellMistake::new(
            format!("the format {} has no length", quoted(text)),
            "write the seconds, as in video 30s or audio 15s",
        )),
        Some(_) | None => Err(CellMistake::new(
            format!("the format {} is not known", quoted(text)),
            "write a size such as 300x250, video 30s, audio 15s, native, or the id of a format of the catalogue",
        )),
    }
}

/// Returns the size of words such as "banner 300x250" or "300 x 250".
fn size_in(words: &str) -> Option<PixelSize> {
    let joined = words.replace(" x ", "x");
    let mut size = None;
    for word in joined.split(' ') {
        match word.strip_suffix("px").unwrap_or(word).split_once('x') {
            Some((width, height)) if size.is_none() => {
                let side =
                    |text: &str| text.parse().ok().filter(|side| (1..=10_000).contains(side));
                size = Some(PixelSize { width: side(width)?, height: side(height)? });
            }
            _ if BANNER_WORDS.contains(&word) => {}
            _ => return None,
        }
    }
    size
}

/// Returns the seconds of words such as "video 30s" or "15 sec video".
fn seconds_in(words: &[&str], beside: &[&str]) -> Option<u32> {
    let mut seconds = None;
    for word in words {
        let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (digits, rest) = word.split_at(end);
        if !digits.is_empty()
            && seconds.is_none()
            && (rest.is_empty() || LENGTH_WORDS.contains(&rest))
        {
            seconds = digits.parse().ok();
        } else if !beside.contains(word) && !LENGTH_WORDS.contains(word) {
            return None;
        }
    }
    seconds.filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
}

fn display(size: PixelSize) -> NamedFormat {
    let PixelSize { width, height } = size;
    format(json!({
        "format_id": {"id": format!("display_{width}x{height}")},
        "name": format!("Banner {width}x{height}"),
        "description": format!("A still or animated picture of {width} by {height} pixels with a click-through."),
        "canonical": {"kind": "image"},
        "renders": [{"role": "primary", "dimensions": {"width": width, "height": height, "unit": "px"}}],
        "assets": [
            {
                "item_type": "individual", "asset_id": "image", "asset_group_id": "image_main",
                "asset_type": "image", "required": true,
                "requirements": {"width": width, "height": height, "formats": ["jpg", "png", "gif"]},
            },
            click(),
        ],
    }))
}

fn video(seconds: u32) -> NamedFormat {
    format(json!({
        "format_id": {"id": format!("video_{seconds}s")},
        "name": format!("Video, {seconds} seconds"),
        "description": format!("A film of at most {seconds} seconds."),
        "canonical": {"kind": "video_hosted"},
        "renders": [{"role": "primary", "dimensions": {"width": 1920, "height": 1080, "unit": "px"}}],
        "assets": [
            {
                "item_type": "individual", "asset_id": "video", "asset_group_id": "video_main",
                "asset_type": "video", "required": true,
                "requirements": {"max_duration_ms": u64::from(seconds) * 1_000, "containers": ["mp4"]},
            },
            click(),
        ],
    }))
}

fn audio(seconds: u32) -> NamedFormat {
    format(json!({
        "format_id": {"id": format!("audio_{seconds}s")},
        "name": format!("Audio, {seconds} seconds"),
        "description": format!("A spot of at most {seconds} seconds."),
        "canonical": {"kind": "audio_hosted"},
        "assets": [{
            "item_type": "individual", "asset_id": "audio", "asset_group_id": "audio_main",
            "asset_type": "audio", "required": true,
            "requirements": {"max_duration_ms": u64::from(seconds) * 1_000},
        }],
    }))
}

fn native() -> NamedFormat {
    format(json!({
        "format_id": {"id": "native_teaser"},
        "name": "Native teaser",
        "description": "A headline, a picture and a link in the look of the page.",
        "assets": [
            {
                "item_type": "individual", "asset_id": "headline", "asset_type": "text", "required": true,
                "requirements": {"max_length": 80},
            },
            {
                "item_type": "individual", "asset_id": "image", "asset_type": "image", "required": true,
                "requirements": {"formats": ["jpg", "png"]},
            },
            click(),
        ],
    }))
}

fn click() -> Value {
    json!({"item_type": "individual", "asset_id": "click_url", "asset_type": "url", "required": false})
}

fn format(document: Value) -> NamedFormat {
    let id =
        document.pointer("/format_id/id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let document = document.as_object().cloned().unwrap_or_default();
    NamedFormat { id, document }
}
