#!/usr/bin/env python3
"""Golden CDR bytes, made by the Python serializer of Eclipse Cyclone DDS.

    pip install cyclonedds==11.0.1
    python3 make_cdr_golden.py > golden.txt

Output, one case a line, '#' starts a comment:

    <case> <form> <endian> <hex>

<case>    the type's name, then '.' and a letter where a type has several values
<form>    XCDR1, XCDR2           a whole sample, with its 4-octet encapsulation header
          KEY_XCDR1, KEY_XCDR2   the serialized key (payload of a DATA with the K flag), with header
          KEYHASH                the 16 octets of PID_KEY_HASH of XCDR2 samples (no header, endian column is "-")
          KEYHASH_XCDR1          the same of XCDR1 samples (differs where 8-octet members are padded otherwise)
<endian>  LE or BE

KEYHASH is the key hash of XTypes 1.3, 7.6.8.4 / RTPS 2.5, 9.6.4.8: the key members in order of
member id, as a final structure, XCDR2 big-endian without header; zero-padded if its *maximum* size is at
most 16 octets, else its MD5. To obtain it, each keyed type below has a companion "KeyHolder" type. Samples in
XCDR1 have the key hash made with XCDR1 rules (Cyclone DDS and Fast DDS alike; RTPS 2.5, 9.6.4.8 says "CDR Big-Endian").

The IDL of every type stands in a comment above its class, and the values follow in `CASES`.
Extensibility is always explicit; member ids are sequential from 0 unless @id is given.
"""
from dataclasses import dataclass
from hashlib import md5
from typing import Dict, List, Optional

from cyclonedds.idl import IdlBitmask, IdlEnum, IdlStruct, IdlUnion
from cyclonedds.idl import annotations as A
from cyclonedds.idl import types as T
from cyclonedds.idl._support import Endianness

# ---------------------------------------------------------------- enums and bitmasks

# enum Color { RED, GREEN, @value(5) BLUE };
class Color(IdlEnum, typename="golden.Color"):
    RED = 0
    GREEN = 1
    BLUE = 5

# @bit_bound(8) enum Small { S0, S1, @value(100) S100 };
@A.bit_bound(8)
class Small(IdlEnum, typename="golden.Small"):
    S0 = 0
    S1 = 1
    S100 = 100

# @bit_bound(16) enum Medium { M0, @value(1000) M1000 };
@A.bit_bound(16)
class Medium(IdlEnum, typename="golden.Medium"):
    M0 = 0
    M1000 = 1000

# @bit_bound(8) bitmask Mask8 { @position(0) a, @position(1) b, @position(7) h };
@A.bit_bound(8)
@dataclass
class Mask8(IdlBitmask, typename="golden.Mask8"):
    a: bool = False
    b: bool = False
    h: bool = False
    A.position("h", 7)

# @bit_bound(16) bitmask Mask16 { @position(0) a, @position(9) j };
@A.bit_bound(16)
@dataclass
class Mask16(IdlBitmask, typename="golden.Mask16"):
    a: bool = False
    j: bool = False
    A.position("j", 9)

# bitmask Mask32 { @position(0) a, @position(17) r, @position(31) z };      (default bit_bound is 32)
@dataclass
class Mask32(IdlBitmask, typename="golden.Mask32"):
    a: bool = False
    r: bool = False
    z: bool = False
    A.position("r", 17)
    A.position("z", 31)

# @bit_bound(64) bitmask Mask64 { @position(0) a, @position(40) p, @position(63) q };
@dataclass
class Mask64(IdlBitmask, typename="golden.Mask64"):
    __idl_annotations__["bit_bound"] = 64  # noqa: F821  (the decorator comes too late for positions over 31)
    a: bool = False
    p: bool = False
    q: bool = False
    A.position("p", 40)
    A.position("q", 63)

# ---------------------------------------------------------------- plain structures

# @final struct Primitives {
#   boolean b; octet o; int8 i8; uint8 u8; char c; int16 i16; uint16 u16; int32 i32; uint32 u32;
#   int64 i64; uint64 u64; float f32; double f64; };
@A.final
@dataclass
class Primitives(IdlStruct, typename="golden.Primitives"):
    b: bool
    o: T.byte
    i8: T.int8
    u8: T.uint8
    c: T.char
    i16: T.int16
    u16: T.uint16
    i32: T.int32
    u32: T.uint32
    i64: T.int64
    u64: T.uint64
    f32: T.float32
    f64: T.float64

