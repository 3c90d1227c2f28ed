#include "runtime/state/mapper/mean_rows.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/mean.h>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

class MeanRows final : public StateMapper {
 public:
  MeanRows(const std::string& name, std::int64_t rows) : StateMapper({{{name}, {name}}}), rows_(rows) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    D9D_REQUIRE(tensor.dim() > 0 && tensor.size(0) > 0 && tensor.size(0) <= rows_,
                "\"{}\" has {} rows, more than the {} that it is to have", name,
                tensor.dim() > 0 ? tensor.size(0) : 0, rows_);
    at::Tensor mean = at::mean(tensor, {0}, true, at::kFloat).to(tensor.scalar_type());
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    shape[0] = rows_ - tensor.size(0);
    return {{name, at::cat({tensor, mean.expand(shape)})}};
  }

  std::int64_t rows_;
};

}  // namespace

MapperPtr mean_rows(const std::string& name, std::int64_t rows) {
  return std::make_shared<MeanRows>(name, rows);
}

}  // namespace d9d
