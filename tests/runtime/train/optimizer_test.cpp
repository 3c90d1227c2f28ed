#include "runtime/train/optimizer.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "runtime/base/error.hpp"
#include "runtime/train/flat_optimizer.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

std::vector<StageParameter> small_stage(at::ScalarType dtype = at::kFloat) {
  return {make_parameter("model.embed.weight", Layout::local({5, 3}), dtype),
          make_parameter("model.layers.0.attn.q.weight", Layout::local({7, 3}), dtype),
          make_parameter("model.layers.0.attn.q.bias", Layout::local({7}), dtype),
          make_parameter("model.norm.weight", Layout::local({3}), dtype)};
}

// The gradient of a step; the parameter named so never gets one.
const std::string kWithoutGradient = "model.norm.weight";
at::Tensor gradient_of(const StageParameter& parameter, int step) {
  return wave(parameter.name, parameter.layout.global_shape(), 10.0 * step)
      .mul(parameter.name == kWithoutGradient ? 0.0 : 1.0);
}
void put_gradients(const std::vector<StageParameter>& stage, int step) {
  for (const StageParameter& parameter : stage) {
    const at::Tensor global = gradient_of(parameter, step);
    parameter.tensor.mutable_grad().copy_(block_of(global, parameter.layout.local_slice()));
  }
}

// The textbook update of one element, in double.
struct Reference {
  double value, first = 0, second = 0, second_max = 0;

  void adam(double grad, int step, double lr, double decay, const AdamOptions& o) {
    if (o.maximize) grad = -grad;
    if (o.decoupled_weight_decay) value -= lr * decay * value;
    if (!o.decoupled_weight_decay) grad += decay * value;
    first = o.beta1 * first + (1 - o.beta1) * grad;
    second = o.beta2 * second + (1 - o.beta2) * grad * grad;
    second_max = std::max(second_max, second);
    const double corrected = (o.amsgrad ? second_max : second) / (1 - std::pow(o.beta2, step));
    value -= lr * first / (1 - std::pow(o.beta1, step)) / (std::sqrt(corrected) + o.eps);
  }
  void sgd(double grad, int step, double lr, const SgdOptions& o) {
    if (o.maximize) grad = -grad;
    grad += o.weight_decay * value;
    first = step == 1 ? grad : o.momentum * first + (1 - o.dampening) * grad;
    const double along = o.momentum == 0 ? grad : o.nesterov ? grad + o.momentum * first : first;
    value -= lr * along;
  }
};

constexpr int kSteps = 10;
constexpr double kScale = 0.37;
double multiplier(int step) {
  return 1.0 / step;
}

void expect_ten_steps(const OptimizerOptions& options, const std::vector<ParameterRule>& rules,
                      const std::function<void(Reference&, const std::string&, double, int)>& update) {
  const auto stage = small_stage();
  const FlatParameters flat(stage, {});
  const auto optimizer = make_optimizer(options, flat, rules);
  for (int step = 1; step <= kSteps; ++step) {
    put_gradients(stage, step);
    optimizer->step({.lr_multiplier = multiplier(step), .grad = kScale});
  }
  for (const StageParameter& parameter : stage) {
    const at::Tensor start = wave(parameter.name, parameter.layout.global_shape()).flatten();
    for (std::int64_t i = 0; i < start.numel(); ++i) {
      Reference reference{start[i].item<float>()};
      for (int step = 1; step <= kSteps; ++step) {
        update(reference, parameter.name, kScale * gradient_of(parameter, step).flatten()[i].item<float>(),
               step);
      }
      EXPECT_NEAR(parameter.tensor.flatten()[i].item<float>(), reference.value, 3e-6)
          << parameter.name << " " << i;
    }
    EXPECT_EQ(parameter.tensor.grad().abs().max().item<float>(), 0);
  }
  EXPECT_EQ(optimizer->step_count(), kSteps);
}

void expect_adam(const AdamOptions& options) {
  expect_ten_steps(options, {}, [&](Reference& reference, const std::string&, double grad, int step) {
    reference.adam(grad, step, options.lr * multiplier(step), options.weight_decay, options);
  });
}

TEST(Optimizer, AdamWFollowsTheTextbook) {
  expect_adam({.lr = 0.05, .weight_decay = 0.1});
}
TEST(Optimizer, AdamWClimbsWhenAsked) {
  expect_adam({.lr = 0.05, .maximize = true});
}
TEST(Optimizer, AdamWKeepsTheLargestSecondMomentWhenAsked) {
  expect_adam({.lr = 0.05, .amsgrad = true});
}
TEST(Optimizer, AdamAddsTheDecayToTheGradient) {
  expect_adam({.lr = 0.05, .weight_decay = 0.1, .decoupled_weight_decay = false});
}

TEST(Optimizer, SgdFollowsTheTextbook) {
  for (const SgdOptions& options :
       {SgdOptions{.lr = 0.1}, SgdOptions{.lr = 0.1, .weight_decay = 0.2},
        SgdOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.3},
        SgdOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true, .maximize = true}}) {
    expect_ten_steps(options, {}, [&](Reference& reference, const std::string&, double grad, int step) {
      reference.sgd(grad, step, options.lr * multiplier(step), options);
    });
  }
}