# @final struct Align { octet a; int64 b; octet c; double d; octet e; int16 f; octet g; int32 h; octet i; uint64 j; octet k; };
@A.final
@dataclass
class Align(IdlStruct, typename="golden.Align"):
    a: T.byte
    b: T.int64
    c: T.byte
    d: T.float64
    e: T.byte
    f: T.int16
    g: T.byte
    h: T.int32
    i: T.byte
    j: T.uint64
    k: T.byte

# @final struct Point { int32 x; int32 y; };
@A.final
@dataclass
class Point(IdlStruct, typename="golden.Point"):
    x: T.int32
    y: T.int32

# @final struct Wide { octet a; int64 b; };
@A.final
@dataclass
class Wide(IdlStruct, typename="golden.Wide"):
    a: T.byte
    b: T.int64

# @appendable struct APoint { int32 x; int32 y; };
@A.appendable
@dataclass
class APoint(IdlStruct, typename="golden.APoint"):
    x: T.int32
    y: T.int32

# @appendable struct AWide { octet a; int64 b; octet c; };
@A.appendable
@dataclass
class AWide(IdlStruct, typename="golden.AWide"):
    a: T.byte
    b: T.int64
    c: T.byte

# @mutable struct MPoint { @id(1) int32 x; @id(2) int32 y; };
@A.mutable
@dataclass
class MPoint(IdlStruct, typename="golden.MPoint"):
    x: T.int32
    y: T.int32
    A.member_id("x", 1)
    A.member_id("y", 2)

# @final struct Strings { string a; octet pad; string<8> b; string c; string d; };
@A.final
@dataclass
class Strings(IdlStruct, typename="golden.Strings"):
    a: str
    pad: T.byte
    b: T.bounded_str[8]
    c: str
    d: str

# @final struct Enums { octet pad; Color c; };
@A.final
@dataclass
class Enums(IdlStruct, typename="golden.Enums"):
    pad: T.byte
    c: Color

# @final struct BoundEnums { octet pad; Small s; octet pad2; Medium m; octet pad3; };
@A.final
@dataclass
class BoundEnums(IdlStruct, typename="golden.BoundEnums"):
    pad: T.byte
    s: Small
    pad2: T.byte
    m: Medium
    pad3: T.byte

# @final struct Masks { octet pad; Mask8 m8; octet pad2; Mask16 m16; octet pad3; Mask32 m32; octet pad4; Mask64 m64; };
@A.final
@dataclass
class Masks(IdlStruct, typename="golden.Masks"):
    pad: T.byte
    m8: Mask8
    pad2: T.byte
    m16: Mask16
    pad3: T.byte
    m32: Mask32
    pad4: T.byte
    m64: Mask64

# @final struct Arrays { octet o[5]; int64 l[2]; boolean b[3]; char c[4]; int16 s[2][3]; double d[1]; };
@A.final
@dataclass
class Arrays(IdlStruct, typename="golden.Arrays"):
    o: T.array[T.byte, 5]
    l: T.array[T.int64, 2]
    b: T.array[bool, 3]
    c: T.array[T.char, 4]
    s: T.array[T.array[T.int16, 3], 2]
    d: T.array[T.float64, 1]

# @final struct ArraysOf { string s[2]; octet pad; Point p[2]; APoint ap[2]; Wide w[2]; };
@A.final
@dataclass
class ArraysOf(IdlStruct, typename="golden.ArraysOf"):
    s: T.array[str, 2]
    pad: T.byte
    p: T.array[Point, 2]
    ap: T.array[APoint, 2]
    w: T.array[Wide, 2]

# @final struct EnumArrays { octet pad; Color c[2]; octet pad2; Mask8 m[3]; Point g[2][2]; };
@A.final
@dataclass
class EnumArrays(IdlStruct, typename="golden.EnumArrays"):
    pad: T.byte
    c: T.array[Color, 2]
    pad2: T.byte
    m: T.array[Mask8, 3]
    g: T.array[T.array[Point, 2], 2]

# @final struct Sequences { sequence<octet> o; sequence<int16> s; sequence<int32, 4> i; sequence<int64> l;
#   sequence<boolean> b; octet pad; sequence<double> e; sequence<octet> z; };
@A.final
@dataclass
class Sequences(IdlStruct, typename="golden.Sequences"):
    o: T.sequence[T.byte]
    s: T.sequence[T.int16]
    i: T.sequence[T.int32, 4]
    l: T.sequence[T.int64]
    b: T.sequence[bool]
    pad: T.byte
    e: T.sequence[T.float64]
    z: T.sequence[T.byte]

