#include "runtime/job/rule/backend_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace d9d {
namespace {

using Attention = kernels::AttentionBackend;
using Grouped = kernels::GroupedBackend;
using Issues = std::vector<JobIssue>;

constexpr std::int64_t own_width_max = 512, library_width_max = 256, pack = 8;

// None where a plugin chooses it.
std::optional<Dtype> dtype_of(const JobConfig& job) {
  const auto* const family = std::get_if<FamilyProvider>(&job.model_provider);
  return family == nullptr ? std::nullopt : std::optional(family->dtype);
}

void refuse_half_known(const JobConfig& job, const char* path, const char* remedy, Issues& issues) {
  if (const auto dtype = dtype_of(job); dtype && *dtype != Dtype::bfloat16)
    issues.push_back(
        {path, "library on cuda computes bfloat16 alone, and model_provider.dtype is another", remedy});
}

void check_own(const FamilyModel& model, Issues& issues) {
  const HeadWidths widths = model.head_widths();
  const std::int64_t widest = std::max(widths.keys, widths.values);
  if (widest > own_width_max)
    issues.push_back(
        {"node.attention",
         fmt::format("own computes heads of at most {}, and the model's have {}", own_width_max, widest),
         "choose library or auto"});
}

void check_library_on_cuda(const FamilyModel& model, Issues& issues) {
  const auto [keys, values] = model.head_widths();
  if (keys != values || keys % pack != 0 || keys > library_width_max)
    issues.push_back(
        {"node.attention",
         fmt::format(
             "library on cuda computes heads whose keys and values have one width, a multiple of {} and at "
             "most {}; the model's have {} and {}",
             pack, library_width_max, keys, values),
         "choose composed or auto"});
}

void check_attention(Attention chosen, const JobConfig& job, const FamilyModel* model, Issues& issues) {
  const bool on_cuda = job.node.device == DeviceKind::cuda;
  if (chosen == Attention::own && on_cuda)
    issues.push_back({"node.attention", "own has loops for CPUs alone, and node.device is cuda",
                      "choose library, composed or auto"});
  if (chosen == Attention::composed && !on_cuda)
    issues.push_back({"node.attention", "composed is for cuda alone", "choose own, library or auto"});
  if (chosen == Attention::own && !on_cuda && model != nullptr) check_own(*model, issues);
  if (chosen != Attention::library || !on_cuda) return;
  refuse_half_known(job, "node.attention", "choose composed or auto", issues);
  if (model != nullptr) check_library_on_cuda(*model, issues);
}

void check_grouped(Grouped chosen, const JobConfig& job, Issues& issues) {
  const bool on_cuda = job.node.device == DeviceKind::cuda;
  if (chosen == Grouped::own && on_cuda)
    issues.push_back({"node.grouped_product", "own has loops for CPUs alone, and node.device is cuda",
                      "choose library, expert_by_expert or auto"});
  if (chosen == Grouped::library && !on_cuda)
    issues.push_back(
        {"node.grouped_product", "library is for cuda alone", "choose own, expert_by_expert or auto"});
  if (chosen == Grouped::library && on_cuda)
    refuse_half_known(job, "node.grouped_product", "choose expert_by_expert or auto", issues);
}

}  // namespace

std::vector<JobIssue> backend_issues(const kernels::Backends& chosen, const JobConfig& job,
                                     const FamilyModel* model) {
  Issues issues;
  check_attention(chosen.attention, job, model, issues);
  check_grouped(chosen.grouped_product, job, issues);
  return issues;
}

}  // namespace d9d
