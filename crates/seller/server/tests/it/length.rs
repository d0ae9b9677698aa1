//! The example is as short as the README says.

#[test]
fn the_echo_has_at_most_fifty_five_lines() {
    let lines = include_str!("../../examples/echo.rs").lines();
    assert!(lines.clone().all(|line| line.len() <= 100));
    assert!(lines.count() <= 55);
}