# @final struct CharSequence { octet pad; sequence<char> c; };
@A.final
@dataclass
class CharSequence(IdlStruct, typename="golden.CharSequence"):
    pad: T.byte
    c: T.sequence[T.char]

# @final struct SequencesOf { sequence<string> s; sequence<string<4>, 3> bs; sequence<Point> p; sequence<APoint, 2> ap;
#   sequence<sequence<int32>> ii; sequence<Wide> w; sequence<string> e; };
@A.final
@dataclass
class SequencesOf(IdlStruct, typename="golden.SequencesOf"):
    s: T.sequence[str]
    bs: T.sequence[T.bounded_str[4], 3]
    p: T.sequence[Point]
    ap: T.sequence[APoint, 2]
    ii: T.sequence[T.sequence[T.int32]]
    w: T.sequence[Wide]
    e: T.sequence[str]

# @final struct EnumSequences { octet pad; sequence<Color> c; sequence<Mask8> m; };
@A.final
@dataclass
class EnumSequences(IdlStruct, typename="golden.EnumSequences"):
    pad: T.byte
    c: T.sequence[Color]
    m: T.sequence[Mask8]

# typedef int32 Triple[3];   @final struct ArraySequence { octet pad; sequence<Triple> t; };
@A.final
@dataclass
class ArraySequence(IdlStruct, typename="golden.ArraySequence"):
    pad: T.byte
    t: T.sequence[T.array[T.int32, 3]]

# @final struct Nested { octet a; Point p; octet b; Wide w; octet c; APoint ap; octet d; MPoint mp; octet e; };
@A.final
@dataclass
class Nested(IdlStruct, typename="golden.Nested"):
    a: T.byte
    p: Point
    b: T.byte
    w: Wide
    c: T.byte
    ap: APoint
    d: T.byte
    mp: MPoint
    e: T.byte

# @appendable struct Appendable { octet a; string s; APoint ap; Point p; sequence<AWide> aw; int64 l; };
@A.appendable
@dataclass
class Appendable(IdlStruct, typename="golden.Appendable"):
    a: T.byte
    s: str
    ap: APoint
    p: Point
    aw: T.sequence[AWide]
    l: T.int64

# The same type one version later:
# @appendable struct AppendableV2 { octet a; string s; APoint ap; Point p; sequence<AWide> aw; int64 l; int16 more; string last; };
@A.appendable
@dataclass
class AppendableV2(IdlStruct, typename="golden.AppendableV2"):
    a: T.byte
    s: str
    ap: APoint
    p: Point
    aw: T.sequence[AWide]
    l: T.int64
    more: T.int16
    last: str

# @final struct Base { octet a; int32 b; };   @final struct Derived : Base { octet c; int64 d; };
@A.final
@dataclass
class Base(IdlStruct, typename="golden.Base"):
    a: T.byte
    b: T.int32

@A.final
@dataclass
class Derived(Base, typename="golden.Derived"):
    c: T.byte
    d: T.int64

# @appendable struct Tree { int32 v; sequence<Tree> children; };
@A.appendable
@dataclass
class Tree(IdlStruct, typename="golden.Tree"):
    v: T.int32
    children: T.sequence["Tree"]

# ---------------------------------------------------------------- optionals

# @final struct Optionals { octet a; @optional int8 b; @optional int64 c; @optional string d; @optional Point e;
#   @optional sequence<int32> f; octet g; };
@A.final
@dataclass
class Optionals(IdlStruct, typename="golden.Optionals"):
    a: T.byte
    b: Optional[T.int8]
    c: Optional[T.int64]
    d: Optional[str]
    e: Optional[Point]
    f: Optional[T.sequence[T.int32]]
    g: T.byte

# @appendable struct AOptionals { octet a; @optional int64 b; @optional APoint c; @optional Color d; int32 e; };
@A.appendable
@dataclass
class AOptionals(IdlStruct, typename="golden.AOptionals"):
    a: T.byte
    b: Optional[T.int64]
    c: Optional[APoint]
    d: Optional[Color]
    e: T.int32

# ---------------------------------------------------------------- unions

