#!/usr/bin/env bash
# Compiles each header alone, with nothing before it, which no batch of sources proves: all, or those below the
# folders given. A header takes a core a second, one that leads to LibTorch three: run it for what you change, and at
# night for all.
#   bash tests/headers.sh [FOLDER...]        after a build (D9D_PROFILE, else release), which makes the schemas' headers
set -euo pipefail
cd "$(dirname "$0")/.."
commands="build/${D9D_PROFILE:-release}/compile_commands.json"
[ -e "$commands" ] || { echo "headers: $commands is missing: build with tests/run.sh first" >&2; exit 2; }
[ $# -gt 0 ] || set -- actors kernels messages runtime tests

# Where any source of the build looks for headers.
read -r -a flags < <(python3 -c '
import json, re, sys
text = " ".join({entry["command"] for entry in json.load(open(sys.argv[1]))})
print(*dict.fromkeys(re.findall(r"-I\S+|-(?:isystem|idirafter) \S+", text)))' "$commands")
find "$@" -name '*.hpp' | sort | xargs -P "$(nproc)" -I HEADER sh -c '
  header="$1"; shift
  "$@" -include "$header" /dev/null || { echo "headers: $header does not compile alone" >&2; exit 1; }
' headers HEADER c++ -std=c++20 -fsyntax-only -w -x c++ "${flags[@]}"
