//! Advice on QoS. A topic is described by what its data is for ([`Topic`]); rules that are data ([`Rules`]) make a class of traffic, DDS policies
//! and contradictions of that ([`Advice`]). Topics of one class become a QoS profile and a flow file ([`profile_file`], [`flow_file`]), and policies that something else has found a profile ([`policy_file`]).
#![forbid(unsafe_code)]

mod advise;
mod facts;
mod group;
mod rules;
mod topics;

pub use advise::{Advice, Applied, advise};
pub use group::{flow_file, policy_file, profile_file};
pub use rules::{Class, Rule, Rules};
pub use topics::{Path, Topic, Written, read};