# @final union IntUnion switch (int32) { case 1: int32 i; case 2: case 3: string s; case 4: Point p; case 5: int64 l; default: double d; };
@A.final
class IntUnion(IdlUnion, typename="golden.IntUnion", discriminator=T.int32):
    i: T.case[1, T.int32]
    s: T.case[[2, 3], str]
    p: T.case[4, Point]
    l: T.case[5, T.int64]
    d: T.default[T.float64]

# @final union ColorUnion switch (Color) { case RED: octet r; case BLUE: int64 b; };
@A.final
class ColorUnion(IdlUnion, typename="golden.ColorUnion", discriminator=Color):
    r: T.case[Color.RED, T.byte]
    b: T.case[Color.BLUE, T.int64]

# @final union BoolUnion switch (boolean) { case TRUE: int16 t; default: sequence<octet> f; };
@A.final
class BoolUnion(IdlUnion, typename="golden.BoolUnion", discriminator=bool):
    t: T.case[True, T.int16]
    f: T.default[T.sequence[T.byte]]

# @final union ByteUnion switch (uint8) { case 7: int64 l; case 8: APoint ap; };
@A.final
class ByteUnion(IdlUnion, typename="golden.ByteUnion", discriminator=T.uint8):
    l: T.case[7, T.int64]
    ap: T.case[8, APoint]

# @appendable union AUnion switch (int16) { case 1: octet o; case 2: int64 l; default: string s; };
@A.appendable
class AUnion(IdlUnion, typename="golden.AUnion", discriminator=T.int16):
    o: T.case[1, T.byte]
    l: T.case[2, T.int64]
    s: T.default[str]

# @final struct Unions { octet a; IntUnion u1; IntUnion u2; IntUnion u3; octet b; ColorUnion cu; octet c; BoolUnion bt; BoolUnion bf;
#   ByteUnion y1; ByteUnion y2; octet d; AUnion au1; AUnion au2; octet e; sequence<IntUnion> su; };
@A.final
@dataclass
class Unions(IdlStruct, typename="golden.Unions"):
    a: T.byte
    u1: IntUnion
    u2: IntUnion
    u3: IntUnion
    b: T.byte
    cu: ColorUnion
    c: T.byte
    bt: BoolUnion
    bf: BoolUnion
    y1: ByteUnion
    y2: ByteUnion
    d: T.byte
    au1: AUnion
    au2: AUnion
    e: T.byte
    su: T.sequence[IntUnion]

# @final struct UnionDefault { octet a; IntUnion u; octet b; };
@A.final
@dataclass
class UnionDefault(IdlStruct, typename="golden.UnionDefault"):
    a: T.byte
    u: IntUnion
    b: T.byte

# ---------------------------------------------------------------- mutable

# @mutable struct Mutable {
#   @id(10) octet o; @id(11) int16 s; @id(12) int32 i; @id(13) int64 l; @id(20) string str; @id(21) sequence<octet> so;
#   @id(22) sequence<int16> ss; @id(23) sequence<int32> si; @id(24) sequence<int64> sl; @id(25) sequence<string> sstr;
#   @id(30) int32 arr[3]; @id(31) Point p; @id(32) APoint ap; @id(33) MPoint mp; @id(40) Color c; @id(41) Mask8 m;
#   @id(50) @optional int32 op; @id(51) @optional string os; @id(0x1000) boolean b; @id(0x3fff) double d; };
@A.mutable
@dataclass
class Mutable(IdlStruct, typename="golden.Mutable"):
    o: T.byte
    s: T.int16
    i: T.int32
    l: T.int64
    str_: str
    so: T.sequence[T.byte]
    ss: T.sequence[T.int16]
    si: T.sequence[T.int32]
    sl: T.sequence[T.int64]
    sstr: T.sequence[str]
    arr: T.array[T.int32, 3]
    p: Point
    ap: APoint
    mp: MPoint
    c: Color
    m: Mask8
    op: Optional[T.int32]
    os: Optional[str]
    b: bool
    d: T.float64
    for _n, _i in [("o", 10), ("s", 11), ("i", 12), ("l", 13), ("str_", 20), ("so", 21), ("ss", 22), ("si", 23), ("sl", 24),
                   ("sstr", 25), ("arr", 30), ("p", 31), ("ap", 32), ("mp", 33), ("c", 40), ("m", 41), ("op", 50), ("os", 51),
                   ("b", 0x1000), ("d", 0x3fff)]:
        A.member_id(_n, _i)
    A.member_name("str_", "str")

