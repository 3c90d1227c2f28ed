#include "runtime/comm/checks.hpp"

#include <numeric>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace d9d::comm {
namespace {

void check_same_type(const at::Tensor& output, const at::Tensor& input, const std::string& group,
                     const char* operation) {
  check_contiguous(output, group, operation);
  check_contiguous(input, group, operation);
  D9D_CHECK(output.scalar_type() == input.scalar_type(), "{} of group {}: output is {}, input {}", operation,
            group, c10::toString(output.scalar_type()), c10::toString(input.scalar_type()));
}

std::int64_t row_bytes(const at::Tensor& tensor) {
  std::int64_t bytes = static_cast<std::int64_t>(tensor.element_size());
  for (std::int64_t dim = 1; dim < tensor.dim(); ++dim) bytes *= tensor.size(dim);
  return bytes;
}

void check_rows(const at::Tensor& tensor, const std::vector<std::int64_t>& splits, int size,
                const char* which, const std::string& group) {
  D9D_CHECK(tensor.dim() >= 1, "all_to_all of group {}: a scalar has no rows", group);
  D9D_CHECK(static_cast<int>(splits.size()) == size, "all_to_all of group {}: {} {} splits for {} ranks",
            group, splits.size(), which, size);
  const std::int64_t rows = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  D9D_CHECK(rows == tensor.size(0), "all_to_all of group {}: {} splits add up to {} rows of {}", group, which,
            rows, tensor.size(0));
}

}  // namespace

void check_contiguous(const at::Tensor& tensor, const std::string& group, const char* operation) {
  D9D_CHECK(tensor.defined() && tensor.is_contiguous(), "{} of group {} needs a contiguous tensor", operation,
            group);
}

void check_scatter(const at::Tensor& output, const at::Tensor& input, int size, const std::string& group) {
  check_same_type(output, input, group, "reduce_scatter");
  D9D_CHECK(input.numel() == output.numel() * size, "reduce_scatter of group {}: {} elements into {} x {}",
            group, input.numel(), size, output.numel());
}

void check_gather(const at::Tensor& output, const at::Tensor& input, int size, const std::string& group) {
  check_same_type(output, input, group, "all_gather");
  D9D_CHECK(output.numel() == input.numel() * size, "all_gather of group {}: {} x {} elements into {}", group,
            size, input.numel(), output.numel());
}

void check_shards(const at::Tensor& whole, const at::Tensor& shard, const ShardMap& map, int rank, int size,
                  const std::string& group) {
  check_same_type(whole, shard, group, "shards");
  D9D_CHECK(static_cast<int>(map.shard_sizes.size()) == size, "shards of group {}: a map for {} ranks of {}",
            group, map.shard_sizes.size(), size);
  const std::int64_t own = map.shard_sizes[static_cast<std::size_t>(rank)];
  D9D_CHECK(whole.numel() == map.whole_size && shard.numel() == own,
            "shards of group {}: {} elements and a shard of {} where the map has {} and {}", group,
            whole.numel(), shard.numel(), map.whole_size, own);
}

std::int64_t check_splits(const at::Tensor& output, const at::Tensor& input,
                          const std::vector<std::int64_t>& output_splits,
                          const std::vector<std::int64_t>& input_splits, int size, const std::string& group) {
  check_same_type(output, input, group, "all_to_all");
  check_rows(output, output_splits, size, "output", group);
  check_rows(input, input_splits, size, "input", group);
  D9D_CHECK(row_bytes(output) == row_bytes(input), "all_to_all of group {}: rows of {} bytes out, {} in",
            group, row_bytes(output), row_bytes(input));
  return row_bytes(input);
}

void check_peer(int peer, int rank, int size, int tag, const std::string& group, const char* operation) {
  D9D_CHECK(peer >= 0 && peer < size && peer != rank, "{} of group {}: peer {} seen from {} of {} ranks",
            operation, group, peer, rank, size);
  D9D_CHECK(tag >= 0 && tag < 1 << 30, "{} of group {}: tag {} is not in [0, 2^30)", operation, group, tag);
}

}  // namespace d9d::comm
