#!/usr/bin/env bash
# The shells that are there parse what d9d-node prints for them, bash completes with it, and troff has no warning.
#   manual.sh D9D_NODE
set -euo pipefail
node="$1"
for shell in bash zsh fish; do
  command -v "$shell" > /dev/null || { echo "$shell is not there"; continue; }
  "$node" completion "$shell" | "$shell" -n /dev/stdin || { echo "$shell does not parse its completion"; exit 1; }
  echo "$shell parses"
done

# What bash offers for the last of the words.
source <("$node" completion bash)
offers() {
  COMP_WORDS=(d9d-node "$@") COMP_CWORD=$#
  _d9d_node
  echo "${COMPREPLY[*]}"
}
expect() { [[ " $1 " == *" $2 "* ]] || { echo "bash offers \"$1\", without $2"; exit 1; }; }
expect "$(offers gen)" generate
expect "$(offers generate model --pro)" --prompt
expect "$(offers job.yaml --log-level d)" debug
expect "$(offers data pe)" peek
expect "$(cd / && offers check us)" usr

page() { "$node" man; }
if command -v groff > /dev/null; then
  warnings="$(page | groff -man -Tutf8 -ww -z 2>&1)"
  [ -z "$warnings" ] || { echo "groff: $warnings"; exit 1; }
  page | groff -man -Tascii -P-cbou | grep -- "--template-argument NAME=VALUE" > /dev/null || { echo "an option is missing"; exit 1; }
fi
if command -v mandoc > /dev/null; then page | mandoc -T lint -W error; fi
