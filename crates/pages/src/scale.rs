//! Scales of plots: round steps that reach what is shown, and powers of ten.

/// A step of 1, 2 or 5 times a power of ten, four to eight of which reach `greatest`, and the multiple of it that does. What is
/// no positive number counts as a thousandth.
pub fn linear(greatest: f64) -> (f64, f64) {
    let greatest = if greatest.is_finite() { greatest.max(1e-3) } else { 1e-3 };
    let ten = 10f64.powf((greatest / 4.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * ten);
    let step = step.into_iter().find(|step| greatest / step <= 8.0).unwrap_or(ten * 10.0);
    (step, (greatest / step).ceil() * step)
}

/// The values from 0 to `end` that such a step marks.
pub fn marks(step: f64, end: f64) -> Vec<f64> {
    let mut marks = Vec::new();
    let mut count = 0.0;
    while step > 0.0 && count * step <= end + step * 1e-9 {
        marks.push(count * step);
        count += 1.0;
    }
    marks
}

/// The value of a mark, with no more digits than it has.
pub fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_a_few_round_steps() {
        for (greatest, step, top) in [(5.4, 1.0, 6.0), (21.6, 5.0, 25.0), (0.9, 0.2, 1.0), (15.0, 2.0, 16.0)]
        {
            let found = linear(greatest);
            assert!((found.0 - step).abs() < 1e-9 && (found.1 - top).abs() < 1e-9, "{greatest}: {found:?}");
        }
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(linear(odd).1 > 0.0);
        }
    }

    #[test]
    fn marks_go_from_nothing_to_the_end() {
        let texts: Vec<String> = marks(0.2, 1.0).into_iter().map(number).collect();
        assert_eq!(texts, ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert!(marks(0.0, 1.0).is_empty());
    }
}
