#!/bin/bash
# run.sh build | modes | others | samehost | need SECS | conform SECS | babble RATE_MBIT | cost : each builds its own network and removes it again.
# Needs root, openvswitch-switch clang libbpf-dev bpftool ethtool iproute2 nftables tcpdump gcc rustc.
set -u
cd "$(dirname "$0")"
X=$$ D=/tmp/gate.$$ SW=gsw$$ H1=gha$$ H2=ghb$$ RX=grx$$ JOBS=()
MODE=${MODE:-generic} RATE=${RATE:-100} RTH=${RTH-50}
sw() { ip netns exec $SW "$@"; }
cleanup() {
  trap - EXIT INT TERM
  for j in ${JOBS[@]+"${JOBS[@]}"}; do kill $j 2>/dev/null; done
  for n in $SW $H1 $H2 $RX; do for p in $(ip netns pids $n 2>/dev/null); do kill $p 2>/dev/null; done; done
  for p in vswitchd ovsdb; do [ -s $D/$p.pid ] && kill "$(cat $D/$p.pid)" 2>/dev/null; done
  sleep 0.6
  for n in $SW $H1 $H2 $RX; do ip netns del $n 2>/dev/null; done
  [ "${KEEP:-}" ] || rm -rf $D
}
trap cleanup EXIT; trap 'exit 130' INT TERM

