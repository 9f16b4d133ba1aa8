//! Routes of BGP become paths. The judge announces along all ways through random domains, and knows by hand what each of them says.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use testkit::random::Random;
use wan::{
    Asn, BgpPath, BgpRoute, Class, Config, LeftOut, Limits, MOST_PATHS, Prefix, Segment, large_community,
    paths_of_routes,
};

use crate::topologies::CLASSES;

fn prefix(of: u32) -> Prefix {
    Prefix { address: IpAddr::V4(Ipv4Addr::new(10, of as u8, 0, 0)), length: 16 }
}

/// What the operator of domain 1 knows of these domains.
fn config(count: u32) -> Config {
    Config {
        asn: Asn(1),
        addresses: (1..=count).map(|asn| (prefix(asn), Asn(asn))).collect(),
        agreements: Vec::new(),
        users: Vec::new(),
        network_services: Vec::new(),
        session_services: Vec::new(),
        needs_grants: false,
        can_duplicate: false,
        limits: Limits::default(),
    }
}

fn sequence(domains: &[u32]) -> Vec<Segment> {
    vec![Segment::Sequence(domains.iter().copied().map(Asn).collect())]
}

fn route(domains: &[u32], large_communities: &[[u32; 3]]) -> BgpRoute {
    BgpRoute {
        prefix: prefix(*domains.last().unwrap()),
        as_path: sequence(domains),
        large_communities: large_communities.to_vec(),
    }
}

/// What is told of the class EF: the domains of each path, and nanoseconds over it.
fn ef(routes: &[BgpRoute]) -> Vec<(Vec<u32>, Option<u64>)> {
    let (paths, left_out) = paths_of_routes(&config(9), routes);
    assert_eq!(left_out, LeftOut::default());
    let of = |path: &BgpPath| (path.as_path.iter().map(|asn| asn.0).collect(), path.delay(Class::Ef));
    paths.iter().map(of).collect()
}

#[test]
fn each_domain_of_a_path_has_to_say_something_of_the_class() {
    let all = [[2, 46, 700], [4, 46, 300], [2, 34, 5], [3, 46, 1], [4, 999, 1], [64_500, 46, 9]];
    assert_eq!(ef(&[route(&[2, 4], &all)]), [(vec![2, 4], Some(1_000_000))]);
    assert_eq!(ef(&[route(&[2, 4], &all[..1])]), [(vec![2, 4], None)]);
    // Of AF4 domain 4 says nothing.
    let (paths, _) = paths_of_routes(&config(9), &[route(&[2, 4], &all)]);
    assert_eq!(paths[0].delay(Class::Af4), None);
}

#[test]
fn of_several_delays_the_largest_counts_whatever_a_stranger_adds() {
    let forged = [[2, 46, 1], [2, 46, 700], [2, 46, 0], [4, 46, u32::MAX]];
    assert_eq!(ef(&[route(&[2, 4], &forged)]), [(vec![2, 4], Some((700 + u64::from(u32::MAX)) * 1_000))]);
    // Two ranges of the same domain with the same path.
    let two = [route(&[2, 4], &[[2, 46, 5], [4, 46, 9]]), route(&[2, 4], &[[2, 46, 7], [4, 46, 8]])];
    assert_eq!(ef(&two), [(vec![2, 4], Some(16_000))]);
}

#[test]
fn a_domain_that_prepends_itself_is_passed_and_counted_once() {
    let said = [[2, 46, 5], [4, 46, 9]];
    assert_eq!(ef(&[route(&[2, 2, 2, 4, 4], &said)]), [(vec![2, 4], Some(14_000))]);
    let divided = BgpRoute { as_path: [sequence(&[2]), sequence(&[2, 4])].concat(), ..route(&[4], &said) };
    assert_eq!(ef(&[divided]), [(vec![2, 4], Some(14_000))]);
}

#[test]
fn what_is_no_path_is_left_out_and_counted() {
    let said: Vec<[u32; 3]> = (1..=30).map(|asn| [asn, 46, 1]).collect();
    let set =
        BgpRoute { as_path: vec![Segment::Sequence(vec![Asn(2)]), Segment::Unordered], ..route(&[4], &said) };
    let long: Vec<u32> = (2..=17).collect();
    let longest: Vec<u32> = (2..=16).collect();
    let foreign = BgpRoute { prefix: prefix(5), ..route(&[2, 4], &said) };
    let narrower = BgpRoute { prefix: Prefix { length: 24, ..prefix(4) }, ..route(&[2, 4], &said) };
    let own = BgpRoute { as_path: Vec::new(), ..route(&[1], &said) };
    let routes = [
        set,
        route(&[2, 3, 2, 4], &said),
        route(&[2, 1, 4], &said),
        route(&long, &said),
        foreign,
        narrower,
        own,
        route(&longest, &said),
    ];
    let (paths, left_out) = paths_of_routes(&config(30), &routes);
    assert_eq!(left_out, LeftOut { unordered: 1, looped_or_long: 3, foreign: 2, beyond: 0 });
    assert_eq!(paths.len(), 1);
    assert_eq!(paths[0].delay(Class::Ef), Some(15_000));
}

