//! How long places are kept.

use super::*;

#[test]
fn what_is_not_there_is_kept_for_an_hour() {
    let cache = GeoCache::default();
    let there = GeoPlace::Country("US".to_owned());
    let missing = GeoPlace::Metro(999);
    cache.insert(&there, Some("2840".to_owned()), Duration::ZERO);
    cache.insert(&missing, None, Duration::ZERO);
    let id = |place: &GeoPlace, seconds: u64| {
        cache.get(place, Duration::from_secs(seconds)).map(|cached| cached.id)
    };
    assert_eq!(id(&missing, 3_599), Some(None));
    assert_eq!(id(&missing, 3_600), None);
    assert_eq!(id(&there, 1_000_000), Some(Some("2840".to_owned())));
    // Those used longest ago make room: what calls name again and again stays.
    for number in 0..3_000 {
        let found = (number % 2 == 0).then(|| number.to_string());
        cache.insert(&GeoPlace::Metro(number), found, Duration::ZERO);
        assert_eq!(id(&there, 0), Some(Some("2840".to_owned())));
    }
    assert!(cache.0.lock().unwrap().len() <= MAX_CACHED);
}
