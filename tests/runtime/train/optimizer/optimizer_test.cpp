#include "runtime/train/optimizer/optimizer.hpp"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "runtime/base/error.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "tests/runtime/train/stage_of.hpp"
#include "tests/support/error_of.hpp"

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
const std::string without_gradient = "model.norm.weight";
at::Tensor gradient_of(const StageParameter& parameter, int step) {
  return wave(parameter.name, parameter.layout.global_shape(), 10.0 * step)
      .mul(parameter.name == without_gradient ? 0.0 : 1.0);
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

  template <class Adam>
  void adam(double grad, int step, double lr, double decay, const Adam& o) {
    const auto [beta1, beta2] = o.betas;
    const bool decoupled = std::is_same_v<Adam, AdamWOptions>;
    if (o.maximize) grad = -grad;
    if (decoupled) value -= lr * decay * value;
    if (!decoupled) grad += decay * value;
    first = beta1 * first + (1 - beta1) * grad;
    second = beta2 * second + (1 - beta2) * grad * grad;
    second_max = std::max(second_max, second);
    const double corrected = (o.amsgrad ? second_max : second) / (1 - std::pow(beta2, step));
    value -= lr * first / (1 - std::pow(beta1, step)) / (std::sqrt(corrected) + o.eps);
  }
  void sgd(double grad, int step, double lr, const SgdOptions& o) {
    if (o.maximize) grad = -grad;
    grad += o.weight_decay * value;
    first = step == 1 ? grad : o.momentum * first + (1 - o.dampening) * grad;
    const double along = o.momentum == 0 ? grad : o.nesterov ? grad + o.momentum * first : first;
    value -= lr * along;
  }
};

constexpr int num_steps = 10;
constexpr double gradient_scale = 0.37;
double multiplier(int step) {
  return 1.0 / step;
}

void expect_ten_steps(const OptimizerOptions& options,
                      const std::function<void(Reference&, const std::string&, double, int)>& update) {
  const auto stage = small_stage();
  const FlatParameters flat(stage, {});
  const auto optimizer = make_optimizer(options, flat);
  for (int step = 1; step <= num_steps; ++step) {
    put_gradients(stage, step);
    optimizer->step({.lr_multiplier = multiplier(step), .grad = gradient_scale});
  }
  for (const StageParameter& parameter : stage) {
    const at::Tensor start = wave(parameter.name, parameter.layout.global_shape()).flatten();
    for (std::int64_t i = 0; i < start.numel(); ++i) {
      Reference reference{start[i].item<float>()};
      for (int step = 1; step <= num_steps; ++step) {
        update(reference, parameter.name,
               gradient_scale * gradient_of(parameter, step).flatten()[i].item<float>(), step);
      }
      EXPECT_NEAR(parameter.tensor.flatten()[i].item<float>(), reference.value, 3e-6)
          << parameter.name << " " << i;
    }
    EXPECT_EQ(parameter.tensor.grad().abs().max().item<float>(), 0);
  }
  EXPECT_EQ(optimizer->step_count(), num_steps);
}

template <class Adam>
void expect_adam(const Adam& options) {
  expect_ten_steps(options, [&](Reference& reference, const std::string&, double grad, int step) {
    reference.adam(grad, step, options.lr * multiplier(step), options.weight_decay, options);
  });
}

TEST(Optimizer, AdamWFollowsTheTextbook) {
  expect_adam(AdamWOptions{.lr = 0.05, .weight_decay = 0.1});
}
TEST(Optimizer, AdamWClimbsWhenAsked) {
  expect_adam(AdamWOptions{.lr = 0.05, .maximize = true});
}
TEST(Optimizer, AdamWKeepsTheLargestSecondMomentWhenAsked) {
  expect_adam(AdamWOptions{.lr = 0.05, .amsgrad = true});
}
TEST(Optimizer, AdamAddsTheDecayToTheGradient) {
  expect_adam(AdamOptions{.lr = 0.05, .weight_decay = 0.1});
}

TEST(Optimizer, SgdFollowsTheTextbook) {
  for (const SgdOptions& options :
       {SgdOptions{.lr = 0.1}, SgdOptions{.lr = 0.1, .weight_decay = 0.2},
        SgdOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.3},
        SgdOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true, .maximize = true}}) {
    expect_ten_steps(options, [&](Reference& reference, const std::string&, double grad, int step) {
      reference.sgd(grad, step, options.lr * multiplier(step), options);
    });
  }
}