#[test]
fn a_neighbour_that_announces_many_paths_takes_no_place_of_those_that_say_something() {
    let said: Vec<[u32; 3]> = (1..=9).map(|asn| [asn, 46, 1]).collect();
    let mut routes: Vec<BgpRoute> = (100..400).map(|asn| route(&[2, asn, 4], &[])).collect();
    routes.push(route(&[2, 3, 5, 4], &said));
    routes.push(route(&[3, 4], &said));
    let (paths, left_out) = paths_of_routes(&config(9), &routes);
    assert_eq!((paths.len(), left_out.beyond), (MOST_PATHS, 302 - MOST_PATHS));
    let first: Vec<_> = paths[..3].iter().map(|path| path.delay(Class::Ef)).collect();
    assert_eq!(first, [Some(2_000), Some(4_000), None]);
}

/// What a domain says in each class, if it does.
type Says = BTreeMap<(u32, Class), u32>;

/// Announces along a way, from its last domain to the first, as routers do: each appends what it says, prepends itself, and some do more.
fn announced(random: &mut Random, way: &[u32], says: &Says) -> BgpRoute {
    let mut announced = route(way, &[]);
    let mut domains: Vec<Asn> = Vec::new();
    for own in way.iter().rev() {
        let times = if random.one_in(5) { 3 } else { 1 };
        (0..times).for_each(|_| domains.insert(0, Asn(*own)));
        for class in CLASSES {
            if let Some(delay) = says.get(&(*own, class)) {
                announced.large_communities.push(large_community(Asn(*own), class, *delay));
            }
        }
        if random.one_in(4) {
            // Said by another domain, or of another thing; or something that this one has said, with less.
            let other = [900 + random.below(9) as u32, 46, 1];
            let less = announced
                .large_communities
                .last()
                .map_or(other, |[asn, class, delay]| [*asn, *class, delay / 2]);
            announced.large_communities.extend([other, [*own, 7, 3], less]);
        }
    }
    // Routers sort them.
    announced.large_communities.sort_unstable();
    announced.as_path = vec![Segment::Sequence(domains)];
    announced
}

#[test]
fn sums_over_all_ways_of_random_domains_are_those_by_hand() {
    let seeds = tiers::current().seeds("property.cases");
    let (mut with, mut without) = (0, 0);
    for seed in seeds {
        let mut random = Random::of_case(seed, 53);
        let count = random.range(3, 6) as u32;
        let mut says = Says::new();
        for asn in 2..=count {
            for class in CLASSES {
                if !random.one_in(6) {
                    says.insert((asn, class), random.range(0, 1 << 32) as u32);
                }
            }
        }
        // All ways from domain 1 through neighbours to others, each domain once.
        let near: BTreeSet<(u32, u32)> = (1..=count)
            .flat_map(|one| (one + 1..=count).map(move |other| (one, other)))
            .filter(|_| random.chance(70))
            .flat_map(|(one, other)| [(one, other), (other, one)])
            .collect();
        let mut ways: Vec<Vec<u32>> = Vec::new();
        let mut open = vec![vec![1]];
        while let Some(way) = open.pop() {
            for next in (2..=count).filter(|next| near.contains(&(*way.last().unwrap(), *next))) {
                if !way.contains(&next) {
                    let longer = [way.clone(), vec![next]].concat();
                    ways.push(longer[1..].to_vec());
                    open.push(longer);
                }
            }
        }
        let mut routes: Vec<BgpRoute> = ways.iter().map(|way| announced(&mut random, way, &says)).collect();
        routes.sort_by_cached_key(|_| random.bits());
        let (paths, left_out) = paths_of_routes(&config(count), &routes);
        assert_eq!(left_out, LeftOut { beyond: left_out.beyond, ..LeftOut::default() }, "seed {seed}");
        assert_eq!(paths.len() + left_out.beyond, ways.len(), "seed {seed}");
        for path in &paths {
            let way: Vec<u32> = path.as_path.iter().map(|asn| asn.0).collect();
            assert!(ways.contains(&way), "seed {seed}: {way:?}");
            for class in CLASSES {
                let said: Vec<Option<&u32>> = way.iter().map(|asn| says.get(&(*asn, class))).collect();
                let by_hand = said
                    .iter()
                    .all(Option::is_some)
                    .then(|| said.iter().flatten().map(|delay| u64::from(**delay) * 1_000).sum::<u64>());
                assert_eq!(path.delay(class), by_hand, "seed {seed}: {way:?} {class:?} of {says:?}");
                *(if by_hand.is_some() { &mut with } else { &mut without }) += 1;
            }
        }
    }
    assert!(with > 0 && without > 0, "{with} {without}");
}
