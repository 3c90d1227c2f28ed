// What a rank of tensor parallelism holds, without training: nothing here communicates.
#include <gtest/gtest.h>

#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/plan/causal_lm_plan.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

StageParameters parameters_on(int ranks, int rank, const Qwen3Config& model) {
  const MeshDomains domains({.tensor_parallel = ranks});
  StageGroups groups(domains, rank, [](auto&&...) { return nullptr; });
  return parallelize_causal_lm(*model.build_stage({0, 1}, {}), groups, {});
}

const StageParameter& named(const StageParameters& parameters, const std::string& name) {
  for (const StageParameter& parameter : parameters) {
    if (parameter.name.ends_with(name)) return parameter;
  }
  throw std::out_of_range(name);
}

TEST(TensorLayouts, HoldAsManyElementsAsEstimated) {
  for (const Qwen3Kind family : {Qwen3Kind::dense, Qwen3Kind::moe}) {
    for (const int ranks : {2, 4}) {
      Qwen3Config model = tiny_qwen3(family);
      model.attention_bias = true;
      model.vocab_size = 93;

      std::int64_t elements = 0;
      for (const StageParameter& own : parameters_on(ranks, 0, model)) elements += own.tensor.numel();

      EXPECT_EQ(elements, count_parameters(model, {}, {}, ranks).total);
    }
  }
}

TEST(TensorLayouts, CoverEveryMatrixOnce) {
  Qwen3Config model = tiny_qwen3(Qwen3Kind::dense);
  model.vocab_size = 93;
  const auto rows = [&](const std::string& name, int dim) {
    std::vector<std::int64_t> ends;
    for (int rank = 0; rank < 2; ++rank) {
      const StageParameters parameters = parameters_on(2, rank, model);
      const Slice slice = named(parameters, name).layout.local_slice();
      EXPECT_EQ(slice.begin[static_cast<std::size_t>(dim)], ends.empty() ? 0 : ends.back());
      ends.push_back(slice.end[static_cast<std::size_t>(dim)]);
    }
    return ends;
  };

  EXPECT_EQ(rows("0.self_attn.q_proj.weight", 0), (std::vector<std::int64_t>{16, 32}));
  EXPECT_EQ(rows("0.self_attn.o_proj.weight", 1), (std::vector<std::int64_t>{16, 32}));
  EXPECT_EQ(rows("0.mlp.up_proj.weight", 0), (std::vector<std::int64_t>{24, 48}));
  EXPECT_EQ(rows("0.mlp.down_proj.weight", 1), (std::vector<std::int64_t>{24, 48}));
  EXPECT_EQ(rows("lm_head.weight", 0), (std::vector<std::int64_t>{47, 93}));
}

TEST(TensorLayouts, SumGradientsOfWhatIsWholeOverAllRanks) {
  const StageParameters parameters = parameters_on(2, 1, tiny_qwen3(Qwen3Kind::moe));

  for (const char* name : {"0.input_layernorm.weight", "0.self_attn.q_norm.weight", "0.mlp.gate.weight",
                           "0.mlp.experts.up_proj.weight", "model.norm.weight"}) {
    EXPECT_EQ(named(parameters, name).layout.replicate_axes(), std::vector<std::string>{"tp"}) << name;
  }
  EXPECT_TRUE(named(parameters, "0.self_attn.q_proj.weight").layout.replicate_axes().empty());
}

}  // namespace
}  // namespace d9d::test
