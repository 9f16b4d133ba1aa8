//! Other deployments that have to run before a plan does.
use assembly::Plan;
use deployment::{Control, ControlAnswer, plain_name};

use crate::command::{BAD_NEWS, Failure};
use crate::control;

/// Nothing if the deployments that a plan depends on run on this host, with all of their processes.
///
/// # Errors
/// The first that does not, and why.
pub(crate) fn demand(plan: &Plan) -> Result<(), Failure> {
    for id in &plan.depends_on {
        let other = plain_name(id);
        let refused = |what: String| {
            let remedy = "launch it first, or take it out of depends-on";
            (BAD_NEWS, format!("the plan depends on the deployment {other}, {what}\n  {remedy}"))
        };
        match control::ask(&other, &Control::Status) {
            Ok(ControlAnswer::Status(status)) if status.changes == 0 => {
                return Err(refused("which is not launched yet".to_owned()));
            }
            Ok(ControlAnswer::Status(status)) => {
                if let Some(process) = status.processes.iter().find(|process| process.state != "running") {
                    let (name, state) = (&process.name, &process.state);
                    return Err(refused(format!("whose process {name} does not run: it is {state}")));
                }
            }
            Ok(ControlAnswer::Refused { what }) => {
                return Err(refused(format!("which does not say its state: {what}")));
            }
            Ok(ControlAnswer::Done { .. }) => return Err(refused("which does not say its state".to_owned())),
            Err((_, what)) => return Err(refused(format!("which cannot be asked: {what}"))),
        }
    }
    Ok(())
}
