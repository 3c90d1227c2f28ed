// Every op of the op table, forward and backward, on a delayed device: the bits of the CPU, whatever the order.
#include "runtime/devices/delayed/op_table.hpp"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <set>

#include "kernels/activation.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_block.hpp"
#include "kernels/attention/delta_gates.hpp"
#include "kernels/attention/delta_rule.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/attention/short_convolution.hpp"
#include "kernels/attention/token_cache.hpp"
#include "kernels/copy_pieces.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/graph/split_backward.hpp"
#include "kernels/graph/weight_work.hpp"
#include "kernels/linear.hpp"
#include "kernels/memory/host_values.hpp"
#include "kernels/moe.hpp"
#include "kernels/norm.hpp"
#include "kernels/ops/every_op.hpp"
#include "kernels/ops/tensors_in.hpp"
#include "kernels/ops/written.hpp"
#include "kernels/optimizer/block_quantization.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "kernels/optimizer/stochastic_adamw.hpp"
#include "kernels/optimizer/stochastic_copy.hpp"
#include "kernels/run_op.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::delayed {
namespace {

using kernels::OpTable;
using kernels::WeightWork;
using test::Tensors;

std::set<std::string>& names() {
  static std::set<std::string> of_binary;
  return of_binary;
}

template <auto op>
struct Noted;
template <class Group, class Result, class... Parameters, kernels::Op<Result(Parameters...)> Group::*op>
struct Noted<op> {
  static Result call(Parameters... arguments) {
    names().insert((kernels::op_detail::names.*op).name());
    return (op_table().*op).function()(arguments...);
  }
};

// The CPU's op, which has to leave all arguments as they are but those that written_arguments() says it writes to.
template <auto op>
struct Watched;
template <class Group, class Result, class... Parameters, kernels::Op<Result(Parameters...)> Group::*op>
struct Watched<op> {
  static Result call(Parameters... arguments) {
    std::vector<at::Tensor> read;
    std::uint32_t written = kernels::written_arguments<op>();
    const auto look = [&](const auto& argument) {
      kernels::for_tensors(argument, [&](const at::Tensor& tensor) {
        if ((written & 1U) == 0 && tensor.defined()) read.push_back(tensor);
      });
      written >>= 1;
    };
    (look(arguments), ...);
    std::vector<at::Tensor> before;
    for (const at::Tensor& tensor : read) before.push_back(tensor.clone());
    const Unchanged unchanged{before, read};
    return (kernels::op_detail::table_of("test", {}).*op).function()(arguments...);
  }
  struct Unchanged {
    const std::vector<at::Tensor>&before, &after;
    ~Unchanged() {
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_TRUE(at::allclose(before[i], after[i], 0, 0, /*equal_nan=*/true))
            << (kernels::op_detail::names.*op).name() << " writes to one that it is not said to write to";
    }
  };
};

class DelayedOps : public testing::Test {
 protected:
  // Whether the tests of all ops left none out; unless a filter chose some.
  static void TearDownTestSuite() {
    const testing::TestSuite& suite = *testing::UnitTest::GetInstance()->current_test_suite();
    if (suite.test_to_run_count() < suite.total_test_count()) return;
    kernels::for_each_op([]<auto op>() {
      const char* const name = (kernels::op_detail::names.*op).name();
      EXPECT_NE((op_table().*op).function(), nullptr) << name;
      EXPECT_TRUE(names().contains(name)) << name;
    });
  }

  DelayedOps() {
    delayed_device(0);  // the first one registers the device's own table, which the next lines replace
    kernels::for_each_op([&]<auto op>() { watched_.*op = &Watched<op>::call; });
    use_host_table(&watched_);
    kernels::for_each_op([&]<auto op>() { table_.*op = &Noted<op>::call; });
    kernels::register_ops(c10::kPrivateUse1, &table_);
  }
  ~DelayedOps() override {
    kernels::register_ops(c10::kPrivateUse1, &op_table());
    use_host_table(nullptr);
  }

