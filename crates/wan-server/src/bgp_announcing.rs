//! The other direction: lines for FRR that make a domain append what it needs to all that it announces.
use wan::{Asn, Class, large_community};

/// The lines, for a domain that needs so many microseconds in each of these classes.
pub(crate) fn lines(own: Asn, told: &[(Class, u32)]) -> String {
    let communities: Vec<String> = told
        .iter()
        .map(|(class, delay)| large_community(own, *class, *delay).map(|part| part.to_string()).join(":"))
        .collect();
    let (asn, communities) = (own.0, communities.join(" "));
    format!(
        "! AS {asn} appends to all that it announces what it needs in each class: its number, the code point, microseconds.\n\
         route-map punctual permit 10\n \
         set large-community {communities} additive\n\
         exit\n\
         !\n\
         ! For each neighbour, with its address in the place of ADDRESS, and the same in `address-family ipv4 unicast`:\n\
         ! router bgp {asn}\n\
         !  address-family ipv6 unicast\n\
         !   neighbor ADDRESS route-map punctual out\n\
         !   neighbor ADDRESS addpath-tx-all-paths\n"
    )
}
