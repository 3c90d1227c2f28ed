#include "runtime/report/numbers/readable_names.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace d9d::report {
namespace {

constexpr const char* metrics_prefix = "metrics/";

const std::map<std::string, std::string>& known_names() {
  static const std::map<std::string, std::string> names{{"grad_norm", "Gradient norm"},
                                                        {"lr", "Learning rate"},
                                                        {"mfu", "Model FLOP utilisation"},
                                                        {"tokens_per_second", "Tokens per second"},
                                                        {"step_seconds", "Step time, s"},
                                                        {"tokens", "Tokens of the step"},
                                                        {"tokens_total", "Tokens so far"},
                                                        {"epoch", "Epochs so far"},
                                                        {"memory_bytes", "Memory of node 0, bytes"},
                                                        {"flops_per_second", "FLOP per second"},
                                                        {"evaluation/seconds", "Time of an evaluation, s"},
                                                        {"evaluation/tokens", "Tokens of an evaluation"}};
  return names;
}

}  // namespace

std::string evaluated_name(const std::string& name) {
  return name.starts_with(evaluation_prefix) ? name.substr(std::string(evaluation_prefix).size())
                                             : std::string();
}

std::string readable_name(const std::string& name) {
  if (const auto known = known_names().find(name); known != known_names().end()) return known->second;
  if (const std::string of_training = evaluated_name(name); !of_training.empty())
    return readable_name(of_training) + " of the evaluation";
  std::string text =
      name.starts_with(metrics_prefix) ? name.substr(std::string(metrics_prefix).size()) : name;
  std::replace(text.begin(), text.end(), '_', ' ');
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace d9d::report
