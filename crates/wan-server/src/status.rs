//! What a manager says of all that there is, and what programs tell it of that: nothing is decided by it.
use std::sync::atomic::Ordering::Relaxed;

use wan::{Excess, OpenLeg};

use crate::convert;
use crate::domain_file::class_name;
use crate::protocol::{Answer, LinkStatus, ManagerStatus, Measured, SessionStatus, Status};
use crate::running_manager::Running;

impl Running {
    /// Takes down what a program has measured of a flow of a caller of this domain. Of two copies the first that arrives is what a program measures: it is
    /// noted for the flow, whichever copies go now.
    ///
    /// # Errors
    /// What of it makes no sense.
    pub(crate) fn measured(&mut self, measured: Measured) -> Result<Answer, String> {
        let session = convert::session_of(&measured.session)?;
        if measured.samples == 0 || measured.median > measured.worst {
            let what =
                "what is measured is of one sample or more, and its median is no longer than the worst";
            return Err(what.to_owned());
        }
        // Those of callers of this domain alone are shown with it.
        let is_own = self.machine.sessions().any(|(known, _, _)| known == session);
        let legs = if is_own { self.machine.legs(session) } else { Vec::new() };
        let is_of = |leg: &&OpenLeg| (leg.leg.number(), leg.leg.peer.0) == (measured.flow, measured.to);
        let Some(leg) = legs.iter().find(is_of) else {
            let Measured { session, flow, to, .. } = measured;
            let own = self.machine.asn().0;
            let what = format!(
                "AS {own} sends no flow {flow} of session {session} to AS {to}: punctual rm status lists all"
            );
            return Ok(Answer::Unknown { session, what });
        };
        let noted = Answer::Noted { session: measured.session.clone() };
        self.looks.measured(leg.leg.first_copy(), measured);
        Ok(noted)
    }

    /// What there is now.
    pub(crate) fn status(&self) -> Status {
        let managers = self.others.iter().map(|(asn, other)| ManagerStatus {
            asn: asn.0,
            address: other.address.clone(),
            is_connected: other.outgoing.is_connected(),
            dropped: other.outgoing.dropped(),
        });
        let own = self.machine.asn();
        let sending = self.file.config.agreements.iter().filter(|agreement| agreement.from == own);
        let links = sending.flat_map(|agreement| {
            agreement.terms.iter().map(|(class, terms)| {
                let (reserved, reserved_burst) = self.machine.reserved(agreement.link, *class);
                LinkStatus {
                    link: agreement.link.0,
                    to: agreement.to.0,
                    is_up: self.machine.is_up(agreement.link),
                    class: class_name(*class).to_owned(),
                    rate: terms.rate,
                    reserved,
                    burst: terms.burst,
                    reserved_burst,
                    delay: terms.delay,
                    jitter: terms.jitter,
                    loss: terms.loss,
                    excess: if agreement.excess == Excess::Drop { "drop" } else { "demote" }.to_owned(),
                    price: agreement.price,
                    ends: Some(agreement.ends).filter(|ends| *ends != u64::MAX),
                }
            })
        });
        let user = |id: u32| {
            let of = self.file.users.iter().find(|(_, number)| **number == id);
            of.map_or_else(|| id.to_string(), |(name, _)| name.clone())
        };
        let sessions = self.machine.sessions().map(|(id, request, rates)| SessionStatus {
            session: convert::session_name(id),
            user: user(request.user),
            caller: request.caller,
            callees: request.callees.clone(),
            rates: rates.to_vec(),
            flows: request.flows.iter().map(convert::flow).collect(),
            bounds: self.machine.legs(id).iter().map(convert::open_leg).collect(),
            measured: self.looks.measurements(id),
            since: self.looks.since(id),
            ends: self.machine.ends(id).unwrap_or(0),
        });
        Status {
            asn: own.0,
            epoch: self.epoch,
            managers: managers.collect(),
            links: links.collect(),
            sessions: sessions.collect(),
            hosted: self.machine.hosted().map(|(id, _)| convert::session_name(id)).collect(),
            counted: self.looks.counted_at(),
            delivered: self.looks.delivered(|session| self.machine.has_legs(session)),
            aggregates: self.machine.aggregates().map(|(id, held)| convert::aggregate(id, held)).collect(),
            false_messages: self.false_messages.load(Relaxed),
            caveat: self.caveat.map(str::to_owned),
        }
    }
}
