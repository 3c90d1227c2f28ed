#include "runtime/state/mapper/stack.hpp"

#include <ATen/ops/stack.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/parts.hpp"

namespace d9d {
namespace {

class Stack final : public StateMapper {
 public:
  Stack(std::vector<std::string> sources, const std::string& target, std::int64_t dim)
      : StateMapper({{unique_names(sources, "stack"), {target}}}), sources_(std::move(sources)), dim_(dim) {}

 private:
  TensorMap map(const StateGroup& group, const TensorMap& inputs) const override {
    std::vector<at::Tensor> tensors;
    for (const auto& name : sources_) {
      tensors.push_back(inputs.at(name));
      require_same_dtype(inputs.at(sources_.front()), tensors.back(), "stack", name);
      D9D_REQUIRE(tensors.back().sizes() == tensors.front().sizes(),
                  "stack: \"{}\" has shape {}, \"{}\" has {}", name, to_text(tensors.back().sizes().vec()),
                  sources_.front(), to_text(tensors.front().sizes().vec()));
    }
    wrapped_dim(dim_, tensors.front().dim() + 1, "stack", sources_.front());
    return {{*group.outputs.begin(), at::stack(tensors, dim_)}};
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto dim = wrapped_dim(dim_, inputs.begin()->second.dim() + 1, "stack", sources_.front());
    Pieces pieces;
    for (auto i = wanted.begin[dim]; i < wanted.end[dim]; ++i) {
      Piece piece{sources_.at(static_cast<std::size_t>(i)), without_dim(wanted, dim), {}, wanted};
      piece.dims = dims_with_new(wanted.begin.size(), dim);
      piece.to.begin[dim] = i;
      piece.to.end[dim] = i + 1;
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  std::vector<std::string> sources_;
  std::int64_t dim_;
};

class Unstack final : public StateMapper {
 public:
  Unstack(const std::string& source, std::vector<std::string> targets, std::int64_t dim)
      : StateMapper({{{source}, unique_names(targets, "unstack")}}),
        targets_(std::move(targets)),
        dim_(dim) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const auto parts = tensor.unbind(static_cast<std::int64_t>(checked_dim(name, tensor)));
    TensorMap outputs;
    for (std::size_t i = 0; i < parts.size(); ++i) outputs[targets_[i]] = parts[i].contiguous();
    return outputs;
  }

  std::optional<Pieces> find_pieces(const std::string& output, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const auto dim = checked_dim(name, tensor);
    const auto index = std::find(targets_.begin(), targets_.end(), output) - targets_.begin();
    return Pieces{
        {name, with_dim(wanted, dim, index, index + 1), dims_without(wanted.begin.size() + 1, dim), wanted}};
  }

  std::size_t checked_dim(const std::string& name, const at::Tensor& tensor) const {
    const auto dim = wrapped_dim(dim_, tensor.dim(), "unstack", name);
    const auto size = tensor.size(static_cast<std::int64_t>(dim));
    D9D_REQUIRE(size == static_cast<std::int64_t>(targets_.size()),
                "unstack: \"{}\" {} has {} parts along dim {}, but {} targets are named", name,
                to_text(tensor.sizes().vec()), size, dim, targets_.size());
    return dim;
  }

  std::vector<std::string> targets_;
  std::int64_t dim_;
};

}  // namespace

MapperPtr stack(std::vector<std::string> sources, const std::string& target, std::int64_t dim) {
  return std::make_shared<Stack>(std::move(sources), target, dim);
}

MapperPtr unstack(const std::string& source, std::vector<std::string> targets, std::int64_t dim) {
  return std::make_shared<Unstack>(source, std::move(targets), dim);
}

}  // namespace d9d