  // Outputs, gradients of inputs, and of the parameters (inputs from `parameters` on) what weight work adds up.
  Tensors results(const test::Op& f, const Tensors& inputs, std::size_t parameters, at::Device place) {
    Tensors there;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      at::Tensor tensor = inputs[i].to(place, inputs[i].scalar_type(), /*non_blocking=*/true, /*copy=*/true);
      if (!tensor.is_floating_point()) kernels::keep_host_values(tensor, inputs[i]);
      if (tensor.is_floating_point()) tensor.requires_grad_(true);
      if (i >= parameters) tensor.mutable_grad() = at::ones_like(tensor);
      there.push_back(tensor);
    }
    const auto work = c10::make_intrusive<WeightWork>(WeightWork::Mode::deferred);
    Tensors all;
    {
      const WeightWork::Scope scope(work);
      all = f(there);
    }
    std::vector<kernels::BackwardRoot> roots;
    for (const at::Tensor& output : all) {
      if (!output.requires_grad()) continue;
      roots.push_back({torch::autograd::impl::gradient_edge(output), at::full_like(output, 0.5)});
    }
    kernels::run_backward(roots, {}, nullptr);
    work->run_queued();
    for (const at::Tensor& tensor : there) {
      if (tensor.grad().defined()) all.push_back(tensor.grad());
    }
    return all;
  }

  void expect_same_bits(const test::Op& f, const Tensors& inputs, std::size_t parameters = 1000) {
    const Tensors expected = results(f, inputs, parameters, at::kCPU);
    const auto device = delayed_device(0);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      machine(0).reseed(seed);
      HostWaits::take();
      const Tensors actual = results(f, inputs, parameters, device->place());
      for (const auto& [where, count] : HostWaits::take()) ADD_FAILURE() << where.second << " waits";
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(actual[i].cpu().equal(expected[i].detach())) << "result " << i << ", seed " << seed;
    }
  }

 private:
  OpTable table_, watched_;
};

at::Tensor numbers(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType dtype = at::kFloat) {
  return test::values(sizes, seed, dtype);
}

TEST_F(DelayedOps, OfDenseLayersGiveTheBitsOfTheCpu) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    expect_same_bits([](const Tensors& in) -> Tensors { return {kernels::linear(in[0], in[1], in[2])}; },
                     {numbers({5, 8}, 1, dtype), numbers({6, 8}, 2, dtype), numbers({6}, 3, dtype)}, 1);
    expect_same_bits(
        [](const Tensors& in) -> Tensors {
          const auto [normed, sum] = kernels::add_rms_norm(in[0], in[1], in[2], 1e-6);
          const auto [by_layer, too] = kernels::add_layer_norm(in[0], in[1], in[2], 1e-6);
          return {normed,
                  sum,
                  by_layer,
                  too,
                  kernels::silu_mul(in[0], in[1]),
                  kernels::gelu_mul(in[1], in[0]),
                  kernels::gelu_erf_mul(in[0], in[1])};
        },
        {numbers({2, 5, 8}, 1, dtype), numbers({2, 5, 8}, 2, dtype), numbers({8}, 3, dtype)}, 2);
  }
  expect_same_bits([](const Tensors& in) -> Tensors { return {kernels::embedding(in[0], in[1])}; },
                   {test::integers({3, 5}, 10, 1), numbers({10, 8}, 2)}, 1);
}

TEST_F(DelayedOps, OfAttentionGiveTheBitsOfTheCpu) {
  const Tensors inputs{numbers({2, 5, 4, 8}, 1), numbers({2, 5, 2, 8}, 2), numbers({2, 5, 2, 6}, 3),
                       numbers({8}, 4),          numbers({5, 8}, 5),       numbers({5, 8}, 6)};
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const auto [q, k] =
            kernels::qk_norm_rope(in[0], in[1], in[3], in[3], 1e-6, in[4].detach(), in[5].detach());
        return {kernels::attention(q, k, in[2], kernels::causal_mask, 0.3)};
      },
      inputs);
  for (const auto& [bias, by_distance] : {std::pair{numbers({1, 4, 5, 5}, 7), false},
                                          {numbers({2, 1, 1, 5}, 7), false},
                                          {numbers({1, 4, 1, 9}, 7), true}}) {
    expect_same_bits(
        [by_distance = by_distance](const Tensors& in) -> Tensors {
          return {kernels::attention(in[0], in[1], in[2], kernels::causal_mask, 0.3, {}, {},
                                     {in[3], by_distance})};
        },
        {inputs[0], inputs[1], inputs[2], bias});
  }
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const at::Tensor q = in[0].detach(), k = in[1].detach(), v = in[2].detach();
        const auto block = kernels::attention_block(q, k, v, kernels::full_mask, 0.3, at::kFloat);
        kernels::merge_attention_block(
            block, kernels::attention_block(q, k.neg(), v, kernels::full_mask, 0.3, at::kFloat));
        return {block.out, block.lse};
      },
      inputs);
}