// W-12
TEST(Optimizer, RulesGiveParametersSettingsOfTheirOwn) {
  const AdamWOptions options{.lr = 0.05,
                             .weight_decay = 0.1,
                             .rules = {{.match = "*.bias", .weight_decay = 0.0},
                                       {.match = "*norm*", .weight_decay = 0.5, .lr_multiplier = 0.1}}};

  expect_ten_steps(options, [&](Reference& reference, const std::string& name, double grad, int step) {
    const bool bias = name.ends_with(".bias");
    const bool norm = name.find("norm") != std::string::npos;
    reference.adam(grad, step, options.lr * multiplier(step) * (norm ? 0.1 : 1),
                   bias   ? 0.0
                   : norm ? 0.5
                          : 0.1,
                   options);
  });
}

TEST(Optimizer, ARuleGivesParametersBetasOfTheirOwn) {
  const std::array<double, 2> own{0.5, 0.7};
  const auto expect_own = [&](const auto& options) {
    expect_ten_steps(options, [&](Reference& reference, const std::string& name, double grad, int step) {
      auto settings = options;
      if (name.ends_with(".bias")) settings.betas = own;
      reference.adam(grad, step, options.lr * multiplier(step), options.weight_decay, settings);
    });
  };

  expect_own(AdamWOptions{.lr = 0.05, .rules = {{.match = "*.bias", .weight_decay = 0.01, .betas = own}}});
  expect_own(AdamOptions{.lr = 0.05, .amsgrad = true, .rules = {{.match = "*.bias", .betas = own}}});
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
    state[entry.kind + "/" + entry.name] = saved_values(entry);
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
  for (const StateEntry& entry : resumed->state_entries())
    load_values(entry, saved.at(entry.kind + "/" + entry.name));
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
  expect_bit_exact_resume(AdamWOptions{.lr = 0.01}, at::kFloat);
  expect_bit_exact_resume(AdamWOptions{.lr = 0.01, .amsgrad = true}, at::kBFloat16);
  expect_bit_exact_resume(AdamWOptions{.lr = 0.01, .master_weights = false}, at::kBFloat16);
  expect_bit_exact_resume(SgdOptions{.lr = 0.01, .momentum = 0.9, .dampening = 0.5}, at::kFloat);
  expect_bit_exact_resume(StochasticAdamWOptions{.lr = 0.01, .state_dtype = Dtype::bfloat16}, at::kBFloat16);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    expect_bit_exact_resume(MuonOptions{.lr = 0.01}, dtype);
    expect_bit_exact_resume(AdamW8BitOptions{.lr = 0.01, .block_size = 4, .float32_below = 0}, dtype);
  }
}

// Masters of the stage, by name.
std::map<std::string, at::Tensor> masters_of(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> masters;
  for (const StateEntry& entry : optimizer.state_entries())
    if (entry.kind == master_weight_kind) masters[entry.name] = entry.tensor;
  return masters;
}

// W-13: a bf16 number has 8 bits, so 0.1 % of a weight vanishes when it is added to it.
TEST(Optimizer, SmallUpdatesOfBfloat16WeightsAddUpInTheirMasters) {
  for (const OptimizerOptions& options :
       {OptimizerOptions(AdamWOptions{.lr = 1e-4}), OptimizerOptions(AdamOptions{.lr = 1e-4}),
        OptimizerOptions(SgdOptions{.lr = 1e-4, .momentum = 0.9})}) {
    const auto half = small_stage(at::kBFloat16);
    const FlatParameters flat(half, {.grad_dtype = at::kFloat});
    auto single = small_stage(at::kFloat);
    const FlatParameters flat_single(single, {});
    for (std::size_t i = 0; i < half.size(); ++i) single[i].tensor.detach().copy_(half[i].tensor.detach());
    const auto optimizer = make_optimizer(options, flat);
    const auto reference = make_optimizer(options, flat_single);
    for (int step = 1; step <= 30; ++step) {
      put_gradients(half, step);
      put_gradients(single, step);
      optimizer->step({});
      reference->step({});
    }

    const auto masters = masters_of(*optimizer);
    ASSERT_EQ(masters.size(), half.size());
    for (std::size_t i = 0; i < half.size(); ++i) {
      EXPECT_TRUE(at::equal(masters.at(half[i].name), single[i].tensor)) << half[i].name;
      EXPECT_TRUE(at::equal(half[i].tensor, single[i].tensor.to(at::kBFloat16))) << half[i].name;
    }
  }
}

TEST(Optimizer, WithoutMastersSmallUpdatesOfBfloat16WeightsAreLost) {
  const auto stage = small_stage(at::kBFloat16);
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
  const at::Tensor before = stage[1].tensor.detach().clone();
  const auto optimizer = make_optimizer(SgdOptions{.lr = 1e-9, .master_weights = false}, flat);

  put_gradients(stage, 1);
  optimizer->step({});

  EXPECT_TRUE(at::equal(stage[1].tensor, before));
  EXPECT_TRUE(masters_of(*optimizer).empty());
}

