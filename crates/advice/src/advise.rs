//! Rules applied to a topic.
use std::collections::BTreeMap;

use crate::facts;
use crate::rules::{Class, Rule, Rules};
use crate::topics::Topic;

/// A rule that applies, by its id, with its words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The rule.
    pub id: String,
    /// What it says: why, what contradicts itself, or what is good to know.
    pub text: String,
    /// What to do about a contradiction.
    pub remedy: Option<String>,
}

/// What is advised for a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// Its class; none if no rule gives one.
    pub class: Option<Class>,
    /// Policies by name, with their values (times in nanoseconds), and the rule that says each.
    pub policies: BTreeMap<String, (String, String)>,
    /// The rules that apply, in their order.
    pub reasons: Vec<Applied>,
    /// What cannot be had together.
    pub contradictions: Vec<Applied>,
    /// What is good to know.
    pub notes: Vec<Applied>,
}

/// Advises on a topic. Rules that ask for facts that there are not do not apply.
pub fn advise(topic: &Topic, rules: &Rules) -> Advice {
    let mut advice = Advice {
        class: None,
        policies: BTreeMap::new(),
        reasons: Vec::new(),
        contradictions: Vec::new(),
        notes: Vec::new(),
    };
    for rule in rules.rules.iter().filter(|rule| rule.applies(topic) == Some(true)) {
        let applied =
            |text: &str| Applied { id: rule.id.clone(), text: text.to_owned(), remedy: rule.remedy.clone() };
        match (&rule.contradiction, &rule.note) {
            (Some(text), _) => advice.contradictions.push(applied(text)),
            (None, Some(text)) => advice.notes.push(applied(text)),
            (None, None) => {
                // Of several classes the first counts, and the others are no reasons.
                if rule.class.is_none() || advice.class.is_none() {
                    advice.reasons.push(applied(&rule.why));
                    advice.class = advice.class.or(rule.class);
                }
                lay(&mut advice.policies, rule, topic);
            }
        }
    }
    advice
}

/// Lays the policies of a rule over those that there are.
fn lay(policies: &mut BTreeMap<String, (String, String)>, rule: &Rule, topic: &Topic) {
    for (policy, value) in &rule.policy {
        let value = match facts::time(topic, value) {
            Some(Some(time)) => time.to_string(),
            // A time that is not given says nothing.
            Some(None) => continue,
            None => value.clone(),
        };
        policies.insert(policy.clone(), (value, rule.id.clone()));
    }
}
