#!/usr/bin/env python3
"""An independent, spec-first CDR encoder (XTypes 1.3, 7.4.3) for the types of make_cdr_golden.py.
Writes spec.txt (same line form as golden.txt, only the lines where golden.txt differs) and prints them."""
import struct, sys
from enum import Enum
from inspect import isclass
from typing import get_args, get_origin
import make_cdr_golden as g
from cyclonedds.idl import IdlBitmask, IdlStruct, IdlUnion, types as T
from cyclonedds.idl._type_normalize import get_extended_type_hints, get_idl_annotations, get_idl_field_annotations, WrapOpt

PRIM = {T.int8: "b", T.uint8: "B", T.byte: "B", bool: "?", T.int16: "h", T.uint16: "H", T.int32: "i", T.uint32: "I", T.int64: "q",
        T.uint64: "Q", T.float32: "f", T.float64: "d"}

class Enc:
    def __init__(self, v, be):
        self.v, self.e, self.b, self.org = v, ">" if be else "<", bytearray(), 0
    def align(self, n):
        n = min(n, 4 if self.v == 2 else 8)
        while (len(self.b) - self.org) % n: self.b.append(0)
    def put(self, code, x):
        s = struct.pack(self.e + code, x); self.align(len(s)); self.b += s
    def patch(self, at, x): self.b[at:at + 4] = struct.pack(self.e + "I", x)

def enum_code(t):
    bb = get_idl_annotations(t).get("bit_bound", 32)
    return "b" if bb <= 8 else "h" if bb <= 16 else "i"
def mask_code(t):
    bb = get_idl_annotations(t)["bit_bound"]
    return "B" if bb <= 8 else "H" if bb <= 16 else "I" if bb <= 32 else "Q"
def primitive(t): return t in PRIM or t == T.char
def elem(t):
    while isinstance(t, T.array): t = t.subtype
    return t
def ext(t): return get_idl_annotations(t).get("extensibility", "final")

def value(e, t, x, key=False):
    """key: False whole, 'in' the object's key members (its own, or all if it has none)"""
    if t in PRIM: e.put(PRIM[t], x)
    elif t == T.char: e.put("B", ord(x))
    elif t is str or isinstance(t, T.bounded_str):
        s = x.encode() + b"\0"; e.put("I", len(s)); e.b += s
    elif isclass(t) and issubclass(t, Enum): e.put(enum_code(t), x.value)
    elif isclass(t) and issubclass(t, IdlBitmask): e.put(mask_code(t), x.as_mask())
    elif isinstance(t, (T.array, T.sequence)):
        inner = elem(t.subtype) if isinstance(t, T.array) else t.subtype
        dh = e.v == 2 and not primitive(inner)
        if dh: e.put("I", 0); at = len(e.b)
        if isinstance(t, T.sequence): e.put("I", len(x))
        flat(e, t.subtype, x, key, isinstance(t, T.array))
        if dh: e.patch(at - 4, len(e.b) - at)
    elif get_origin(t) is dict:
        k, w = get_args(t)
        dh = e.v == 2 and not (primitive(k) and primitive(w))
        if dh: e.put("I", 0); at = len(e.b)
        e.put("I", len(x))
        for a, b in x.items(): value(e, k, a); value(e, w, b)
        if dh: e.patch(at - 4, len(e.b) - at)
    elif issubclass(t, IdlUnion): union(e, t, x)
    elif issubclass(t, IdlStruct): struct_(e, t, x, key)
    else: raise TypeError(t)

def flat(e, sub, xs, key, arr):
    for x in xs:
        if arr and isinstance(sub, T.array): flat(e, sub.subtype, x, key, True)
        else: value(e, sub, x, key)

def union(e, t, x):
    dh = e.v == 2 and ext(t) == "appendable"
    if dh: e.put("I", 0); at = len(e.b)
    d, v = x.get()
    value(e, t.__idl_discriminator__, d)
    case = t.__idl_cases__.get(d) or t.__idl_default__
    if case:
        hints = get_extended_type_hints(t)
        value(e, hints[case[0]].subtype, v)
    if dh: e.patch(at - 4, len(e.b) - at)

