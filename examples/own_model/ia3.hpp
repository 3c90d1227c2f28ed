#pragma once
// A method of fine-tuning of my own, for all families: IA3 (Liu et al. 2022, arXiv 2205.05638, section 3.3) multiplies
// each output feature of a linear by a learned factor:
//   y = s * (W x) + bias,   s [out], which starts at 1; merged: W' = diag(s) W

#include <ATen/ops/mul.h>

#include <boost/describe/class.hpp>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/peft/linear_method.hpp"

namespace mine {

class Scale final : public d9d::OwnBranch {
 public:
  Scale(d9d::ParameterMaker& make, std::int64_t out) : weight_(make.constant(*this, "weight", {out}, 1.0F)) {}

  d9d::BranchResult forward(const at::Tensor& /*x*/) const override { return {.scale = weight_}; }
  // Each rank of tensor parallelism has the factors of its rows.
  void follow(const d9d::StageParameter& weight,
              std::vector<d9d::StageParameter>& parameters) const override {
    d9d::follow_rows(weight, d9d::parameter_of(parameters, weight_));
  }
  at::Tensor merged(const at::Tensor& weight, const d9d::TensorMap& added) const override {
    return at::mul(weight, added.at("ia3.weight").unsqueeze(1));
  }

 private:
  const at::Tensor weight_;
};

struct Ia3 final : d9d::LinearMethod {
  std::string module_name_pattern;

  std::string pattern() const override { return module_name_pattern; }
  std::shared_ptr<d9d::OwnBranch> make_branch(d9d::ParameterMaker& make, d9d::Linear& linear) const override {
    return make.child<Scale>(linear, "ia3", linear.weight.size(0));
  }
};
BOOST_DESCRIBE_STRUCT(Ia3, (), (module_name_pattern))
constexpr auto keys_of(d9d::config::Tag<Ia3>) {
  return std::array{d9d::module_name_pattern_key};
}

}  // namespace mine
