//! Whether an AAA server grants all that it was asked for: nothing is lowered behind the caller's back.
use diameter::qos::{FilterRule, QosParameters, QosResources, TokenBucket, TreatmentAction};

/// The server grants each rule that it was asked for, and no other one. It may send them in another order. What it leaves out of a
/// rule is as it was asked for.
pub(crate) fn is_all(asked: &QosResources, granted: &QosResources) -> bool {
    let of =
        |wanted: &FilterRule| granted.rules.iter().find(|rule| id(rule).is_some() && id(rule) == id(wanted));
    granted.rules.len() == asked.rules.len()
        && asked.rules.iter().all(|wanted| of(wanted).is_some_and(|rule| is_as_wanted(wanted, rule)))
}

/// The names of rules are different: [`aaa::resources::resources`] numbers them.
fn id(rule: &FilterRule) -> Option<&[u8]> {
    rule.classifier.as_ref().map(|classifier| classifier.id.as_slice())
}

fn is_as_wanted(wanted: &FilterRule, granted: &FilterRule) -> bool {
    let parameters = match (&wanted.parameters, &granted.parameters) {
        (Some(wanted), Some(granted)) => have_room(wanted, granted),
        _ => true,
    };
    granted.treatment != Some(TreatmentAction::Drop) && parameters
}

fn have_room(wanted: &QosParameters, granted: &QosParameters) -> bool {
    let bucket = match (&wanted.token_bucket, &granted.token_bucket) {
        (Some(wanted), Some(granted)) => has_room(wanted, granted),
        _ => true,
    };
    bucket && granted.phb_class.is_none_or(|class| wanted.phb_class.is_none_or(|wanted| class == wanted))
}

/// All traffic that one token bucket lets through, the other one does too.
fn has_room(wanted: &TokenBucket, granted: &TokenBucket) -> bool {
    granted.rate >= wanted.rate
        && granted.depth >= wanted.depth
        && granted.peak >= wanted.peak
        && granted.minimum_policed <= wanted.minimum_policed
        && granted.maximum_packet >= wanted.maximum_packet
}

#[cfg(test)]
mod tests {
    use aaa::resources::{Wish, resources};
    use diameter::value::Amount;
    use wan::Class;

    use super::*;

    fn asked() -> QosResources {
        let wish = |class, rate, forward| Wish {
            from: None,
            to: Vec::new(),
            class,
            rate,
            bucket: 3_000,
            largest_packet: 1_000,
            forward,
        };
        resources(&[wish(Class::Ef, 1_000_000, true), wish(Class::Af4, 50_000, false)])
    }

    fn bucket(rule: &mut FilterRule) -> &mut TokenBucket {
        rule.parameters.as_mut().unwrap().token_bucket.as_mut().unwrap()
    }

    #[test]
    fn what_is_lowered_anywhere_is_not_all() {
        assert!(is_all(&asked(), &asked()));
        type Lower = fn(&mut FilterRule);
        let lower: [(&str, Lower); 8] = [
            ("rate", |rule| bucket(rule).rate.0 -= 1),
            ("depth", |rule| bucket(rule).depth.0 -= 1),
            ("peak", |rule| bucket(rule).peak.0 -= 1),
            ("least unit", |rule| bucket(rule).minimum_policed += 1),
            ("largest packet", |rule| bucket(rule).maximum_packet -= 1),
            ("class", |rule| rule.parameters.as_mut().unwrap().phb_class = Some(0)),
            ("treatment", |rule| rule.treatment = Some(TreatmentAction::Drop)),
            ("name", |rule| rule.classifier.as_mut().unwrap().id = b"7".to_vec()),
        ];
        for (what, lower) in lower {
            for at in 0..2 {
                let mut granted = asked();
                lower(&mut granted.rules[at]);
                assert!(!is_all(&asked(), &granted), "{what} of rule {at}");
            }
        }
    }

    #[test]
    fn rules_are_compared_by_their_names_and_not_by_their_places() {
        let mut granted = asked();
        granted.rules.reverse();
        assert!(is_all(&asked(), &granted));
        // The faster rule has the slower one's place, and the rates are exchanged.
        let (first, second) = (bucket(&mut granted.rules[0]).rate, bucket(&mut granted.rules[1]).rate);
        bucket(&mut granted.rules[0]).rate = second;
        bucket(&mut granted.rules[1]).rate = first;
        assert!(!is_all(&asked(), &granted));
    }

    #[test]
    fn a_rule_that_is_missing_or_there_twice_is_not_all() {
        let mut granted = asked();
        granted.rules.pop();
        assert!(!is_all(&asked(), &granted));
        granted.rules.push(granted.rules[0].clone());
        assert!(!is_all(&asked(), &granted));
        assert!(!is_all(&asked(), &QosResources { rules: Vec::new(), other: Vec::new() }));
    }

    #[test]
    fn more_is_all_and_what_is_left_out_is_as_asked() {
        let mut granted = asked();
        bucket(&mut granted.rules[0]).peak = Amount::UNLIMITED;
        bucket(&mut granted.rules[0]).depth.0 += 1;
        granted.rules[1].parameters = None;
        assert!(is_all(&asked(), &granted));
    }
}
