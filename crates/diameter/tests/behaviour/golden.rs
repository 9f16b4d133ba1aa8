//! Bytes written by hand after the layouts of RFC 6733, 5624, 5777 and 7155, and those of another implementation: we write
//! and read just these.

use diameter::avp::AvpCode;
use diameter::command::{
    AaRequest, AccountingRecordType, AccountingRequest, AuthRequestType, AuthSessionState,
    DeviceWatchdogRequest, DisconnectCause, DisconnectPeerRequest,
};
use diameter::header::{ApplicationId, CommandCode, Flags, Header};
use diameter::local::Local;
use diameter::message::RawMessage;
use diameter::qos::{
    Classifier, Direction, Dscp, EndSpec, FilterRule, Port, Protocol, QosParameters, QosProfileTemplate,
    QosResources, QosSemantics, TokenBucket, TreatmentAction,
};
use diameter::relay::{Destination, destination, forward};
use diameter::value::{Amount, Identity, Time};
use diameter::{Message, ResultCode};

/// The bytes of a text of hexadecimal digits; spaces and line ends do not count, `#` begins a comment.
fn hex(text: &str) -> Vec<u8> {
    let digits: String = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap().chars().filter(|c| !c.is_whitespace()))
        .collect();
    assert!(digits.len().is_multiple_of(2));
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn identity(text: &str) -> Identity {
    Identity::new(text).unwrap()
}

fn header(flags: u8, command: CommandCode, application: ApplicationId) -> Header {
    Header { flags: Flags(flags), command, application, hop_by_hop: 0x0102_0304, end_to_end: 0x0506_0708 }
}

#[track_caller]
fn same(header: &Header, message: &Message, text: &str) {
    let expected = hex(text);
    let mut written = Vec::new();
    message.encode(header, &mut written).unwrap();
    assert_eq!(written, expected, "\n{written:02x?}\n{expected:02x?}");
    assert_eq!(Message::decode(&expected), Ok((*header, message.clone())));
}

#[test]
fn watchdog_request() {
    let body = DeviceWatchdogRequest {
        origin_host: identity("a.x"),
        origin_realm: identity("x"),
        origin_state_id: Some(5),
        other: Vec::new(),
    };
    same(
        &header(0x80, CommandCode::DEVICE_WATCHDOG, ApplicationId::BASE),
        &Message::DeviceWatchdogRequest(body),
        "01 000038 80 000118 00000000 01020304 05060708
         00000108 40 00000b 612e78 00  # Origin-Host
         00000128 40 000009 78 000000  # Origin-Realm
         00000116 40 00000c 00000005   # Origin-State-Id",
    );
}

#[test]
fn disconnect_request() {
    let body = DisconnectPeerRequest {
        origin_host: identity("a.x"),
        origin_realm: identity("x"),
        disconnect_cause: DisconnectCause::DoNotWantToTalkToYou,
        other: Vec::new(),
    };
    same(
        &header(0x80, CommandCode::DISCONNECT_PEER, ApplicationId::BASE),
        &Message::DisconnectPeerRequest(body),
        "01 000038 80 00011a 00000000 01020304 05060708
         00000108 40 00000b 612e78 00
         00000128 40 000009 78 000000
         00000111 40 00000c 00000002   # Disconnect-Cause",
    );
}

fn end(address: &str, port: u16) -> EndSpec {
    EndSpec {
        addresses: vec![address.parse().unwrap()],
        masks: Vec::new(),
        ports: Port::new(port).into_iter().collect(),
        port_ranges: Vec::new(),
        negated: None,
        other: Vec::new(),
    }
}

fn resources() -> QosResources {
    let bucket = TokenBucket {
        rate: Amount(125_000),
        depth: Amount(3000),
        peak: Amount::UNLIMITED,
        minimum_policed: 64,
        maximum_packet: 1500,
        other: Vec::new(),
    };
    let classifier = Classifier {
        id: b"f1".to_vec(),
        protocol: Protocol::new(17),
        direction: Some(Direction::In),
        from: vec![end("10.0.0.1", 7401)],
        to: vec![end("10.0.1.1", 7402)],
        dscp: Dscp::new(46).into_iter().collect(),
        other: Vec::new(),
    };
    let rule = FilterRule {
        precedence: Some(1),
        classifier: Some(classifier),
        treatment: Some(TreatmentAction::Permit),
        semantics: Some(QosSemantics::Desired),
        template: Some(QosProfileTemplate { vendor: 0, profile: 0, other: Vec::new() }),
        parameters: Some(QosParameters { token_bucket: Some(bucket), phb_class: None, other: Vec::new() }),
        excess: None,
        other: Vec::new(),
    };
    QosResources { rules: vec![rule], other: Vec::new() }
}

