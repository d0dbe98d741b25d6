#!/bin/sh
# java.sh ARGS: the java of the newest JDK of this machine, in place of this shell. Looked at: JAVA_HOME, the java on PATH,
# /usr/lib/jvm/*.
on_path=$(readlink -f "$(command -v java)")
home=$(
    for home in "$JAVA_HOME" "${on_path%/bin/java}" /usr/lib/jvm/*; do
        if [ -x "$home/bin/java" ] && [ -r "$home/release" ]; then
            sed -n "s|^JAVA_VERSION=\"\([0-9.]*\).*|\1 $home|p" "$home/release"
        fi
    done | sort -V | tail -n 1
)
# What these hold would change the measurement without being seen in the manifest.
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS
exec "${home#* }/bin/java" "$@"
