//! Which texts are expressions, what they mean, and where others go wrong.
use filter::{Expression, Limits, SyntaxProblem};

use super::sample::passes;

#[test]
fn what_passes_and_what_does_not() {
    for text in [
        "on = TRUE",
        "on <> false",
        "count = -3",
        "count=-3",
        "count < 0",
        "-3 = count",
        "+3 > count",
        "size = 18446744073709551615",
        "size = 0xFFFFFFFFFFFFFFFF",
        "count = -0x3",
        "size > count",
        "speed = 2.5",
        "speed = 25e-1",
        "speed = 2.5E+0",
        "speed > .5",
        "speed >= 2",
        "speed < 3.",
        "mark = 'x'",
        "mark < 'y'",
        "mark = `x'",
        "name = 'north-7'",
        "name LIKE 'north%'",
        "name like '%_7'",
        "mark LIKE '_'",
        "colour = 'GREEN'",
        "colour > 'RED'",
        "'RED' < colour",
        "colour = 1",
        "colour <> other",
        "position.x = -0.5",
        "track[0].id = 40",
        "track[0x0].id = 40",
        "count BETWEEN -3 AND -3",
        "count NOT BETWEEN -2 AND 7",
        "NOT count BETWEEN -2 AND 7",
        "name BETWEEN 'north' AND 'south'",
        "count BETWEEN -5 AND 5 AND on = TRUE",
        "1 = 1",
        "'a' < 'b'",
        // NOT before AND before OR.
        "on = TRUE OR on = FALSE AND on = FALSE",
        "NOT on = FALSE AND on = TRUE",
        "NOT (on = FALSE OR on = FALSE)",
        "NOT (on = TRUE AND on = FALSE)",
        "NOT NOT on = TRUE",
        "not (NoT count = -3)",
        "\n(\t((on=TRUE)))",
    ] {
        assert!(passes(text, &[]), "{text}");
    }
    for text in [
        "on = FALSE",
        "count > 0",
        "size < count",
        "speed > 2.5",
        "mark = 'y'",
        "name LIKE 'north'",
        "name LIKE '_'",
        "count NOT BETWEEN -5 AND -3",
        "count BETWEEN 5 AND -5",
        "(on = TRUE OR on = FALSE) AND on = FALSE",
        "NOT (on = TRUE OR on = FALSE)",
        "NOT (on = TRUE AND on = TRUE)",
        "1 = 2",
        "name = ''",
    ] {
        assert!(!passes(text, &[]), "{text}");
    }
}

#[test]
fn a_field_that_a_sample_lacks_is_unknown() {
    assert!(!passes("track[1].id = 40", &[]));
    assert!(!passes("NOT track[1].id = 40", &[]));
    assert!(!passes("track[1].id BETWEEN 0 AND 100", &[]));
    assert!(!passes("track[1].id NOT BETWEEN 0 AND 100", &[]));
    assert!(passes("track[1].id = 40 OR on = TRUE", &[]));
    assert!(passes("NOT (track[1].id = 40 AND on = FALSE)", &[]));
    assert!(!passes("NOT (track[1].id = 40 AND on = TRUE)", &[]));
}

#[test]
fn parameters_are_what_they_are_compared_with() {
    assert!(passes("count = %0", &["-3"]));
    assert!(passes("%1 = count AND on = %0", &["true", " -3 "]));
    assert!(passes("name = %0", &["north-7"]));
    assert!(passes("name = %0", &["'north-7'"]));
    assert!(passes("name <> %0", &["it's"]));
    assert!(passes("name <> %0", &["15"]));
    assert!(passes("mark = %0", &["x"]));
    assert!(passes("colour = %0", &["GREEN"]));
    assert!(passes("colour = %0", &["'GREEN'"]));
    assert!(passes("colour = %0", &["1"]));
    assert!(passes("colour < %0", &["TRUE"]), "a label that looks like a boolean");
    assert!(passes("count > %99", &["-4"; 100]));
    assert!(passes("name LIKE %0", &["%7"]));
    assert!(passes("%0 < %1", &["9", "10"]), "numbers");
    assert!(!passes("%0 < %1", &["nine", "man"]), "texts");
    assert!(passes("%0 LIKE %1", &["15", "1%"]));
    assert!(passes("'15' = %0", &["15"]));
    assert_eq!(Expression::parse("count = %7 OR count = %3").map(|it| it.parameters()), Ok(8));
    assert_eq!(Expression::parse("count = 1").map(|it| it.parameters()), Ok(0));
}

#[test]
fn fields_are_named_in_the_order_of_the_text() {
    let expression = Expression::parse("a.b = 1 AND c[2] = d").unwrap();
    let names: Vec<_> = expression.fields().map(|path| path.text().to_owned()).collect();
    assert_eq!(names, ["a.b", "c[2]", "d"]);
}