build() {
  clang -O2 -g -target bpf -I/usr/include/$(uname -m)-linux-gnu -Wall -c gate.bpf.c -o gate.bpf.o && llvm-strip -g gate.bpf.o &&
  gcc -O2 -Wall -o gatectl gatectl.c -lbpf && gcc -O2 -Wall -o traffic traffic.c && rustc -O --edition 2021 check.rs -o check
}
host() { # NS PORT_NAME NUMBER
  ip netns add $1; ip -n $1 link set lo up
  ip link add $2 netns $SW type veth peer name eth0 netns $1
  ip -n $SW link set $2 up; ip -n $1 link set eth0 address 02:00:00:00:01:0$3 up
  ip -n $1 addr add 10.1.0.$3/24 dev eth0
  for i in 1 2 3; do [ $i = $3 ] || ip -n $1 neigh add 10.1.0.$i lladdr 02:00:00:00:01:0$i dev eth0; done
  ip netns exec $1 sysctl -qw net.ipv6.conf.all.disable_ipv6=1
  ip netns exec $1 ethtool -K eth0 tx off >/dev/null
  ovs-vsctl --db=unix:$D/db.sock add-port br0 $2 -- set interface $2 ofport_request=$3
}
net() {
  mkdir -p $D; ip netns add $SW; ip -n $SW link set lo up
  ovsdb-tool create $D/conf.db /usr/share/openvswitch/vswitch.ovsschema
  export OVS_RUNDIR=$D OVS_LOGDIR=$D OVS_DBDIR=$D OVS_SYSCONFDIR=$D
  sw ovsdb-server $D/conf.db --remote=punix:$D/db.sock --unixctl=$D/ovsdb.ctl --pidfile=$D/ovsdb.pid --log-file=$D/ovsdb.log --no-chdir --detach -vconsole:off
  ovs-vsctl --db=unix:$D/db.sock --no-wait init
  sw ovs-vswitchd unix:$D/db.sock --unixctl=$D/vswitchd.ctl --pidfile=$D/vswitchd.pid --log-file=$D/vswitchd.log --no-chdir --detach --disable-system -vconsole:off
  ovs-vsctl --db=unix:$D/db.sock add-br br0 -- set bridge br0 datapath_type=netdev protocols=OpenFlow13 fail_mode=standalone other_config:hwaddr=02:00:00:00:00:0a
  host $H1 h1-p 1; host $H2 h2-p 2; host $RX r-p 3
  ovs-ofctl -O OpenFlow13 add-flow unix:$D/br0.mgmt priority=10,udp,in_port=1,actions=output:3
  ovs-ofctl -O OpenFlow13 add-flow unix:$D/br0.mgmt priority=10,udp,in_port=2,actions=output:3
  chrt -a -f -p 40 $(cat $D/vswitchd.pid)
  local t="tc -n $SW" o="overhead 24 mpu 84"
  $t qdisc add dev r-p root handle 1: htb default 3
  $t class add dev r-p parent 1: classid 1:fffe htb rate ${RATE}mbit burst 1600 cburst 1600 quantum 1600 $o
  for c in 1:0 2:3 3:7; do
    $t class add dev r-p parent 1:fffe classid 1:${c%:*} htb rate 8kbit ceil ${RATE}mbit prio ${c#*:} burst 100 cburst 1600 quantum 1600 $o
    $t qdisc add dev r-p parent 1:${c%:*} handle 1${c%:*}: pfifo_head_drop limit $([ ${c%:*} = 1 ] && echo 60 || echo 12)
  done
  $t filter add dev r-p parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1
  $t filter add dev r-p parent 1: protocol ip prio 1 u32 match ip dsfield 0x68 0xfc flowid 1:2
  ip netns exec $H1 ping -c2 -i0.2 -q 10.1.0.3 >/dev/null && ip netns exec $H2 ping -c2 -i0.2 -q 10.1.0.3 >/dev/null || { echo "no ping"; exit 1; }
}
gate() { # SECS LOG|- CONTRACT...
  local secs=$1 log=$2; shift 2; rm -f $D/gate.out
  sw ./gatectl gate.bpf.o ${PROG:-gate} $MODE $secs $log ${PORTS:-h1-p,h2-p,r-p} "$@" > $D/gate.out & GATE=$!; JOBS+=($GATE)
  for i in $(seq 100); do grep -q ready $D/gate.out 2>/dev/null && return; sleep 0.05; done
  echo "gate did not start"; exit 1
}
ungate() { sleep 0.3; kill -TERM $(pgrep -P $GATE || echo $GATE) 2>/dev/null; wait $GATE 2>/dev/null; grep -v ready $D/gate.out; }
send() { local n=$1; shift; RT=$RTH ip netns exec $n timeout 500 ./traffic send 10.1.0.3 "$@"; }
recv() { RT=$RTH ip netns exec $RX timeout 600 ./traffic recv "$@" & JOBS+=($!); RECV+=($!); }
leaf() { tc -n $SW -s qdisc show dev r-p | grep -A1 'parent 1:1 ' | sed -n 's/ Sent/port class 1: sent/p'; }
wire() { echo $(($1 * (${2} + 66 < 84 ? 84 : $2 + 66))); } # K LEN -> wire bytes of the message
seen() { sleep 1.3; ovs-ofctl -O OpenFlow13 dump-flows unix:$D/br0.mgmt in_port=1 | sed -n 's/.*n_packets=\([0-9]*\).*/\1/p'; }

modes() { # who still sees a frame that was dropped here?
  net
  local a b
  for how in none "xdp native" "xdp generic" "tc ingress" "nft ingress"; do
    case $how in
      xdp*) PROG=drop_all MODE=${how#xdp } PORTS=h1-p gate 20 - ;;
      tc*) tc -n $SW qdisc add dev h1-p clsact; tc -n $SW filter add dev h1-p ingress bpf da obj gate.bpf.o sec classifier ;;
      nft*) tc -n $SW qdisc del dev h1-p clsact; sw nft 'add table netdev g; add chain netdev g c { type filter hook ingress device "h1-p" priority 0; policy drop; }; add rule netdev g c counter' ;;
    esac
    a=$(seen); RECV=(); recv 7001 2.5 -; sleep 0.3; send $H1 7001 6001 46 grid 1000 1 100 1000 >/dev/null; wait ${RECV[0]}; b=$(seen)
    echo "$how: frames sent 1000, seen by the switch process $((b - a))"
    case $how in xdp*) ungate ;; tc*) tc -n $SW -s filter show dev h1-p ingress | head -2 ;; nft*) sw nft list ruleset | grep counter ;; esac
  done
  sw nft delete table netdev g
  echo "--- super-frames: 20 sends of 14000 bytes with segmentation offload asked for by the sender; longest frame on the switch side"
  for how in none native generic; do for tx in off on; do
    ip netns exec $H1 ethtool -K eth0 tx $tx gso $tx tx-udp-segmentation $tx >/dev/null 2>&1
    [ $how = none ] || MODE=$how PORTS=h1-p gate 20 -
    sw timeout 3 tcpdump -c 20 -nn -e -i h1-p udp port 7002 2>/dev/null > $D/cap & sleep 0.7
    ip netns exec $H1 /usr/bin/python3 -c "
import socket
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.setsockopt(17,103,1400); [s.sendto(bytes(14000),('10.1.0.3',7002)) for i in range(20)]"
    wait %tcpdump 2>/dev/null; sleep 2.5
    echo "gate $how, host asks tx/gso $tx (is: $(ip netns exec $H1 ethtool -k eth0 | grep -E '^(tx-checksumming|generic-segmentation|tx-udp-seg)' | sed 's/.*: //' | tr '\n' ' ')): longest $(sed -n 's/.*length \([0-9]*\): 10.*/\1/p' $D/cap | sort -n | tail -1)"
    [ $how = none ] || ungate | grep others
  done; done
}

