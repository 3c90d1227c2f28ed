# Every test of the CUDA library, in eight processes at once. One that would be skipped is red.
source tests/gpu/environment.sh
filter='*'
[ "$device" = cuda ] || filter='CudaOps.SmallRoutings*:CudaOps.SmallGated*'
shard() {
  GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX="$1" "$bundle/bin/test_cuda" --gtest_filter="$filter" \
    --gtest_output="xml:$logs/test_cuda_$1.xml"
  local code=$?
  ! grep -q '<skipped' "$logs/test_cuda_$1.xml" || { echo "tests were skipped"; return 1; }
  return "$code"
}
for number in {0..7}; do
  check "test_cuda shard $number" shard "$number" &
done
wait
for number in {0..7}; do
  grep -hE '^\[  FAILED  \] [A-Za-z]+\.[A-Za-z]+ \(' "$logs/tests.test_cuda_shard_$number.log" |
    while read -r line; do note tests RED "${line#*] }"; done
done
exit 0
