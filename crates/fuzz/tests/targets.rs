//! Every target withstands as many mutated inputs as the tier says.
use std::sync::Mutex;

use fuzz::runner::{self, Plan, Target};
use fuzz::targets;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// A run uses all cores, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a share of the executions that the tier gives with `key`.
fn withstands(target: &Target, key: &str, percent: u64) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for seed in (target.seeds)() {
        let outcome = runner::run_input(target, &seed);
        assert!(outcome.is_ok(), "{}: a seed itself fails: {outcome:?}", target.name);
    }
    let tier = tiers::current();
    let plan = Plan::new(tier.first_seed(), tier.number(key) * percent / 100);
    let told = match runner::run(target, &plan) {
        Ok(report) => format!("{} executions", report.executions),
        Err(failure) => failure.to_string(),
    };
    assert!(told == format!("{} executions", plan.executions), "{told}");
}

#[test]
fn each_target_of_the_list_is_run_by_a_test_of_this_file() {
    let tests = include_str!("targets.rs");
    for target in &targets::ALL {
        let run = format!("withstands(&targets::{},", target.name.to_uppercase());
        assert!(tests.contains(&run), "no test runs {}: add one", target.name);
    }
}

#[test]
fn rtps_messages() {
    withstands(&targets::RTPS_MESSAGE, "fuzz.stateless_executions", 40);
}

#[test]
fn announcements() {
    withstands(&targets::DISCOVERY_DATA, "fuzz.stateless_executions", 30);
}

#[test]
fn samples_of_rich_types() {
    withstands(&targets::CDR_RICH_TYPE, "fuzz.stateless_executions", 30);
}

#[test]
fn datagrams_of_a_peer() {
    withstands(&targets::PARTICIPANT_PEER, "fuzz.participant_executions", 50);
}

#[test]
fn datagrams_of_a_stranger() {
    withstands(&targets::PARTICIPANT_STRANGER, "fuzz.participant_executions", 50);
}

#[test]
fn samples_of_matched_writers() {
    withstands(&targets::READER_CACHE, "fuzz.participant_executions", 50);
}

#[test]
fn datagrams_of_a_gateway() {
    withstands(&targets::FEDERATION_PEER, "fuzz.participant_executions", 50);
}

#[test]
fn network_files() {
    withstands(&targets::NETWORK_FILE, "fuzz.stateless_executions", 3);
}

#[test]
fn flow_files() {
    withstands(&targets::FLOW_FILE, "fuzz.stateless_executions", 3);
}

#[test]
fn policies() {
    withstands(&targets::POLICY_FILE, "fuzz.stateless_executions", 10);
}

#[test]
fn filter_expressions() {
    withstands(&targets::FILTER_EXPRESSION, "fuzz.stateless_executions", 10);
}

#[test]
fn deployment_plans() {
    withstands(&targets::DEPLOYMENT_PLAN, "fuzz.stateless_executions", 10);
}

#[test]
fn manifests_of_types() {
    withstands(&targets::TYPE_MANIFEST, "fuzz.stateless_executions", 20);
}

#[test]
fn deployment_descriptors() {
    withstands(&targets::DEPLOYMENT_DESCRIPTOR, "fuzz.stateless_executions", 10);
}

#[test]
fn tables_of_bgp() {
    withstands(&targets::BGP_TABLE, "fuzz.stateless_executions", 20);
}

#[test]
fn files_of_domains() {
    withstands(&targets::DOMAIN_FILE, "fuzz.stateless_executions", 20);
}

#[test]
fn bodies_of_quality_on_demand() {
    withstands(&targets::QUALITY_ON_DEMAND_BODY, "fuzz.stateless_executions", 20);
}

#[test]
fn files_of_predictions() {
    withstands(&targets::PREDICTION_FILE, "fuzz.stateless_executions", 50);
}

#[test]
fn records_of_predictions() {
    withstands(&targets::PREDICTION_RECORDS, "fuzz.stateless_executions", 20);
}

#[test]
fn qos_files() {
    withstands(&targets::QOS_FILE, "fuzz.stateless_executions", 20);
}

#[test]
fn dataflows() {
    withstands(&targets::DATAFLOW, "fuzz.stateless_executions", 20);
}

#[test]
fn launch_files() {
    withstands(&targets::LAUNCH_FILE, "fuzz.stateless_executions", 20);
}

