#!/bin/sh
# Starts a process of the contender: see Main.java. Twenty subscribers share the cores, so that each gets a small machine. The first
# compiler of the Java machine alone: in a round of a fifth of a second, the second one takes more time than it gains.
case "$1" in
service) options="" ;;
*) options="-Xmx256m -XX:+UseSerialGC" ;;
esac
folder=$(dirname "$(readlink -f "$0")")
# shellcheck disable=SC2086
exec java $options -XX:TieredStopAtLevel=1 --add-opens java.base/java.lang=ALL-UNNAMED -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.apache.cxf.Logger=org.apache.cxf.common.logging.Slf4jLogger -cp "$folder/target/classes:$folder/lib/*" floe.lab.Main "$@"
