// AdamW on bf16 parameters with fp32 arithmetic and stochastic rounding (OPT-01 .. OPT-04).
#include <ATen/Parallel.h>

#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "runtime/train/flat_optimizer.hpp"
#include "runtime/train/global_index.hpp"
#include "runtime/train/stochastic_rounding.hpp"

namespace d9d {
namespace {

struct Pass {
  float decay, beta1, beta2, step_size, correction, eps, grad_scale;
};

// A buffer of fp32 or bf16 (as 16-bit words).
struct Values {
  float* wide = nullptr;
  std::uint16_t* half = nullptr;

  explicit Values(const at::Tensor& tensor) {
    if (tensor.scalar_type() == at::kFloat) wide = static_cast<float*>(tensor.data_ptr());
    if (tensor.scalar_type() == at::kBFloat16) half = static_cast<std::uint16_t*>(tensor.data_ptr());
  }
  float get(std::int64_t i) const { return wide ? wide[i] : from_bfloat16(half[i]); }
  void set(std::int64_t i, float value, std::uint32_t noise) const {
    wide ? void(wide[i] = value) : void(half[i] = round_stochastically(value, noise));
  }
};

struct Buffers {
  Values value, grad, exp_avg, exp_avg_sq;
};

// Two streams: one 32-bit word gives the noise of two roundings.
struct Noise {
  RandomStream value_and_first;
  RandomStream second;
};

void update(const Buffers& b, std::int64_t i, const Pass& pass, std::uint32_t noise,
            std::uint32_t noise_second) {
  const float grad = b.grad.get(i) * pass.grad_scale;
  float first = b.exp_avg.get(i);
  first += (grad - first) * (1 - pass.beta1);
  const float second = b.exp_avg_sq.get(i) * pass.beta2 + grad * grad * (1 - pass.beta2);
  const float decayed = b.value.get(i) * pass.decay;
  const float updated = decayed - pass.step_size * first / (std::sqrt(second) / pass.correction + pass.eps);
  b.value.set(i, updated, noise);
  b.exp_avg.set(i, first, noise >> 16);
  b.exp_avg_sq.set(i, second, noise_second);
  b.grad.set(i, 0, 0);
}

class StochasticAdamW final : public FlatOptimizer {
 public:
  StochasticAdamW(const StochasticAdamWOptions& options, const FlatParameters& parameters, std::uint64_t seed)
      : FlatOptimizer(parameters, options.rules, options.weight_decay), options_(options), seed_(seed) {
    for (const FlatFamily& family : parameters.families()) {
      const at::ScalarType grad = family.grad.scalar_type();
      D9D_REQUIRE(
          family.data.scalar_type() == at::kBFloat16 && family.data.is_cpu() &&
              (grad == at::kFloat || grad == at::kBFloat16),
          "optimizer stochastic_adamw updates bfloat16 parameters with float32 or bfloat16 gradients on the "
          "CPU, got {} with {}; choose adamw",
          c10::toString(family.data.scalar_type()), c10::toString(grad));
    }
    const at::ScalarType dtype = scalar_type_of(options.state_dtype);
    add_state("exp_avg", dtype);
    add_state("exp_avg_sq", dtype);
  }

  void step(const UpdateScale& scale) override {
    ++step_count_;
    for (const GradientBucket& bucket : parameters_.buckets()) {
      for (const FlatSegment& segment : bucket.segments) update_parameter(bucket.family, segment, scale);
    }
  }

 private:
  void update_parameter(std::size_t family, const FlatSegment& segment, const UpdateScale& scale) const {
    const StageParameter& parameter = parameters_.parameters()[segment.parameter];
    const ParameterSettings settings = settings_of(parameter.name, options_.rules, options_.weight_decay);
    const FlatRun run{family, segment.begin, segment.begin + segment.count, settings};
    const Buffers buffers{Values(data(run)), Values(grad(run)), Values(state(0, run)), Values(state(1, run))};
    const Pass pass = pass_of(settings, scale);
    const auto step = static_cast<std::uint64_t>(step_count_);
    const Noise noise{RandomStream(seed_, "rounding:" + parameter.name, step),
                      RandomStream(seed_, "rounding second moment:" + parameter.name, step)};
    const GlobalIndex index(parameter.layout.global_shape(), parameter.layout.local_slice());
    at::parallel_for(0, segment.count, 16384, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t within = begin % index.run();
        const std::int64_t count = std::min(index.run() - within, end - begin);
        update_run(buffers, begin, count, index.begin_of_run(begin / index.run()) + within, pass, noise);
        begin += count;
      }
    });
  }

  void update_run(const Buffers& buffers, std::int64_t local, std::int64_t count, std::int64_t global,
                  const Pass& pass, const Noise& noise) const {
    std::array<std::uint32_t, 4> words{};
    std::array<std::uint32_t, 4> words_second{};
    for (std::int64_t i = 0; i < count; ++i) {
      const auto element = static_cast<std::uint64_t>(global + i);
      if (i == 0 || element % 4 == 0) {
        words = noise.value_and_first.words(element / 4);
        if (options_.state_dtype == Dtype::bfloat16) words_second = noise.second.words(element / 4);
      }
      update(buffers, local + i, pass, words[element % 4], words_second[element % 4]);
    }
  }

  Pass pass_of(const ParameterSettings& settings, const UpdateScale& scale) const {
    const double lr = options_.lr * scale.lr_multiplier * settings.lr_multiplier;
    const auto steps = static_cast<double>(step_count_);
    const auto [beta1, beta2] = settings.betas.value_or(options_.betas);
    return {.decay = static_cast<float>(1 - lr * settings.weight_decay),
            .beta1 = static_cast<float>(beta1),
            .beta2 = static_cast<float>(beta2),
            .step_size = static_cast<float>(lr / (1 - std::pow(beta1, steps))),
            .correction = static_cast<float>(std::sqrt(1 - std::pow(beta2, steps))),
            .eps = static_cast<float>(options_.eps),
            .grad_scale = static_cast<float>(scale.grad)};
  }

  const StochasticAdamWOptions options_;
  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Optimizer> make_stochastic_adamw(const StochasticAdamWOptions& options,
                                                 const FlatParameters& parameters, std::uint64_t seed) {
  return std::make_unique<StochasticAdamW>(options, parameters, seed);
}

}  // namespace d9d
