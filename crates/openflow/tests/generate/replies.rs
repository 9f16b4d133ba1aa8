//! Random answers to multipart requests.
use openflow::flow::FlowFlags;
use openflow::group::GroupType;
use openflow::meter::MeterFlags;
use openflow::multipart::{
    AggregateStats, Description, FlowStats, GroupDescription, GroupFeatures, GroupStats, MeterConfig,
    MeterFeatures, MeterStats, MultipartReply, MultipartType, PortStats, QueueStats, TableStats, Traffic,
};
use openflow::words::{GroupId, MeterId, QueueId};

use super::Random;

impl Random {
    fn traffic(&mut self) -> Traffic {
        Traffic { packets: self.bits(), octets: self.bits() }
    }

    fn flow_stats(&mut self) -> FlowStats {
        FlowStats {
            table: self.table(),
            age: self.age(),
            priority: self.u16(),
            idle_timeout: self.u16(),
            hard_timeout: self.u16(),
            flags: FlowFlags(self.u16() & 0x1f),
            cookie: self.bits(),
            traffic: self.traffic(),
            matching: self.matching(true),
            instructions: self.instructions(),
        }
    }

    fn port_stats(&mut self) -> PortStats {
        PortStats {
            port: self.port_no(),
            received: self.traffic(),
            sent: self.traffic(),
            receive_dropped: self.bits(),
            send_dropped: self.bits(),
            receive_errors: self.bits(),
            send_errors: self.bits(),
            frame_errors: self.bits(),
            overruns: self.bits(),
            crc_errors: self.bits(),
            collisions: self.bits(),
            age: self.age(),
        }
    }

    fn group_description(&mut self) -> GroupDescription {
        let kind = self.pick(GroupType::ALL);
        let buckets = self.buckets(kind);
        GroupDescription { kind, group: GroupId(self.u32() >> 8), buckets }
    }

    pub(crate) fn reply(&mut self) -> MultipartReply {
        match self.multipart_type() {
            MultipartType::Description => MultipartReply::Description(Description {
                manufacturer: b"maker".to_vec(),
                hardware: b"thing".to_vec(),
                software: b"1.0".to_vec(),
                serial: b"none".to_vec(),
                datapath: b"s1".to_vec(),
            }),
            MultipartType::Flow => MultipartReply::Flow(self.list(3, Self::flow_stats)),
            MultipartType::Aggregate => {
                MultipartReply::Aggregate(AggregateStats { traffic: self.traffic(), flows: self.u32() })
            }
            MultipartType::Table => MultipartReply::Table(self.list(3, |random| TableStats {
                table: random.table(),
                active: random.u32(),
                lookups: random.bits(),
                matched: random.bits(),
            })),
            MultipartType::PortStats => MultipartReply::PortStats(self.list(3, Self::port_stats)),
            MultipartType::Queue => MultipartReply::Queue(self.list(3, |random| QueueStats {
                port: random.port_no(),
                queue: QueueId(random.u32()),
                sent: random.traffic(),
                errors: random.bits(),
                age: random.age(),
            })),
            MultipartType::Group => MultipartReply::Group(self.list(3, |random| GroupStats {
                group: GroupId(random.u32() >> 8),
                references: random.u32(),
                traffic: random.traffic(),
                age: random.age(),
                buckets: random.list(3, Self::traffic),
            })),
            MultipartType::GroupDescription => {
                MultipartReply::GroupDescription(self.list(3, Self::group_description))
            }
            MultipartType::GroupFeatures => MultipartReply::GroupFeatures(GroupFeatures {
                types: self.u32() & 15,
                capabilities: self.u32() & 15,
                max_groups: [1, 2, 3, 4],
                actions: [0x0fff_9801; 4],
            }),
            MultipartType::Meter => MultipartReply::Meter(self.list(3, |random| MeterStats {
                meter: MeterId(random.u32() >> 8),
                flows: random.u32(),
                traffic: random.traffic(),
                age: random.age(),
                bands: random.list(3, Self::traffic),
            })),
            MultipartType::MeterConfig => MultipartReply::MeterConfig(self.list(3, |random| MeterConfig {
                flags: MeterFlags(random.pick(&[1, 2]) | random.pick(&[0, 4, 8, 12])),
                meter: MeterId(random.u32() >> 8),
                bands: random.list(3, Self::band),
            })),
            MultipartType::MeterFeatures => MultipartReply::MeterFeatures(MeterFeatures {
                max_meters: self.u32(),
                band_types: self.u32() & 6,
                capabilities: self.u32() & 15,
                max_bands: self.bits() as u8,
                max_color: self.bits() as u8,
            }),
            MultipartType::TableFeatures => MultipartReply::TableFeatures(Vec::new()),
            MultipartType::PortDescription => MultipartReply::PortDescription(self.list(3, Self::port)),
            MultipartType::Experimenter => MultipartReply::Experimenter {
                experimenter: self.u32(),
                kind: self.u32(),
                data: self.octets(20),
            },
        }
    }
}
