#!/usr/bin/env bash
# On a host with a GPU, after pack.sh: everything that needs one. Each part has a limit of its own; a red one does not stop the
# others. All that was said and measured is then in one archive, and the last lines of the output are a table.
#   bash tests/gpu/run.sh [PART...]    versions tests speed peers jobs meshes texts sanitizers, in this order (all of them)
#   D9D_GPU_OUT       folder for gpu.tar.gz (.gpu/out)
#   D9D_GPU_SECONDS   of all parts together (570): what would not begin before then is left out
#   PYTHON            a Python that has the torch of pack.sh (python3); peers are measured where it has transformers, too
#   D9D_GPU_AT_ONCE   samples that the peers have at once (1 4: the better counts)
#   D9D_GPU_SHAPES    shapes of the parts speed and peers (dense_17b dense_8b moe_3b, of shapes.sh)
# Exit code 1: a check was red, a part had not ended within its limit or was left out.
set -uo pipefail
cd "$(dirname "$0")/../.."
source tests/gpu/environment.sh

# Seconds that a part may take.
declare -A limits=([versions]=30 [tests]=150 [speed]=240 [peers]=300 [jobs]=120 [meshes]=200 [texts]=90 [sanitizers]=150)
order=(versions tests speed peers jobs meshes texts sanitizers)
parts=("$@")
[ $# -gt 0 ] || parts=("${order[@]}")
for part in "${parts[@]}"; do
  [ -n "${limits[$part]:-}" ] || { echo "no part is called $part; there are ${order[*]}" >&2; exit 2; }
done

rm -rf "$logs"
mkdir -p "$logs" "$out"
: > "$table"
collect() {
  find $runs -name metrics.jsonl 2>/dev/null | while read -r file; do
    cp "$file" "$logs/$(basename "$(dirname "$file")").metrics.jsonl"
  done
  tar -czf "$out/gpu.tar.gz" -C "$bundle" logs
  echo
  echo "== what was checked"
  cat "$table"
  echo "== $(grep -c ' PASS ' "$table") passed, $(grep -c ' RED ' "$table") red, $(grep -c ' LEFT OUT ' "$table") left out, after ${SECONDS} s"
}
trap collect EXIT

for part in "${parts[@]}"; do
  left=$((${D9D_GPU_SECONDS:-570} - SECONDS))
  if [ "$left" -lt 10 ]; then
    note "$part" "LEFT OUT" "no time was left"
    continue
  fi
  limit=$((left < limits[$part] ? left : limits[$part]))
  begin=$SECONDS code=0
  timeout --kill-after=5 "$limit" bash "tests/gpu/parts/$part.sh" 2>&1 | tee "$logs/$part.log" || code=$?
  [ "$code" != 124 ] && [ "$code" != 137 ] || note "$part" RED "had not ended after $limit s"
  printf '%-10s took %s s\n' "$part" $((SECONDS - begin)) >> "$table"
  # What the host lacks is red for every part.
  [ "$part" != versions ] || [ "$code" = 0 ] || break
done
! grep -qE ' (RED|LEFT OUT) ' "$table"
