#include "runtime/state/weights/quantised_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace d9d {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> endings{{
    {".qweight", "GPTQ or AWQ"},
    {".qzeros", "GPTQ or AWQ"},
    {".weight_packed", "compressed-tensors"},
    {".weight.absmax", "bitsandbytes"},
    {".weight.quant_map", "bitsandbytes"},
    {".SCB", "bitsandbytes"},
    {"_proj_blocks", "MXFP4"},
    {".weight_scale_2", "modelopt (NVFP4)"},
    {".biases", "MLX"},
    {".scales", "GPTQ, AWQ or MLX"},
    {".W_q", "HQQ"},
    {".codebooks", "AQLM"},
}};

}  // namespace

std::string quantiser_of(const std::set<std::string>& names) {
  for (const auto& [ending, quantiser] : endings) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const std::string& name) { return name.ends_with(ending); });
    if (found != names.end()) return fmt::format("{} ({})", quantiser, *found);
  }
  return "";
}

}  // namespace d9d
