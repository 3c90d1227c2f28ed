// A whole training step and whole texts through CUDA's kernels: that of a rank on a delayed device, whose work the
// emulated grid does. Products, which CUDA leaves to a library, are the CPU's.
#include <ATen/ops/allclose.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>

#include "kernels/ops/every_op.hpp"
#include "kernels/run_op.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/op_table.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/text/model_use.hpp"
#include "tests/kernels/cuda/same_as_cpu.hpp"
#include "tests/runtime/family/half_golden.hpp"
#include "tests/support/parallel_world.hpp"

namespace d9d::test {
namespace {

using kernels::OpTable;

// How often which of the CPU's ops ran. One thread at a time does a delayed device's work.
std::map<std::string, int>& ran_on_cpu() {
  static std::map<std::string, int> counts;
  return counts;
}

// An op of the CPU that notes its name.
template <auto op>
struct OfCpu;
template <class Group, class Result, class... Parameters, kernels::Op<Result(Parameters...)> Group::*op>
struct OfCpu<op> {
  static Result call(Parameters... arguments) {
    ++ran_on_cpu()[(kernels::op_detail::names.*op).name()];
    return (kernels::op_detail::table_of("test", {}).*op).function()(arguments...);
  }
};

// While it lives, a delayed device's work is done by the ops under test, and by the CPU's where there are none.
class ByOpsUnderTest {
 public:
  explicit ByOpsUnderTest(kernels::Place place = table_under_test().place) {
    kernels::for_each_op([&]<auto op>() {
      const auto own = (table_under_test().*op).function();
      table_.*op = own != nullptr ? own : &OfCpu<op>::call;
    });
    table_.place = place;
    ran_on_cpu().clear();
    delayed::use_host_table(&table_);
  }
  ~ByOpsUnderTest() { delayed::use_host_table(nullptr); }
  ByOpsUnderTest(const ByOpsUnderTest&) = delete;
  ByOpsUnderTest& operator=(const ByOpsUnderTest&) = delete;

