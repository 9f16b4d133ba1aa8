//! From a document to what it means: names, numbers and links that do not fit together are told with their place.
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use diagnostics::{Problem, Source, nearest};
use time::{Date, Month, PrimitiveDateTime, UtcOffset};
use toml::Spanned;
use toml::value::{Datetime, Offset};
use wan::{
    Agreement, Asn, BgpPath, Class, Config, Contract, Excess, Limits, LinkId, NetworkService, SessionService,
    Terms,
};

use super::document::{
    AgreementTable, CalleeTable, Document, ExcessWord, LimitsTable, PathTable, TermsTable,
};
use super::linux::LinuxTable;
use super::quantities::{Rate, SessionClass, Time};
use super::{CalleeAnswer, CalleeRule, DomainFile, MOST, Within};

/// The program of callees may take so long, unless the file says otherwise: less than a caller's domain waits.
const CALLEE_PATIENCE: u64 = 2_000_000_000;

pub(super) struct Checker<'s> {
    source: Source<'s>,
    own: Asn,
    known: BTreeSet<Asn>,
}

pub(super) fn checked(source: Source<'_>, document: &Document) -> Result<DomainFile, Problem> {
    let own = Asn(*document.asn.get_ref());
    let known = document.domains.iter().map(|domain| Asn(domain.get_ref().asn)).collect();
    let checker = Checker { source, own, known };
    checker.counts(document)?;
    let listen = checker.address(&document.listen)?;
    let (addresses, managers) = checker.domains(document)?;
    let limits = checker.limits(document.limits.as_ref())?;
    let agreements =
        document.agreements.iter().map(|it| checker.agreement(it)).collect::<Result<Vec<_>, _>>()?;
    checker.neighbours(document, &agreements, &managers)?;
    let (users, user_names) = checker.users(document)?;
    let network_services = checker.network_services(document)?;
    let (session_services, services) = checker.session_services(document)?;
    let config = Config {
        asn: own,
        addresses,
        agreements,
        users,
        network_services,
        session_services,
        needs_grants: document.aaa.is_some(),
        // Routers of Linux alone send a packet into two tunnels.
        can_duplicate: document.linux.is_some() || document.access.is_some(),
        limits,
    };
    let paths = document.paths.iter().map(|it| checker.path(it, &config)).collect::<Result<_, _>>()?;
    let callees = document.callees.iter().map(|it| checker.callee(it)).collect::<Result<_, _>>()?;
    let routers = |at: usize, table: &LinuxTable| {
        Ok(Within::Linux(Box::new(checker.linux(at, table, document, &config)?)))
    };
    let ways = (&document.declared, &document.linux, &document.ovs, &document.access, &document.lan);
    let inside = match ways {
        (Some(declared), None, None, None, None) => Within::Declared(checker.inside(declared, &config)?),
        (None, Some(linux), None, None, None) => routers(linux.span().start, linux.get_ref())?,
        (None, None, Some(ovs), None, None) => Within::Ovs(Box::new(checker.ovs(ovs, document, &config)?)),
        (None, None, None, Some(access), None) => routers(access.span().start, &access.get_ref().0)?,
        (None, None, None, None, Some(lan)) => Within::Lan(Box::new(checker.lan(lan, &config)?)),
        (None, None, None, None, None) => {
            let remedy = "add [linux] with its routers, [access] with its lines, [ovs] with its switches, [lan] with its manager, or [declared] with what its links keep";
            return checker.wrong(0, "nothing says what is inside the domain", remedy);
        }
        (_, linux, ovs, access, lan) => {
            let starts = [
                lan.as_ref().map(|table| table.span().start),
                access.as_ref().map(|table| table.span().start),
                ovs.as_ref().map(|table| table.span().start),
                linux.as_ref().map(|table| table.span().start),
            ];
            let at = starts.into_iter().flatten().next();
            let what = "the inside of the domain is there twice";
            return checker.wrong(
                at.unwrap_or(0),
                what,
                "remove all but one of [linux], [access], [ovs], [lan] and [declared]",
            );
        }
    };
    let patience = document.limits.as_ref().and_then(|limits| limits.get_ref().callee_patience);
    Ok(DomainFile {
        config,
        listen,
        managers,
        paths,
        bgp: document.bgp.as_ref().map(|table| checker.bgp(table)).transpose()?,
        users: user_names,
        services,
        callees,
        callee_patience: patience.map_or(CALLEE_PATIENCE, |time| time.0),
        inside,
        aaa: document.aaa.as_ref().map(|aaa| aaa.client.clone()),
    })
}

