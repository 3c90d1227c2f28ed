#include "runtime/state/mapper/concatenate.hpp"

#include <ATen/ops/cat.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/mapper/parts.hpp"

namespace d9d {
namespace {

class Concatenate final : public StateMapper {
 public:
  Concatenate(std::vector<std::string> sources, const std::string& target, std::int64_t dim)
      : StateMapper({{unique_names(sources, "concatenate"), {target}}}),
        sources_(std::move(sources)),
        dim_(dim) {}

 private:
  TensorMap map(const StateGroup& group, const TensorMap& inputs) const override {
    const at::Tensor& first = inputs.at(sources_.front());
    const auto dim = wrapped_dim(dim_, first.dim(), "concatenate", sources_.front());
    std::vector<at::Tensor> tensors;
    for (const auto& name : sources_) {
      const at::Tensor& tensor = inputs.at(name);
      require_same_dtype(first, tensor, "concatenate", name);
      Shape expected = first.sizes().vec();
      if (tensor.dim() == first.dim()) expected[dim] = tensor.size(static_cast<std::int64_t>(dim));
      D9D_REQUIRE(tensor.sizes() == at::IntArrayRef(expected),
                  "concatenate along dim {}: \"{}\" has shape {}, \"{}\" has {}", dim, name,
                  to_text(tensor.sizes().vec()), sources_.front(), to_text(first.sizes().vec()));
      tensors.push_back(tensor);
    }
    return {{*group.outputs.begin(), at::cat(tensors, static_cast<std::int64_t>(dim))}};
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto dim = wrapped_dim(dim_, inputs.begin()->second.dim(), "concatenate", sources_.front());
    Pieces pieces;
    std::int64_t offset = 0;
    for (const auto& name : sources_) {
      const auto size = inputs.at(name).size(static_cast<std::int64_t>(dim));
      Piece piece{name, wanted, same_dims(wanted.begin.size()), wanted};
      piece.to.begin[dim] = std::max(wanted.begin[dim], offset);
      piece.to.end[dim] = std::min(wanted.end[dim], offset + size);
      if (piece.to.begin[dim] < piece.to.end[dim]) {
        piece.from.begin[dim] = piece.to.begin[dim] - offset;
        piece.from.end[dim] = piece.to.end[dim] - offset;
        pieces.push_back(std::move(piece));
      }
      offset += size;
    }
    return pieces;
  }

  std::vector<std::string> sources_;
  std::int64_t dim_;
};

Names names_of_pieces(const std::vector<NamedSize>& pieces) {
  std::vector<std::string> names;
  for (const NamedSize& piece : pieces) names.push_back(piece.name);
  return unique_names(names, "cut");
}

// A tensor becomes several along a dimension, one after the other.
class Parting : public StateMapper {
 protected:
  struct Parts {
    std::size_t dim;
    std::vector<NamedSize> targets;
  };
  using StateMapper::StateMapper;
  virtual Parts parts_of(const std::string& name, const at::Tensor& tensor) const = 0;

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const Parts parts = parts_of(name, tensor);
    TensorMap outputs;
    std::int64_t begin = 0;
    for (const auto& [target, size] : parts.targets) {
      outputs[target] = tensor.narrow(static_cast<std::int64_t>(parts.dim), begin, size).contiguous();
      begin += size;
    }
    return outputs;
  }

  std::optional<Pieces> find_pieces(const std::string& output, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const Parts parts = parts_of(name, tensor);
    Piece piece{name, wanted, same_dims(wanted.begin.size()), wanted};
    for (const auto& [target, size] : parts.targets) {
      if (target == output) break;
      piece.from.begin[parts.dim] += size;
      piece.from.end[parts.dim] += size;
    }
    return Pieces{piece};
  }
};

class Cut final : public Parting {
 public:
  Cut(const std::string& source, std::vector<NamedSize> targets, std::int64_t dim)
      : Parting({{{source}, names_of_pieces(targets)}}), targets_(std::move(targets)), dim_(dim) {}

 private:
  Parts parts_of(const std::string& name, const at::Tensor& tensor) const override {
    const auto dim = wrapped_dim(dim_, tensor.dim(), "cut", name);
    std::int64_t total = 0;
    for (const NamedSize& target : targets_) total += target.size;
    D9D_REQUIRE(tensor.size(static_cast<std::int64_t>(dim)) == total,
                "cut: \"{}\" {} has other than the {} elements of its pieces along dim {}", name,
                to_text(tensor.sizes().vec()), total, dim);
    return {dim, targets_};
  }

  std::vector<NamedSize> targets_;
  std::int64_t dim_;
};

class Chunk final : public Parting {
 public:
  Chunk(const std::string& source, std::vector<std::string> targets, std::int64_t dim)
      : Parting({{{source}, unique_names(targets, "chunk")}}), targets_(std::move(targets)), dim_(dim) {}

 private:
  Parts parts_of(const std::string& name, const at::Tensor& tensor) const override {
    const auto dim = wrapped_dim(dim_, tensor.dim(), "chunk", name);
    const auto total = tensor.size(static_cast<std::int64_t>(dim));
    const auto wanted = static_cast<std::int64_t>(targets_.size());
    const auto size = (total + wanted - 1) / wanted;
    const auto made = size == 0 ? 0 : (total + size - 1) / size;
    D9D_REQUIRE(made == wanted, "chunk: \"{}\" {} gives {} pieces along dim {}, but {} targets are named",
                name, to_text(tensor.sizes().vec()), made, dim, wanted);
    Parts parts{dim, {}};
    for (std::int64_t i = 0; i < made; ++i)
      parts.targets.push_back({targets_[static_cast<std::size_t>(i)], std::min(size, total - i * size)});
    return parts;
  }

  std::vector<std::string> targets_;
  std::int64_t dim_;
};

}  // namespace

MapperPtr concatenate(std::vector<std::string> sources, const std::string& target, std::int64_t dim) {
  return std::make_shared<Concatenate>(std::move(sources), target, dim);
}

MapperPtr cut(const std::string& source, std::vector<NamedSize> targets, std::int64_t dim) {
  return std::make_shared<Cut>(source, std::move(targets), dim);
}

MapperPtr chunk(const std::string& source, std::vector<std::string> targets, std::int64_t dim) {
  return std::make_shared<Chunk>(source, std::move(targets), dim);
}

}  // namespace d9d