TEST(Optimizer, OnlyBfloat16WeightsHaveMasters) {
  auto stage = small_stage(at::kFloat);
  stage.push_back(make_parameter("model.head.weight", Layout::local({4, 3}), at::kBFloat16));
  const FlatParameters flat(stage, {});

  const auto masters = masters_of(*make_optimizer(AdamWOptions{.lr = 1}, flat));

  ASSERT_EQ(masters.size(), 1U);
  EXPECT_TRUE(masters.contains("model.head.weight"));
}

// What `check` counts is what there is.
TEST(Optimizer, SaysHowManyBytesItsStateTakes) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const auto stage = small_stage(dtype);
    const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
    for (const OptimizerOptions& options :
         {OptimizerOptions(AdamWOptions{.lr = 1}), OptimizerOptions(AdamOptions{.lr = 1, .amsgrad = true}),
          OptimizerOptions(AdamWOptions{.lr = 1, .master_weights = false}),
          OptimizerOptions(SgdOptions{.lr = 1}), OptimizerOptions(SgdOptions{.lr = 1, .momentum = 0.9}),
          OptimizerOptions(StochasticAdamWOptions{.lr = 1, .state_dtype = Dtype::bfloat16})}) {
      if (dtype == at::kFloat && std::holds_alternative<StochasticAdamWOptions>(options)) continue;
      std::int64_t bytes = 0;
      for (const StateEntry& entry : make_optimizer(options, flat)->state_entries())
        if (entry.kind != "param") bytes += static_cast<std::int64_t>(entry.tensor.nbytes());

      EXPECT_EQ(bytes, flat.num_elements() * state_bytes(options, dtype_of(dtype))) << options.index();
    }
  }
}

TEST(Optimizer, NamesFrozenParametersInItsStateButNotTheirMoments) {
  auto stage = small_stage();
  stage[0].tensor.requires_grad_(false);
  const FlatParameters flat(stage, {});

  const auto state = copy_of_state(*make_optimizer(AdamWOptions{.lr = 1}, flat));

  EXPECT_TRUE(state.contains("param/model.embed.weight"));
  EXPECT_FALSE(state.contains("exp_avg/model.embed.weight"));
  EXPECT_EQ(state.size(), 4U + 2U * 3U);
}

TEST(Optimizer, RefusesImpossibleSettingsByTheirKey) {
  const FlatParameters flat(small_stage(), {});
  const auto refusal = [&](const OptimizerOptions& options) -> std::string {
    return test::error_of([&] { make_optimizer(options, flat); });
  };

  EXPECT_THAT(refusal(AdamWOptions{.lr = 0}), HasSubstr("optimizer.lr"));
  EXPECT_THAT(refusal(AdamWOptions{.lr = 1, .betas = {0.9, 1}}), HasSubstr("optimizer.betas"));
  EXPECT_THAT(refusal(AdamWOptions{.lr = 1, .eps = 0}), HasSubstr("optimizer.eps"));
  EXPECT_THAT(refusal(AdamOptions{.lr = 1, .weight_decay = -1}), HasSubstr("optimizer.weight_decay"));
  EXPECT_THAT(refusal(SgdOptions{.lr = 1, .nesterov = true}), HasSubstr("optimizer.nesterov"));
  EXPECT_THAT(refusal(StochasticAdamWOptions{.lr = 1}), HasSubstr("choose adamw"));
  EXPECT_THAT(refusal(StochasticAdamWOptions{.lr = 1, .state_dtype = Dtype::float16}),
              HasSubstr("optimizer.state_dtype = float16"));
  EXPECT_THAT(refusal(AdamWOptions{.lr = 1, .rules = {{.match = "*", .weight_decay = -1}}}),
              HasSubstr("optimizer.rules.0.weight_decay = -1"));
  const std::array<double, 2> betas{0.9, 0.9};
  EXPECT_THAT(refusal(SgdOptions{.lr = 1, .rules = {{.match = "*", .betas = betas}}}),
              HasSubstr("optimizer.rules.0.betas: this optimizer has no betas"));
  EXPECT_THAT(refusal(AdamW8BitOptions{.lr = 1, .block_size = 0}), HasSubstr("optimizer.block_size = 0"));
  EXPECT_THAT(refusal(AdamW8BitOptions{.lr = 1, .float32_below = -1}), HasSubstr("optimizer.float32_below"));
  EXPECT_THAT(refusal(MuonOptions{.lr = 1, .momentum = 1}), HasSubstr("optimizer.momentum = 1"));
  EXPECT_THAT(refusal(MuonOptions{.lr = 1, .newton_schulz_steps = 0}), HasSubstr("newton_schulz_steps"));
}

}  // namespace
}  // namespace d9d