# @mutable struct MustUnderstand { @id(3) @must_understand int32 a; @id(1) octet b; @id(2) @must_understand string c; };
@A.mutable
@dataclass
class MustUnderstand(IdlStruct, typename="golden.MustUnderstand"):
    a: T.int32
    b: T.byte
    c: str
    A.member_id("a", 3)
    A.member_id("b", 1)
    A.member_id("c", 2)
    A.must_understand("a")
    A.must_understand("c")

# @mutable @autoid(HASH) struct HashIds { int32 color; octet shapesize; @hashid("other") int16 z; };
# ids: color 0x0fa5dd70, shapesize 0x047790da, z 0x02325f79: first 4 octets of MD5 of the name ("other" for z), little-endian, & 0x0fffffff
@A.mutable
@A.autoid("hash")
@dataclass
class HashIds(IdlStruct, typename="golden.HashIds"):
    color: T.int32
    shapesize: T.byte
    z: T.int16
    A.member_hash_id("z", b"other")

# @mutable struct MEmpty { @optional int32 a; @optional string b; };
@A.mutable
@dataclass
class MEmpty(IdlStruct, typename="golden.MEmpty"):
    a: Optional[T.int32]
    b: Optional[str]

# @final struct MutableInside { octet a; MPoint m; octet b; sequence<MPoint> s; octet c; int64 l; };
@A.final
@dataclass
class MutableInside(IdlStruct, typename="golden.MutableInside"):
    a: T.byte
    m: MPoint
    b: T.byte
    s: T.sequence[MPoint]
    c: T.byte
    l: T.int64

# ---------------------------------------------------------------- maps

# @final struct PrimitiveMaps { octet pad; map<int32, int64> m; map<octet, octet> n; };
@A.final
@dataclass
class PrimitiveMaps(IdlStruct, typename="golden.PrimitiveMaps"):
    pad: T.byte
    m: Dict[T.int32, T.int64]
    n: Dict[T.byte, T.byte]

# @final struct StringMaps { octet pad; map<string, int32> m; map<int32, Point> p; };
@A.final
@dataclass
class StringMaps(IdlStruct, typename="golden.StringMaps"):
    pad: T.byte
    m: Dict[str, T.int32]
    p: Dict[T.int32, Point]

# ---------------------------------------------------------------- keys

# @appendable struct ShapeType { @key string<128> color; int32 x; int32 y; int32 shapesize; };
@A.appendable
@dataclass
class ShapeType(IdlStruct, typename="golden.ShapeType"):
    color: T.bounded_str[128]
    x: T.int32
    y: T.int32
    shapesize: T.int32
    A.key("color")

@A.final
@dataclass
class ShapeTypeKeyHolder(IdlStruct, typename="golden.ShapeTypeKeyHolder"):
    color: T.bounded_str[128]

# @final struct KeyInt { octet a; @key int32 id; string s; };
@A.final
@dataclass
class KeyInt(IdlStruct, typename="golden.KeyInt"):
    a: T.byte
    id: T.int32
    s: str
    A.key("id")

@A.final
@dataclass
class KeyIntKeyHolder(IdlStruct, typename="golden.KeyIntKeyHolder"):
    id: T.int32

# @final struct KeyMulti { @key octet a; octet x; @key int64 b; @key int16 c; string s; };      maximum key size 1+3+8+2 = 14
@A.final
@dataclass
class KeyMulti(IdlStruct, typename="golden.KeyMulti"):
    a: T.byte
    x: T.byte
    b: T.int64
    c: T.int16
    s: str
    A.key("a")
    A.key("b")
    A.key("c")

@A.final
@dataclass
class KeyMultiKeyHolder(IdlStruct, typename="golden.KeyMultiKeyHolder"):
    a: T.byte
    b: T.int64
    c: T.int16

# @final struct KeyBig { @key int64 a; @key int64 b; @key octet c; int32 x; };      maximum key size 17: MD5
@A.final
@dataclass
class KeyBig(IdlStruct, typename="golden.KeyBig"):
    a: T.int64
    b: T.int64
    c: T.byte
    x: T.int32
    A.key("a")
    A.key("b")
    A.key("c")

@A.final
@dataclass
class KeyBigKeyHolder(IdlStruct, typename="golden.KeyBigKeyHolder"):
    a: T.int64
    b: T.int64
    c: T.byte

