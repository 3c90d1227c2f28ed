#!/usr/bin/env bash
# examples/own_program as its user calls it: two jobs after one another, in one process and in two, with one result;
# and a step with two updates.
#   own_program.sh REGRESSION D9D_NODE
set -euo pipefail
program="$1" node="$2"
out="$(dirname "$program")/runs"
rm -rf -- "$out"
mkdir -p "$out"
ln -s "$PWD/examples" "$out/examples"  # the program names its files from where it is called
cd "$out"
fail() { echo "$1"; shift; [ $# = 0 ] || cat "$@"; exit 1; }

"$program" trainer.run.name=alone > alone.txt 2> alone.log || fail "it ended with $?" alone.log
[ "$(grep -c '^learning rate' alone.txt)" = 2 ] || fail "not two jobs" alone.txt
# A curve of variance 0.55 with noise of variance 0.0025.
awk '/^learning rate 1.0e-2/ { learnt = $NF < 0.05 } END { exit !learnt }' alone.txt || fail "it has not learnt the curve" alone.txt
grep -q '"hidden.weight"' runs/own_program/model/model.safetensors || fail "no exported weights"
cp runs/own_program/model/model.safetensors alone.safetensors

rm -rf runs
"$program" node.processes=2 > shared.txt 2> shared.log || fail "with two processes it ended with $?" shared.log
grep -q "worker 1 of 2" shared.log || fail "it did not start two processes" shared.log
cmp alone.txt shared.txt || fail "two processes say something else" alone.txt shared.txt
cmp alone.safetensors runs/own_program/model/model.safetensors || fail "two processes train other weights"

# Two updates a step: the maker's numbers come to have the data's mean, 3.
"$(dirname "$program")/gan" > gan.txt 2> gan.log || fail "the gan ended with $?" gan.log
mean=$(grep -o '"metrics/made_mean":[^,}]*' runs/gan/metrics.jsonl | tail -1 | cut -d: -f2)
! grep -q "got no gradient" gan.log || fail "each network is moved in its own update" gan.log
awk -v mean="$mean" 'BEGIN { exit !(mean > 2.5 && mean < 3.5) }' || fail "the maker makes numbers around $mean" gan.log

# Mistakes: exit code 2, place and remedy, nothing written.
rm -rf runs
code=0
"$program" optimizer.lt=1 > /dev/null 2> wrong.log || code=$?
[ "$code" = 2 ] && grep -q 'did you mean "lr"' wrong.log && [ ! -e runs ] || fail "a wrong key: exit code $code" wrong.log
code=0
"$program" model_provider.name=perceptrn > /dev/null 2> wrong.log || code=$?
[ "$code" = 2 ] && grep -q 'there are: .*perceptron' wrong.log && [ ! -e runs ] || fail "a wrong piece: $code" wrong.log

# Another program has not its pieces, and says so.
"$program" trainer.schedule.total_steps=5 trainer.checkpointing.period_steps=5 > /dev/null 2>&1
code=0
"$node" export runs/own_program/1.0e-2/checkpoints other > /dev/null 2> wrong.log || code=$?
[ "$code" = 2 ] && grep -q "a program of its own" wrong.log || fail "d9d-node took its checkpoint: $code" wrong.log
