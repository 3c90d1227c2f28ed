// An additive branch of rank 2 beside every product with a weight, attached from outside, computes what the weights
// with the branches merged into them compute: outputs and all gradients, on every rank.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <map>

#include "kernels/linear.hpp"
#include "kernels/moe.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/model/causal_lm.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/nn/plan/causal_lm_plan.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

constexpr std::int64_t branch_rank = 2;

class LowRank final : public LinearBranch {
 public:
  LowRank(at::Tensor a, at::Tensor b) : a_(std::move(a)), b_(std::move(b)) {}
  BranchResult forward(const at::Tensor& x) const override {
    return {kernels::linear(kernels::linear(x, a_), b_)};
  }

 private:
  at::Tensor a_, b_;
};

class GroupedLowRank final : public GroupedLinearBranch {
 public:
  GroupedLowRank(at::Tensor a, at::Tensor b) : a_(std::move(a)), b_(std::move(b)) {}
  at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets) const override {
    return kernels::grouped_linear(kernels::grouped_linear(rows, a_, offsets), b_, offsets);
  }

 private:
  at::Tensor a_, b_;
};

at::Tensor drawn(const std::string& name, std::vector<std::int64_t> shape) {
  at::Tensor values = at::empty(shape, at::kFloat);
  RandomStream(3, name).fill_normal(0, static_cast<std::size_t>(values.numel()), values.data_ptr<float>());
  return values.mul(0.3);
}

// Both factors of a weight's branch, the rank's block: a [.., 2, in], b [.., out, 2].
struct Factors {
  at::Tensor a, b;
  at::Tensor product() const { return at::matmul(b, a); }
};

Factors factors_of(const StageParameter& weight) {
  const std::vector<std::int64_t>& shape = weight.layout.global_shape();
  const Slice slice = weight.layout.local_slice();
  const auto out = static_cast<std::int64_t>(shape.size()) - 2, in = out + 1;
  std::vector<std::int64_t> a_shape = shape, b_shape = shape;
  a_shape[static_cast<std::size_t>(out)] = branch_rank;
  b_shape[static_cast<std::size_t>(in)] = branch_rank;
  Factors factors{drawn(weight.name + ".a", a_shape), drawn(weight.name + ".b", b_shape)};
  const auto cut = [&](at::Tensor& tensor, std::int64_t dim) {
    const auto d = static_cast<std::size_t>(dim);
    tensor = tensor.narrow(dim, slice.begin[d], slice.end[d] - slice.begin[d]);
  };
  if (out == 1) cut(factors.a, 0);
  if (out == 1) cut(factors.b, 0);
  cut(factors.a, in);
  cut(factors.b, out);
  factors.a = factors.a.contiguous().requires_grad_();
  factors.b = factors.b.contiguous().requires_grad_();
  return factors;
}

struct Computed {
  at::Tensor loss, logits;
  std::map<std::string, Factors> factors;  // by name of the weight
  TensorMap gradients;
};

Computed compute(StageGroups& groups, const Qwen3Config& config, bool merged) {
  const auto stage = config.build_stage({}, {});
  auto& model = dynamic_cast<CausalLm&>(*stage);
  StageParameters parameters = parallelize_causal_lm(model, groups, {});
  draw_initial_weights(parameters, 1);
  Computed computed;
  for (const auto& item : model.named_modules("", /*include_self=*/false)) {
    auto* const linear = dynamic_cast<Linear*>(item.value().get());
    auto* const grouped = dynamic_cast<GroupedLinear*>(item.value().get());
    if (linear == nullptr && grouped == nullptr) continue;
    const at::Tensor& weight = linear != nullptr ? linear->weight : grouped->weight;
    const Factors factors = factors_of(parameter_of(parameters, weight));
    computed.factors[item.key() + ".weight"] = factors;
    if (merged) {
      weight.detach().add_(factors.product().detach());
    } else if (linear != nullptr) {
      linear->branch = std::make_shared<LowRank>(factors.a, factors.b);
    } else {
      grouped->branch = std::make_shared<GroupedLowRank>(factors.a, factors.b);
    }
  }
  const TensorMap batch = tiny_batch(config, 2, 8);
  const TensorMap inputs = {{"input_ids", batch.at("input_ids")}};
  computed.loss = model.forward(inputs, {{"labels", batch.at("labels")}}).at("cross_entropy");
  computed.loss.sum().backward();
  for (const StageParameter& parameter : parameters)
    computed.gradients[parameter.name] = parameter.tensor.grad();
  const at::NoGradGuard off;
  computed.logits = model.forward(inputs, {}).at("logits");
  return computed;
}

void expect_near(const at::Tensor& actual, const at::Tensor& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const double largest = expected.abs().max().item<double>();
  EXPECT_LE((actual - expected).abs().max().item<double>(), tolerance * largest + 1e-9) << what;
}

void expect_branches_as_merged(const DeviceMeshParameters& mesh) {
  const Qwen3Config config = tiny_qwen3(Qwen3Kind::moe);
  const Plan plan(mesh, {mesh.world_size()});
  SharedMemoryHub hub;
  const CommunicatorFactory factory(plan, hub, nullptr, {.timeout = std::chrono::seconds(60)});
  const auto work = [&](int rank) {
    const auto open = [&](const auto& domain, const auto& axes, const auto& use) {
      return std::shared_ptr<Communicator>(factory.open(rank, domain, axes, use));
    };
    StageGroups groups(plan.domains(), rank, open);
    const Computed merged = compute(groups, config, true);
    const Computed branched = compute(groups, config, false);

    EXPECT_EQ(branched.factors.size(), 17U);  // of two layers: q, k, v, o, router, three of experts; the head
    expect_near(branched.loss, merged.loss, 1e-5, "loss");
    expect_near(branched.logits, merged.logits, 1e-5, "logits");
    for (const auto& [name, gradient] : merged.gradients) {
      expect_near(branched.gradients.at(name), gradient, 1e-4, name);
    }
    for (const auto& [name, factors] : branched.factors) {
      const at::Tensor& gradient = merged.gradients.at(name);
      const at::Tensor a = factors.a.detach(), b = factors.b.detach();
      expect_near(factors.a.grad(), at::matmul(b.transpose(-1, -2), gradient), 1e-4, name + ".a");
      expect_near(factors.b.grad(), at::matmul(gradient, a.transpose(-1, -2)), 1e-4, name + ".b");
    }
  };
  in_threads(plan.world_size(), work);
}

TEST(LinearBranches, ComputeWhatMergedWeightsDoOnOneRank) {
  expect_branches_as_merged({});
}

TEST(LinearBranches, ComputeWhatMergedWeightsDoWithTensorParallelism) {
  expect_branches_as_merged({.tensor_parallel = 2});
  expect_branches_as_merged({.tensor_parallel = 4});  // more ranks than key heads
}

TEST(LinearBranches, ComputeWhatMergedWeightsDoWithExpertParallelism) {
  expect_branches_as_merged({.data_parallel_replicate = 2, .expert_parallel = 2});
  expect_branches_as_merged({.tensor_parallel = 2, .expert_parallel = 2});
}

}  // namespace
}  // namespace d9d::test
