"""An ordinary program of Cyclone DDS, which knows nothing of Punctual: `write` or `read`, then the topic, the number of samples and their bytes.

The reader prints `ready`, and after each line that it gets, for so many samples: how many came of how many, and how late the latest was in
nanoseconds.
"""
import sys
import time
from dataclasses import dataclass

from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final
from cyclonedds.idl.types import sequence, uint8, uint32, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


@dataclass
@final
class Picture(IdlStruct, typename="Picture"):
    number: uint32
    sent: uint64
    payload: sequence[uint8]


def main():
    verb, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    participant = DomainParticipant(0)
    topic = Topic(participant, name, Picture)
    qos = Qos(
        Policy.Reliability.BestEffort,
        Policy.History.KeepLast(100),
        Policy.LatencyBudget(duration(milliseconds=40)),
        Policy.TransportPriority(5),
    )
    if verb == "write":
        writer = DataWriter(participant, topic, qos=qos)
        payload = bytes(size - 24)
        number = 0
        while True:
            number += 1
            writer.write(Picture(number, time.monotonic_ns(), payload))
            time.sleep(0.012)
    reader = DataReader(participant, topic, qos=qos)
    print("ready", flush=True)
    for _ in sys.stdin:
        reader.take(1000)
        numbers, worst = [], 0
        while len(numbers) < count and (not numbers or numbers[-1] - numbers[0] + 1 < count):
            for sample in reader.take(100):
                worst = max(worst, time.monotonic_ns() - sample.sent)
                numbers.append(sample.number)
            time.sleep(0.0005)
        print(len(numbers), numbers[-1] - numbers[0] + 1, worst, flush=True)


main()
