#include "runtime/state/convert/conversion_rules.hpp"

#include "runtime/base/config/decode.hpp"

namespace d9d {

ConversionRules read_conversion_rules(const std::string& file) {
  config::Problems problems;
  auto rules = config::decode<ConversionRules>(config::parse_file(file), problems);
  problems.throw_if_any();
  return rules;
}

}  // namespace d9d
