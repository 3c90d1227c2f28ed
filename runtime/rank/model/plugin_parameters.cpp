#include "runtime/rank/model/plugin_parameters.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "runtime/base/error.hpp"
#include "runtime/comm/gather.hpp"
#include "runtime/job/rule/job_validation.hpp"
#include "runtime/job/rule/optimizer_rules.hpp"
#include "runtime/job/rule/parameter_patterns.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

struct WholeModel {
  std::vector<std::string> names;  // of trainable parameters
  std::set<std::string> dtypes;    // of the same parameters
};

// One line per trainable parameter: its dtype and its name.
std::string lines_of(const std::vector<StageParameter>& parameters) {
  std::string lines;
  for (const StageParameter& parameter : parameters) {
    if (!parameter.tensor.requires_grad()) continue;
    lines += fmt::format("{} {}\n", name_of(dtype_of(parameter.tensor.scalar_type())), parameter.name);
  }
  return lines;
}

void add_lines(const std::string& lines, WholeModel& model) {
  std::istringstream in(lines);
  for (std::string dtype, name; in >> dtype && std::getline(in >> std::ws, name);) {
    model.names.push_back(name);
    model.dtypes.insert(dtype);
  }
}

WholeModel whole_model_of(const std::vector<StageParameter>& parameters, const MeshDomains& domains,
                          const OpenGroup& open) {
  WholeModel model;
  const std::string own = lines_of(parameters);
  if (domains.parameters().pipeline_parallel == 1) {
    add_lines(own, model);
    return model;
  }
  const auto pipeline = open(dense_domain, {"pp"}, "parameters");
  for (const std::string& lines : all_gather_bytes(*pipeline, own)) add_lines(lines, model);
  return model;
}

std::string text_of(const JobIssue& issue) {
  return fmt::format("{}: {}; {}", issue.path, issue.what, issue.remedy);
}

void add_problems_of(const std::vector<StepUpdate>& updates, const std::vector<std::string>& names,
                     std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < updates.size(); ++i) {
    for (const std::string& pattern : updates[i].parameters) {
      for (const JobIssue& issue :
           pattern_issues({{fmt::format("task: update {} of its step", i), pattern}}, names))
        problems.push_back(text_of(issue));
    }
  }
  const auto still = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return updates_that_move(name, updates).empty();
  });
  if (still != names.end())
    problems.push_back(fmt::format(
        "task: {} trains, but no update of its step moves it; name it in updates(), or freeze it", *still));
}

}  // namespace

std::vector<std::string> check_plugin_parameters(const std::vector<StageParameter>& parameters,
                                                 const OptimizerProvider& optimizer,
                                                 const std::map<std::string, std::string>& patterns,
                                                 const std::vector<StepUpdate>& updates,
                                                 const MeshDomains& domains, const OpenGroup& open) {
  const std::vector<ParameterRule> rules = optimizer.rules();
  const OptimizerOptions* built_in = optimizer.built_in();
  const bool may_lose = built_in != nullptr && lost_updates(*built_in, Dtype::bfloat16);
  if (rules.empty() && patterns.empty() && !may_lose && updates == std::vector<StepUpdate>(1)) return {};
  const WholeModel model = whole_model_of(parameters, domains, open);
  std::vector<std::string> problems;
  for (const JobIssue& issue : rule_issues(rules, model.names)) problems.push_back(text_of(issue));
  for (const JobIssue& issue : pattern_issues(patterns, model.names)) problems.push_back(text_of(issue));
  add_problems_of(updates, model.names, problems);
  D9D_REQUIRE(problems.empty(), "{}", fmt::join(problems, "\n"));
  std::vector<std::string> warnings;
  if (!may_lose) return warnings;
  for (const std::string& dtype : model.dtypes) {
    if (const auto lost = lost_updates(*built_in, dtype_named(dtype).value()))
      warnings.push_back(text_of(*lost));
  }
  return warnings;
}

}  // namespace d9d
