# Races, memory that nobody wrote and accesses outside of it, in the small tests of kernels that are ours.
source tests/gpu/environment.sh
[ "$device" = cuda ] || exit 0
sanitizer="$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)" ||
  { note sanitizers RED "compute-sanitizer is missing"; exit 1; }
watch() {
  local tool="$1" shard="$2"
  shift 2
  GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX="$shard" timeout 140 "$sanitizer" --tool "$tool" --error-exitcode 9 --target-processes all "$@" \
    "$bundle/bin/test_cuda" --gtest_brief=1 --gtest_filter='Cuda*.*Small*'
}
for shard in 0 1 2 3; do
  check "memcheck shard $shard" watch memcheck "$shard" &
  # Libraries have tricks of their own.
  check "racecheck shard $shard" watch racecheck "$shard" --kernel-name kns=d9d &
done
wait
exit 0
