#pragma once
// Section `model_provider.peft` (reference A.7): which parameters train, and which are added to the
// model. No torch in this header.

#include <boost/describe/class.hpp>

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/config/codec.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/peft/lora_config.hpp"

namespace d9d {

struct FullTuneConfig {
  std::string module_name_pattern;
};

struct FreezeConfig {
  std::string module_name_pattern;
};

// A method of a plugin (own_methods.hpp), whose keys it knows.
struct OwnPeftConfig : config::Named {
  static constexpr const char *name_under = "kind", *called = "section of its owner";
};

struct StackConfig;
using PeftConfig = std::variant<LoraConfig, FullTuneConfig, FreezeConfig, StackConfig, OwnPeftConfig>;

// The methods of a stack, which may be stacks themselves.
struct PeftMethods {
  std::vector<PeftConfig> all;
};
struct StackConfig {
  PeftMethods methods;
};

BOOST_DESCRIBE_STRUCT(FullTuneConfig, (), (module_name_pattern))
BOOST_DESCRIBE_STRUCT(FreezeConfig, (), (module_name_pattern))
BOOST_DESCRIBE_STRUCT(StackConfig, (), (methods))

constexpr auto keys_of(config::Tag<FullTuneConfig>) {
  return std::array{module_name_pattern_key};
}
constexpr auto keys_of(config::Tag<FreezeConfig>) {
  return std::array{module_name_pattern_key};
}
constexpr auto keys_of(config::Tag<StackConfig>) {
  return std::array{config::Key{"methods", "", "sections like this one, applied in order", config::required}};
}
constexpr auto choices_of(config::Tag<PeftConfig>) {
  return config::Choices<4>{
      "kind",
      {{{"lora",
         "Low-rank adapters beside linear layers and experts (Hu et al. 2021, arXiv 2106.09685); all else is "
         "frozen."},
        {"full_tune", "All parameters of the modules that match train, as they are; all else is frozen."},
        {"freeze",
         "The parameters of the modules that match do not train. Alone or as the first of a stack: all else "
         "trains."},
        {"stack", "Several methods: applied in order, merged in reverse."}}}};
}

struct MethodAt {
  std::string path;  // of its keys, appended to the section's path: "", ".methods.1"
  const PeftConfig* config = nullptr;
};
// Returns the methods that are no stacks, in the order of application. The
// pointers are valid as long as `config`.
std::vector<MethodAt> methods_of(const PeftConfig& config);

}  // namespace d9d

namespace d9d::config {

template <>
struct Codec<PeftMethods> {
  static std::string type() { return "list of section by `kind`"; }
  static bool read(PeftMethods& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const PeftMethods& value);
};

}  // namespace d9d::config