 private:
  OpTable table_;
};

ParallelCase case_of(Qwen3Kind kind) {
  ParallelCase given{.mesh = {}, .model = tiny_qwen3(kind)};
  given.batch = tiny_batch(given.model);
  given.schedule = OneFOneBSchedule{2, true};
  given.microbatches = 2;
  return given;
}

// With the loss and the gradients of a step on the CPU.
void expect_same_step(ParallelCase given) {
  const Trained expected = train_once(given);
  given.delayed = true;
  delayed::machine(0).reseed(1);
  choose_run(0);

  const ByOpsUnderTest ops;
  const Trained trained = train_once(given);

  EXPECT_NEAR(trained.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_NEAR(trained.norm, expected.norm, 1e-5 * expected.norm);
  ASSERT_EQ(trained.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    // Some are nothing but roundings: sums that cancel to a billionth of the others.
    const double largest = std::max(gradient.abs().max().item<double>(), 1e-5 * expected.norm);
    EXPECT_TRUE(at::allclose(trained.gradients.at(name), gradient, 1e-5, 1e-5 * largest))
        << name << " differs by " << (trained.gradients.at(name) - gradient).abs().max().item<double>()
        << " where values are up to " << largest;
  }
}

TEST(EmulatedStep, OfADenseModelIsThatOfTheCpu) {
  expect_same_step(case_of(Qwen3Kind::dense));

  EXPECT_THAT(ran_on_cpu(), testing::ElementsAre(testing::Key("matmul")));
}

// Those of x and of the weights are a product each, not three.
TEST(EmulatedStep, OfADenseModelJoinsTheGradientsOfQueriesKeysAndValues) {
  ParallelCase given = case_of(Qwen3Kind::dense);
  given.delayed = true;
  const auto products = [&](kernels::Place place) {
    const ByOpsUnderTest ops(place);
    train_once(given);
    return ran_on_cpu().at("matmul");
  };

  EXPECT_EQ(products(kernels::Place::other) - products(kernels::Place::gpu),
            4 * given.microbatches * static_cast<int>(given.model.num_hidden_layers));
}

TEST(EmulatedStep, OfAMixtureOfExpertsIsThatOfTheCpu) {
  expect_same_step(case_of(Qwen3Kind::moe));

  EXPECT_THAT(ran_on_cpu(), testing::ElementsAre(testing::Key("matmul")));
}

// Tokens go to the rank of their experts and come back. Both share a device, whose work one thread at a time does.
TEST(EmulatedStep, OfExpertsOverTwoRanksIsThatOfTheCpu) {
  for (const bool checkpointed : {false, true}) {
    SCOPED_TRACE(checkpointed ? "checkpointed" : "whole");
    ParallelCase given = case_of(Qwen3Kind::moe);
    given.mesh = {.data_parallel_replicate = 2, .expert_parallel = 2};
    given.schedule = OneFOneBSchedule{};
    given.enable_checkpointing = checkpointed;
    given.devices = 1;
    expect_same_step(given);
    EXPECT_THAT(ran_on_cpu(), testing::ElementsAre(testing::Key("matmul")));
  }
}

// Weights are gathered from both ranks' shards, and gradients summed into them, by one copy of all pieces.
TEST(EmulatedStep, OfShardsOverTwoRanksIsThatOfTheCpu) {
  ParallelCase given = case_of(Qwen3Kind::moe);
  given.mesh = {.data_parallel_shard = 2};
  given.schedule = OneFOneBSchedule{};
  given.devices = 1;
  expect_same_step(given);
  EXPECT_THAT(ran_on_cpu(), testing::ElementsAre(testing::Key("matmul")));
}

// Windows, biases, sinks, tied tables, latent attention, shared experts, routing in groups, gated delta nets.
TEST(EmulatedStep, OfEachFamilyIsThatOfTheCpu) {
  for (const char* name :
       {"dense_families/llama_bias_tied", "dense_families/llama_mlp_bias", "dense_families/mistral_window",
        "dense_families/qwen2_window", "sparse_families/mixtral", "sparse_families/qwen2_moe_mixed",
        "sparse_families/gpt_oss", "latent_families/deepseek_v3", "gemma3_text/published",
        "qwen3_next/mixed"}) {
    SCOPED_TRACE(name);
    ParallelCase given{.mesh = {}, .model = Qwen3Config()};
    given.other = read_hugging_face_config(std::string(D9D_SOURCE_DIR) + "/tests/golden/" + name);
    given.batch = tiny_batch(*given.other, 2);
    expect_same_step(given);
    EXPECT_THAT(ran_on_cpu(), testing::ElementsAre(testing::Key("matmul")));
  }
}

// In bfloat16, by the error of transformers against fp64. Attention, which CUDA leaves to a library, is the CPU's.
TEST(EmulatedStep, InHalfThePrecisionIsAsNearToTheTruthAsThatOfTransformers) {
  for (const std::string& name : half_cases()) {
    SCOPED_TRACE(name);
    delayed::machine(0).reseed(1);
    choose_run(0);

    const ByOpsUnderTest ops;
    expect_as_near_as_transformers(name, delayed_device(0)->place());

    EXPECT_THAT(ran_on_cpu(), testing::Each(testing::Key(testing::AnyOf("attention_block", "matmul"))));
  }
}

// Prompts of several lengths, texts that go on alone: caches of keys and values, of latent attention, of windows and
// of gated delta nets.
TEST(EmulatedTexts, OfEachFamilyAreThoseOfTheCpu) {
  const std::vector<std::vector<std::int64_t>> prompts{{1, 2, 3}, {4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, {14}};
  for (const char* name : {"qwen3/moe", "dense_families/mistral_window", "latent_families/deepseek_v3",
                           "gemma3_text/published", "qwen3_next/mixed"}) {
    SCOPED_TRACE(name);
    const std::string folder = std::string(D9D_SOURCE_DIR) + "/tests/golden/" + name;
    GenerateOptions options{.max_new_tokens = 5};
    options.temperature = 0;
    options.sequences = 2;
    const auto expected = generate(load_hugging_face_model(PosixDisk(), folder), prompts, options);
    delayed::machine(0).reseed(1);
    choose_run(0);

    const ByOpsUnderTest ops;
    const LoadedModel there =
        load_hugging_face_model(PosixDisk(), folder, at::kFloat, delayed_device(0)->place());

    EXPECT_EQ(generate(there, prompts, options), expected);
    EXPECT_THAT(ran_on_cpu(), testing::ElementsAre(testing::Key("matmul")));
  }
}

}  // namespace
}  // namespace d9d::test
