#!/bin/sh
# Writes the King James text of Debian's package bible-kjv to a file: a chapter is a heading and one line per verse,
# with a blank line between chapters.
#   sh make_text.sh OUT.txt
set -eu
[ $# -eq 1 ] || { echo "usage: sh make_text.sh OUT.txt" >&2; exit 2; }
command -v bible >/dev/null || { echo "the program bible is missing: apt-get install bible-kjv" >&2; exit 1; }
bible -l9999 gen1:1-rev22:21 | awk '
  /^  +[0-9]+ / { sub(/^ +[0-9]+ /, ""); print; next }
  NF            { print (chapters++ ? "\n" : "") $0 }' > "$1.part"
mv "$1.part" "$1"
