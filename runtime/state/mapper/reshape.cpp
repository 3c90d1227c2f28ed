#include "runtime/state/mapper/reshape.hpp"

#include <utility>

#include "runtime/state/mapper/parts.hpp"

namespace d9d {
namespace {

class Transpose final : public StateMapper {
 public:
  Transpose(const std::string& name, std::int64_t a, std::int64_t b)
      : StateMapper({{{name}, {name}}}), a_(a), b_(b) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const auto [a, b] = wrapped(name, tensor);
    return {
        {name, tensor.transpose(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)).contiguous()}};
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const auto [a, b] = wrapped(name, tensor);
    Piece piece{name, wanted, same_dims(wanted.begin.size()), wanted};
    std::swap(piece.from.begin[a], piece.from.begin[b]);
    std::swap(piece.from.end[a], piece.from.end[b]);
    std::swap(piece.dims[a], piece.dims[b]);
    return Pieces{piece};
  }

  std::pair<std::size_t, std::size_t> wrapped(const std::string& name, const at::Tensor& tensor) const {
    return {wrapped_dim(a_, tensor.dim(), "transpose", name),
            wrapped_dim(b_, tensor.dim(), "transpose", name)};
  }

  std::int64_t a_;
  std::int64_t b_;
};

class Squeeze final : public StateMapper {
 public:
  Squeeze(const std::string& name, std::optional<std::int64_t> dim)
      : StateMapper({{{name}, {name}}}), dim_(dim) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    if (!dim_) return {{name, tensor.squeeze().contiguous()}};
    const auto dim = wrapped_dim(*dim_, tensor.dim(), "squeeze", name);
    return {{name, tensor.squeeze(static_cast<std::int64_t>(dim)).contiguous()}};
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const auto only = dim_ ? wrapped_dim(*dim_, tensor.dim(), "squeeze", name) : 0;
    Piece piece{name, wanted, {}, wanted};
    for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.dim()); ++d) {
      const bool dropped = tensor.size(static_cast<std::int64_t>(d)) == 1 && (!dim_ || d == only);
      if (dropped)
        piece.from = with_dim(std::move(piece.from), d, 0, 1);
      else
        piece.dims.push_back(static_cast<int>(d));
    }
    return Pieces{piece};
  }

  std::optional<std::int64_t> dim_;
};

class Unsqueeze final : public StateMapper {
 public:
  Unsqueeze(const std::string& name, std::int64_t dim) : StateMapper({{{name}, {name}}}), dim_(dim) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const auto dim = wrapped_dim(dim_, tensor.dim() + 1, "unsqueeze", name);
    return {{name, tensor.unsqueeze(static_cast<std::int64_t>(dim)).contiguous()}};
  }

  std::optional<Pieces> find_pieces(const std::string&, const Slice& wanted,
                                    const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const auto dim = wrapped_dim(dim_, tensor.dim() + 1, "unsqueeze", name);
    return Pieces{{name, without_dim(wanted, dim), dims_with_new(wanted.begin.size(), dim), wanted}};
  }

  std::int64_t dim_;
};

}  // namespace

MapperPtr transpose(const std::string& name, std::int64_t dim_a, std::int64_t dim_b) {
  return std::make_shared<Transpose>(name, dim_a, dim_b);
}

MapperPtr squeeze(const std::string& name, std::optional<std::int64_t> dim) {
  return std::make_shared<Squeeze>(name, dim);
}

MapperPtr unsqueeze(const std::string& name, std::int64_t dim) {
  return std::make_shared<Unsqueeze>(name, dim);
}

}  // namespace d9d
