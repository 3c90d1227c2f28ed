#pragma once
// Argument checks that all backends share. Each throws a bug error that names the group and the operation.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace d9d {
struct ShardMap;
}

namespace d9d::comm {

void check_contiguous(const at::Tensor& tensor, const std::string& group, const char* operation);
// Requires output [n] and input [size * n] of one dtype.
void check_scatter(const at::Tensor& output, const at::Tensor& input, int size, const std::string& group);
// Requires output [size * n] and input [n] of one dtype.
void check_gather(const at::Tensor& output, const at::Tensor& input, int size, const std::string& group);
// Requires flat contiguous tensors of one dtype, as long as `map` says for position `rank`.
void check_shards(const at::Tensor& whole, const at::Tensor& shard, const ShardMap& map, int rank, int size,
                  const std::string& group);
// Requires splits that add up to the rows, and rows of equal width. Returns the bytes of a row.
std::int64_t check_splits(const at::Tensor& output, const at::Tensor& input,
                          const std::vector<std::int64_t>& output_splits,
                          const std::vector<std::int64_t>& input_splits, int size, const std::string& group);
void check_peer(int peer, int rank, int size, int tag, const std::string& group, const char* operation);

}  // namespace d9d::comm
