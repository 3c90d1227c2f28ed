#include "runtime/rank/state/rank_buffers.hpp"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/nn/plan/replicate.hpp"
#include "runtime/state/tensor_file/slice.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

void require_storable(const StageBuffer& buffer) {
  D9D_REQUIRE(!buffer.name.empty(), "a buffer of the model has no name; its buffers() has to give one");
  D9D_REQUIRE(buffer.tensor.defined(),
              "buffer {} of the model has no tensor; build_stage() has to give it its first values",
              buffer.name);
  try {
    dtype_of(buffer.tensor.scalar_type());
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("buffer {} of the model: {}", buffer.name, error.what()));
  }
  if (!buffer.layout) return;
  const Shape block = buffer.layout->local_slice().shape();
  D9D_REQUIRE(
      buffer.tensor.sizes() == at::IntArrayRef(block),
      "buffer {} of the model has the shape {} on this rank, but its layout says {}: buffers() has to "
      "return this rank's block",
      buffer.name, to_text(buffer.tensor.sizes().vec()), to_text(block));
}

// Copies all tensors into one: a collective takes one tensor of one dtype.
at::Tensor packed_bytes(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor.contiguous().view({-1}).view(at::kByte));
  return at::cat(parts);
}

void unpack_bytes(const at::Tensor& bytes, const std::vector<at::Tensor>& tensors) {
  std::int64_t begin = 0;
  for (const at::Tensor& tensor : tensors) {
    const auto count = static_cast<std::int64_t>(tensor.nbytes());
    // Needs a copy: a view as a wider dtype has to begin at a multiple of that dtype's size.
    const at::Tensor part = bytes.narrow(0, begin, count).clone();
    tensor.copy_(part.view(tensor.scalar_type()).view(tensor.sizes()));
    begin += count;
  }
}

}  // namespace

std::string domain_of_axes(const std::vector<std::string>& axes) {
  const std::vector<std::string>& experts = expert_axes();
  return std::find(experts.begin(), experts.end(), axes.front()) == experts.end() ? dense_domain
                                                                                  : expert_domain;
}

// Adds the axes that the buffer's layout lacks as replicated, as
// parallelize_replicate() does for parameters.
StageBuffer RankBuffers::placed(StageBuffer buffer) const {
  const MeshDomains& domains = groups_.domains();
  const Layout own = buffer.layout.value_or(Layout::local(buffer.tensor.sizes().vec()));
  StageParameters one{{buffer.name, buffer.tensor, own, {}}};
  parallelize_replicate(one, domains.mesh_for(dense_domain), dense_axes(), groups_.rank());
  parallelize_replicate(one, domains.mesh_for(expert_domain), expert_axes(), groups_.rank());
  buffer.layout = one.front().layout;
  return buffer;
}

std::vector<StageBuffer> RankBuffers::of(StageModule& module) const {
  std::vector<StageBuffer> found;
  for (StageBuffer& buffer : module.buffers()) {
    require_storable(buffer);
    StageBuffer with_layout = placed(std::move(buffer));
    if (num_elements(with_layout.layout->global_shape()) > 0) found.push_back(std::move(with_layout));
  }
  return found;
}

std::vector<StageBuffer> RankBuffers::all() const {
  std::vector<StageBuffer> found;
  std::set<std::string> names;
  for (const auto& module : modules_) {
    for (StageBuffer& buffer : of(*module)) {
      D9D_REQUIRE(names.insert(buffer.name).second,
                  "two buffers of the model are called {}: a name may come once in all stages", buffer.name);
      found.push_back(std::move(buffer));
    }
  }
  return found;
}

void RankBuffers::make_equal() {
  const c10::NoGradGuard no_grad;
  // Ordered by axes, so that all ranks broadcast in the same order.
  std::map<std::vector<std::string>, std::vector<at::Tensor>> by_axes;
  for (const StageBuffer& buffer : all()) {
    by_axes[buffer.layout->replicate_axes()].push_back(buffer.tensor.detach());
  }
  for (const auto& [axes, tensors] : by_axes) {
    if (axes.empty()) continue;
    at::Tensor bytes = packed_bytes(tensors);
    // No rank waits for this one: all ranks of the group hold the same blocks, so all of them skip it.
    if (bytes.numel() == 0) continue;
    const auto group = groups_.open(domain_of_axes(axes), axes, "buffers");
    group->broadcast(bytes, /*root=*/0).wait();
    if (group->rank() != 0) unpack_bytes(bytes, tensors);
  }
}

}  // namespace d9d
