use super::*;

#[test]
fn a_formula_is_found_wherever_it_hides() {
    for cells in [
        "=1+1,Sport",
        "Roof,=1+1",
        "\"Roof,=1+1\",Sport",
        "\u{1}=1+1,Sport",
        "\"[\"\" =1+1\"\"]\",Sport",
        "\"[\"\"Roof\"\",{\"\"value\"\":\"\"\u{a0}=1+1\"\"}]\",Sport",
        "\"{\"\"value\"\":\"\"Roof\\u001e=cmd|'/c calc'!A1\"\"}\",Sport",
        "Roof,\u{7f}@SUM(1)",
    ] {
        let (vehicle, report) = row("Features,Trim", cells);
        let reasons: Vec<_> = report.skips.iter().map(|skip| skip.reason).collect();
        assert_eq!(reasons, [SkipReason::Formula], "{cells:?}: {vehicle:?}");
    }
}

#[test]
fn an_empty_list_in_json_is_no_item() {
    for (cell, features) in [
        ("[]", &[][..]),
        ("{}", &[]),
        ("\"[{\"\"src\"\":\"\"x\"\"}, \"\" \"\"]\"", &[]),
        ("\"[\"\"Roof\"\", \"\"Heated, front\"\"]\"", &["Roof", "Heated, front"]),
        ("[Roof", &["[Roof"]),
    ] {
        let (vehicle, report) = row("Features", cell);
        assert_eq!(vehicle.features, features, "{cell}");
        assert_eq!(report.skipped, 0, "{cell}");
    }
}