// W-12
TEST(Optimizer, RulesGiveParametersSettingsOfTheirOwn) {
  const AdamOptions options{.lr = 0.05, .weight_decay = 0.1};
  const std::vector<ParameterRule> rules{{.pattern = "*.bias", .weight_decay = 0.0},
                                         {.pattern = "*norm*", .weight_decay = 0.5, .lr_factor = 0.1}};

  expect_ten_steps(options, rules, [&](Reference& reference, const std::string& name, double grad, int step) {
    const bool bias = name.ends_with(".bias");
    const bool norm = name.find("norm") != std::string::npos;
    reference.adam(grad, step, options.lr * multiplier(step) * (norm ? 0.1 : 1),
                   bias   ? 0.0
                   : norm ? 0.5
                          : 0.1,
                   options);
  });
}

TEST(Optimizer, PatternsMatchNames) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*.bias", "a.b.bias"));
  EXPECT_TRUE(matches("model.layers.?.*norm*.weight", "model.layers.3.input_layernorm.weight"));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches("*.bias", "a.bias.weight"));
  EXPECT_FALSE(matches("a?c", "ac"));
  EXPECT_FALSE(matches("", "a"));
}

std::map<std::string, at::Tensor> copy_of_state(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> state;
  for (const StateEntry& entry : optimizer.state_entries())
    state[entry.kind + "/" + entry.name] = entry.tensor.clone();
  return state;
}

void expect_bit_exact_resume(const OptimizerOptions& options, at::ScalarType dtype) {
  const auto stage = small_stage(dtype);
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat, .bucket_bytes = 64});
  const auto unbroken = make_optimizer(options, flat);
  std::map<std::string, at::Tensor> saved;
  for (int step = 1; step <= 6; ++step) {
    put_gradients(stage, step);
    unbroken->step({});
    if (step == 3) saved = copy_of_state(*unbroken);
  }

  // Another bucket size: the state does not know about buffers.
  const auto again = small_stage(dtype);
  const FlatParameters flat_again(again, {.grad_dtype = at::kFloat});
  const auto resumed = make_optimizer(options, flat_again);
  for (const StateEntry& entry : resumed->state_entries()) {
    at::Tensor target = entry.tensor;
    target.copy_(saved.at(entry.kind + "/" + entry.name));
  }
  resumed->set_step_count(3);
  for (int step = 4; step <= 6; ++step) {
    put_gradients(again, step);
    resumed->step({});
  }

  const auto expected = copy_of_state(*unbroken);
  const auto got = copy_of_state(*resumed);
  ASSERT_EQ(expected.size(), got.size());
  for (const auto& [name, tensor] : expected) EXPECT_TRUE(at::equal(tensor, got.at(name))) << name;
}

TEST(Optimizer, ResumesToTheSameBits) {
  expect_bit_exact_resume(AdamOptions{.lr = 0.01}, at::kFloat);
  expect_bit_exact_resume(AdamOptions{.lr = 0.01, .amsgrad = true}, at::kBFloat16);
  expect_bit_exact_resume(SgdOptions{.lr = 0.01, .momentum = 0.9, .dampening = 0.5}, at::kFloat);
  expect_bit_exact_resume(StochasticAdamWOptions{.lr = 0.01, .bfloat16_state = true, .seed = 5},
                          at::kBFloat16);
}

TEST(Optimizer, NamesFrozenParametersInItsStateButNotTheirMoments) {
  auto stage = small_stage();
  stage[0].tensor.requires_grad_(false);
  const FlatParameters flat(stage, {});

  const auto state = copy_of_state(*make_optimizer(AdamOptions{.lr = 1}, flat));

  EXPECT_TRUE(state.contains("param/model.embed.weight"));
  EXPECT_FALSE(state.contains("exp_avg/model.embed.weight"));
  EXPECT_EQ(state.size(), 4U + 2U * 3U);
}

TEST(Optimizer, RefusesImpossibleSettingsByTheirKey) {
  const FlatParameters flat(small_stage(), {});
  const auto refusal = [&](const OptimizerOptions& options) -> std::string {
    try {
      make_optimizer(options, flat);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };

  EXPECT_THAT(refusal(AdamOptions{.lr = 0}), HasSubstr("optimizer.lr"));
  EXPECT_THAT(refusal(AdamOptions{.lr = 1, .beta2 = 1}), HasSubstr("optimizer.betas"));
  EXPECT_THAT(refusal(AdamOptions{.lr = 1, .eps = 0}), HasSubstr("optimizer.eps"));
  EXPECT_THAT(refusal(AdamOptions{.lr = 1, .weight_decay = -1}), HasSubstr("optimizer.weight_decay"));
  EXPECT_THAT(refusal(SgdOptions{.lr = 1, .nesterov = true}), HasSubstr("optimizer.nesterov"));
  EXPECT_THAT(refusal(StochasticAdamWOptions{.lr = 1}), HasSubstr("choose adamw"));
}

}  // namespace
}  // namespace d9d
