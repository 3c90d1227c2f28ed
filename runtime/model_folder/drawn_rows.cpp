#include "runtime/model_folder/drawn_rows.hpp"

#include <ATen/ops/cat.h>

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/nn/model/initial_weights.hpp"

namespace d9d {
namespace {

class DrawnRows final : public StateMapper {
 public:
  DrawnRows(StageParameter parameter, std::uint64_t seed)
      : StateMapper({{{parameter.name}, {parameter.name}}}), parameter_(std::move(parameter)), seed_(seed) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const std::int64_t rows = parameter_.layout.global_shape().at(0);
    D9D_REQUIRE(tensor.dim() > 0 && tensor.size(0) <= rows,
                "\"{}\" has {} rows, more than the {} that it is to have", name,
                tensor.dim() > 0 ? tensor.size(0) : 0, rows);
    return {{name, at::cat({tensor.to(at::kFloat), drawn_rows_of(parameter_, tensor.size(0), seed_)})}};
  }

  const StageParameter parameter_;
  const std::uint64_t seed_;
};

}  // namespace

MapperPtr drawn_rows(const StageParameter& parameter, std::uint64_t seed) {
  return std::make_shared<DrawnRows>(parameter, seed);
}

}  // namespace d9d
