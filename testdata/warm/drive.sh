# Runs each line of the file `lines` here, in a folder `work/N` of its own, and keeps what it wrote and its status.
# The shell's own commands of these names are off, so that the programs are started.
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
