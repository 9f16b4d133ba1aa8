//! Bodies that clients send: strictly as CAMARA specifies them, unknown properties refused at every depth.
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::problem::Problem;

/// Most bytes of a body.
pub const LONGEST: usize = 64 << 10;
/// Most addresses of a server.
pub const MOST_ADDRESSES: usize = 16;
/// Most characters of the address of a sink.
const LONGEST_SINK: usize = 2_048;
/// Most characters of a token for a sink.
const LONGEST_TOKEN: usize = 4_096;

/// A device, by as many of its names as the client knows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Device {
    /// Its telephone number.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    /// Its name in a mobile network.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub network_access_identifier: Option<String>,
    /// Its addresses.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<DeviceIpv4>,
    /// One of its addresses.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub ipv6_address: Option<Ipv6Addr>,
}

/// Addresses of a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceIpv4 {
    /// As others see it.
    pub public_address: Ipv4Addr,
    /// As it was given to it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub private_address: Option<Ipv4Addr>,
    /// As others see it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub public_port: Option<u64>,
}

/// Servers of the application.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplicationServer {
    /// One by one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub ip_addresses: Option<Vec<IpAddr>>,
    /// An address, or a range with its length.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub ipv4_address: Option<String>,
    /// See above.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub ipv6_address: Option<String>,
}

/// Ports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ports {
    /// Ranges.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<PortRange>>,
    /// Single ones.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<u64>>,
}

/// Ports with those between them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortRange {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}

/// What a sink wants to be shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SinkCredential {
    credential_type: String,
    #[serde(default, deserialize_with = "present")]
    access_token: Option<String>,
    #[serde(default, deserialize_with = "present")]
    access_token_expires_utc: Option<String>,
    #[serde(default, deserialize_with = "present")]
    access_token_type: Option<String>,
    #[serde(default, deserialize_with = "present")]
    client_id: Option<String>,
    #[serde(default, deserialize_with = "present")]
    token_uri: Option<String>,
    #[serde(default, deserialize_with = "present")]
    jwks_uri: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CreateBody {
    #[serde(default, deserialize_with = "present")]
    device: Option<Device>,
    application_server: ApplicationServer,
    #[serde(default, deserialize_with = "present")]
    device_ports: Option<Ports>,
    #[serde(default, deserialize_with = "present")]
    application_server_ports: Option<Ports>,
    qos_profile: String,
    #[serde(default, deserialize_with = "present")]
    sink: Option<String>,
    #[serde(default, deserialize_with = "present")]
    sink_credential: Option<SinkCredential>,
    duration: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExtendBody {
    requested_additional_duration: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RetrieveBody {
    #[serde(default, deserialize_with = "present")]
    device: Option<Device>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProfilesBody {
    #[serde(default, deserialize_with = "present")]
    device: Option<Device>,
    #[serde(default, deserialize_with = "present")]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    status: Option<String>,
}

/// A session that is asked for. What is the same in the answer is kept as it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateSession {
    /// The device, if it was named.
    pub device: Option<Device>,
    /// The servers.
    pub application_server: ApplicationServer,
    /// The addresses of the servers.
    pub servers: Vec<IpAddr>,
    /// Ports of the device.
    pub device_ports: Option<Ports>,
    /// Ports of the servers.
    pub application_server_ports: Option<Ports>,
    /// The name of the profile.
    pub qos_profile: String,
    /// Where notifications go to.
    pub sink: Option<String>,
    /// What they show there.
    pub token: Option<SinkToken>,
    /// Seconds.
    pub duration: u32,
}

/// A token that notifications show.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkToken {
    /// It.
    pub token: String,
    /// Milliseconds since 1970 after which it is not shown any more.
    pub expires: u64,
}

/// Profiles that are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetrieveProfiles {
    /// The device, if it was named.
    pub device: Option<Device>,
    /// Only that of this name.
    pub name: Option<String>,
    /// Only those of this status.
    pub status: Option<String>,
}

