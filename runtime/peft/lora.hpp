#pragma once
// Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) of linears and of the experts' linears:
//   y = W x + s B A dropout(x),   A [r, in], B [out, r],   s = alpha / r, or alpha / sqrt(r) for rsLoRA.
// Factors of experts are stacked: A [E, r, in], B [E, out, r]. A starts uniform in +-1/sqrt(in), B at zero.
// The factors have the weight's dtype and are called <module>.lora_A.weight and <module>.lora_B.weight. They
// are cut over ranks like the weight. A linear has one adapter: that of the first method that matches. DoRA
// (Liu et al. 2024, arXiv 2402.09353, equation 5), for linears only:
//   y = (m / |W + s B A|) (W x + s B A dropout(x)),   m [out], <module>.lora_magnitude_vector.weight.
// |..| is the length of each row and counts as a constant for gradients (section 4.3). m starts as |W|.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/peft/low_rank.hpp"
#include "runtime/peft/method.hpp"

namespace d9d {

std::unique_ptr<PeftMethod> make_lora(const LoraConfig& config);

// The adapter of one module of a stage.
struct LoraAdapter {
  LoraConfig config;
  std::string path;  // of the module: the weight's name without ".weight"
  StageParameter weight, a, b;
  std::optional<StageParameter> magnitudes;  // with use_dora
};
// Returns the adapters of a stage, in the order of the modules.
std::vector<LoraAdapter> lora_adapters(StageModule& stage);
// The weights of the linears that have no adapter, in the same order.
std::vector<StageParameter> weights_without_adapter(StageModule& stage);

// Sets m to |W| in this rank's `parameters`, which are found by name. Call it after the weights were loaded
// or drawn. Skips adapters of other stages.
void begin_magnitudes(const std::vector<LoraAdapter>& adapters,
                      const std::vector<StageParameter>& parameters);

}  // namespace d9d
