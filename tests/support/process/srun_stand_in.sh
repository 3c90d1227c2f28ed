#!/bin/bash
# What a test needs of SLURM. As `srun`: starts SLURM_NTASKS tasks over the hosts of SLURM_JOB_NODELIST, a block on
# each, with the variables that srun gives; D9D_HOST_<i> has the words that lead into host i. Exits with the highest
# exit code. As `scancel` and `scontrol`: sends the signal to the tasks, notes what was asked for.
set -u
case "$(basename "$0")" in
scancel)
  signal="${1#--signal=}"
  for pid in $(cat "$D9D_STAND_IN/pids"); do kill -s "$signal" "$pid"; done
  exit 0
  ;;
scontrol)
  echo "$*" >> "$D9D_STAND_IN/requests"
  exit 0
  ;;
esac
# Nothing outlives the test.
[ -n "${D9D_TIED:-}" ] || D9D_TIED=1 exec setpriv --pdeathsig KILL "$0" "$@"
while [ "${1#-}" != "$1" ]; do shift; done # options of srun are --name=value
per_node=$((SLURM_NTASKS / SLURM_NNODES))
pids=()
for ((task = 0; task < SLURM_NTASKS; task++)); do
  host=$((task / per_node))
  into="D9D_HOST_$host"
  # shellcheck disable=SC2086
  SLURM_STEP_ID=0 SLURM_PROCID=$task SLURM_NODEID=$host SLURM_LOCALID=$((task % per_node)) \
    SLURM_STEP_NODELIST="$SLURM_JOB_NODELIST" SLURM_STEP_NUM_TASKS=$SLURM_NTASKS SLURM_STEP_NUM_NODES=$SLURM_NNODES \
    setpriv --pdeathsig KILL ${!into} "$@" 2> "$D9D_STAND_IN/task$task.err" &
  pids+=($!)
done
echo "${pids[*]}" > "$D9D_STAND_IN/pids"
worst=0
for pid in "${pids[@]}"; do
  wait "$pid"
  code=$?
  [ "$code" -gt "$worst" ] && worst=$code
done
exit "$worst"
