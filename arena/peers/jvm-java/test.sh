#!/bin/sh
# Every cell at odd sizes, and the protocol by hand. Needs no network and leaves nothing behind.
set -e
cd "$(dirname "$0")"
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
sh jdk.sh javac --release 21 -Xlint:all -Werror -d "$classes" -sourcepath src:test:../shared/java test/arena/PeerTest.java
sh jdk.sh java -cp "$classes" arena.PeerTest