/// Rates are floats: 125,000 = 1.9073486328125 * 2^16 is 0x47f42400, 3,000 = 1.46484375 * 2^11 is 0x453b8000.
const RESOURCES: &str = "
    000001fc 40 000120                  # QoS-Resources
      000001fd 40 000118                # Filter-Rule
        000001fe 40 00000c 00000001     # Filter-Rule-Precedence
        000001ff 40 000080              # Classifier
          00000200 40 00000a 6631 0000  # Classifier-ID
          00000201 40 00000c 00000011   # Protocol: UDP
          00000202 40 00000c 00000000   # Direction: IN
          00000203 40 000024            # From-Spec
            00000206 40 00000e 0001 0a000001 0000
            00000212 40 00000c 00001ce9 # Port 7401
          00000204 40 000024            # To-Spec
            00000206 40 00000e 0001 0a000101 0000
            00000212 40 00000c 00001cea
          00000217 40 00000c 0000002e   # Diffserv-Code-Point: EF
        0000023c 40 00000c 00000003     # Treatment-Action: permit
        0000023f 40 00000c 00000000     # QoS-Semantics: desired
        0000023e 40 000020              # QoS-Profile-Template
          0000010a 40 00000c 00000000
          0000023d 40 00000c 00000000
        00000240 40 00004c              # QoS-Parameters
          000001ef 40 000044            # TMOD-1
            000001f0 40 00000c 47f42400
            000001f1 40 00000c 453b8000
            000001f2 40 00000c 7f800000
            000001f3 40 00000c 00000040
            000001f4 40 00000c 000005dc";

#[test]
fn authorization_with_a_flow() {
    let body = AaRequest {
        session_id: "a.x;1;2".into(),
        auth_application_id: 1,
        origin_host: identity("a.x"),
        origin_realm: identity("x"),
        destination_realm: identity("y"),
        auth_request_type: AuthRequestType::AuthorizeOnly,
        destination_host: None,
        user_name: Some("u".into()),
        user_password: None,
        origin_state_id: None,
        auth_session_state: Some(AuthSessionState::StateMaintained),
        authorization_lifetime: None,
        qos_resources: Some(resources()),
        proxy_info: Vec::new(),
        route_record: Vec::new(),
        other: Vec::new(),
    };
    let text = format!(
        "01 000198 c0 000109 00000001 01020304 05060708
         00000107 40 00000f 612e783b313b32 00  # Session-Id
         00000102 40 00000c 00000001           # Auth-Application-Id
         00000108 40 00000b 612e78 00
         00000128 40 000009 78 000000
         0000011b 40 000009 79 000000          # Destination-Realm
         00000112 40 00000c 00000002           # Auth-Request-Type
         00000001 40 000009 75 000000          # User-Name
         00000115 40 00000c 00000000           # Auth-Session-State
         {RESOURCES}"
    );
    let header = header(0xc0, CommandCode::AA, ApplicationId::NASREQ);
    same(&header, &Message::AaRequest(body.clone()), &text);
    let asked = Message::AaRequest(body).request_header();
    assert_eq!((asked.flags, asked.application), (Flags(0xc0), ApplicationId::NASREQ));
}

#[test]
fn an_interim_record() {
    let body = AccountingRequest {
        session_id: "a.x;1;2".into(),
        origin_host: identity("a.x"),
        origin_realm: identity("x"),
        destination_realm: identity("y"),
        accounting_record_type: AccountingRecordType::Interim,
        accounting_record_number: 3,
        acct_application_id: Some(3),
        destination_host: None,
        user_name: None,
        class: Vec::new(),
        accounting_sub_session_id: None,
        acct_multi_session_id: None,
        acct_interim_interval: Some(60),
        accounting_realtime_required: None,
        origin_state_id: None,
        event_timestamp: Some(Time::from_unix(1_800_000_000).unwrap()),
        accounting_input_octets: Some(0x1_0000_0000),
        accounting_output_octets: Some(1),
        accounting_input_packets: Some(2),
        accounting_output_packets: Some(3),
        acct_session_time: Some(61),
        termination_cause: None,
        qos_resources: None,
        proxy_info: Vec::new(),
        route_record: Vec::new(),
        other: Vec::new(),
    };
    same(
        &header(0xd0, CommandCode::ACCOUNTING, ApplicationId::ACCOUNTING),
        &Message::AccountingRequest(body),
        "01 0000d0 d0 00010f 00000003 01020304 05060708
         00000107 40 00000f 612e783b313b32 00
         00000108 40 00000b 612e78 00
         00000128 40 000009 78 000000
         0000011b 40 000009 79 000000
         000001e0 40 00000c 00000003           # Accounting-Record-Type: interim
         000001e5 40 00000c 00000003           # Accounting-Record-Number
         00000103 40 00000c 00000003           # Acct-Application-Id
         00000055 40 00000c 0000003c           # Acct-Interim-Interval
         00000037 40 00000c eef45080           # Event-Timestamp: 1,800,000,000 + 2,208,988,800
         0000016b 40 000010 0000000100000000   # Accounting-Input-Octets
         0000016c 40 000010 0000000000000001
         0000016d 40 000010 0000000000000002
         0000016e 40 000010 0000000000000003
         0000002e 40 00000c 0000003d           # Acct-Session-Time",
    );
}

