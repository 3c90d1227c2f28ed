#!/usr/bin/env bash
# examples/two_hosts as two processes and as one: the same losses, digit by digit.
#   two_hosts.sh D9D_NODE FOLDER
set -euo pipefail
node="$1" out="$2"
rm -rf -- "$out"
mkdir -p "$out"
sh examples/quickstart/make_text.sh "$out/kjv.txt"
run() {
  "$node" examples/two_hosts/job.yaml --set "data.files.0=$out/kjv.txt" --set trainer.schedule.total_steps=3 "$@"
}
losses() { sed -E 's/.*"loss":([^,]+),"grad_norm":([^,]+),.*/\1 \2/' "$out/$1/metrics.jsonl"; }

# Node 0 takes a free port and says which; what it says after that is shown if it fails.
exec 3< <(run --set "output_dir=$out/two" --listen 127.0.0.1:0 2>&1)
first=$!
address=""
while [ -z "$address" ] && read -r line <&3; do
  echo "$line"
  address="$(sed -nE 's/.*listening on ([0-9.]+:[0-9]+).*/\1/p' <<< "$line")"
done
[ -n "$address" ] || exit 1
run --set "output_dir=$out/two" --join "$address"
cat <&3
wait "$first"
run --set "output_dir=$out/one" --ranks 4

[ "$(losses one | wc -l)" = 3 ] || { echo "not three steps"; cat "$out/one/metrics.jsonl"; exit 1; }
diff <(losses one) <(losses two) || { echo "one process (<) and two (>) differ"; exit 1; }
