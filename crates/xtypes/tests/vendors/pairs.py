"""Writes `pairs.txt`: types as they are and as they are changed, with what Cyclone DDS makes of a writer of the one and a reader of the other.

In a network namespace with loopback alone, by a Python that has the binding of Cyclone DDS: `python pairs.py > pairs.txt`. For each pair a
line `pair NAME REPRESENTATION matched|refused HASH HASH`, the hashes those of the minimal type objects of writer and reader; for each type
object a line `object HASH OCTETS`.
"""
import subprocess
import sys
import time
from hashlib import md5
from typing import Optional

from cyclonedds.core import Qos, Policy
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct, make_idl_bitmask, make_idl_enum, make_idl_struct, make_idl_union
from cyclonedds.idl import annotations as annotate
from cyclonedds.idl._support import Endianness
from cyclonedds.idl.types import array, bounded_str, case, default, float32, float64, int16, int32, int64, sequence, uint8
from cyclonedds.idl.types import byte as octet
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

HOW = {"final": annotate.final, "appendable": annotate.appendable, "mutable": annotate.mutable}


def struct(how, members, marks=None, name="T"):
    return HOW[how](make_idl_struct(name, name, members, field_annotations=marks))


def union(how, members, discriminator=int32):
    return HOW[how](make_idl_union("U", "U", members, discriminator))


def enum(*names, **values):
    fields = {name: at for at, name in enumerate(names)}
    fields.update(values)
    return make_idl_enum("E", "E", fields)


def base():
    return {"id": int32, "name": str, "value": float64}


def without(members, *names):
    return {name: ty for name, ty in members.items() if name not in names}


KEY = {"id": {"key": True}}
P = {"x": float64, "y": float64}


def pairs():
    """Name, what is written, what is read."""
    for how in HOW:
        of = lambda members, marks=None, how=how: struct(how, members, marks)
        inner = lambda members, how=how: struct(how, members, name="P")
        yield f"{how} same", of(base(), KEY), of(base(), KEY)
        yield f"{how} added at the end", of(base()), of({**base(), "more": int32})
        yield f"{how} removed at the end", of({**base(), "more": int32}), of(base())
        yield f"{how} added in front", of(base()), of({"more": int32, **base()})
        yield f"{how} removed in front", of(base()), of(without(base(), "id"))
        yield f"{how} reordered", of(base()), of({"name": str, "id": int32, "value": float64})
        ids = {"id": {"id": 1}, "name": {"id": 2}, "value": {"id": 3}}
        yield f"{how} reordered with ids", of(base(), ids), of({"name": str, "id": int32, "value": float64}, ids)
        yield f"{how} retyped", of(base()), of({**base(), "id": float32})
        yield f"{how} wider", of(base()), of({**base(), "id": int64})
        yield f"{how} renamed", of(base()), of({"id": int32, "label": str, "value": float64})
        yield f"{how} key taken away", of(base(), KEY), of(base())
        yield f"{how} key added", of(base()), of(base(), KEY)
        yield f"{how} key member removed", of(base(), KEY), of(without(base(), "id"))
        yield f"{how} made optional", of(base()), of({**base(), "value": Optional[float64]})
        yield f"{how} optional added", of(base()), of({**base(), "more": Optional[int32]})
        yield f"{how} must be understood", of({**base(), "more": int32}, {"more": {"must_understand": True}}), of(base())
        yield f"{how} shorter string", of({"a": bounded_str[20]}), of({"a": bounded_str[10]})
        yield f"{how} shorter string as a key", of({"a": bounded_str[20]}, {"a": {"key": True}}), of({"a": bounded_str[10]}, {"a": {"key": True}})
        yield f"{how} shorter sequence", of({"a": sequence[int32, 20]}), of({"a": sequence[int32, 10]})
        yield f"{how} other elements", of({"a": sequence[int32]}), of({"a": sequence[int16]})
        yield f"{how} other array", of({"a": array[int32, 3]}), of({"a": array[int32, 4]})
        yield f"{how} octets", of({"a": sequence[octet]}), of({"a": sequence[uint8]})
        yield f"{how} nested longer", of({"a": inner(P)}), of({"a": inner({**P, "z": float64})})
        yield f"{how} nested retyped", of({"a": inner(P)}), of({"a": inner({**P, "y": float32})})
        yield f"{how} nested in sequences", of({"a": sequence[inner(P)]}), of({"a": sequence[inner({**P, "z": float64})]})
        yield f"{how} nested as a key", of({"a": inner(P)}, {"a": {"key": True}}), of({"a": inner({**P, "z": float64})}, {"a": {"key": True}})
        yield f"{how} enum same", of({"a": enum("A", "B")}), of({"a": enum("A", "B")})
        yield f"{how} enum longer", of({"a": enum("A", "B")}), of({"a": enum("A", "B", "C")})
        yield f"{how} enum renamed", of({"a": enum("A", "B")}), of({"a": enum("A", "X")})
        yield f"{how} enum swapped", of({"a": enum("A", "B")}), of({"a": enum("B", "A")})
        cases = {"a": case[1, int32], "b": case[2, str]}
        yield f"{how} union same", of({"u": union(how, cases)}), of({"u": union(how, cases)})
        yield f"{how} union longer", of({"u": union(how, cases)}), of({"u": union(how, {**cases, "c": case[3, float64]})})
        yield f"{how} union retyped", of({"u": union(how, cases)}), of({"u": union(how, {**cases, "b": case[2, int16]})})
        yield f"{how} union with default", of({"u": union(how, cases)}), of({"u": union(how, {**cases, "d": default[float64]})})
        yield f"{how} union of other labels", of({"u": union(how, cases)}), of({"u": union(how, {"a": case[7, int32], "b": case[8, str]})})
    for one in HOW:
        for other in HOW:
            if one != other:
                yield f"{one} read as {other}", struct(one, base()), struct(other, base())
                yield f"{one} read as {other} inside", struct("mutable", {"a": struct(one, P, name="P")}), struct("mutable", {"a": struct(other, P, name="P")})