/// A Capabilities-Exchange-Request that go-diameter makes.
const OTHERS: &str = "
    010000cc 80000101 00000000 a8cc407d a8c1b2b4
    00000108 4000000c 74657374
    00000128 40000011 6c6f63616c686f7374000000
    00000101 4000000e 00010a0100010000
    0000010a 4000000c 0000000d
    0000010d 00000013 676f2d6469616d6574657200
    00000116 4000000c 5350228a
    00000109 4000000c 000028af
    00000109 4000000c 0000000d
    00000102 4000000c 00000004
    0000012b 4000000c 00000000
    00000104 40000020 00000102 4000000c 00000004 0000010a 4000000c 000028af
    0000010b 0000000c 00000001";

#[test]
fn what_another_implementation_sends_is_read() {
    let (header, message) = Message::decode(&hex(OTHERS)).unwrap();
    let Message::CapabilitiesExchangeRequest(body) = message else { panic!("a CER") };
    assert_eq!((header.hop_by_hop, header.end_to_end), (0xa8cc_407d, 0xa8c1_b2b4));
    assert_eq!((body.origin_host, body.origin_realm), (identity("test"), identity("localhost")));
    assert_eq!(body.host_ip_address, ["10.1.0.1".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!((body.vendor_id, body.product_name.as_str()), (13, "go-diameter"));
    assert_eq!((body.origin_state_id, body.supported_vendor_id), (Some(1_397_760_650), vec![10_415, 13]));
    assert_eq!((body.auth_application_id, body.inband_security_id), (vec![4], vec![0]));
    let vendor = &body.vendor_specific_application_id[0];
    assert_eq!((vendor.vendor_id, vendor.auth_application_id), (10_415, Some(4)));
    assert_eq!((body.firmware_revision, body.other), (Some(1), Vec::new()));
}

fn local() -> Local {
    Local {
        host: identity("r.z"),
        realm: identity("z"),
        addresses: Vec::new(),
        product_name: "P".into(),
        origin_state_id: 0,
        auth_applications: Vec::new(),
        acct_applications: Vec::new(),
    }
}

/// A record with a Proxy-Info, as an agent gets it.
const RECORD: &str = "
    01 000080 c0 00010f 00000003 01020304 05060708
    00000107 40 00000f 612e783b313b32 00
    00000108 40 00000b 612e78 00
    00000128 40 000009 78 000000
    0000011b 40 000009 79 000000
    000001e0 40 00000c 00000004
    000001e5 40 00000c 00000009
    0000011c 40 000020                   # Proxy-Info
      00000118 40 00000b 702e79 00       # Proxy-Host
      00000021 40 00000a 0102 0000       # Proxy-State";

#[test]
fn an_error_answers_with_what_agents_need() {
    let request = hex(RECORD);
    let answer = local().refuse(&request, ResultCode::UNABLE_TO_DELIVER, "no way");
    let expected = hex("
        01 000078 60 00010f 00000003 01020304 05060708  # P and E
        00000107 40 00000f 612e783b313b32 00
        00000108 40 00000b 722e7a 00
        00000128 40 000009 7a 000000
        0000010c 40 00000c 00000bba      # Result-Code: 3002
        00000119 00 00000e 6e6f20776179 0000
        0000011c 40 000020
          00000118 40 00000b 702e79 00
          00000021 40 00000a 0102 0000");
    assert_eq!(answer, expected, "\n{answer:02x?}\n{expected:02x?}");
}

#[test]
fn a_relay_adds_where_the_request_came_from() {
    let request = hex(RECORD);
    let there = Destination { realm: Some(identity("y")), host: None };
    assert_eq!(destination(&request), Ok(there));
    let forwarded = forward(&request, &identity("a.x"), &identity("r.z")).unwrap();
    let mut expected = request.clone();
    expected.extend(hex("0000011a 40 00000b 612e78 00"));
    expected[3] = 0x8c;
    assert_eq!(forwarded, expected);
    let again = forward(&forwarded, &identity("b.x"), &identity("A.X"));
    assert_eq!(again, Err(ResultCode::LOOP_DETECTED));
    let routes = RawMessage::read(&forwarded).unwrap().avps().flatten();
    assert_eq!(routes.filter(|avp| avp.is(AvpCode::ROUTE_RECORD)).count(), 1);
    let mut fixed = request;
    fixed[4] = 0x80;
    assert_eq!(forward(&fixed, &identity("a.x"), &identity("r.z")), Err(ResultCode::UNABLE_TO_DELIVER));
}