TEST_F(DelayedOps, OfACacheGiveTheBitsOfTheCpu) {
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const at::NoGradGuard no_grad;
        const kernels::CacheStretches stretches{{0, 0, 3}, {1, 0, 2}};
        const at::Tensor keys = at::zeros({2, 2, 8, 8}, in[0].options()), values = keys.clone();
        kernels::write_cache(in[1], keys, stretches);
        kernels::write_cache(in[2], values, stretches);
        const at::Tensor state = at::zeros({2, 4, 8, 8}, in[0].options());
        const at::Tensor stepped = kernels::delta_rule_steps(in[1], in[2], in[0], in[3].sigmoid().log(),
                                                             in[3].sigmoid(), state, stretches, {});
        return {kernels::cached_attention(in[0], keys, values, stretches, 0, 0.3), stepped, state};
      },
      {numbers({5, 4, 8}, 1), numbers({5, 2, 8}, 2), numbers({5, 2, 8}, 3), numbers({5, 4}, 4)});
}

TEST_F(DelayedOps, OfMemoryGiveTheBitsOfTheCpu) {
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const at::NoGradGuard no_grad;
        const at::Tensor to = at::zeros({11}, in[0].options());
        kernels::copy_pieces(to, in[0].detach().view({-1}), {{7, 0, 3}, {0, 30, 5}});
        return {to};
      },
      {numbers({5, 8}, 1)});
}

// In bfloat16 a device writes the gradient of all logits beside them, where the CPU rounds some at a time.
TEST_F(DelayedOps, OfTheLossGiveTheBitsOfTheCpu) {
  at::Tensor labels = test::integers({7}, 20, 5);
  labels[2] = -100;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Tensors inputs{numbers({7, 8}, 1, dtype), labels, numbers({20, 8}, 2, dtype)};
    expect_same_bits(
        [](const Tensors& in) -> Tensors {
          return {kernels::linear_cross_entropy(in[0], in[2], in[1]).sum().div(6)};
        },
        inputs, 2);
    expect_same_bits(
        [](const Tensors& in) -> Tensors {
          const auto gather = [](const at::Tensor& own) { return own.unsqueeze(0).expand({2, -1, -1}); };
          return {kernels::linear_cross_entropy_of_part(in[0], in[2], in[1], {0, 40, gather}).sum()};
        },
        inputs, 2);
  }
}

TEST_F(DelayedOps, OfTheLossOfALongVocabularyGiveTheBitsOfTheCpu) {
  const Tensors inputs{numbers({7, 8}, 1), test::integers({7}, 66000, 5), numbers({66000, 8}, 2)};
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        return {kernels::linear_cross_entropy(in[0], in[2], in[1]).sum().div(6)};
      },
      inputs, 2);
}

TEST_F(DelayedOps, OfExpertsGiveTheBitsOfTheCpu) {
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const auto [probs, experts] = kernels::moe_router(in[1], {.top_k = 2, .renormalise = true});
        return {kernels::moe_experts(in[0], probs, experts, in[2], in[3], in[4])};
      },
      {numbers({6, 8}, 1), numbers({6, 4}, 2), numbers({4, 16, 8}, 3), numbers({4, 16, 8}, 4),
       numbers({4, 8, 16}, 5)},
      2);
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const auto [probs, experts] = kernels::moe_router(in[1], {.top_k = 2});
        const auto [rows, offsets, map] = kernels::moe_permute(in[0], experts, 4);
        return {kernels::moe_unpermute(kernels::grouped_linear(rows, in[2], offsets), probs, map)};
      },
      {numbers({6, 8}, 1), numbers({6, 4}, 2), numbers({4, 8, 8}, 3)}, 2);
}

