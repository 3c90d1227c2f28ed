#include "tests/runtime/family/half_golden.hpp"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/tensor/routed_stage.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

// Of transformers' own error, which has the same roundings of weights' products and of states between layers. The root
// of the mean square of thousands of errors moves little; that of sixty, and the largest of all, move more.
constexpr double of_thousands = 1.15, of_few = 1.5;

bool has_same_experts(const StageModule& stage, const GoldenModel& golden) {
  const auto chosen = golden.expect.find("expert_tokens");
  if (chosen == golden.expect.end()) return true;
  const auto routed = dynamic_cast<const RoutedStage&>(stage).routed_tokens();
  if (static_cast<std::int64_t>(routed.size()) != chosen->second.size(0)) return false;
  for (std::size_t i = 0; i < routed.size(); ++i)
    if (!routed[i].tokens.cpu().equal(chosen->second[static_cast<std::int64_t>(i)])) return false;
  return true;
}

}  // namespace

const std::vector<std::string>& half_cases() {
  static const std::vector<std::string> cases{"qwen3", "qwen3_moe", "gpt_oss", "gemma3"};
  return cases;
}

ErrorSize error_size(const at::Tensor& found, const at::Tensor& truth) {
  EXPECT_EQ(found.sizes(), truth.sizes());
  const at::Tensor error = found.detach().cpu().to(at::kDouble).sub(truth.to(at::kDouble));
  return {error.abs().max().item<double>(), error.square().mean().sqrt().item<double>()};
}

double HalfDistance::largest() const {
  return std::max({logits_rms, logits_largest, losses_rms, losses_largest, mean_loss});
}

HalfDistance half_distance(const std::string& name, at::Device device) {
  const GoldenModel golden = golden_model("bfloat16/" + name);
  const BuildOptions options{.dtype = at::kBFloat16, .device = device};
  const auto there = [&](const char* input) { return golden.expect.at(input).to(device); };
  const TensorMap inputs{{"input_ids", there("input_ids")}}, labels{{"labels", there("labels")}};
  const at::Tensor logits = stage_of(golden, {}, options)->forward(inputs, {}).at("logits");
  const auto trained = stage_of(golden, {}, options);
  trained->set_training(true);
  const at::Tensor token_loss = trained->forward(inputs, labels).at("cross_entropy").cpu();
  EXPECT_EQ(token_loss.scalar_type(), at::kFloat);

  const auto theirs = [&](const std::string& what) {
    const at::Tensor size = golden.expect.at("error." + what);
    return ErrorSize{size[0].item<double>(), size[1].item<double>()};
  };
  const ErrorSize of_logits = error_size(logits, golden.expect.at("logits")), their_logits = theirs("logits");
  const at::Tensor counts = golden.expect.at("labels").ne(-100);
  const ErrorSize of_losses = error_size(token_loss.masked_select(counts),
                                         golden.expect.at("token_loss").masked_select(counts)),
                  their_losses = theirs("token_loss");
  const double loss = mean_loss(token_loss.to(at::kDouble), golden.expect.at("labels")).item<double>();
  // The mean of n errors whose root of the mean square is r is near r / sqrt(n) where they are of both signs.
  const double of_mean = their_losses.rms / std::sqrt(counts.sum().item<double>());
  return {.logits_rms = of_logits.rms / (of_thousands * their_logits.rms),
          .logits_largest = of_logits.largest / (of_few * their_logits.largest),
          .losses_rms = of_losses.rms / (of_few * their_losses.rms),
          .losses_largest = of_losses.largest / (of_few * their_losses.largest),
          .mean_loss = std::abs(loss - golden.expect.at("loss").item<double>()) / (3 * of_mean),
          .same_experts = has_same_experts(*trained, golden)};
}

void expect_as_near_as_transformers(const std::string& name, at::Device device) {
  const HalfDistance distance = half_distance(name, device);

  EXPECT_LE(distance.logits_rms, 1);
  EXPECT_LE(distance.logits_largest, 1);
  EXPECT_LE(distance.losses_rms, 1);
  EXPECT_LE(distance.losses_largest, 1);
  EXPECT_LE(distance.mean_loss, 1);
  EXPECT_TRUE(distance.same_experts);
}

}  // namespace d9d::test
