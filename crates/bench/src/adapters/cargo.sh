# Builds the benchmarks of a Rust package or workspace. Sets messages, which cargo prints for each program, and tab.
# Defines below, which prints the directory of a package with a slash at its end, relative to the current directory.
if [ -n "${STEADY_REVISION-}" ]; then
    # Another directory, which the environment or a configuration may name, would be that of both revisions.
    CARGO_TARGET_DIR=$PWD/target
    export CARGO_TARGET_DIR
fi
if [ -n "${STEADY_LAYOUT-}" ]; then
    # Cargo does not know that the number changes: it links programs that are missing. The linker is always this script,
    # because another one would have everything compiled again.
    mkdir -p .steady-bench || exit
    printf '%s\n' '#!/bin/sh' 'exec cc "$@" "-Wl,--shuffle-sections=.text*=$STEADY_LAYOUT"' >.steady-bench/linker
    chmod +x .steady-bench/linker
    host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
    export "CARGO_TARGET_${host}_LINKER=$PWD/.steady-bench/linker"
    [ ! -d target ] || find target -path '*/deps/*' -type f -perm -u+x ! -name '*.so' -exec rm -f {} +
fi
messages=$(cargo bench --no-run --message-format=json-render-diagnostics {args}) || exit
tab=$(printf '\t') root=$(pwd -P)
below() {
    above=$root up=
    while [ "$1" != "$above" ] && [ -n "$above" ] && [ "${1#"$above"/}" = "$1" ]; do
        above=${above%/*} up=../$up
    done
    rest=${1#"$above"}
    rest=${rest#/}
    printf '%s' "$up${rest:+$rest/}"
}
