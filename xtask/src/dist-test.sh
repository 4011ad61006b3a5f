#!/bin/sh
# Installs the Debian package that is named, starts the hub as its unit does, publishes an event, and removes all again.
# Needs root. The hub gets a network of its own, so that its port is free. Without systemd, the command of the unit is
# started with a socket for its notifications, as systemd would.
set -eu
package=$1
network=floe-dist-$$
state=$(mktemp -d)
hub=

fail() {
    echo "error: $*" >&2
    exit 1
}

finish() {
    status=$?
    [ -z "$hub" ] || kill "$hub" 2>/dev/null || true
    ip netns delete "$network" 2>/dev/null || true
    dpkg --purge floe >/dev/null 2>&1 || true
    rm -rf "$state"
    exit $status
}
trap finish EXIT
trap 'exit 1' INT TERM

[ "$(id -u)" = 0 ] || fail "installing a package needs root"
dpkg --install "$package"
unit=/lib/systemd/system/floe.service
[ -f "$unit" ] || unit=/usr/lib/systemd/system/floe.service
[ -f /etc/floe/floe.toml ] || fail "the package has no /etc/floe/floe.toml"
[ -n "$(find /usr/share/man/man1 -name 'floe-serve.1*')" ] || fail "the package has no manual pages"
[ -f /usr/share/bash-completion/completions/floe ] || fail "the package has no completions"

exposure=$(systemd-analyze security --offline=yes "$unit" --no-pager 2>/dev/null | sed -n 's/.*exposure level.*: \([0-9.]*\).*/\1/p')
echo "exposure of the unit: $exposure"
awk "BEGIN { exit !($exposure < 2.0) }" || fail "expected an exposure below 2.0, got $exposure"

ip netns add "$network"
ip -n "$network" link set lo up
within="ip netns exec $network"

start=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|/var/lib/floe|$state/data|")
cat >"$state/notified.py" <<'PYTHON'
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
listener.settimeout(60)
print("listening", flush=True)
print(listener.recv(4096).decode(), flush=True)
PYTHON
python3 "$state/notified.py" "$state/notify" >"$state/notified" &
notified=$!
while ! grep -q listening "$state/notified"; do kill -0 "$notified" || fail "nobody listens for notifications"; done
NOTIFY_SOCKET="$state/notify" $within $start 2>"$state/log" &
hub=$!
wait "$notified" || { cat "$state/log"; fail "the hub has not said that it is ready"; }
grep -q '^READY=1$' "$state/notified" || fail "expected READY=1, got $(cat "$state/notified")"

cat >"$state/News.ice" <<'SLICE'
module Demo { interface News { void headline(string text); } }
SLICE
$within floe topic create news
$within floe pub news headline '["it is installed"]' --slice "$state/News.ice"
published=$($within floe topic info news -o json | sed 's/.*"published":\([0-9]*\).*/\1/')
[ "$published" = 1 ] || fail "expected 1 published event, got $published"
$within floe status --exit-code

kill -TERM "$hub"
wait "$hub" || fail "the hub has not ended with 0"
hub=
echo "the package works"
