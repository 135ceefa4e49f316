# Runs each line of the file `lines` in its own folder `work/N`, and stores its output and exit status.
# These builtins of the shell are disabled, so that the programs of these names are started.
root=$PWD
n=0
while IFS= read -r line <&9; do
    n=$((n + 1))
    cd "$root/work/$n" || exit 99
    (
        exec 9<&-
        unset root n
        enable -n echo printf test [ true false pwd
        eval "$line"
    ) > "$root/out/$n" 2> "$root/err/$n" < /dev/null
    echo $? > "$root/status/$n"
    [ ! -e "$root/log" ] || mv "$root/log" "$root/log-$n"
done 9< lines