fn classes(all: &[SessionClass]) -> Vec<Class> {
    all.iter().map(|class| class.0).collect()
}

fn asns(all: &[u32]) -> Vec<Asn> {
    all.iter().copied().map(Asn).collect()
}

/// What is said for each class.
pub(super) fn by_class<T>(ef: Option<T>, af4: Option<T>, af1: Option<T>) -> impl Iterator<Item = (Class, T)> {
    let all = [(Class::Ef, ef), (Class::Af4, af4), (Class::Af1, af1)];
    all.into_iter().filter_map(|(class, said)| Some((class, said?)))
}

pub(super) fn terms(table: TermsTable) -> Terms {
    let TermsTable { rate, burst, delay, jitter, loss } = table;
    Terms { rate: rate.0, burst: burst.0, delay: delay.0, jitter: jitter.0, loss: loss.0 }
}

impl Checker<'_> {
    /// The domain whose file it is.
    pub(super) const fn own(&self) -> Asn {
        self.own
    }

    /// A problem at an offset.
    pub(super) fn wrong<T>(&self, at: usize, what: impl Into<String>, remedy: &str) -> Result<T, Problem> {
        Err(self.source.problem(at, what, remedy))
    }

    fn counts(&self, document: &Document) -> Result<(), Problem> {
        let counts = [
            document.domains.len(),
            document.agreements.len(),
            document.paths.len(),
            document.users.len(),
            document.network_services.len(),
            document.session_services.len(),
            document.callees.len(),
        ];
        if counts.iter().any(|count| *count > MOST) {
            return self.wrong(0, format!("more than {MOST} entries of a kind"), "");
        }
        Ok(())
    }

    fn address(&self, text: &Spanned<String>) -> Result<SocketAddr, Problem> {
        let address = text.get_ref().parse();
        address.or_else(|_| {
            let what = format!("\"{}\" is no address with a port", text.get_ref());
            self.wrong(text.span().start, what, "write \"192.0.2.1:7411\" or \"[2001:db8::1]:7411\"")
        })
    }

    fn domains(&self, document: &Document) -> Result<Domains, Problem> {
        let (mut addresses, mut managers, mut seen) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        let mut ranges = BTreeSet::new();
        for domain in &document.domains {
            let (at, domain) = (domain.span().start, domain.get_ref());
            let asn = Asn(domain.asn);
            if !seen.insert(asn) {
                return self.wrong(at, format!("AS {} is there twice", asn.0), "join both");
            }
            match &domain.manager {
                Some(manager) if asn == self.own => {
                    let what = "the own domain has no manager to connect to";
                    return self.wrong(manager.span().start, what, "`listen` says where this one is");
                }
                Some(manager) => {
                    let (host, port) = manager.get_ref().rsplit_once(':').unwrap_or_default();
                    if host.is_empty() || port.parse::<u16>().is_err() {
                        let what = format!("\"{}\" is no host with a port", manager.get_ref());
                        return self.wrong(manager.span().start, what, "write \"192.0.2.2:7411\"");
                    }
                    managers.insert(asn, manager.get_ref().clone());
                }
                None => {}
            }
            for prefix in &domain.prefixes {
                let (at, prefix) = (prefix.span().start, prefix.get_ref().0);
                if !ranges.insert(prefix) {
                    return self.wrong(
                        at,
                        "another domain has the same addresses",
                        "the longest range counts",
                    );
                }
                addresses.push((prefix, asn));
            }
        }
        if !self.known.contains(&self.own) {
            let what = format!("no [[domain]] says which addresses AS {} has", self.own.0);
            return self.wrong(document.asn.span().start, what, "add one with its `asn` and `prefixes`");
        }
        Ok((addresses, managers))
    }

    fn known(&self, at: usize, all: &[u32]) -> Result<(), Problem> {
        match all.iter().find(|asn| !self.known.contains(&Asn(**asn))) {
            Some(asn) => {
                let what = format!("no [[domain]] is AS {asn}");
                self.wrong(at, what, "add one with its `asn`, its `manager` and its `prefixes`")
            }
            None => Ok(()),
        }
    }

    fn limits(&self, said: Option<&Spanned<LimitsTable>>) -> Result<Limits, Problem> {
        let mut limits = Limits::default();
        let Some(said) = said else { return Ok(limits) };
        let (at, table) = (said.span().start, said.get_ref());
        for (said, limit) in [
            (table.refresh, &mut limits.refresh),
            (table.lifetime, &mut limits.lifetime),
            (table.guard, &mut limits.guard),
            (table.retransmit, &mut limits.retransmit),
            (table.patience, &mut limits.patience),
        ] {
            if let Some(Time(said)) = said {
                // Less than this would be all that a manager does.
                if said < 1_000_000 {
                    return self.wrong(at, "a time of [limits] is shorter than 1 ms", "");
                }
                *limit = said;
            }
        }
        for (said, limit) in [
            (table.most_in_setup, &mut limits.most_in_setup),
            (table.most_aggregates, &mut limits.most_aggregates),
            (table.most_hosted, &mut limits.most_hosted),
        ] {
            if let Some(said) = said {
                *limit = usize::try_from(said).unwrap_or(usize::MAX);
            }
        }
        // Two refreshes in a row may be lost.
        if limits.refresh.saturating_mul(2).saturating_add(limits.guard) >= limits.lifetime {
            let what = "the lifetime is not longer than two refreshes and the guard";
            return self.wrong(at, what, "lengthen `lifetime`, or shorten `refresh` or `guard`");
        }
        Ok(limits)
    }

    fn time(&self, said: Option<&Spanned<Datetime>>, otherwise: u64) -> Result<u64, Problem> {
        let Some(said) = said else { return Ok(otherwise) };
        nanoseconds(said.get_ref()).map_or_else(
            || {
                self.wrong(
                    said.span().start,
                    "no date from 1970 to 2500",
                    "write 2027-01-01, which is in UTC",
                )
            },
            Ok,
        )
    }

    fn agreement(&self, table: &Spanned<AgreementTable>) -> Result<Agreement, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        let (from, to) = (Asn(table.from), Asn(table.to));
        if from == to || (from != self.own && to != self.own) {
            let what = format!("this agreement is not between AS {} and another domain", self.own.0);
            return self.wrong(
                at,
                what,
                "one of `from` and `to` is the own domain; others do not concern it",
            );
        }
        self.known(at, &[table.from, table.to])?;
        self.known(at, &table.destinations)?;
        let excess = table.excess.map_or(Excess::Drop, |word| match word {
            ExcessWord::Drop => Excess::Drop,
            ExcessWord::Demote => Excess::Demote,
        });
        Ok(Agreement {
            from,
            to,
            link: LinkId(table.link),
            terms: by_class(table.ef, table.af4, table.af1).map(|(class, it)| (class, terms(it))).collect(),
            begins: self.time(table.begins.as_ref(), 0)?,
            ends: self.time(table.ends.as_ref(), u64::MAX)?,
            price: table.price,
            hides_price: table.hides_price,
            destinations: asns(&table.destinations),
            excess,
            direct: table.direct.as_ref().map(|it| asns(it.get_ref())).unwrap_or_default(),
        })
    }

    fn neighbours(
        &self,
        document: &Document,
        agreements: &[Agreement],
        managers: &BTreeMap<Asn, String>,
    ) -> Result<(), Problem> {
        let mut seen = BTreeMap::new();
        for (agreement, table) in agreements.iter().zip(&document.agreements) {
            let at = table.span().start;
            let other = if agreement.from == self.own { agreement.to } else { agreement.from };
            if !managers.contains_key(&other) {
                let what = format!("AS {} is a neighbour, and has no manager", other.0);
                return self.wrong(at, what, "add `manager = \"HOST:PORT\"` to its [[domain]]");
            }
            let has_meters = document.ovs.is_some() || document.lan.is_some();
            if has_meters && agreement.excess == Excess::Demote {
                let what = "meters of switches drop what is beyond an agreement, and demote nothing";
                return self.wrong(at, what, "agree on `excess = \"drop\"`, or leave it out");
            }
            let is_out = agreement.from == self.own;
            match seen.insert((agreement.link, is_out), other) {
                Some(_) => {
                    let what = format!("link {} has two agreements in this direction", agreement.link.0);
                    return self.wrong(at, what, "give each link a number of its own");
                }
                None if seen.get(&(agreement.link, !is_out)).is_some_and(|it| *it != other) => {
                    let what =
                        format!("link {} is to AS {} in the other direction", agreement.link.0, other.0);
                    return self.wrong(at, what, "give each link a number of its own");
                }
                None => {}
            }
        }
        for (agreement, table) in agreements.iter().zip(&document.agreements) {
            if let Some(direct) = &table.get_ref().direct {
                self.may_ask(direct, agreement, managers)?;
            }
        }
        Ok(())
    }

    /// Domains that ask for what another one sends are known, and answered by their managers.
    fn may_ask(
        &self,
        direct: &Spanned<Vec<u32>>,
        agreement: &Agreement,
        managers: &BTreeMap<Asn, String>,
    ) -> Result<(), Problem> {
        let (at, all) = (direct.span().start, direct.get_ref());
        self.known(at, all)?;
        for asn in asns(all) {
            if asn == agreement.from || asn == agreement.to {
                let what = format!("AS {} is one of the two that agree", asn.0);
                return self.wrong(
                    at,
                    what,
                    "`direct` names other domains; the one that sends may always ask",
                );
            }
            // Both answer it: the one that receives, and the one that sends.
            if asn != self.own && !managers.contains_key(&asn) {
                let what = format!("AS {} may ask here, and has no manager to be answered", asn.0);
                return self.wrong(at, what, "add `manager = \"HOST:PORT\"` to its [[domain]]");
            }
        }
        Ok(())
    }

    /// Names and numbers of one kind are there once.
    fn once<'n>(&self, all: impl Iterator<Item = (usize, &'n str, u32)>) -> Result<Names, Problem> {
        let (mut names, mut ids) = (BTreeMap::new(), BTreeSet::new());
        for (at, name, id) in all {
            if !ids.insert(id) {
                return self.wrong(at, format!("the id {id} is there twice"), "give another one");
            }
            if names.insert(name.to_owned(), id).is_some() {
                return self.wrong(at, format!("the name \"{name}\" is there twice"), "give another one");
            }
        }
        Ok(names)
    }

    fn users(&self, document: &Document) -> Result<(Vec<(u32, Contract)>, Names), Problem> {
        let all = document.users.iter().map(|it| (it.span().start, &*it.get_ref().name, it.get_ref().id));
        let names = self.once(all)?;
        let mut users = Vec::new();
        for user in &document.users {
            let (at, user) = (user.span().start, user.get_ref());
            self.known(at, &user.destinations)?;
            let contract = Contract {
                begins: self.time(user.begins.as_ref(), 0)?,
                ends: self.time(user.ends.as_ref(), u64::MAX)?,
                classes: classes(&user.classes),
                destinations: asns(&user.destinations),
                quota: user.quota.0,
                most_sessions: usize::try_from(user.most_sessions).unwrap_or(usize::MAX),
            };
            users.push((user.id, contract));
        }
        Ok((users, names))
    }

    fn network_services(&self, document: &Document) -> Result<Vec<NetworkService>, Problem> {
        let all = document.network_services.iter();
        self.once(all.map(|it| (it.span().start, &*it.get_ref().name, it.get_ref().id)))?;
        let one = |it: &Spanned<super::document::NetworkServiceTable>| {
            let (at, it) = (it.span().start, it.get_ref());
            self.known(at, &it.destinations)?;
            let (id, bandwidth) = (it.id, it.bandwidth.0);
            Ok(NetworkService { id, destinations: asns(&it.destinations), bandwidth })
        };
        document.network_services.iter().map(one).collect()
    }

    fn session_services(&self, document: &Document) -> Result<(Vec<SessionService>, Names), Problem> {
        let all = document.session_services.iter();
        let names = self.once(all.map(|it| (it.span().start, &*it.get_ref().name, it.get_ref().id)))?;
        let networks: BTreeMap<&str, u32> =
            document.network_services.iter().map(|it| (&*it.get_ref().name, it.get_ref().id)).collect();
        let one = |it: &Spanned<super::document::SessionServiceTable>| {
            let it = it.get_ref();
            let (at, name) = (it.network_service.span().start, it.network_service.get_ref());
            let Some(network_service) = networks.get(&**name).copied() else {
                let remedy = nearest(name, networks.keys().copied()).map_or_else(
                    || "add a [[network-service]] of that name".to_owned(),
                    |near| format!("\"{near}\" is there"),
                );
                return self.wrong(at, format!("there is no network service \"{name}\""), &remedy);
            };
            let (id, most_rate) = (it.id, it.most_rate.0);
            Ok(SessionService { id, network_service, classes: classes(&it.classes), most_rate })
        };
        Ok((document.session_services.iter().map(one).collect::<Result<_, _>>()?, names))
    }

    fn path(&self, table: &Spanned<PathTable>, config: &Config) -> Result<BgpPath, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        self.known(at, &table.domains)?;
        let as_path = asns(&table.domains);
        let Some(first) = as_path.first() else {
            return self.wrong(at, "a path has no domain", "name all from the neighbour to the destination");
        };
        let is_agreed = |it: &Agreement| it.from == self.own && it.to == *first;
        if !config.agreements.iter().any(is_agreed) {
            let what = format!("the path begins with AS {}, to which no agreement is", first.0);
            return self.wrong(at, what, "a path begins with a neighbour, and does not name the own domain");
        }
        let mut seen = BTreeSet::from([self.own]);
        if as_path.len() > 15 || !as_path.iter().all(|asn| seen.insert(*asn)) {
            return self.wrong(at, "a path has more than 15 domains, or a domain twice", "");
        }
        let mut communities = Vec::new();
        for (class, delays) in by_class(table.ef.as_ref(), table.af4.as_ref(), table.af1.as_ref()) {
            if delays.len() != as_path.len() {
                let what = format!("a class has {} delays for {} domains", delays.len(), as_path.len());
                return self.wrong(at, what, "say one for each domain of the path, in their order");
            }
            for (asn, delay) in as_path.iter().zip(delays) {
                // Communities are in microseconds.
                let delay = u32::try_from(delay.0.div_ceil(1_000)).unwrap_or(u32::MAX);
                communities.push((*asn, class, delay));
            }
        }
        Ok(BgpPath { as_path, communities })
    }

    fn callee(&self, table: &Spanned<CalleeTable>) -> Result<CalleeRule, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        let rates: BTreeMap<Class, u64> =
            by_class(table.ef, table.af4, table.af1).map(|(class, Rate(rate))| (class, rate)).collect();
        let answer = match (table.ask, rates.is_empty()) {
            (true, true) => CalleeAnswer::Ask,
            (false, false) => CalleeAnswer::UpTo(rates),
            (true, false) => {
                return self.wrong(at, "callees that are asked have no rates", "remove `ask` or the rates");
            }
            (false, true) => {
                let remedy = "add `ef = \"1 Mbit/s\"` or another class, or `ask = true`";
                return self.wrong(at, "these callees say nothing", remedy);
            }
        };
        let callers = table.callers.as_ref().map(|all| all.iter().map(|it| it.0).collect());
        Ok(CalleeRule { callees: table.prefix.0, callers, answer })
    }
}

/// Addresses with their domains, and where managers are.
type Domains = (Vec<(wan::Prefix, Asn)>, BTreeMap<Asn, String>);

/// Numbers by names.
type Names = BTreeMap<String, u32>;

/// Nanoseconds since 1970 of a date, at midnight UTC unless it says a time.
fn nanoseconds(said: &Datetime) -> Option<u64> {
    let date = said.date?;
    let month = Month::try_from(date.month).ok()?;
    let date = Date::from_calendar_date(i32::from(date.year), month, date.day).ok()?;
    let time = match said.time {
        Some(time) => time::Time::from_hms_nano(time.hour, time.minute, time.second, time.nanosecond),
        None => Ok(time::Time::MIDNIGHT),
    };
    let offset = match said.offset {
        Some(Offset::Custom { minutes }) => UtcOffset::from_whole_seconds(i32::from(minutes) * 60).ok()?,
        Some(Offset::Z) | None => UtcOffset::UTC,
    };
    let nanoseconds = PrimitiveDateTime::new(date, time.ok()?).assume_offset(offset).unix_timestamp_nanos();
    u64::try_from(nanoseconds).ok().filter(|time| *time < u64::MAX / 2)
}
