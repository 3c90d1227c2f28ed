#include "runtime/peft/peft_config.hpp"

#include "runtime/base/config/decode.hpp"

namespace d9d {

std::vector<PeftConfig> flattened(const PeftConfig& config) {
  const auto* const stack = std::get_if<StackConfig>(&config);
  if (stack == nullptr) return {config};
  std::vector<PeftConfig> all;
  for (const PeftConfig& method : stack->methods.all) {
    for (PeftConfig& each : flattened(method)) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace d9d

namespace d9d::config {

bool Codec<PeftMethods>::read(PeftMethods& out, const Node& node, const Path& path, Problems& problems) {
  return Codec<std::vector<PeftConfig>>::read(out.all, node, path, problems);
}

Json Codec<PeftMethods>::write(const PeftMethods& value) {
  return Codec<std::vector<PeftConfig>>::write(value.all);
}

}  // namespace d9d::config