# @final struct KeySmallString { int32 x; @key string<11> s; };      maximum key size 4+11+1 = 16: not hashed
@A.final
@dataclass
class KeySmallString(IdlStruct, typename="golden.KeySmallString"):
    x: T.int32
    s: T.bounded_str[11]
    A.key("s")

@A.final
@dataclass
class KeySmallStringKeyHolder(IdlStruct, typename="golden.KeySmallStringKeyHolder"):
    s: T.bounded_str[11]

# @final struct KeyString12 { int32 x; @key string<12> s; };      maximum key size 17: MD5
@A.final
@dataclass
class KeyString12(IdlStruct, typename="golden.KeyString12"):
    x: T.int32
    s: T.bounded_str[12]
    A.key("s")

@A.final
@dataclass
class KeyString12KeyHolder(IdlStruct, typename="golden.KeyString12KeyHolder"):
    s: T.bounded_str[12]

# @final struct KeyString { int32 x; @key string s; };      unbounded: always MD5
@A.final
@dataclass
class KeyString(IdlStruct, typename="golden.KeyString"):
    x: T.int32
    s: str
    A.key("s")

@A.final
@dataclass
class KeyStringKeyHolder(IdlStruct, typename="golden.KeyStringKeyHolder"):
    s: str

# @final struct Inner { octet a; @key int16 k; octet b; };   @final struct KeyNested { octet x; @key Inner in; @key Point p; int32 y; };
# key: in.k, p.x, p.y (a structure without key members counts whole)
@A.final
@dataclass
class Inner(IdlStruct, typename="golden.Inner"):
    a: T.byte
    k: T.int16
    b: T.byte
    A.key("k")

@A.final
@dataclass
class KeyNested(IdlStruct, typename="golden.KeyNested"):
    x: T.byte
    in_: Inner
    p: Point
    y: T.int32
    A.key("in_")
    A.key("p")
    A.member_name("in_", "in")

@A.final
@dataclass
class KeyNestedKeyHolder(IdlStruct, typename="golden.KeyNestedKeyHolder"):
    k: T.int16
    x: T.int32
    y: T.int32

# @appendable struct AInner { octet a; @key int32 k; };   @appendable struct KeyAppendable { int32 x; @key AInner in; @key octet o; };
@A.appendable
@dataclass
class AInner(IdlStruct, typename="golden.AInner"):
    a: T.byte
    k: T.int32
    A.key("k")

@A.appendable
@dataclass
class KeyAppendable(IdlStruct, typename="golden.KeyAppendable"):
    x: T.int32
    in_: AInner
    o: T.byte
    A.key("in_")
    A.key("o")
    A.member_name("in_", "in")

@A.final
@dataclass
class KeyAppendableKeyHolder(IdlStruct, typename="golden.KeyAppendableKeyHolder"):
    k: T.int32
    o: T.byte

# @mutable struct KeyMutable { @id(5) @key int16 a; @id(7) int32 x; @id(2) @key int32 b; @id(9) @key octet c; };
# order of the key hash is by member id: b, a, c
@A.mutable
@dataclass
class KeyMutable(IdlStruct, typename="golden.KeyMutable"):
    a: T.int16
    x: T.int32
    b: T.int32
    c: T.byte
    A.member_id("a", 5)
    A.member_id("x", 7)
    A.member_id("b", 2)
    A.member_id("c", 9)
    A.key("a")
    A.key("b")
    A.key("c")

@A.final
@dataclass
class KeyMutableKeyHolder(IdlStruct, typename="golden.KeyMutableKeyHolder"):
    b: T.int32
    a: T.int16
    c: T.byte

# @final struct KeyKinds { @key Color c; @key boolean b; @key octet arr[3]; @key char ch; int32 x; };
@A.final
@dataclass
class KeyKinds(IdlStruct, typename="golden.KeyKinds"):
    c: Color
    b: bool
    arr: T.array[T.byte, 3]
    ch: T.char
    x: T.int32
    A.key("c")
    A.key("b")
    A.key("arr")
    A.key("ch")

@A.final
@dataclass
class KeyKindsKeyHolder(IdlStruct, typename="golden.KeyKindsKeyHolder"):
    c: Color
    b: bool
    arr: T.array[T.byte, 3]
    ch: T.char

# ---------------------------------------------------------------- values