# flow list: HOST SPORT K LEN T_US ; destination port is SPORT+1000
FLOWS=("$H1 6011 1 200 1000" "$H1 6013 3 200 1000" "$H2 6018 8 200 1000" "$H2 6051 1 1000 5000" "$H1 6053 3 1000 5000" "$H2 6058 8 1000 5000" "$H1 6201 1 1400 20000" "$H2 6203 3 1400 20000" "$H1 6208 8 1400 20000")
conforming() { # SECS PATTERN J_US W_US WHAT
  local secs=$1 pat=$2 c=() n=() l=() i=0 P=()
  RECV=()
  for f in "${FLOWS[@]}"; do set -- "$@" ; read h sp k len t <<<"$f"
    local pn=h1-p a=10.1.0.1; [ $h = $H2 ] && pn=h2-p a=10.1.0.2
    c+=("$pn:$a:$sp:10.1.0.3:$((sp + 1000)):$(wire $k $len):$t:$3:$4:184"); n+=("$i:$t""000")
    l+=("$i:$(wire $k $len):$t""000:$(($3 * 1000)):$(($4 * 1000))"); i=$((i + 1))
  done
  gate $((secs + 30)) $D/log "${c[@]}"
  for f in "${FLOWS[@]}"; do read h sp k len t <<<"$f"; recv $((sp + 1000)) $((secs + secs / 8 + 3)) - ; done
  sleep 0.5
  for f in "${FLOWS[@]}"; do read h sp k len t <<<"$f"; send $h $((sp + 1000)) $sp 46 $pat $t $k $len $((secs * 1000000 / t)) & JOBS+=($!); P+=($!); done
  wait "${P[@]}" "${RECV[@]}"; ungate; leaf
  [ $5 = need ] && ./check need $D/log "${n[@]}"
  ./check log $D/log "${l[@]}"
}

others() { # what has no contract: forged class, fragments, tagged frames; then one flow from two cores at once
  net; MODE=$MODE PORTS=h1-p gate 60 - h1-p:10.1.0.1:6001:10.1.0.3:7001:1000:5000:300:600:184
  class() { tc -n $SW -s class show dev r-p | grep -A1 "htb 1:$1 " | sed -n 's/.* \([0-9]*\) pkt.*/\1/p'; }
  local c1=$(class 1) c3=$(class 3)
  RECV=(); recv 7001 2 -; sleep 0.3; send $H1 7001 6009 46 grid 1000 1 100 500; wait ${RECV[0]}
  echo "500 frames with DSCP 46 and no contract: port class 1 $(($(class 1) - c1)), class 3 $(($(class 3) - c3))"
  ip netns exec $H1 /usr/bin/python3 -c "
import socket
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('10.1.0.1',6001)); [s.sendto(bytes(4000),('10.1.0.3',7001)) for i in range(100)]"
  ip netns exec $H1 /usr/bin/python3 -c "
import socket
s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW); s.bind(('eth0',0)); [s.send(bytes.fromhex('020000000103020000000101'+'8100a0000800')+bytes(60)) for i in range(50)]"
  echo "100 datagrams of 4000 bytes in the contract's flow, in three IP fragments each; 50 priority-tagged frames:"; ungate | grep others
  for m in native generic; do
    MODE=$m PORTS=h1-p gate 60 $D/log h1-p:10.1.0.1:6001:10.1.0.3:7001:1000:5000:300:600:184
    for cpu in 0 1; do taskset -c $cpu ip netns exec $H1 timeout 60 ./traffic send 10.1.0.3 7001 6001 46 sep 0 16 200 12500 & JOBS+=($!); P[$cpu]=$!; done
    wait ${P[0]} ${P[1]}; ungate | grep -v others; echo "two cores, $m:"; ./check log $D/log 0:1000:5e6:300000:600000
  done
}