#[test]
fn what_is_wrong_has_a_place() {
    let expected = [
        ("", "at byte 0: a field, a value, a parameter, NOT or `(` is missing at the end"),
        ("a", "at byte 1: an operator is missing at the end"),
        ("a = ", "at byte 4: a field, a value or a parameter is missing at the end"),
        ("a = 1 b", "at byte 6: AND, OR or the end is expected, not `b`"),
        ("a == 1", "at byte 2: `==` is written `=`"),
        ("a != 1", "at byte 2: `!=` is written `<>`"),
        ("a = 'b", "at byte 4: a text in quotes does not end on its line"),
        ("a = 'b\n'", "at byte 4: a text in quotes does not end on its line"),
        ("a = 0x", "at byte 4: not a number"),
        ("a = 1_000", "at byte 4: not a number"),
        ("a = 1.2.3", "at byte 4: not a number"),
        ("a = -b", "at byte 4: not a number"),
        ("a = -inf", "at byte 4: not a number"),
        ("a = 1e999", "at byte 4: the number is out of range"),
        ("a = 18446744073709551616", "at byte 4: the number is out of range"),
        ("a = -9223372036854775809", "at byte 4: the number is out of range"),
        ("a = %100", "at byte 4: `%` is followed by a number from 0 to 99"),
        ("a = %", "at byte 4: `%` is followed by a number from 0 to 99"),
        ("a. = 1", "at byte 1: a field is names with dots between them, and indices such as [2]"),
        ("a.1 = 1", "at byte 1: a field is names with dots between them, and indices such as [2]"),
        ("a[b] = 1", "at byte 1: a field is names with dots between them, and indices such as [2]"),
        ("a[4294967296] = 1", "at byte 1: a field is names with dots between them, and indices such as [2]"),
        ("a[1 = 1", "at byte 1: a field is names with dots between them, and indices such as [2]"),
        ("(a = 1", "at byte 6: AND, OR or `)` is missing at the end"),
        ("(a = 1 b", "at byte 7: AND, OR or `)` is expected, not `b`"),
        ("a = 1)", "at byte 5: AND, OR or the end is expected, not `)`"),
        ("a = 1 AND", "at byte 9: a field, a value, a parameter, NOT or `(` is missing at the end"),
        ("a NOT 1", "at byte 6: BETWEEN is expected, not `1`"),
        ("a BETWEEN 1", "at byte 11: AND and the second bound is missing at the end"),
        ("a BETWEEN b AND 2", "at byte 10: a value or a parameter is expected, not `b`"),
        ("1 BETWEEN 0 AND 2", "at byte 2: an operator is expected, not `BETWEEN`"),
        ("a = $", "at byte 4: '$' begins nothing"),
        ("é = 1", "at byte 0: 'é' begins nothing"),
        ("a LIKE", "at byte 6: a field, a value or a parameter is missing at the end"),
    ];
    for (text, message) in expected {
        let told = Expression::parse(text).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(told, Err(message.to_owned()), "{text}");
    }
}

#[test]
fn limits() {
    let limits = Limits { bytes: 40, depth: 2, comparisons: 3 };
    let problem = |text: &str| Expression::parse_within(text, &limits).map(|_| ()).map_err(|it| it.problem);
    assert_eq!(problem("((a=1))AND((a=1))AND NOT NOT a=1"), Ok(()));
    assert_eq!(problem("(((a=1)))"), Err(SyntaxProblem::TooDeep(2)));
    assert_eq!(problem("(NOT NOT a=1)"), Err(SyntaxProblem::TooDeep(2)));
    assert_eq!(problem("a=1 OR a BETWEEN 1 AND 2"), Ok(()));
    assert_eq!(problem("a=1 OR a=1 OR a BETWEEN 1 AND 2"), Err(SyntaxProblem::TooManyComparisons(3)));
    assert_eq!(problem(&format!("a = '{}'", "b".repeat(34))), Ok(()));
    assert_eq!(problem(&format!("a = '{}'", "b".repeat(35))), Err(SyntaxProblem::TooLong(40)));
}

#[test]
fn the_largest_expressions_are_compiled_and_decided() {
    let limits = Limits { bytes: 1 << 20, depth: 1_000, comparisons: usize::MAX };
    let many = vec!["count=7"; 65_000].join(" OR ");
    let program =
        Expression::parse_within(&many, &limits).unwrap().compile(&super::sample::Known, &[]).unwrap();
    assert_eq!(program.comparisons(), 65_000);
    assert!(!program.passes(&super::sample::usual()));
    let one_more = format!("{many} OR count=-3");
    let told = Expression::parse_within(&one_more, &limits).map(|_| ()).map_err(|error| error.problem);
    assert_eq!(told, Err(SyntaxProblem::TooManyComparisons(65_000)));
    let deep = format!("{}count=-3{}", "NOT(".repeat(500), ")".repeat(500));
    let program =
        Expression::parse_within(&deep, &limits).unwrap().compile(&super::sample::Known, &[]).unwrap();
    assert!(program.passes(&super::sample::usual()));
}
