//! What is proved of the chains of plans that run together. A plan that is launched later makes the bounds of others larger, within their limits;
//! one that is launched without a proof may take them away.
use assembly::Named;
use deployment::{ChainReport, PlanStatus, measure_of};
use schedulability::Deployed;

use crate::admit;

/// Chains by deployment.
#[derive(Default, Debug)]
pub(crate) struct Together(Named<Vec<ChainReport>>);

impl Together {
    /// Proves the chains of these plans, whose deployments have these names. What is told of a plan that is alone is true as it is.
    pub(crate) fn of(names: impl Iterator<Item = String>, plans: &[Deployed<'_>]) -> Self {
        if plans.len() < 2 {
            return Self::default();
        }
        Self(names.zip(admit::proofs_of(plans)).collect())
    }

    /// Puts what is proved of the chains of a deployment into its status. One that is none of these stays as it is told.
    pub(crate) fn put(&self, deployment: &str, status: &mut PlanStatus) {
        let Some(proofs) = self.0.get(deployment) else { return };
        for chain in &mut status.chains {
            if let Some(proof) = proofs.iter().find(|proof| proof.name == chain.name) {
                chain.proof = proof.proof.clone();
                chain.reaction_bound = proof.reaction_bound;
                chain.age_bound = proof.age_bound;
            }
        }
        for connection in &mut status.connections {
            let name = measure_of(&connection.name, &connection.to);
            if let Some(proof) = proofs.iter().find(|proof| proof.name == name) {
                connection.proof = proof.proof.clone();
                connection.latency_bound = proof.reaction_bound;
            }
        }
    }
}
