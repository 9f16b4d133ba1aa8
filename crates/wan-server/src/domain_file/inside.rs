//! The inside of a domain, as its file declares it: names that fit together, and a way from everywhere to everywhere.
use std::collections::{BTreeMap, BTreeSet};

use diagnostics::Problem;
use toml::Spanned;
use wan::{Class, Config, LinkId, Terms};

use super::check::{Checker, by_class, terms};
use super::document::{DeclaredTable, LinkTable};
use crate::declared::{InnerLink, Inside, Node};

/// Most nodes where hosts are: each of them has a way to each other.
const MOST_EDGES: usize = 64;
/// Most links.
const MOST_LINKS: usize = 1_000;

impl Checker<'_> {
    /// What is declared.
    pub(super) fn inside(&self, table: &Spanned<DeclaredTable>, config: &Config) -> Result<Inside, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        if table.edges.len() > MOST_EDGES || table.links.len() > MOST_LINKS {
            let what = format!("more than {MOST_EDGES} edges or {MOST_LINKS} links are declared");
            return self.wrong(at, what, "declare links between sites, not within them");
        }
        let mut edges = Vec::new();
        for edge in &table.edges {
            let name = edge.get_ref();
            if edges.contains(name) || name.is_empty() || name.starts_with("border-") {
                let what = format!("\"{name}\" is no name of an edge, or there twice");
                return self.wrong(edge.span().start, what, "border-N is the end of border link N");
            }
            edges.push(name.clone());
        }
        let Some(first) = edges.first().cloned().map(Node::Inner) else {
            return self.wrong(
                at,
                "there is no edge",
                "name the nodes where hosts are: `edges = [\"east\"]`",
            );
        };
        let borders: BTreeSet<LinkId> = config.agreements.iter().map(|agreement| agreement.link).collect();
        let links = table.links.iter().map(|it| self.link(it, &borders)).collect::<Result<Vec<_>, _>>()?;
        let inside = Inside { edges, links };
        // Ways pass no border, so what an edge reaches, all that it reaches do.
        let reached = inside.reached(&first);
        let ends = inside.edges.iter().cloned().map(Node::Inner).chain(borders.into_iter().map(Node::Border));
        for end in ends {
            if !reached.contains(&end) {
                let what = format!("there is no way from {} to {}", shown(&first), shown(&end));
                return self.wrong(
                    at,
                    what,
                    "add links with [[declared.link]] and `between = [\"A\", \"B\"]`",
                );
            }
        }
        Ok(inside)
    }

    fn link(&self, table: &Spanned<LinkTable>, borders: &BTreeSet<LinkId>) -> Result<InnerLink, Problem> {
        let (at, table) = (table.span().start, table.get_ref());
        let node = |name: &Spanned<String>| {
            let (at, name) = (name.span().start, name.get_ref());
            let Some(number) = name.strip_prefix("border-") else { return Ok(Node::Inner(name.clone())) };
            match number.parse().ok().map(LinkId).filter(|link| borders.contains(link)) {
                Some(link) => Ok(Node::Border(link)),
                None => {
                    let what = format!("\"{name}\" is the end of no border link");
                    self.wrong(at, what, "an [[agreement]] names the link, and border-N is its end here")
                }
            }
        };
        let [first, second] = &table.between;
        let between = [node(first)?, node(second)?];
        let terms: BTreeMap<Class, Terms> =
            by_class(table.ef, table.af4, table.af1).map(|(class, it)| (class, terms(it))).collect();
        if between[0] == between[1] || terms.is_empty() {
            return self.wrong(at, "a link has one end twice, or carries no class", "add `ef = { … }`");
        }
        Ok(InnerLink { between, terms })
    }
}

fn shown(node: &Node) -> String {
    match node {
        Node::Border(link) => format!("border-{}", link.0),
        Node::Inner(name) => name.clone(),
    }
}
