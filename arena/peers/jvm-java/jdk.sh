#!/bin/sh
# Runs a tool of the newest JDK of this machine, if that has virtual threads (21 or later).
#   jdk.sh version          its version
#   jdk.sh java|javac ARGS  the tool, in place of this shell
# Looked at: JAVA_HOME, the javac on PATH, /usr/lib/jvm/*. peer.toml looks in the same way.
least=21

on_path=$(command -v javac) && on_path=$(readlink -f "$on_path")
newest=$(
    for home in "$JAVA_HOME" "${on_path%/bin/javac}" /usr/lib/jvm/*; do
        if [ -x "$home/bin/javac" ] && [ -r "$home/release" ]; then
            sed -n "s|^JAVA_VERSION=\"\([0-9.]*\).*|\1 $home|p" "$home/release"
        fi
    done | sort -V | tail -n 1
)
version=${newest%% *}
home=${newest#* }
if [ "${version%%.*}" -lt $least ] 2>/dev/null || [ -z "$version" ]; then
    echo "no JDK $least or later in JAVA_HOME, on PATH or in /usr/lib/jvm; the newest is ${version:-none}" >&2
    exit 1
fi

case $1 in
version)
    echo "$version"
    ;;
java | javac)
    tool=$1
    shift
    # What these hold would change the measurement without being seen in the manifest.
    unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS
    exec "$home/bin/$tool" "$@"
    ;;
*)
    echo "jdk.sh version | java ARGS | javac ARGS" >&2
    exit 2
    ;;
esac
