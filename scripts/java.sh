#!/bin/sh
# Make sure that there is a Java 17 or newer for Spark: use the one here, install Debian's package
# where this user may, or say exactly what to do.
set -eu

major() {
    "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

# Spark looks nowhere else when JAVA_HOME is set.
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if command -v "$java" >/dev/null 2>&1; then
    version=$(major "$java")
    [ "${version:-0}" -ge 17 ] && exit 0
fi
if [ -n "${JAVA_HOME:-}" ]; then
    echo "JAVA_HOME is $JAVA_HOME, which has no Java 17 or newer: correct it or unset it" >&2
    exit 1
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Java 17 (Debian package openjdk-17-jre-headless)"
    apt-get -qq update && apt-get -qq install -y openjdk-17-jre-headless >/dev/null
    exit 0
fi

cat >&2 <<'END'
Spark needs Java 17 or newer, and none was found. On Debian or Ubuntu:
    sudo apt-get update && sudo apt-get install -y openjdk-17-jre-headless
Elsewhere install any Java 17 and set JAVA_HOME to its folder, then run make again.
END
exit 1