TEST_F(DelayedOps, OfOwnersOfChoicesGiveTheBitsOfTheCpu) {
  const at::Tensor choices = test::integers({9, 4}, 12, 3), there = choices.to(delayed_device(0)->place());

  EXPECT_TRUE(kernels::choice_owners(there, 3).cpu().equal(kernels::choice_owners(choices, 3)));
}

TEST_F(DelayedOps, OfRecurrentMixersGiveTheBitsOfTheCpu) {
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const at::Tensor keys = kernels::short_convolution(in[0], in[1], 24);
        const auto [decay, beta] = kernels::delta_gates(in[2], in[3], in[4]);
        return {kernels::gated_delta_rule(keys, keys, in[5], decay, beta, {.normalise = true})};
      },
      {numbers({2, 5, 2, 8}, 1), numbers({40, 1, 3}, 2), numbers({2, 5, 2, 4}, 3), numbers({4}, 4),
       numbers({4}, 5), numbers({2, 5, 4, 6}, 6)});
}

// MOD-25.
TEST_F(DelayedOps, OfGatesOfLogsigmoidsGiveTheBitsOfTheCpu) {
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const auto [decay, beta] = kernels::logsigmoid_gates(in[0], 16);
        return {decay, beta};
      },
      {numbers({2, 5, 2, 4}, 3)});
}

TEST_F(DelayedOps, OfOptimizersGiveTheBitsOfTheCpu) {
  expect_same_bits(
      [](const Tensors& in) -> Tensors {
        const at::NoGradGuard no_grad;
        Tensors state;
        for (const at::Tensor& tensor : in) state.push_back(tensor.detach().abs());
        kernels::adamw_step(
            state[0], state[1], state[2], state[3],
            {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1, .step = 3});
        state.push_back(state[0].to(at::kBFloat16));
        kernels::stochastic_adamw_step(state[4], state[1].clone(), state[2], state[3], {.lr = 0.1, .step = 3},
                                       {.value_and_first = {1, 2, 3}, .place = {.run = 256}});
        kernels::stochastic_copy(state[0], state[4], {4, 5, 6});
        const at::Tensor codes = at::empty({256}, in[0].options().dtype(at::kByte)),
                         scales = at::empty({4}, in[0].options());
        kernels::quantize_blocks(state[2], 64, kernels::CodeBook::positive, codes, scales);
        kernels::dequantize_blocks(codes, scales, 64, kernels::CodeBook::positive, state[3]);
        state.push_back(codes);
        state.push_back(kernels::sum_of_squares(state[0]));
        return state;
      },
      {numbers({256}, 1), numbers({256}, 2), numbers({256}, 3), numbers({256}, 4)});
}

TEST_F(DelayedOps, WaitOnlyForWhatTheHostHasToKnow) {
  const at::Device place = delayed_device(0)->place();
  const at::Tensor labels = test::integers({9}, 20, 5), there = labels.to(place);
  const at::Tensor threes = at::full({5}, 3.0).to(place);
  HostWaits::take();

  EXPECT_EQ(kernels::run_op(&OpTable::uniform_value, threes), 3.0);
  const auto valid = kernels::run_op(&OpTable::valid_tokens, there, -100, 20);

  const HostWaits::Counts expected{{{"", "uniform_value"}, 1}, {{"", "valid_tokens"}, 1}};
  EXPECT_EQ(HostWaits::take(), expected);
  EXPECT_TRUE(valid.labels.cpu().equal(labels));
}

TEST_F(DelayedOps, NameAnOpWhoseResultsHaveAnotherShapeThanItSaid) {
  const at::Device place = delayed_device(0)->place();
  const at::Tensor experts = at::full({3, 2}, -1, at::kLong).to(place);

  kernels::run_op(&OpTable::expert_rows, experts, at::full({3, 2}, 0.5F).to(place), 4);

  EXPECT_THAT(
      test::error_of<c10::Error>([&] { delayed_device(0)->record(StreamRole::compute).wait("a test"); }),
      testing::HasSubstr("expert_rows"));
}

}  // namespace
}  // namespace d9d::delayed
