# Creates the files that the command lines in testdata/warm read, in the current folder. They are the same each time.
set -eu
export LC_ALL=C TZ=UTC0
umask 022

seq 1 400 | sed 's/$/ the quick brown fox/; s/^\(.*[37]\) the/\1 a/' > lines.txt
seq 1 200 | while read -r n; do echo "$(( n * 7919 % 211 )) item$(( n % 17 )) $(( n * n % 101 ))"; done > numbers.txt
printf '%s\n' pear apple Apple fig 'Zebra crossing' apple cherry fig date banana 10 9 2 > words.txt
sort words.txt > sorted.txt
printf 'Grüße aus Köln\nžluťoučký kůň\n日本語のテキスト\nκαλημέρα κόσμε\nnaïve café\nÄpfel, Birnen\n' > utf8.txt
printf 'Gr\374\337e aus K\366ln\nna\357ve caf\351\n' > latin1.txt
{ i=0; while [ $i -lt 256 ]; do printf '%b' "\\0$(printf %03o $i)"; i=$((i+1)); done; } > bytes.bin
cat bytes.bin bytes.bin bytes.bin bytes.bin bytes.bin bytes.bin bytes.bin bytes.bin > binary.bin
printf 'alpha\nbeta\ngamma\ndelta\nepsilon\n' > old.txt
printf 'alpha\nBETA\ngamma\nzeta\ndelta\nepsilon\n' > new.txt
printf 'alpha\nbeta\ngamma\ndelta\nepsilon\nomega\n' > third.txt
printf 'name\tage\tcity\nann\t31\tParis\nbob\t25\tRome\ncid\t47\tOslo\n' > table.tsv
printf 'a b\nb c\nc d\na d\n' > edges.txt
printf '\thead\n\t\tone\n        two\n' > tabs.txt
printf '{"b": [1, 2.5, null], "a": {"x": "\\u00fc"}}\n' > data.json
printf 'int main(void) { return 0; }\n' > main.c
printf '#!/bin/sh\necho "plain: $0 $# $*"\n' > plain.sh
printf '#!/bin/sh -e\necho "with: $-" | tr -d "[:upper:]"\nfalse\necho not reached\n' > argument.sh
printf '#!/usr/bin/env perl\nprint "env perl: @ARGV\\n";\n' > env.pl
printf '#! /usr/bin/awk -f\nBEGIN { print "awk", ARGC, ARGV[1] }\n' > script.awk
printf 'echo no interpreter: $#\n' > bare.sh
chmod +x plain.sh argument.sh env.pl script.awk bare.sh
mkdir -p tree/sub/deep tree/empty
cp words.txt tree/a.txt
cp old.txt tree/sub/b.txt
cp new.txt 'tree/sub/c d.txt'
cp binary.bin tree/sub/deep/e.bin
ln -s ../a.txt tree/sub/link
ln -s nowhere tree/dangling
cat lines.txt numbers.txt lines.txt numbers.txt lines.txt numbers.txt > big.txt

git init -q -b main repository
git -C repository config user.name Someone
git -C repository config user.email someone@example.org
git -C repository config gc.auto 0
for n in 1 2 3 4; do
    head -n $((n * 40)) lines.txt > repository/file.txt
    sed "s/item1/thing$n/" numbers.txt > repository/data.txt
    git -C repository add -A
    GIT_AUTHOR_DATE="@170000000$n +0000" GIT_COMMITTER_DATE="@170000000$n +0000" \
        git -C repository commit -q -m "change $n"
done
git -C repository branch side HEAD~2
git -C repository tag -m first v1 HEAD~3 2>/dev/null || git -C repository tag v1 HEAD~3

find . -depth ! -path './repository/.git/*' -exec touch -h -d '@1600000000' {} +
