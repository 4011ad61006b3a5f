#!/bin/sh
# Starts a process of the contender: see Main.java. Twenty subscribers share the cores, so that each gets a small machine.
case "$1" in
service) options="" ;;
*) options="-Xmx256m -XX:+UseSerialGC" ;;
esac
folder=$(dirname "$(readlink -f "$0")")
# shellcheck disable=SC2086
exec java $options -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$folder/target/classes:$folder/lib/*" floe.lab.Main "$@"