def lc(e, t):
    if t in PRIM: return {1: 0, 2: 1, 4: 2, 8: 3}[struct.calcsize("<" + PRIM[t])]
    if t == T.char: return 0
    if isclass(t) and issubclass(t, Enum): return {"b": 0, "h": 1, "i": 2}[enum_code(t)]
    if isclass(t) and issubclass(t, IdlBitmask): return {"B": 0, "H": 1, "I": 2, "Q": 3}[mask_code(t)]
    if t is str or isinstance(t, T.bounded_str): return 5
    if isinstance(t, T.sequence):
        if not primitive(t.subtype): return 5
        return {0: 5, 1: 4, 2: 6, 3: 7}[lc(e, t.subtype)]
    if isinstance(t, T.array): return 4 if primitive(elem(t)) else 5
    return 4

def struct_(e, t, x, key=False):
    hints, fa = get_extended_type_hints(t), get_idl_field_annotations(t)
    t.__idl__.populate()
    keys = [n for n in hints if fa.get(n, {}).get("key")]
    names = list(hints)
    if key == "in": names = keys or names
    mut = ext(t) == "mutable"
    dh = e.v == 2 and ext(t) != "final"
    if dh: e.put("I", 0); at = len(e.b)
    for n in names:
        ft, v, mid = hints[n], getattr(x, n), t.__idl__.get_member_id(n)
        mu = bool(fa.get(n, {}).get("must_understand")) or n in keys
        opt = isinstance(ft, WrapOpt)
        if opt: ft = ft.inner
        sub = "in" if key == "in" else False
        if mut and opt and v is None: continue
        if e.v == 1 and (mut or opt):
            body = Enc(1, e.e == ">")
            if v is not None: value(body, ft, v, sub)
            e.align(4)
            if mid <= 0x3f00 and len(body.b) <= 65535:
                e.put("H", mid | (0x4000 if mu else 0)); e.put("H", len(body.b))
            else:
                e.put("H", 0x7f01); e.put("H", 8); e.put("I", mid | (0x40000000 if mu else 0)); e.put("I", len(body.b))
            e.b += body.b
        elif e.v == 2 and mut:
            c = lc(e, ft)
            e.put("I", (mu << 31) | (c << 28) | mid)
            if c == 4: e.put("I", 0)
            p = len(e.b)
            value(e, ft, v, sub)
            if c == 4: e.patch(p - 4, len(e.b) - p)
        elif opt:
            e.put("?", v is not None)
            if v is not None: value(e, ft, v, sub)
        else:
            value(e, ft, v, sub)
    if dh: e.patch(at - 4, len(e.b) - at)
    if mut and e.v == 1: e.align(4); e.put("H", 0x7f02); e.put("H", 0)

def encode(x, v, be, key):
    t = type(x); e = Enc(v, be)
    struct_(e, t, x, "in" if key else False)
    ids = {("final", 1): 0, ("appendable", 1): 0, ("mutable", 1): 2, ("final", 2): 6, ("appendable", 2): 8, ("mutable", 2): 10}
    return bytes([0, ids[ext(t), v] + (0 if be else 1), 0, 0]) + bytes(e.b)

golden = {}
for line in open("golden.txt"):
    if not line.startswith("#"):
        c, f, e, h = line.split(); golden[c, f, e] = h
out, same = [], 0
for case, x, holder in g.CASES:
    for key in ([False, True] if holder else [False]):
        for v in (1, 2):
            for e in ("LE", "BE"):
                f = ("KEY_" if key else "") + "XCDR%d" % v
                h = encode(x, v, e == "BE", key).hex()
                if golden[case, f, e] == h: same += 1
                else: out.append((case, f, e, h))
open("spec.txt", "w").writelines(" ".join(o) + "\n" for o in out)
print("same", same, "different", len(out))
for c, f, e, h in out:
    if e == "LE": print(c, f, "\n  cyclone", golden[c, f, e], "\n  spec   ", h)
