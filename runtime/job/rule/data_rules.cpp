#include "runtime/job/rule/data_rules.hpp"

#include <fmt/format.h>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/count.hpp"
#include "runtime/data/config/data_parts.hpp"

namespace d9d {
namespace {

using Issues = std::vector<JobIssue>;

void check_vocabulary(const DataPart& part, const FamilyModel& model, Issues& issues) {
  const auto* synthetic = std::get_if<SyntheticDataConfig>(&part.source);
  if (!synthetic || synthetic->vocab_size <= model.vocab_size) return;
  issues.push_back({part.path + ".vocab_size",
                    fmt::format("{}, but the model's vocabulary has {}",
                                counted(synthetic->vocab_size, "token"), model.vocab_size),
                    fmt::format("give at most {}", model.vocab_size)});
}

// A name that is not built in is a plugin's; without plugins it is a slip of the pen.
void check_source_name(const DataPart& part, const JobConfig& job, Issues& issues) {
  const auto* own = std::get_if<OwnDataConfig>(&part.source);
  if (own && own->name == "mixture") {
    issues.push_back({part.path + ".source", "a mixture in a mixture is not supported",
                      "give its parts beside the others, each with the product of the weights"});
    return;
  }
  if (!own || !job.plugins.empty()) return;
  issues.push_back({part.path + ".source", fmt::format("\"{}\" is not known", own->name),
                    config::suggestion(own->name, config::Codec<DataConfig>::names()) +
                        " (one of your own needs its library in `plugins`)"});
}

void check_validation(const DataPart& part, Issues& issues) {
  std::visit(
      [&](const auto& source) {
        if constexpr (requires { source.validation; }) {
          if (!source.validation) return;
          const std::string path = part.path + ".validation";
          if (source.validation->fraction.has_value() == source.validation->samples.has_value())
            issues.push_back(
                {path, "expected one of fraction and samples", "give {fraction: 0.05} or {samples: 100}"});
          if (source.max_samples && source.validation->samples &&
              *source.validation->samples >= *source.max_samples)
            issues.push_back({path + ".samples",
                              fmt::format("as many as all {} of max_samples", *source.max_samples),
                              "hold out fewer, or raise max_samples"});
        }
      },
      part.source);
}

std::optional<std::string> tokenizer_of(const DataPart& part) {
  return std::visit(
      [](const auto& source) -> std::optional<std::string> {
        if constexpr (requires { source.tokenizer; }) return source.tokenizer;
        return std::nullopt;
      },
      part.source);
}

// The checkpoints carry one tokenizer.
void check_tokenizers(const std::vector<DataPart>& parts, Issues& issues) {
  std::optional<std::string> first;
  for (const DataPart& part : parts) {
    const std::optional<std::string> tokenizer = tokenizer_of(part);
    if (!tokenizer) continue;
    if (!first) first = tokenizer;
    if (tokenizer == first) continue;
    issues.push_back({part.path + ".tokenizer",
                      fmt::format("{}, but another part has {}", *tokenizer, *first),
                      "give all parts one tokenizer: a token has to mean the same in all of them"});
  }
}

}  // namespace

std::vector<JobIssue> data_issues(const JobConfig& job, const FamilyModel* model) {
  Issues issues;
  const std::vector<DataPart> parts = parts_of(job.data);
  if (parts.empty()) issues.push_back({"data.parts", "an empty list", "give at least one part"});
  for (const DataPart& part : parts) {
    if (model) check_vocabulary(part, *model, issues);
    check_source_name(part, job, issues);
    check_validation(part, issues);
  }
  check_tokenizers(parts, issues);
  return issues;
}

}  // namespace d9d
