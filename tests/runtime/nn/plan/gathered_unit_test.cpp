// Where the weights of a unit lie while they are whole.
#include "runtime/nn/plan/gathered_unit.hpp"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/nn/plan/fully_shard.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "tests/support/in_threads.hpp"

namespace d9d {
namespace {

// Odd lengths before every kind of weight; q and k may be one matrix.
struct Made {
  const char* name;
  std::vector<std::int64_t> shape;
};
const std::vector<Made> odd_weights{{"a.norm.weight", {7}},          {"a.q_proj.weight", {5, 3}},
                                    {"a.k_proj.weight", {3, 3}},     {"a.q_proj.bias", {5}},
                                    {"b.gate.weight", {1}},          {"b.up.weight", {4, 8}},
                                    {"b.experts.weight", {5, 3, 3}}, {"b.scale", {2}}};
constexpr const char* second_of_one_matrix = "a.k_proj.weight";

at::Tensor values_of(const Made& made, int salt, at::ScalarType dtype) {
  std::int64_t count = 1;
  for (const std::int64_t size : made.shape) count *= size;
  return at::arange(count, at::kFloat).add(salt).to(dtype).view(made.shape);
}

void on_ranks(const Plan& plan, const std::function<void(int rank, StageGroups& groups)>& work) {
  SharedMemoryHub hub;
  test::in_threads(plan.world_size(), [&](int rank) {
    StageGroups groups(plan.domains(), rank, [&](const auto& domain, const auto& axes, const auto& use) {
      Group group = plan.group(rank, domain, axes);
      group.name += "/" + use;
      return std::shared_ptr<Communicator>(hub.open(group, std::chrono::seconds(60)));
    });
    work(rank, groups);
  });
}

void expect_at_packs(const at::Tensor& tensor, const std::string& name) {
  const bool begins_at_a_pack = reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 16 == 0;
  EXPECT_EQ(begins_at_a_pack, name != second_of_one_matrix) << name;
}

// Over ranks that divide next to no weight evenly. A scalar stays whole on each rank.
TEST(GatheredUnits, BeginTheirWeightsWhereSixteenBytesAreReadAtOnce) {
  const Plan plan({.data_parallel_shard = 3}, {3});
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    on_ranks(plan, [&](int rank, StageGroups& groups) {
      StageParameters parameters;
      std::vector<at::Tensor> weights;
      int salt = 0;
      for (const Made& made : odd_weights) {
        weights.push_back(values_of(made, 10 * salt++, dtype).requires_grad_(true));
        parameters.push_back({made.name, weights.back(), Layout::local(made.shape), {}});
      }
      Unit unit;
      parallelize_fully_shard(parameters, {{"layer", &unit, weights}}, "dp_cp_shard", groups, {});
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor whole = values_of(odd_weights[i], 10 * static_cast<int>(i), dtype);
        const Slice block = parameters[i].layout.local_slice();
        parameters[i].tensor.detach().copy_(whole.narrow(0, block.begin[0], block.end[0] - block.begin[0]));
      }
      const FlatParameters flat(parameters, {});
      ASSERT_EQ(flat.buckets().size(), 1);
      const auto& sharded = flat.buckets()[0].unit;
      sharded->attach();

      unit.hook->before_forward(/*recompute=*/false);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        expect_at_packs(weights[i].detach(), odd_weights[i].name);
        EXPECT_TRUE(weights[i].equal(values_of(odd_weights[i], 10 * static_cast<int>(i), dtype)))
            << odd_weights[i].name;
      }
      EXPECT_EQ(static_cast<const char*>(weights[1].data_ptr()) + weights[1].nbytes(), weights[2].data_ptr());

      unit.hook->before_backward();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const at::Tensor gradient = weights[i].grad();
        expect_at_packs(gradient, odd_weights[i].name);
        at::Tensor(gradient).add_(values_of(odd_weights[i], rank, gradient.scalar_type()));
      }
      unit.hook->after_backward();
      sharded->hand_over_gradient(/*last=*/true);
      const auto group = groups.open(dense_domain, {"dp_cp_shard"}, "gradients");
      EXPECT_TRUE(sharded->reduce_gradient(flat.buckets()[0].grad, *group));
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Slice block = parameters[i].layout.local_slice();
        const at::Tensor sum = values_of(odd_weights[i], 0, at::kFloat).mul(3).add(0 + 1 + 2);
        EXPECT_TRUE(parameters[i]
                        .tensor.grad()
                        .to(at::kFloat)
                        .equal(sum.narrow(0, block.begin[0], block.end[0] - block.begin[0])))
            << odd_weights[i].name;
      }
    });
  }
}

}  // namespace
}  // namespace d9d
