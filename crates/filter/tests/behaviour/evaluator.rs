//! Random expressions, written as text in random ways, against an evaluator of trees in three truth values that shares nothing with the
//! crate: floats are compared as fractions, patterns by trying every length, NOT stays where it is.
use filter::Expression;
use testkit::random::Random;

use super::sample::{Known, NAMES, Owned, Sample};

enum Tree {
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Not(Box<Tree>),
    Compare(Side, &'static str, Side),
    Between { field: usize, low: Side, high: Side, outside: bool },
}

#[derive(Clone)]
enum Side {
    Field(usize),
    Value(Owned),
    /// `%n`, which has this value.
    Parameter(usize, Owned),
}

const RELATIONS: [&str; 7] = ["=", "<>", "<", "<=", ">", ">=", "LIKE"];
const LABELS: [&str; 4] = ["RED", "GREEN", "BLUE", "TRUE"];
const TEXTS: [&str; 9] = ["", "a", "b", "ab", "aab", "abab", "b_a", "a%b", "é"];
const PATTERNS: [&str; 12] = ["", "%", "_", "a%", "%b", "_b", "%a%b%", "a_%", "%%b", "é", "_%_%_", "%ab%ab"];
const CHARS: [char; 4] = ['a', 'b', '_', 'é'];
const INTEGERS: [i64; 9] = [i64::MIN, -(1 << 53) - 1, -7, -1, 0, 1, 7, (1 << 53) + 1, i64::MAX];
const FLOATS: [f64; 12] = [
    -1e30,
    -9_223_372_036_854_775_808.0,
    -7.5,
    -1.0,
    -0.0,
    0.5,
    1.0,
    7.25,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    18_446_744_073_709_551_616.0,
    1e30,
];

/// What can be compared with what.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    Boolean,
    Number,
    Text,
    Colour,
}

fn family(slot: usize) -> Family {
    match slot {
        0 => Family::Boolean,
        1 | 2 | 3 | 9 | 10 | 11 => Family::Number,
        4 | 5 => Family::Text,
        _ => Family::Colour,
    }
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    *random.pick(from).expect("not empty")
}

/// A value of a field, by its slot.
fn field_value(random: &mut Random, slot: usize) -> Owned {
    match slot {
        0 => Owned::Boolean(random.one_in(2)),
        1 | 10 | 11 => Owned::Signed(pick(random, &INTEGERS)),
        2 => Owned::Unsigned(pick(random, &[0, 1, 7, (1 << 53) + 1, u64::MAX])),
        3 | 9 if random.one_in(10) => {
            Owned::Float(pick(random, &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]))
        }
        3 | 9 => Owned::Float(pick(random, &FLOATS)),
        4 => Owned::Char(pick(random, &CHARS)),
        5 => Owned::Text(pick(random, &TEXTS).to_owned()),
        _ => Owned::Label(random.below(4) as i64),
    }
}

fn sample(random: &mut Random) -> Sample {
    let fields = (0..NAMES.len()).map(|slot| (!random.one_in(8)).then(|| field_value(random, slot)));
    Sample(fields.collect())
}

fn constant(random: &mut Random, family: Family) -> Owned {
    match family {
        Family::Boolean => field_value(random, 0),
        Family::Number => match random.below(3) {
            0 => Owned::Float(pick(random, &FLOATS)),
            1 => field_value(random, 1),
            _ => field_value(random, 2),
        },
        Family::Text => Owned::Text(pick(random, &TEXTS).to_owned()),
        Family::Colour => field_value(random, 6),
    }
}

/// A value that is compared with a field, as a literal or as the next parameter.
fn value_side(random: &mut Random, value: Owned, parameters: &mut Vec<String>) -> Side {
    if parameters.len() < 100 && random.one_in(3) {
        parameters.push(text_of_parameter(random, &value));
        Side::Parameter(parameters.len() - 1, value)
    } else {
        Side::Value(value)
    }
}

fn text_of_parameter(random: &mut Random, value: &Owned) -> String {
    match value {
        Owned::Text(text) if random.one_in(2) => text.clone(),
        Owned::Label(label) if random.one_in(2) => LABELS[*label as usize].to_owned(),
        other => written(random, other),
    }
}

fn tree(random: &mut Random, depth: usize, parameters: &mut Vec<String>) -> Tree {
    match random.below(if depth == 0 { 2 } else { 8 }) {
        0 if random.one_in(2) => {
            let field = random.below(NAMES.len() - 4) % 7;
            let family = family(field);
            let (low, high) = (constant(random, family), constant(random, family));
            let low = value_side(random, low, parameters);
            let high = value_side(random, high, parameters);
            Tree::Between { field, low, high, outside: random.one_in(2) }
        }
        0..=2 => comparison(random, parameters),
        3 | 4 => Tree::All((0..random.below(3) + 2).map(|_| tree(random, depth - 1, parameters)).collect()),
        5 | 6 => Tree::Any((0..random.below(3) + 2).map(|_| tree(random, depth - 1, parameters)).collect()),
        _ => Tree::Not(Box::new(tree(random, depth - 1, parameters))),
    }
}

