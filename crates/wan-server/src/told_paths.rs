//! Which paths there are: those of the file, and those that BGP tells, which come and go.
use wan::{BgpPath, Class, LeftOut};

use crate::bgp_watch::BgpNews;
use crate::domain_file::class_name;
use crate::protocol::{BgpStatus, PathStatus, Paths};

/// All paths of a manager.
#[derive(Debug)]
pub(crate) struct ToldPaths {
    of_file: Vec<BgpPath>,
    of_bgp: Vec<BgpPath>,
    left_out: LeftOut,
    /// There is a BGP speaker.
    is_fed: bool,
    /// It was read at least once.
    is_read: bool,
    trouble: Option<String>,
}

impl ToldPaths {
    /// At the start: those of the file.
    pub(crate) fn new(of_file: Vec<BgpPath>, is_fed: bool) -> Self {
        let left_out = LeftOut::default();
        Self { of_file, of_bgp: Vec::new(), left_out, is_fed, is_read: false, trouble: None }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<BgpPath> {
        [&self.of_file[..], &self.of_bgp[..]].concat()
    }

    /// The table was read, or not: what there is to say of it. What was told before stays where it is not read.
    pub(crate) fn news(&mut self, news: BgpNews) -> String {
        match news {
            Ok((paths, left_out)) => {
                (self.of_bgp, self.left_out) = (paths, left_out);
                (self.is_read, self.trouble) = (true, None);
                let LeftOut { unordered, looped_or_long, foreign, beyond } = left_out;
                let mut text = format!("BGP tells {} paths", self.of_bgp.len());
                for (count, why) in [
                    (unordered, "have an AS_SET"),
                    (looped_or_long, "pass a domain twice, or this one, or more than 15"),
                    (foreign, "do not end at the domain that has the addresses as the file says"),
                    (beyond, "are beyond 64 to the same domain"),
                ] {
                    if count > 0 {
                        text.push_str(&format!("; {count} that {why} are left out"));
                    }
                }
                text
            }
            Err(what) => {
                let kept = match self.is_read {
                    true => format!("the {} paths that were read before stay", self.of_bgp.len()),
                    false => "no path of it is known".to_owned(),
                };
                let text = format!("the table of BGP cannot be read: {what}; {kept}, and it is tried again");
                self.trouble = Some(what);
                text
            }
        }
    }

    /// As commands show them.
    pub(crate) fn status(&self, asn: u32) -> Paths {
        let of = |is_of_bgp: bool| {
            move |path: &BgpPath| {
                let classes = [Class::Ef, Class::Af4, Class::Af1].into_iter();
                let told =
                    classes.filter_map(|class| Some((class_name(class).to_owned(), path.delay(class)?)));
                let domains = path.as_path.iter().map(|asn| asn.0).collect();
                PathStatus { domains, is_of_bgp, told: told.collect() }
            }
        };
        let paths = self.of_file.iter().map(of(false)).chain(self.of_bgp.iter().map(of(true)));
        let bgp = self.is_fed.then(|| BgpStatus { is_read: self.is_read, trouble: self.trouble.clone() });
        Paths { asn, paths: paths.collect(), bgp }
    }
}
