#include "tests/runtime/train/stage_of.hpp"

#include <ATen/ops/arange.h>

#include "runtime/base/rng.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d {

at::Tensor wave(const std::string& name, std::vector<std::int64_t> shape, double salt) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const double phase = static_cast<double>(stable_hash(name) % 1000) + salt;
  return at::arange(count, at::kDouble).mul(0.7).add(phase).sin().to(at::kFloat).view(shape);
}

at::Tensor block_of(const at::Tensor& global, const Slice& slice) {
  at::Tensor block = global;
  for (std::size_t dim = 0; dim < slice.begin.size(); ++dim) {
    block = block.narrow(static_cast<std::int64_t>(dim), slice.begin[dim], slice.end[dim] - slice.begin[dim]);
  }
  return block.contiguous();
}

StageParameter make_parameter(const std::string& name, const Layout& layout, at::ScalarType dtype) {
  const at::Tensor global = wave(name, layout.global_shape());
  at::Tensor block = block_of(global, layout.local_slice()).clone().to(dtype);
  block.requires_grad_(true);
  return {name, block, layout, {}};
}

StageParameter make_parameter(const std::string& name, std::vector<std::int64_t> shape) {
  return make_parameter(name, Layout::local(std::move(shape)), at::kFloat);
}

void on_ranks(int ranks, const std::function<void(int, const std::shared_ptr<Communicator>&)>& work) {
  SharedMemoryHub hub;
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  test::in_threads(ranks, [&](int rank) {
    const std::shared_ptr<Communicator> group = hub.open({"all", all, rank, true}, std::chrono::seconds(60));
    work(rank, group);
    group->barrier();
  });
}

LayoutAxis replicated(const std::string& axis, int size, int index) {
  return {axis, size, index, Placement::replicate()};
}

LayoutAxis sharded(const std::string& axis, int size, int index, int dim) {
  return {axis, size, index, Placement::shard(dim)};
}

}  // namespace d9d