def told(cls):
    """The hash of the minimal type object, after its objects were written."""
    information = cls.__idl__.get_type_info()
    mapping = cls.__idl__._xt_data[1]
    for pair in mapping.identifier_object_pair_minimal:
        octets = pair.type_object.serialize(endianness=Endianness.Little, use_version_2=True)[4:]
        told.objects[md5(octets).digest()[:14].hex()] = octets.hex()
    return bytes(information.minimal.typeid_with_size.type_id.value).hex()


told.objects = {}


def play(some):
    """Prints what becomes of some pairs."""
    here, there = DomainParticipant(0), DomainParticipant(0)
    played = []
    for name, written, read in some:
        for version in (1, 2):
            representation = Policy.DataRepresentation(
                use_cdrv0_representation=version == 1, use_xcdrv2_representation=version == 2
            )
            qos = Qos(representation, Policy.Reliability.Reliable(0))
            topic = f"{name} {version}".replace(" ", "_")
            try:
                writer = DataWriter(here, Topic(here, topic, written), qos=qos)
                reader = DataReader(there, Topic(there, topic, read), qos=qos)
            except Exception as error:
                print(f"{topic}: {error}", file=sys.stderr)
                continue
            played.append((name, version, written, read, writer, reader))
    time.sleep(2)
    for name, version, written, read, writer, reader in played:
        matched = "matched" if writer.get_matched_subscriptions() else "refused"
        print(f"pair {name.replace(' ', '-')} {version} {matched} {told(written)} {told(read)}")
    for digest, octets in sorted(told.objects.items()):
        print(f"object {digest} {octets}")


def main():
    # A process for a few of them: the library stands still with many more topics.
    if len(sys.argv) > 1:
        first = int(sys.argv[1])
        return play(list(pairs())[first : first + 8])
    lines = []
    for first in range(0, len(list(pairs())), 8):
        part = subprocess.run([sys.executable, __file__, str(first)], stdout=subprocess.PIPE, timeout=60, text=True)
        lines += [line for line in part.stdout.splitlines() if line not in lines]
    lines.sort(key=lambda line: line.startswith("object"))
    print("\n".join(lines))


main()
