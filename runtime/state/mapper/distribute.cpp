#include "runtime/state/mapper/distribute.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/state/mapper/parts.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"

namespace d9d {
namespace {

void require_shape(const at::Tensor& tensor, const Shape& expected, const char* mapper,
                   const std::string& name) {
  D9D_REQUIRE(tensor.sizes() == at::IntArrayRef(expected), "{}: \"{}\" has shape {}, its layout says {}",
              mapper, name, to_text(tensor.sizes().vec()), to_text(expected));
}

class Distribute final : public StateMapper {
 public:
  Distribute(const std::string& name, const Layout& layout)
      : StateMapper({{{name}, {name}}}), layout_(layout) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    require_shape(tensor, layout_.global_shape(), "distribute", name);
    // A copy, because a view would keep the whole tensor alive.
    return {{name, slice_view(tensor, layout_.local_slice()).clone(at::MemoryFormat::Contiguous)}};
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    require_shape(tensor, layout_.global_shape(), "distribute", name);
    Piece piece{name, wanted, same_dims(wanted.begin.size()), wanted};
    const auto local = layout_.local_slice();
    for (std::size_t d = 0; d < wanted.begin.size(); ++d) {
      piece.from.begin[d] += local.begin[d];
      piece.from.end[d] += local.begin[d];
    }
    return Pieces{piece};
  }

  Layout layout_;
};

class GatherFullTensor final : public StateMapper {
 public:
  GatherFullTensor(const std::string& name, const Layout& layout, const AxisCommunicators& communicators)
      : StateMapper({{{name}, {name}}}), layout_(layout) {
    for (const auto& axis : layout.axes()) {
      Communicator* communicator = nullptr;
      if (axis.placement.is_shard() && axis.size > 1) {
        const auto found = communicators.find(axis.name);
        D9D_REQUIRE(found != communicators.end(),
                    "gather: \"{}\" is sharded over {}, which has no communicator", name, axis.name);
        communicator = found->second;
        D9D_REQUIRE(communicator->size() == axis.size && communicator->rank() == axis.index,
                    "gather: \"{}\" is block {} of {} over {}, its communicator is rank {} of {}", name,
                    axis.index, axis.size, axis.name, communicator->rank(), communicator->size());
      }
      communicators_.push_back(communicator);
    }
  }

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    require_shape(tensor, layout_.local_slice().shape(), "gather", name);
    at::Tensor block = tensor;
    // The last axis is the innermost: undone first.
    if (!block.is_meta())
      for (std::size_t k = layout_.axes().size(); k-- > 0;)
        if (communicators_[k] != nullptr) block = gathered(block, k);
    if (block.is_meta()) block = at::empty(layout_.global_shape(), block.options());
    return {{name, block}};
  }

  // The block of the rank with `index` on axis `k` once the axes after `k` are gathered.
  Slice slice_of(std::size_t k, int index) const {
    std::vector<LayoutAxis> axes(layout_.axes().begin(),
                                 layout_.axes().begin() + static_cast<std::ptrdiff_t>(k) + 1);
    axes[k].index = index;
    return Layout(layout_.global_shape(), axes).local_slice();
  }

  // Blocks may differ by one row; all are sent with the size of the first, which is the largest.
  at::Tensor gathered(const at::Tensor& block, std::size_t k) const {
    const auto& axis = layout_.axes()[k];
    const auto padded_size = slice_of(k, 0).num_elements();
    at::Tensor sent = at::zeros({padded_size}, block.options());
    sent.narrow(0, 0, block.numel()).copy_(block.reshape({-1}));
    at::Tensor received = at::empty({padded_size * axis.size}, block.options());
    communicators_[k]->all_gather(received, sent).wait();
    Slice joined = slice_of(k, 0);
    const auto dim = static_cast<std::size_t>(axis.placement.shard_dim);
    joined.end[dim] = slice_of(k, axis.size - 1).end[dim];
    at::Tensor result = at::empty(joined.shape(), block.options());
    for (int index = 0; index < axis.size; ++index) {
      const auto part = slice_of(k, index);
      slice_view(result, relative_to(part, joined))
          .copy_(received.narrow(0, index * padded_size, part.num_elements()).view(part.shape()));
    }
    return result;
  }

  Layout layout_;
  std::vector<Communicator*> communicators_;  // by axis; null where there is nothing to gather
};

}  // namespace

MapperPtr distribute(const std::string& name, const Layout& layout) {
  return std::make_shared<Distribute>(name, layout);
}

MapperPtr gather_full_tensor(const std::string& name, const Layout& layout,
                             const AxisCommunicators& communicators) {
  return std::make_shared<GatherFullTensor>(name, layout, communicators);
}

}  // namespace d9d