#[test]
fn layouts_of_pictures() {
    withstands(&targets::PICTURE_LAYOUT, "fuzz.stateless_executions", 5);
}

#[test]
fn lines_of_deployments() {
    withstands(&targets::DEPLOYMENT_LINE, "fuzz.stateless_executions", 10);
}

#[test]
fn lines_of_several_hosts() {
    withstands(&targets::EXECUTION_LINE, "fuzz.stateless_executions", 10);
}

#[test]
fn texts_for_other_managers() {
    withstands(&targets::MANAGER_TEXT, "fuzz.stateless_executions", 10);
}

#[test]
fn content_filters() {
    withstands(&targets::CONTENT_FILTER, "fuzz.stateless_executions", 10);
}

#[test]
fn samples_with_signatures() {
    withstands(&targets::SIGNED_SAMPLE, "fuzz.stateless_executions", 5);
}

#[test]
fn questions_of_operators() {
    withstands(&targets::WEB_QUESTION, "fuzz.stateless_executions", 1);
}

#[test]
fn files_with_models_of_switches() {
    withstands(&targets::SWITCH_MODELS, "fuzz.stateless_executions", 3);
}

#[test]
fn files_with_settings_of_applications() {
    withstands(&targets::SETTINGS_FILE, "fuzz.stateless_executions", 3);
    withstands(&targets::SETTINGS_TOML, "fuzz.stateless_executions", 1);
}

#[test]
fn samples_of_types_described_at_run_time() {
    withstands(&targets::DYNAMIC_SAMPLE, "fuzz.stateless_executions", 10);
    withstands(&targets::DYNAMIC_TEXT, "fuzz.stateless_executions", 5);
}

#[test]
fn descriptions_of_types() {
    withstands(&targets::IDL_TEXT, "fuzz.stateless_executions", 5);
}

#[test]
fn type_objects() {
    withstands(&targets::TYPE_OBJECT, "fuzz.stateless_executions", 10);
}

#[test]
fn questions_about_types_and_answers() {
    withstands(&targets::TYPE_LOOKUP, "fuzz.stateless_executions", 200);
}

#[test]
fn recordings_of_components() {
    withstands(&targets::COMPONENT_RECORDING, "fuzz.stateless_executions", 10);
}

#[test]
fn recordings() {
    withstands(&targets::RECORDING_FILE, "fuzz.stateless_executions", 5);
}

#[test]
fn messages_of_openflow() {
    withstands(&targets::OPENFLOW_MESSAGE, "fuzz.stateless_executions", 10);
}

#[test]
fn a_switch_that_lies() {
    withstands(&targets::OPENFLOW_STREAM, "fuzz.stateless_executions", 5);
}

#[test]
fn answers_of_etcd() {
    withstands(&targets::ETCD_ANSWER, "fuzz.stateless_executions", 5);
}

#[test]
fn orders_to_a_bridge() {
    withstands(&targets::BRIDGE_ORDERS, "fuzz.stateless_executions", 2);
}

#[test]
fn samples_of_admission() {
    withstands(&targets::ADMISSION_SAMPLE, "fuzz.participant_executions", 20);
}

#[test]
fn lines_of_gates() {
    withstands(&targets::GATE_LINE, "fuzz.stateless_executions", 20);
}

#[test]
fn frames_of_lldp_and_keep_alives() {
    withstands(&targets::LLDP_FRAME, "fuzz.stateless_executions", 10);
    withstands(&targets::KEEP_ALIVE_FRAME, "fuzz.stateless_executions", 10);
}

#[test]
fn messages_peers_and_files_of_aaa() {
    withstands(&targets::DIAMETER_MESSAGE, "fuzz.stateless_executions", 10);
    withstands(&targets::AAA_PEER, "fuzz.stateless_executions", 2);
    withstands(&targets::AAA_FILE, "fuzz.stateless_executions", 5);
}

#[test]
fn memory_of_a_process_that_lies() {
    withstands(&targets::SHARED_MEMORY_RING, "fuzz.stateless_executions", 10);
    withstands(&targets::SHARED_MEMORY_MEETING, "fuzz.stateless_executions", 5);
}

#[test]
fn what_comes_over_zenoh() {
    withstands(&targets::ZENOH_MESSAGE, "fuzz.stateless_executions", 20);
    withstands(&targets::ZENOH_TYPE, "fuzz.stateless_executions", 20);
}
