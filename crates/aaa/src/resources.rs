//! Flows as QoS-Resources, one Filter-Rule for each.
use std::net::IpAddr;

use diameter::qos::{
    Classifier, Direction, Dscp, EndSpec, FilterRule, QosParameters, QosProfileTemplate, QosResources,
    QosSemantics, TokenBucket,
};
use diameter::value::Amount;
use wan::Class;

/// A flow that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Where packets come from; anywhere if it is left out.
    pub from: Option<IpAddr>,
    /// Where they go, one copy to each domain of these; where they come from if it is not forward. None is anywhere, as in records of who is not asked.
    pub to: Vec<IpAddr>,
    /// Their class.
    pub class: Class,
    /// Bits per second.
    pub rate: u64,
    /// Bytes that come at once.
    pub bucket: u64,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
    /// From the caller to the callees; otherwise back.
    pub forward: bool,
}

/// As a request of Diameter has them. Rates are rounded up to whole bytes per second, and to the floats of RFC 5624.
pub fn resources(wishes: &[Wish]) -> QosResources {
    let end = |addresses: Vec<IpAddr>| EndSpec {
        addresses,
        masks: Vec::new(),
        ports: Vec::new(),
        port_ranges: Vec::new(),
        negated: None,
        other: Vec::new(),
    };
    let rule = |(number, wish): (usize, &Wish)| {
        let near: Vec<EndSpec> = wish.from.map(|from| end(vec![from])).into_iter().collect();
        let far: Vec<EndSpec> = (!wish.to.is_empty()).then(|| end(wish.to.clone())).into_iter().collect();
        let (from, to) = if wish.forward { (near, far) } else { (far, near) };
        let dscp = wish.class.dscp();
        let rate = Amount(wish.rate.div_ceil(8));
        FilterRule {
            precedence: None,
            classifier: Some(Classifier {
                id: number.to_string().into_bytes(),
                protocol: None,
                direction: Some(if wish.forward { Direction::In } else { Direction::Out }),
                from,
                to,
                dscp: Dscp::new(dscp).into_iter().collect(),
                other: Vec::new(),
            }),
            treatment: None,
            semantics: Some(QosSemantics::Desired),
            template: Some(QosProfileTemplate { vendor: 0, profile: 0, other: Vec::new() }),
            parameters: Some(QosParameters {
                token_bucket: Some(TokenBucket {
                    rate,
                    depth: Amount(wish.bucket.max(u64::from(wish.largest_packet))),
                    peak: rate,
                    minimum_policed: wish.largest_packet.min(64),
                    maximum_packet: wish.largest_packet,
                    other: Vec::new(),
                }),
                phb_class: Some(u32::from(dscp) << 26),
                other: Vec::new(),
            }),
            excess: None,
            other: Vec::new(),
        }
    };
    QosResources { rules: wishes.iter().enumerate().map(rule).collect(), other: Vec::new() }
}