/// A property that is there has a value: `null` is none.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if bytes.len() > LONGEST {
        return Err(Problem::argument(format!("the body has more than {LONGEST} bytes")));
    }
    if bytes.is_empty() {
        return Err(Problem::argument("there is no body: send an object of JSON"));
    }
    // A sequence would be taken for the fields of an object, in order.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Problem::argument("the body is no object of JSON"));
    }
    serde_json::from_slice(bytes).map_err(|error| Problem::argument(format!("the body: {error}")))
}

/// Seconds of a session or its extension.
fn seconds(name: &str, said: i64) -> Result<u32, Problem> {
    let good = u32::try_from(said).ok().filter(|said| (1..=2_147_483_647).contains(said));
    good.ok_or_else(|| Problem::range(format!("{name}: {said} is not from 1 to 2147483647 seconds")))
}

/// One or more digits of so many at most.
fn is_digits(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Device {
    fn check(&self) -> Result<(), Problem> {
        if self == &Self::default() {
            return Err(Problem::argument("device: it has no identifier; give ipv4Address or ipv6Address"));
        }
        if let Some(number) = &self.phone_number {
            let digits = number.strip_prefix('+').filter(|digits| !digits.starts_with('0'));
            if !digits.is_some_and(|digits| is_digits(digits, 5, 15)) {
                return Err(Problem::argument("device.phoneNumber: it is a plus sign and 5 to 15 digits"));
            }
        }
        if self.network_access_identifier.as_ref().is_some_and(|name| name.chars().count() > 2_048) {
            return Err(Problem::argument(
                "device.networkAccessIdentifier: it has more than 2048 characters",
            ));
        }
        if let Some(ipv4) = &self.ipv4_address {
            if ipv4.private_address.is_none() && ipv4.public_port.is_none() {
                let what = "device.ipv4Address: publicAddress needs privateAddress or publicPort with it";
                return Err(Problem::argument(what));
            }
            if let Some(port) = ipv4.public_port {
                check_port("device.ipv4Address.publicPort", port)?;
            }
        }
        Ok(())
    }

    /// The address that its packets have inside the network, and the identifier that says so. A network of packets knows no others.
    ///
    /// # Errors
    /// There is no such identifier.
    pub fn address(&self) -> Result<(IpAddr, Self), Problem> {
        if let Some(ipv4) = &self.ipv4_address {
            let address = ipv4.private_address.unwrap_or(ipv4.public_address);
            return Ok((address.into(), Self { ipv4_address: Some(ipv4.clone()), ..Self::default() }));
        }
        if let Some(ipv6) = self.ipv6_address {
            return Ok((ipv6.into(), Self { ipv6_address: Some(ipv6), ..Self::default() }));
        }
        let what =
            "this network knows devices by their addresses: give device.ipv4Address or device.ipv6Address";
        Err(Problem::new(422, "UNSUPPORTED_IDENTIFIER", what))
    }
}

fn check_port(name: &str, port: u64) -> Result<u16, Problem> {
    let good = u16::try_from(port).ok().filter(|port| *port > 0);
    good.ok_or_else(|| Problem::range(format!("{name}: {port} is not from 1 to 65535")))
}

impl Ports {
    fn check(&self, name: &str) -> Result<(), Problem> {
        let lists = [self.ranges.as_ref().map(Vec::len), self.ports.as_ref().map(Vec::len)];
        if lists == [None, None] || lists.contains(&Some(0)) {
            return Err(Problem::argument(format!("{name}: ranges or ports are needed, none of them empty")));
        }
        for range in self.ranges.iter().flatten() {
            check_port(name, range.from)?;
            check_port(name, range.to)?;
            if range.from > range.to {
                return Err(Problem::range(format!("{name}: {} is above {}", range.from, range.to)));
            }
        }
        self.ports.iter().flatten().try_for_each(|port| check_port(name, *port).map(drop))
    }

    /// All of them, if they are no more than `most`.
    pub(crate) fn all(&self, most: usize) -> Option<BTreeSet<u16>> {
        let mut all = BTreeSet::new();
        let ranges = self.ranges.iter().flatten().map(|range| (range.from, range.to));
        for (from, to) in ranges.chain(self.ports.iter().flatten().map(|port| (*port, *port))) {
            for port in from..=to {
                all.insert(u16::try_from(port).ok()?);
                if all.len() > most {
                    return None;
                }
            }
        }
        Some(all)
    }
}

/// All addresses of a range such as `198.51.100.0/28`, or the one address.
fn range(name: &str, text: &str, is_kind: fn(&IpAddr) -> bool, width: u32) -> Result<Vec<IpAddr>, Problem> {
    let wrong = || {
        Problem::argument(format!(
            "{name}: \"{text}\" is no address, or address and length as in 10.0.0.0/30"
        ))
    };
    let (address, length) = match text.split_once('/') {
        Some((address, length)) if is_digits(length, 1, 3) => {
            (address, length.parse().ok().filter(|length| *length <= width).ok_or_else(wrong)?)
        }
        Some(_) => return Err(wrong()),
        None => (text, width),
    };
    let address: IpAddr = address.parse().ok().filter(is_kind).ok_or_else(wrong)?;
    let count = 1_u128.checked_shl(width - length).filter(|count| *count <= MOST_ADDRESSES as u128);
    let count = count.ok_or_else(|| {
        let what =
            format!("{name}: {text} has more than {MOST_ADDRESSES} addresses: name those of the servers");
        Problem::service(what)
    })?;
    let bits = match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    let first = bits & !(count - 1);
    let at = |bits: u128| match u32::try_from(bits) {
        Ok(bits) if width == 32 => IpAddr::V4(bits.into()),
        _ => IpAddr::V6(bits.into()),
    };
    Ok((first..=first + (count - 1)).map(at).collect())
}

impl ApplicationServer {
    fn addresses(&self) -> Result<Vec<IpAddr>, Problem> {
        let ranges = [&self.ipv4_address, &self.ipv6_address];
        let Some(list) = &self.ip_addresses else {
            if ranges == [&None, &None] {
                let what = "applicationServer: give ipAddresses, or ipv4Address and ipv6Address";
                return Err(Problem::argument(what));
            }
            let four = self
                .ipv4_address
                .iter()
                .map(|text| range("applicationServer.ipv4Address", text, IpAddr::is_ipv4, 32));
            let six = self
                .ipv6_address
                .iter()
                .map(|text| range("applicationServer.ipv6Address", text, IpAddr::is_ipv6, 128));
            return Ok(four.chain(six).collect::<Result<Vec<_>, _>>()?.concat());
        };
        if ranges != [&None, &None] {
            return Err(Problem::argument("applicationServer: ipAddresses stands alone"));
        }
        if list.is_empty() || list.len() > MOST_ADDRESSES {
            let what = format!("applicationServer.ipAddresses: 1 to {MOST_ADDRESSES} addresses are needed");
            return Err(Problem::argument(what));
        }
        if list.iter().collect::<BTreeSet<_>>().len() < list.len() {
            return Err(Problem::argument("applicationServer.ipAddresses: an address is there twice"));
        }
        Ok(list.clone())
    }
}

impl SinkCredential {
    fn token(&self) -> Result<SinkToken, Problem> {
        match self.credential_type.as_str() {
            "ACCESSTOKEN" => {}
            "PRIVATE_KEY_JWT" => {
                let what = "sinkCredential: no keys are agreed for PRIVATE_KEY_JWT; give an ACCESSTOKEN";
                return Err(Problem::new(422, "PRIVATE_KEY_JWT_NOT_CONFIGURED", what));
            }
            _ => return Err(Problem::argument("sinkCredential.credentialType: it can be ACCESSTOKEN")),
        }
        if self.client_id.is_some() || self.token_uri.is_some() || self.jwks_uri.is_some() {
            return Err(Problem::argument("sinkCredential: these properties are not of an ACCESSTOKEN"));
        }
        let needed = |name: &str, value: &Option<String>| {
            value.clone().ok_or_else(|| Problem::argument(format!("sinkCredential.{name}: it is missing")))
        };
        if needed("accessTokenType", &self.access_token_type)? != "bearer" {
            return Err(Problem::new(
                400,
                "INVALID_TOKEN",
                "sinkCredential.accessTokenType: it can be bearer",
            ));
        }
        let token = needed("accessToken", &self.access_token)?;
        // It becomes part of a header: no blank or line end may be in it.
        if token.is_empty()
            || token.len() > LONGEST_TOKEN
            || !token.bytes().all(|byte| byte.is_ascii_graphic())
        {
            let what = format!(
                "sinkCredential.accessToken: it has 1 to {LONGEST_TOKEN} visible characters of ASCII"
            );
            return Err(Problem::argument(what));
        }
        let text = needed("accessTokenExpiresUtc", &self.access_token_expires_utc)?;
        let expires = time::OffsetDateTime::parse(&text, &time::format_description::well_known::Rfc3339);
        let expires = expires.ok().and_then(|at| u64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok());
        let what = "sinkCredential.accessTokenExpiresUtc: it is a time as 2026-07-03T12:27:08Z";
        Ok(SinkToken { token, expires: expires.ok_or_else(|| Problem::argument(what))? })
    }
}

/// A name that profiles may have.
pub(crate) fn is_profile_name(name: &str) -> bool {
    (3..=256).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Reads the body of a session that is asked for.
///
/// # Errors
/// What is wrong with it, and where.
pub fn create(bytes: &[u8]) -> Result<CreateSession, Problem> {
    let body: CreateBody = read(bytes)?;
    if let Some(device) = &body.device {
        device.check()?;
    }
    let servers = body.application_server.addresses()?;
    for (name, ports) in
        [("devicePorts", &body.device_ports), ("applicationServerPorts", &body.application_server_ports)]
    {
        ports.iter().try_for_each(|ports| ports.check(name))?;
    }
    if !is_profile_name(&body.qos_profile) {
        return Err(Problem::argument(
            "qosProfile: it has 3 to 256 letters, digits, dots, hyphens and underscores",
        ));
    }
    let duration = seconds("duration", body.duration)?;
    if let Some(sink) = &body.sink
        && (sink.chars().count() > LONGEST_SINK || crate::sink::Target::of(sink).is_none())
    {
        let what = "sink: it is an address such as https://HOST/PATH, of at most 2048 characters";
        return Err(Problem::new(400, "INVALID_SINK", what));
    }
    if body.sink.is_none() && body.sink_credential.is_some() {
        return Err(Problem::argument("sinkCredential: it is for a sink, and there is none"));
    }
    let token = body.sink_credential.as_ref().map(SinkCredential::token).transpose()?;
    Ok(CreateSession {
        device: body.device,
        application_server: body.application_server,
        servers,
        device_ports: body.device_ports,
        application_server_ports: body.application_server_ports,
        qos_profile: body.qos_profile,
        sink: body.sink,
        token,
        duration,
    })
}

/// Reads the body of an extension: seconds.
///
/// # Errors
/// What is wrong with it, and where.
pub fn extend(bytes: &[u8]) -> Result<u32, Problem> {
    let body: ExtendBody = read(bytes)?;
    seconds("requestedAdditionalDuration", body.requested_additional_duration)
}

/// Reads the body that asks for the sessions of a device.
///
/// # Errors
/// What is wrong with it, and where.
pub fn retrieve(bytes: &[u8]) -> Result<Option<Device>, Problem> {
    let body: RetrieveBody = read(bytes)?;
    body.device.iter().try_for_each(Device::check)?;
    Ok(body.device)
}

/// Reads the body that asks for profiles.
///
/// # Errors
/// What is wrong with it, and where.
pub fn profiles(bytes: &[u8]) -> Result<RetrieveProfiles, Problem> {
    let ProfilesBody { device, name, status } = read(bytes)?;
    device.iter().try_for_each(Device::check)?;
    if name.as_ref().is_some_and(|name| !is_profile_name(name)) {
        return Err(Problem::argument("name: it is no name of a profile"));
    }
    if status.as_ref().is_some_and(|word| !["ACTIVE", "INACTIVE", "DEPRECATED"].contains(&word.as_str())) {
        return Err(Problem::argument("status: it is ACTIVE, INACTIVE or DEPRECATED"));
    }
    Ok(RetrieveProfiles { device, name, status })
}
