#!/bin/sh
# Starts a process of the contender: see Roles.java. The first compiler of the Java machine alone: in a round of seconds, and on two
# cores, the second one takes more time than it gains.
folder=$(dirname "$(readlink -f "$0")")
exec java -XX:TieredStopAtLevel=1 -Djava.library.path="$folder/lib/linux-x86_64" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$folder/target/classes:$folder/lib/*" floe.lab.Main "$@"