MUTABLE = dict(o=1, s=-2, i=3, l=-4, str_="five", so=[6, 7, 8], ss=[9, 10, 11], si=[12, 13], sl=[14, 15], sstr=["a", "bcd"],
               arr=[16, 17, 18], p=Point(19, 20), ap=APoint(21, 22), mp=MPoint(23, 24), c=Color.BLUE, m=Mask8(a=True, h=True),
               b=True, d=2.5)
APP = dict(a=1, s="ab", ap=APoint(2, 3), p=Point(4, 5), aw=[AWide(6, 7, 8), AWide(9, -10, 11)], l=12)

# (case, value, KeyHolder value or None)
CASES = [
    ("Primitives", Primitives(b=True, o=0xAB, i8=-2, u8=200, c="z", i16=-300, u16=60000, i32=-70000, u32=4000000000,
                              i64=-5000000000, u64=18000000000000000000, f32=1.5, f64=-2.25), None),
    ("Align", Align(1, 2, 3, 4.0, 5, 6, 7, 8, 9, 10, 11), None),
    ("Point", Point(1, -2), None),
    ("APoint", APoint(1, -2), None),
    ("AWide", AWide(1, 2, 3), None),
    ("MPoint", MPoint(1, -2), None),
    ("Strings", Strings(a="hello", pad=9, b="12345678", c="", d="h\u00e9\u20ac"), None),
    ("Enums", Enums(1, Color.BLUE), None),
    ("BoundEnums", BoundEnums(1, Small.S100, 2, Medium.M1000, 3), None),
    ("Masks", Masks(1, Mask8(a=True, h=True), 2, Mask16(a=True, j=True), 3, Mask32(r=True, z=True), 4, Mask64(a=True, p=True, q=True)), None),
    ("Arrays", Arrays(o=bytes([1, 2, 3, 4, 5]), l=[6, -7], b=[True, False, True], c=["a", "b", "c", "d"],
                      s=[[1, 2, 3], [4, 5, 6]], d=[0.5]), None),
    ("ArraysOf", ArraysOf(s=["ab", "cdef"], pad=1, p=[Point(1, 2), Point(3, 4)], ap=[APoint(5, 6), APoint(7, 8)],
                          w=[Wide(9, 10), Wide(11, 12)]), None),
    ("EnumArrays", EnumArrays(1, [Color.GREEN, Color.BLUE], 2, [Mask8(a=True), Mask8(b=True), Mask8(h=True)],
                              [[Point(1, 2), Point(3, 4)], [Point(5, 6), Point(7, 8)]]), None),
    ("Sequences", Sequences(o=[1, 2, 3], s=[4, -5, 6], i=[7, 8], l=[9, -10], b=[True, False, True], pad=11, e=[], z=[]), None),
    ("CharSequence", CharSequence(1, ["x", "y", "z"]), None),
    ("SequencesOf", SequencesOf(s=["a", "bcde"], bs=["f", "ghij"], p=[Point(1, 2), Point(3, 4)], ap=[APoint(5, 6), APoint(7, 8)],
                                ii=[[9], [], [10, 11]], w=[Wide(12, 13), Wide(14, 15)], e=[]), None),
    ("EnumSequences", EnumSequences(1, [Color.RED, Color.BLUE], [Mask8(a=True), Mask8(h=True)]), None),
    ("ArraySequence", ArraySequence(1, [[1, 2, 3], [4, 5, 6]]), None),
    ("Nested", Nested(1, Point(2, 3), 4, Wide(5, 6), 7, APoint(8, 9), 10, MPoint(11, 12), 13), None),
    ("Appendable", Appendable(**APP), None),
    ("AppendableV2", AppendableV2(more=13, last="end", **APP), None),
    ("Derived", Derived(1, 2, 3, 4), None),
    ("Tree", Tree(1, [Tree(2, []), Tree(3, [Tree(4, [])])]), None),
    ("Optionals.a", Optionals(1, 2, 3, "four", Point(5, 6), [7, 8], 9), None),
    ("Optionals.b", Optionals(1, None, None, None, None, None, 9), None),
    ("Optionals.c", Optionals(1, None, 3, None, Point(5, 6), None, 9), None),
    ("AOptionals.a", AOptionals(1, 2, APoint(3, 4), Color.BLUE, 5), None),
    ("AOptionals.b", AOptionals(1, None, None, None, 5), None),
    ("Unions", Unions(a=1, u1=IntUnion(i=-5), u2=IntUnion(discriminator=3, value="abc"), u3=IntUnion(p=Point(6, 7)), b=2,
                      cu=ColorUnion(b=8), c=3, bt=BoolUnion(t=9), bf=BoolUnion(discriminator=False, value=[10, 11]), y1=ByteUnion(l=12),
                      y2=ByteUnion(ap=APoint(13, 14)), d=4, au1=AUnion(o=15), au2=AUnion(l=16), e=5,
                      su=[IntUnion(l=17), IntUnion(i=18)]), None),
    ("UnionDefault", UnionDefault(1, IntUnion(discriminator=77, value=0.25), 2), None),
    ("Mutable.a", Mutable(op=25, os="opt", **MUTABLE), None),
    ("Mutable.b", Mutable(op=None, os=None, **MUTABLE), None),
    ("MustUnderstand", MustUnderstand(1, 2, "three"), None),
    ("HashIds", HashIds(1, 2, 3), None),
    ("MEmpty.a", MEmpty(None, None), None),
    ("MEmpty.b", MEmpty(1, "two"), None),
    ("MutableInside", MutableInside(1, MPoint(2, 3), 4, [MPoint(5, 6), MPoint(7, 8)], 9, 10), None),
    ("PrimitiveMaps", PrimitiveMaps(1, {-4: 5, 2: 3}, {6: 7, 8: 9}), None),
    ("StringMaps", StringMaps(1, {"ab": 2, "cde": 3}, {4: Point(5, 6)}), None),
    ("ShapeType", ShapeType("BLUE", 10, 20, 30), ShapeTypeKeyHolder("BLUE")),
    ("KeyInt", KeyInt(1, -2, "x"), KeyIntKeyHolder(-2)),
    ("KeyMulti", KeyMulti(1, 2, 3, 4, "x"), KeyMultiKeyHolder(1, 3, 4)),
    ("KeyBig", KeyBig(1, 2, 3, 4), KeyBigKeyHolder(1, 2, 3)),
    ("KeySmallString", KeySmallString(1, "abc"), KeySmallStringKeyHolder("abc")),
    ("KeyString12", KeyString12(1, "abc"), KeyString12KeyHolder("abc")),
    ("KeyString", KeyString(1, "abc"), KeyStringKeyHolder("abc")),
    ("KeyNested", KeyNested(1, Inner(2, 3, 4), Point(5, 6), 7), KeyNestedKeyHolder(3, 5, 6)),
    ("KeyAppendable", KeyAppendable(1, AInner(2, 3), 4), KeyAppendableKeyHolder(3, 4)),
    ("KeyMutable", KeyMutable(1, 2, 3, 4), KeyMutableKeyHolder(3, 1, 4)),
    ("KeyKinds", KeyKinds(Color.BLUE, True, bytes([1, 2, 3]), "q", 5), KeyKindsKeyHolder(Color.BLUE, True, bytes([1, 2, 3]), "q")),
]

