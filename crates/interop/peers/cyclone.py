"""Cyclone DDS behind the language of README.md."""
import sys
import threading
import zlib
from dataclasses import dataclass
from typing import Optional

from cyclonedds.core import InstanceState, Listener
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import appendable, final, key, mutable
from cyclonedds.idl.types import float32, float64, int32, sequence, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
@appendable
class ShapeType(IdlStruct, typename="ShapeType"):
    color: str
    key("color")
    x: int32
    y: int32
    shapesize: int32
    additional_payload_size: sequence[uint8]

    @classmethod
    def make(cls, name, number, octets):
        return cls(name, number, 3 * number, 20, octets)

    def line(self):
        return describe(self.color, self.x, self.y, self.additional_payload_size)

    def label(self):
        return self.color


@dataclass
@final
class Reading(IdlStruct, typename="Reading"):
    source: str
    number: int32
    value: float64
    payload: sequence[uint8]

    @classmethod
    def make(cls, name, number, octets):
        return cls(name, number, number + 0.25, octets)

    def line(self):
        return describe(self.source, self.number, f"{self.value:.2f}", self.payload)

    def label(self):
        return self.source


@dataclass
@final
class Track(IdlStruct, typename="Track"):
    id: int32
    key("id")
    number: int32
    value: float64
    payload: sequence[uint8]

    @classmethod
    def make(cls, name, number, octets):
        return cls(int(name), number, number + 0.25, octets)

    def line(self):
        return describe(self.id, self.number, f"{self.value:.2f}", self.payload)

    def label(self):
        return self.id


@dataclass
@mutable
class Report(IdlStruct, typename="Report"):
    name: str
    key("name")
    number: int32
    value: Optional[float64]
    payload: sequence[uint8]

    @classmethod
    def make(cls, name, number, octets):
        return cls(name, number, number + 0.25 if number % 2 == 0 else None, octets)

    def line(self):
        value = "none" if self.value is None else f"{self.value:.2f}"
        return describe(self.name, self.number, value, self.payload)

    def label(self):
        return self.name


@dataclass
@appendable
class Log(IdlStruct, typename="Log"):
    id: int32
    key("id")
    number: int32
    value: float64
    payload: sequence[uint8]
    more: int32

    @classmethod
    def make(cls, name, number, octets):
        return cls(int(name), number, number + 0.25, octets, 7)

    def line(self):
        return describe(self.id, self.number, f"{self.value:.2f}", self.payload)

    def label(self):
        return self.id


@dataclass
@appendable
class Clashing(IdlStruct, typename="Log"):
    id: int32
    key("id")
    number: int32
    value: float32
    payload: sequence[uint8]


KINDS = {
    "keyed": ShapeType,
    "keyless": Reading,
    "numbered": Track,
    "mutable": Report,
    "grown": Log,
    "clashing": Clashing,
}


def describe(name, number, value, octets):
    return f"sample {name} {number} {value} {len(octets)} {zlib.adler32(bytes(octets))}"


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# One listener at a time, so that samples are told in their order.
ONE_AT_A_TIME = threading.Lock()
# Seconds. Cyclone tells of a match before it takes what the writer sends, and nothing tells when it does. A reader that wants no history
# never asks a writer of another vendor for what came too early: its first HEARTBEAT says where to begin.
SETTLING = 0.3
# Cyclone's own number of DATA_REPRESENTATION, and that of XTypes 1.3, 7.6.3.1.1.
POLICIES = {25: 23}
# Cyclone's own number of TYPE_CONSISTENCY_ENFORCEMENT: it tells types that differ as QoS that does.
TYPE_CONSISTENCY = 24


class Events(Listener):
    settling = 0

    def on_publication_matched(self, writer, status):
        say(f"matched {status.current_count}")

    def on_subscription_matched(self, reader, status):
        line = f"matched {status.current_count}"
        if self.settling and status.current_count:
            threading.Timer(self.settling, say, [line]).start()
        else:
            say(line)

    def on_offered_incompatible_qos(self, writer, status):
        incompatible(status)

    def on_requested_incompatible_qos(self, reader, status):
        incompatible(status)

    def on_data_available(self, reader):
        # While the reader is being made, the binding does not know it yet.
        if reader is not None:
            take(reader)


def incompatible(status):
    policy = status.last_policy_id
    say(f"inconsistent {status.total_count}" if policy == TYPE_CONSISTENCY else f"incompatible {POLICIES.get(policy, policy)}")


def take(reader):
    with ONE_AT_A_TIME:
        for sample in reader.take(N=100):
            if sample.sample_info.valid_data:
                say(sample.line())
            elif sample.sample_info.instance_state == InstanceState.NotAliveDisposed:
                say(f"disposed {sample.key_sample.label()}")
            elif sample.sample_info.instance_state == InstanceState.NotAliveNoWriters:
                say(f"no-writers {sample.key_sample.label()}")


def qos_of(encoding, reliability, durability):
    keep_all = Policy.History.KeepAll
    policies = [
        Policy.Reliability.Reliable(duration(seconds=10))
        if reliability == "reliable"
        else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if durability == "transient-local" else Policy.Durability.Volatile,
        keep_all,
        # Late readers of Cyclone get what this policy says, not what HISTORY says.
        Policy.DurabilityService(duration(seconds=0), keep_all, -1, -1, -1),
        Policy.WriterDataLifecycle(autodispose=False),
    ]
    if encoding != "default":
        versions = {"use_cdrv0_representation": encoding == "1", "use_xcdrv2_representation": encoding == "2"}
        policies.append(Policy.DataRepresentation(**versions))
    return Qos(*policies)


def carry_out(writer, kind, words):
    verb, arguments = words[0], words[1:]
    if verb in ("write", "write-dispose"):
        name, number, size = arguments[0], int(arguments[1]), int(arguments[2])
        write = writer.write if verb == "write" else writer.write_dispose
        write(kind.make(name, number, [(at + number) % 251 for at in range(size)]))
    elif verb == "dispose":
        writer.dispose(kind.make(arguments[0], 0, []))
    elif verb == "unregister":
        writer.unregister_instance(kind.make(arguments[0], 0, []))
    elif verb == "acknowledged":
        if not writer.wait_for_acks(duration(seconds=10)):
            raise TimeoutError("not everything was acknowledged within 10 s")
    else:
        raise ValueError(f"there is no command {verb}")


def main():
    role, name, kind, encoding, reliability, durability = sys.argv[1:]
    kind = KINDS[kind]
    qos = qos_of(encoding, reliability, durability)
    Events.settling = SETTLING if durability == "volatile" else 0
    participant = DomainParticipant(0)
    topic = Topic(participant, name, kind)
    make = DataWriter if role == "pub" else DataReader
    # Named, so that it lives until the end.
    endpoint = make(participant, topic, qos=qos, listener=Events())
    if role == "sub":
        take(endpoint)
    say("ready")
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            break
        try:
            carry_out(endpoint, kind, words)
            say(f"ok {' '.join(words)}")
        except Exception as error:
            say(f"failed {error}")


main()
