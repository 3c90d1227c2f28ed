#include "actors/cli/start/model_size.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace d9d {
namespace {

struct StartShape {
  int layers;
  int width;
};
constexpr std::array shapes{StartShape{2, 64},  StartShape{4, 96},  StartShape{4, 128},  StartShape{6, 192},
                            StartShape{6, 256}, StartShape{8, 384}, StartShape{10, 512}, StartShape{12, 768}};

constexpr double flops_of_core = 7e10;    // what training reaches on a core, with small matrices, too
constexpr double tokens_a_parameter = 3;  // in a run of minutes, more parameters with fewer tokens learn more
constexpr double times_through_text = 20;  // at most; a small text is repeated
constexpr double times_through_tuning = 3;
constexpr std::uint64_t training_bytes =
    24;  // of a parameter: weight, gradient, moments, and room for activations
constexpr std::int64_t microbatch_tokens = 2048;
constexpr std::int64_t steps_min = 20;

std::int64_t power_below(double value, std::int64_t min, std::int64_t max) {
  const auto whole = static_cast<std::uint64_t>(std::max(value, 1.0));
  return std::clamp(static_cast<std::int64_t>(std::bit_floor(whole)), min, max);
}

double flops(const HostRoom& host, double minutes) {
  return flops_of_core * host.cores * 60 * minutes;
}

int replicas_for(std::int64_t parameters, const HostRoom& host) {
  const double each = static_cast<double>(training_bytes) * static_cast<double>(parameters);
  const double fit = static_cast<double>(host.memory_bytes) / 2 / each;
  return static_cast<int>(std::clamp(fit, 1.0, static_cast<double>(std::min(host.cores, 16))));
}

bool fits(const ModelSize& model, const TextAmount& text, const HostRoom& host, double minutes) {
  const auto parameters = static_cast<double>(model.parameters());
  const double seen = flops(host, minutes) / (6 * parameters);
  return tokens_a_parameter * parameters <= seen && parameters <= 5 * static_cast<double>(text.tokens) &&
         parameters * training_bytes * 2 <= static_cast<double>(host.memory_bytes);
}

ModelSize size_of(const StartShape& shape, std::int64_t vocab_size) {
  const int thirds = (shape.width * 8 / 3 + 31) / 32 * 32;
  const int head = shape.width < 256 ? 32 : 64;
  return {shape.layers, shape.width, shape.width / head, thirds, vocab_size};
}

// Chooses batches of about `tokens` tokens, and as many steps as `seen` tokens need.
void fill_batches(StartPlan& plan, double tokens, double seen) {
  const std::int64_t length = plan.sequence_length;
  plan.microbatch_size =
      power_below(static_cast<double>(microbatch_tokens) / static_cast<double>(length), 1, 64);
  const auto of_replicas = [&] { return plan.microbatch_size * plan.replicas; };
  while (plan.microbatch_size > 1 && static_cast<double>(of_replicas() * length) > tokens)
    plan.microbatch_size /= 2;
  const double microbatches = tokens / static_cast<double>(length * of_replicas());
  plan.global_batch_size = of_replicas() * std::max<std::int64_t>(1, std::llround(microbatches));
  plan.steps =
      std::max<std::int64_t>(steps_min, std::llround(seen / static_cast<double>(plan.step_tokens())));
  plan.period = std::max<std::int64_t>(1, plan.steps / 10);
  plan.warmup = std::max<std::int64_t>(1, plan.steps / 20);
}

double share_held_out(std::uint64_t tokens, bool can_hold_out) {
  if (!can_hold_out) return 0;
  return tokens < 1'000'000 ? 0.1 : 0.02;
}

// The longest sequence of which the held-out part has at least two rows.
std::int64_t length_for(std::uint64_t tokens, double held_out, std::int64_t most) {
  return power_below(static_cast<double>(tokens) * (held_out > 0 ? held_out : 0.1) / 2, 8, most);
}

}  // namespace

std::int64_t vocab_size_for(std::uint64_t text_bytes) {
  // Four times the text gives twice the vocabulary, so each of its tokens is seen twice as often.
  const double size = 512 * std::sqrt(static_cast<double>(text_bytes) / 128'000);
  return power_below(size, 512, 32'768);
}

std::int64_t ModelSize::parameters() const {
  const std::int64_t layer = 4LL * width * width + 3LL * width * feed_forward + 2LL * width + 64;
  return layers * layer + width + vocab_size * width;
}

StartPlan plan_model(const TextAmount& text, const HostRoom& host, double minutes) {
  StartPlan plan;
  plan.model = size_of(shapes.front(), text.vocab_size);
  for (const StartShape& shape : shapes) {
    const ModelSize model = size_of(shape, text.vocab_size);
    if (fits(model, text, host, minutes)) plan.model = model;
  }
  const std::int64_t parameters = plan.model.parameters();
  plan.replicas = replicas_for(parameters, host);
  plan.validation = share_held_out(text.tokens, text.can_hold_out);
  plan.sequence_length = length_for(text.tokens, plan.validation,
                                    plan.model.width < 192   ? 128
                                    : plan.model.width < 512 ? 256
                                                             : 512);
  plan.learning_rate = plan.model.width < 256 ? 3e-3 : plan.model.width < 512 ? 1.5e-3 : 6e-4;
  const double most = times_through_text * static_cast<double>(text.tokens);
  const double seen = std::min(flops(host, minutes) / (6 * static_cast<double>(parameters)), most);
  fill_batches(plan, std::clamp(seen / 800, 512.0, 32'768.0), seen);
  return plan;
}

StartPlan plan_tuning(std::uint64_t tokens, std::int64_t parameters, std::int64_t positions,
                      bool can_hold_out, const HostRoom& host, double minutes) {
  StartPlan plan;
  plan.replicas = replicas_for(parameters, host);
  plan.validation = share_held_out(tokens, can_hold_out);
  plan.sequence_length =
      length_for(tokens, plan.validation,
                 std::min<std::int64_t>(512, power_below(static_cast<double>(positions), 1, positions)));
  plan.learning_rate = parameters < 50'000'000 ? 1e-3 : 2e-4;
  const double most = times_through_tuning * static_cast<double>(tokens);
  const double seen = std::min(flops(host, minutes) / (5 * static_cast<double>(parameters)), most);
  fill_batches(plan, std::clamp(seen / 200, 256.0, 8192.0), seen);
  return plan;
}

double minutes_of(const StartPlan& plan, std::int64_t parameters, const HostRoom& host) {
  const double all = 6 * static_cast<double>(parameters) * static_cast<double>(plan.step_tokens()) *
                     static_cast<double>(plan.steps);
  return all / flops(host, 1);
}

}  // namespace d9d