# Cases whose KeyHolder has a maximum size over 16 octets; in XCDR1 also KeyMulti (1 + 7 + 8 + 2 = 18).
HASHED = {"ShapeType", "KeyBig", "KeyString12", "KeyString"}
HASHED_XCDR1 = {"KeyMulti"}


def main():
    print("# made by make_cdr_golden.py with cyclonedds 11.0.1; <case> <form> <endian> <hex>")
    for case, value, holder in CASES:
        for form, v2 in (("XCDR1", False), ("XCDR2", True)):
            for endian, e in (("LE", Endianness.Little), ("BE", Endianness.Big)):
                print(case, form, endian, value.serialize(endianness=e, use_version_2=v2).hex())
        if holder is None:
            continue
        for form, v2 in (("KEY_XCDR1", False), ("KEY_XCDR2", True)):
            for endian, e in (("LE", Endianness.Little), ("BE", Endianness.Big)):
                print(case, form, endian, value.serialize_key(endianness=e, use_version_2=v2).hex())
        for form, v2, hashed in (("KEYHASH", True, HASHED), ("KEYHASH_XCDR1", False, HASHED | HASHED_XCDR1)):
            raw = holder.serialize(endianness=Endianness.Big, use_version_2=v2)[4:]
            digest = md5(raw).digest() if case in hashed else raw.ljust(16, b"\0")
            assert len(digest) == 16
            print(case, form, "-", digest.hex())


if __name__ == "__main__":
    main()
