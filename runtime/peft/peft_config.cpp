#include "runtime/peft/peft_config.hpp"

#include "runtime/base/config/decode.hpp"

namespace d9d {

namespace {

void collect_methods(const PeftConfig& config, const std::string& path, std::vector<MethodAt>& methods) {
  const auto* const stack = std::get_if<StackConfig>(&config);
  if (stack == nullptr) {
    methods.push_back({path, &config});
    return;
  }
  for (std::size_t i = 0; i < stack->methods.all.size(); ++i) {
    collect_methods(stack->methods.all[i], path + ".methods." + std::to_string(i), methods);
  }
}

}  // namespace

std::vector<MethodAt> methods_of(const PeftConfig& config) {
  std::vector<MethodAt> methods;
  collect_methods(config, "", methods);
  return methods;
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
