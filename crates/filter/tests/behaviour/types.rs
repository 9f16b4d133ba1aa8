//! Which types compare with which: the standard's table, and what is refused with which words.
use filter::Expression;

use super::sample::Known;

/// Fields and literals of each type: BOOLEAN, INTEGERVALUE, FLOATVALUE, CHARVALUE, STRING, ENUMERATEDVALUE.
const FIELDS: [&str; 6] = ["on", "count", "speed", "mark", "name", "colour"];
const LITERALS: [&str; 6] = ["TRUE", "1", "1.5", "'x'", "'word'", "'RED'"];

fn compiles(text: &str) -> bool {
    Expression::parse(text).expect(text).compile(&Known, &[]).is_ok()
}

#[test]
fn fields_compare_with_fields_as_in_the_table() {
    let table = ["1.....", ".11..1", ".11...", "...11.", "...11.", ".1...1"];
    for (left, row) in FIELDS.iter().zip(table) {
        for (right, allowed) in FIELDS.iter().zip(row.chars()) {
            let text = format!("{left} = {right}");
            assert_eq!(compiles(&text), allowed == '1', "{text}");
        }
    }
    // Enumerations only with the same one.
    assert!(compiles("colour = other"));
    assert!(!compiles("colour = shade"));
}

#[test]
fn fields_compare_with_literals_as_in_the_table() {
    // A label is a text in quotes: it compares with characters and strings as such, and with its own enumeration as a value.
    let table = ["1.....", ".11...", ".11...", "...111", "...111", ".1...1"];
    for (left, row) in FIELDS.iter().zip(table) {
        for (right, allowed) in LITERALS.iter().zip(row.chars()) {
            for text in [format!("{left} = {right}"), format!("{right} >= {left}")] {
                assert_eq!(compiles(&text), allowed == '1', "{text}");
            }
        }
    }
}

#[test]
fn literals_compare_with_literals_as_in_the_table() {
    let table = ["1.....", ".11...", ".11...", "...111", "...111", "...111"];
    for (left, row) in LITERALS.iter().zip(table) {
        for (right, allowed) in LITERALS.iter().zip(row.chars()) {
            let text = format!("{left} = {right}");
            assert_eq!(compiles(&text), allowed == '1', "{text}");
        }
    }
}

#[test]
fn like_takes_texts() {
    for (field, allowed) in FIELDS.iter().zip([false, false, false, true, true, false]) {
        assert_eq!(compiles(&format!("{field} LIKE '%'")), allowed, "{field}");
        assert_eq!(compiles(&format!("'x' LIKE {field}")), allowed, "{field}");
    }
    assert!(!compiles("name LIKE 1"));
}

#[test]
fn what_does_not_fit_has_a_place() {
    let expected: [(&str, &[&str], &str); 11] = [
        ("on = TRUE AND size2 = 1", &[], "at byte 14: there is no field `size2` that can be compared"),
        ("track = 1", &[], "at byte 0: there is no field `track` that can be compared"),
        ("colour = 'PINK'", &[], "at byte 9: the enumeration has no label `PINK`"),
        ("'PINK' = colour", &[], "at byte 0: the enumeration has no label `PINK`"),
        ("count = %1", &["1"], "at byte 8: parameter %1 has no value"),
        (
            "name = %0",
            &["'open"],
            "at byte 7: the text of parameter %0 begins with a quote and does not end with one",
        ),
        ("count = %0", &["many"], "at byte 8: a text cannot be compared with an integer"),
        ("count = 'x'", &[], "at byte 8: a text cannot be compared with an integer"),
        ("TRUE = speed", &[], "at byte 0: a boolean cannot be compared with a float"),
        ("colour = name", &[], "at byte 9: a string cannot be compared with an enumeration"),
        ("count LIKE 'x'", &[], "at byte 0: an integer is no text, and LIKE compares texts"),
    ];
    for (text, parameters, message) in expected {
        let told = Expression::parse(text).expect(text).compile(&Known, parameters);
        assert_eq!(told.map(|_| ()).map_err(|error| error.to_string()), Err(message.to_owned()), "{text}");
    }
}