fn comparison(random: &mut Random, parameters: &mut Vec<String>) -> Tree {
    let fields: Vec<usize> = (0..NAMES.len()).filter(|slot| *slot != 7).collect();
    let left = pick(random, &fields);
    let family = family(left);
    let relation = RELATIONS[random.below(if family == Family::Text { 7 } else { 6 })];
    let same: Vec<usize> = fields.into_iter().filter(|slot| self::family(*slot) == family).collect();
    let right = if random.one_in(3) {
        Side::Field(pick(random, &same))
    } else {
        let value = if relation == "LIKE" {
            Owned::Text(pick(random, &PATTERNS).to_owned())
        } else if family == Family::Colour && random.one_in(3) {
            Owned::Signed(random.below(5) as i64)
        } else {
            constant(random, family)
        };
        value_side(random, value, parameters)
    };
    let left = Side::Field(left);
    if random.one_in(4) { Tree::Compare(right, relation, left) } else { Tree::Compare(left, relation, right) }
}

/// The truth of a tree; `None` is unknown.
fn truth(tree: &Tree, sample: &Sample) -> Option<bool> {
    match tree {
        Tree::All(parts) => {
            let truths: Vec<_> = parts.iter().map(|part| truth(part, sample)).collect();
            if truths.contains(&Some(false)) {
                Some(false)
            } else if truths.contains(&None) {
                None
            } else {
                Some(true)
            }
        }
        Tree::Any(parts) => {
            let truths: Vec<_> = parts.iter().map(|part| truth(part, sample)).collect();
            if truths.contains(&Some(true)) {
                Some(true)
            } else if truths.contains(&None) {
                None
            } else {
                Some(false)
            }
        }
        Tree::Not(part) => truth(part, sample).map(|truth| !truth),
        Tree::Compare(left, relation, right) => {
            Some(compare(&value(left, sample)?, relation, &value(right, sample)?))
        }
        Tree::Between { field, low, high, outside } => {
            let field = sample.0[*field].clone()?;
            let low = value(low, sample)?;
            let high = value(high, sample)?;
            let inside = compare(&field, ">=", &low) && compare(&field, "<=", &high);
            Some(inside != *outside)
        }
    }
}

fn value(side: &Side, sample: &Sample) -> Option<Owned> {
    match side {
        Side::Field(slot) => sample.0[*slot].clone(),
        Side::Value(value) | Side::Parameter(_, value) => Some(value.clone()),
    }
}

fn compare(left: &Owned, relation: &str, right: &Owned) -> bool {
    if relation == "LIKE" {
        return like(&letters(left), &letters(right));
    }
    // -1, 0 or 1; what cannot be ordered is unequal.
    let Some(order) = order(left, right) else {
        return relation == "<>";
    };
    match relation {
        "=" => order == 0,
        "<>" => order != 0,
        "<" => order < 0,
        "<=" => order <= 0,
        ">" => order > 0,
        _ => order >= 0,
    }
}

fn order(left: &Owned, right: &Owned) -> Option<i32> {
    if let (Owned::Boolean(left), Owned::Boolean(right)) = (left, right) {
        return Some(i32::from(*left) - i32::from(*right));
    }
    if matches!(left, Owned::Text(_) | Owned::Char(_)) {
        let (left, right) = (letters(left), letters(right));
        for (one, other) in left.iter().zip(&right) {
            if one != other {
                return Some(if u32::from(*one) < u32::from(*other) { -1 } else { 1 });
            }
        }
        return Some(left.len() as i32 - right.len() as i32);
    }
    let (left, right) = (eighths(left)?, eighths(right)?);
    Some(if left < right { -1 } else { i32::from(left > right) })
}

/// A number in eighths, which all finite floats of these tests are; the largest are all beyond the integers, and keep their order.
fn eighths(value: &Owned) -> Option<i128> {
    match value {
        Owned::Signed(value) | Owned::Label(value) => Some(i128::from(*value) * 8),
        Owned::Unsigned(value) => Some(i128::from(*value) * 8),
        Owned::Float(value) if value.is_nan() => None,
        Owned::Float(value) if value.is_infinite() => Some(if *value > 0.0 { i128::MAX } else { i128::MIN }),
        Owned::Float(value) => Some((value * 8.0) as i128),
        _ => None,
    }
}

