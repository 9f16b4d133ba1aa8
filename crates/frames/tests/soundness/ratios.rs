//! How close bounds are to what is seen: bound / worst seen, by a key.
use std::collections::BTreeMap;
use std::fmt;

/// Ratios by method and number of hops.
#[derive(Default)]
pub(crate) struct Ratios(BTreeMap<(&'static str, usize), Vec<f64>>);

impl Ratios {
    pub(crate) fn add(&mut self, method: &'static str, hops: usize, bound: u64, seen: u64) {
        self.0.entry((method, hops)).or_default().push(bound as f64 / seen as f64);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (key, mut ratios) in other.0 {
            self.0.entry(key).or_default().append(&mut ratios);
        }
    }

    /// Of all of them.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// What this share of all of them does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut all: Vec<f64> = self.0.values().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        all[((all.len() - 1) as f64 * share) as usize]
    }

    /// Of all of them.
    pub(crate) fn largest(&self) -> f64 {
        self.0.values().flatten().copied().fold(0.0, f64::max)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

impl fmt::Display for Ratios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((method, hops), ratios) in &self.0 {
            let mut ratios = ratios.clone();
            ratios.sort_by(f64::total_cmp);
            let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share) as usize];
            let (median, p95, most) = (at(0.5), at(0.95), at(1.0));
            writeln!(
                f,
                "{method}, {hops} hops: {} bounds; bound / worst seen: median {median:.3}, p95 {p95:.3}, largest {most:.3}",
                ratios.len()
            )?;
        }
        Ok(())
    }
}
