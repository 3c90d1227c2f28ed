#!/bin/sh
# Writes the licences that every Debian has in /usr/share/common-licenses: LEARN.txt to train on, and HELD_OUT.txt, two
# others. Each paragraph is one line, with a blank line between paragraphs.
#   sh make_text.sh LEARN.txt HELD_OUT.txt
set -eu
[ $# -eq 2 ] || { echo "usage: sh make_text.sh LEARN.txt HELD_OUT.txt" >&2; exit 2; }
folder=/usr/share/common-licenses
paragraphs() {
  for name in "$@"; do
    [ -e "$folder/$name" ] || { echo "$folder/$name is missing: is this Debian or Ubuntu?" >&2; exit 1; }
    awk 'BEGIN { RS = ""; ORS = "\n\n" } { gsub(/[ \t\n]+/, " "); sub(/^ /, ""); print }' "$folder/$name"
  done
}
paragraphs Artistic BSD GFDL-1.2 GFDL-1.3 GPL-1 GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3 MPL-1.1 MPL-2.0 > "$1.part"
paragraphs Apache-2.0 CC0-1.0 > "$2.part"
mv "$1.part" "$1"
mv "$2.part" "$2"