fn letters(value: &Owned) -> Vec<char> {
    match value {
        Owned::Text(text) => text.chars().collect(),
        Owned::Char(letter) => vec![*letter],
        _ => Vec::new(),
    }
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skipped| like(&text[skipped..], rest)),
        Some((first, rest)) => match text.split_first() {
            Some((letter, after)) => (*first == '_' || first == letter) && like(after, rest),
            None => false,
        },
    }
}

/// A text of the tree, with blanks, parentheses and capitals as they happen to be. `strength` says what may stand without parentheses: 0 is
/// anything, 1 is what AND joins, 2 is what NOT takes.
fn print(random: &mut Random, tree: &Tree, strength: usize, out: &mut String) {
    let own = match tree {
        Tree::Any(_) => 0,
        Tree::All(_) => 1,
        _ => 2,
    };
    let parentheses = own < strength || random.one_in(8);
    if parentheses {
        out.push('(');
    }
    match tree {
        Tree::All(parts) | Tree::Any(parts) => {
            let (word, inner) = if own == 1 { ("and", 2) } else { ("or", 1) };
            for (number, part) in parts.iter().enumerate() {
                if number > 0 {
                    out.push(' ');
                    keyword(random, word, out);
                    out.push_str(pick(random, &[" ", "\n", " \t"]));
                }
                print(random, part, inner, out);
            }
        }
        Tree::Not(part) => {
            keyword(random, "not", out);
            out.push(' ');
            print(random, part, 2, out);
        }
        Tree::Compare(left, relation, right) => {
            print_side(random, left, out);
            let blank = if *relation == "LIKE" { " " } else { pick(random, &["", " ", "  "]) };
            out.push_str(blank);
            keyword(random, relation, out);
            out.push_str(blank);
            print_side(random, right, out);
        }
        Tree::Between { field, low, high, outside } => {
            out.push_str(NAMES[*field].0);
            out.push(' ');
            if *outside {
                keyword(random, "not", out);
                out.push(' ');
            }
            keyword(random, "between", out);
            out.push(' ');
            print_side(random, low, out);
            out.push(' ');
            keyword(random, "and", out);
            out.push(' ');
            print_side(random, high, out);
        }
    }
    if parentheses {
        out.push(')');
    }
}

fn keyword(random: &mut Random, word: &str, out: &mut String) {
    out.extend(word.chars().map(|letter| {
        if random.one_in(2) { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
    }));
}

fn print_side(random: &mut Random, side: &Side, out: &mut String) {
    match side {
        Side::Field(slot) => out.push_str(NAMES[*slot].0),
        Side::Parameter(number, _) => out.push_str(&format!("%{number}")),
        Side::Value(value) => out.push_str(&written(random, value)),
    }
}

fn written(random: &mut Random, value: &Owned) -> String {
    match value {
        Owned::Boolean(value) => {
            let mut out = String::new();
            keyword(random, if *value { "true" } else { "false" }, &mut out);
            out
        }
        Owned::Signed(value) if random.one_in(4) => {
            format!("{}0x{:X}", if *value < 0 { "-" } else { "" }, value.unsigned_abs())
        }
        Owned::Signed(value) => value.to_string(),
        Owned::Unsigned(value) => format!("+{value}"),
        Owned::Float(value) if random.one_in(2) => {
            format!("{value:e}").replace('e', ".0e").replace(".0e", "E")
        }
        Owned::Float(value) => format!("{value:?}"),
        Owned::Char(value) => format!("'{value}'"),
        Owned::Text(value) => format!("{}{value}'", pick(random, &["'", "`"])),
        Owned::Label(value) => format!("'{}'", LABELS[*value as usize]),
    }
}

#[test]
fn any_expression_decides_as_the_evaluator_does() {
    const SAMPLES: u64 = 20;
    let tier = tiers::current();
    let (mut passed, mut dropped) = (0_u64, 0_u64);
    for case in 0..tier.number("filter.pairs") / SAMPLES {
        let mut random = Random::of_case(tier.first_seed(), case);
        let mut parameters = Vec::new();
        let depth = random.below(4);
        let tree = tree(&mut random, depth, &mut parameters);
        let mut text = String::new();
        print(&mut random, &tree, 0, &mut text);
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let told = || format!("case {case} of seed {}: {text} with {parameters:?}", tier.first_seed());
        let expression = Expression::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", told()));
        let program =
            expression.compile(&Known, &parameters).unwrap_or_else(|error| panic!("{}: {error}", told()));
        for _ in 0..SAMPLES {
            let sample = sample(&mut random);
            let expected = truth(&tree, &sample) == Some(true);
            assert_eq!(program.passes(&sample), expected, "{}: {:?}", told(), sample.0);
            *if expected { &mut passed } else { &mut dropped } += 1;
        }
    }
    // Both answers are common, so that neither is right by chance.
    assert!(passed.min(dropped) * 5 > passed.max(dropped), "{passed} passed, {dropped} dropped");
}