samehost() { # a conforming flow and a flood on one host, one flow each; does the conforming one lose frames before, in or after the gate?
  net; local m=$(wire 3 200)
  for M in native generic; do
    MODE=$M; RECV=(); gate 60 $D/log h1-p:10.1.0.1:6001:10.1.0.3:7001:$m:1000:300:600:184 h1-p:10.1.0.1:6002:10.1.0.3:7002:$(wire 4 1200):5000:300:600:184
    recv 7001 13 -; sleep 0.4; send $H1 7001 6001 46 sep 1000 3 200 10000 & S=$!; JOBS+=($S)
    timeout 10 ip netns exec $H1 ./traffic send 10.1.0.3 7002 6002 46 sep 0 64 1200 100000000
    wait $S ${RECV[0]}; echo "== $M"; ungate; ./check log $D/log 0:$m:1e6:3e5:6e5 1:$(wire 4 1200):5e6:3e5:6e5
    ip -n $SW -s link show h1-p | sed -n 3,6p; sw ethtool -S h1-p | grep -E 'drop|xdp' | tr -s ' ' | tr '\n' ';'; echo
  done
}

babble() { # victim and babbler in the same class of a port; M = 4 frames, T = 5 ms
  net
  local M=$(wire 4 1200) T=5000 J=${J:-300} W=${W:-600} secs=8 vm=$(wire 1 64)
  local v="h2-p:10.1.0.2:6001:10.1.0.3:7001:$vm:1000:$J:$W:184" b="h1-p:10.1.0.1:6002:10.1.0.3:7002:$M:$T:$J:$W:184"
  one() { # NAME GATE? PATTERN T K MSGS [extra]
    local name=$1 gated=$2 pat=$3 t=$4 k=$5 n=$6; shift 6; [[ "$name" =~ ${ONLY:-.} ]] || return
    RECV=(); [ $gated = gate ] && gate 30 $D/log "$v" "$b" ${LIMIT:-}
    recv 7001 $((secs + 1)) -; recv 7002 $((secs + 1)) $D/rx; sleep 0.4
    echo "== $name, $gated"
    send $H2 7001 6001 46 sep 1000 1 64 $(((secs - 1) * 1000)) > $D/v & local vp=$!
    [ $pat = none ] || { timeout -s INT $((secs - 1)) ip netns exec $H1 ./traffic send 10.1.0.3 7002 ${SP:-6002} 46 $pat $t $k ${LEN:-1200} $n "$@" > $D/b; cat $D/b; }
    wait $vp; wait "${RECV[@]}"; leaf
    if [ $gated = gate ]; then ungate; ./check log $D/log 0:$vm:1e6:$((J * 1000)):$((W * 1000)) 1:$M:$T"000":$((J * 1000)):$((W * 1000)); fi
  }
  local pps=$((RATE * 1500 / 1266 * 125)); local us; us=$(awk "BEGIN{print 4*1266*8/($RATE*1.5)}")
  one "no babbler" open none 0 0 0
  one "no babbler" gate none 0 0 0
  for g in open gate; do
    one "flood 1.5 x port" $g grid $us 4 $(awk "BEGIN{print int(7e6/$us)}")
    one "random bursts" $g burst 2000 6 2000
    one "message of 3 M" $g grid $T 12 1300
    one "two messages back to back" $g pair $T 4 2600
  done
  one "each T - 400 us (early)" gate grid 4600 4 1450
  one "each T - 100 us (inside the tolerance once)" gate grid 4900 4 1400
  one "spread: 4 frames 300 us apart, two each 5 ms" gate pair $T 4 2400 300
  one "as fast as the host can" gate sep 0 16 40000
  LIMIT=h1-p@20000:32 SP=6009 LEN=64 one "no contract, 64 B, as fast as the host can, at most 20000 frames/s" gate sep 0 64 1000000
  for g in open gate; do SP=6009 LEN=64 one "no contract, 64 B, as fast as the host can" $g sep 0 64 1000000; done
  LIMIT=h1-p@5000:32 SP=6009 LEN=64 one "no contract, 64 B, as fast as the host can, at most 5000 frames/s" gate sep 0 64 1000000
  one "conforming, ordinary priority${GSO:+, one call per message}" gate sep $T 4 1300
}

case ${1:-} in
  build) build ;;
  modes) modes ;;
  need) net; for p in ${PAT:-sep grid}; do echo "== $p"; conforming ${2:-20} $p 900000 900000 need 2>&1; done ;;
  conform) net; conforming ${2:-100} ${PAT:-sep} ${J:-300} ${W:-600} conform ;;
  others) others ;;
  samehost) samehost ;;
  babble) RATE=${2:-100}; babble ;;
  cost) net; v=h1-p:10.1.0.1:6001:10.1.0.3:7001:100000:1000:0:500:184
    for MODE in native generic; do for log in - $D/log; do echo "== $MODE, log $log"; gate 30 $log $v; send $H1 7001 6001 46 sep 0 8 200 20000; ungate; done; done ;;
  *) sed -n 2,3p "$0"; exit 2 ;;
esac
