#include "runtime/job/model_tokenizer.hpp"

#include <fmt/format.h>

#include "runtime/base/error.hpp"
#include "runtime/data/config/data_parts.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {
namespace {

void take_file_of_folder(std::string& tokenizer, const std::string& path, std::vector<JobIssue>& issues) {
  try {
    tokenizer = tokenizer_file(tokenizer).string();
  } catch (const Error& error) {
    issues.push_back(
        {path + ".tokenizer", error.what(), "name a tokenizer.json or a .model of SentencePiece"});
  }
}

void settle_tokenizer(std::string& tokenizer, const std::string& path, const JobConfig& job,
                      std::vector<JobIssue>& issues) {
  if (!tokenizer.empty()) return take_file_of_folder(tokenizer, path, issues);
  if (const auto found = tokenizer_of_model(job)) {
    tokenizer = *found;
    return;
  }
  const auto folder = model_folder(job);
  issues.push_back({path + ".tokenizer",
                    folder
                        ? fmt::format("missing, and {} has no tokenizer.json and no tokenizer.model", *folder)
                        : "missing, and the job names no model's folder to take it from",
                    "name a tokenizer.json or a .model of SentencePiece"});
}

void settle(DataConfig& data, const std::string& path, const JobConfig& job, std::vector<JobIssue>& issues) {
  const auto settle_source = [&](auto& source, const std::string& its_path) {
    if constexpr (requires { source.tokenizer; }) settle_tokenizer(source.tokenizer, its_path, job, issues);
  };
  std::visit([&](auto& source) { settle_source(source, path); }, data);
  auto* mixture = std::get_if<MixtureDataConfig>(&data);
  if (!mixture) return;
  for (std::size_t i = 0; i < mixture->parts.size(); ++i) {
    std::visit([&](auto& source) { settle_source(source, fmt::format("{}.parts.{}", path, i)); },
               mixture->parts[i].source);
  }
}

}  // namespace

std::optional<std::string> model_folder(const JobConfig& job) {
  const auto from = [](const auto& provider) -> std::optional<std::string> {
    if constexpr (requires { provider.from; }) return provider.from;
    return std::nullopt;
  };
  const auto& source = job.trainer.model_stage_factory.source_checkpoint;
  return source ? source : std::visit(from, job.model_provider);
}

std::optional<std::string> tokenizer_in(const std::string& folder) {
  const auto found = find_tokenizer_file(folder);
  return found ? std::optional(found->string()) : std::nullopt;
}

std::optional<std::string> tokenizer_of_model(const JobConfig& job) {
  const auto folder = model_folder(job);
  return folder ? tokenizer_in(*folder) : std::nullopt;
}

std::optional<TextTokens> text_tokens_of(const JobConfig& job) {
  const auto tokens_of_source = [](const auto& source) -> std::optional<TextTokens> {
    if constexpr (requires { source.bos_token; }) {
      return TextTokens{source.tokenizer, source.eos_token, source.bos_token};
    } else if constexpr (requires { source.eos_token; }) {
      return TextTokens{source.tokenizer, source.eos_token, std::nullopt};
    } else if constexpr (requires { source.tokenizer; }) {
      return TextTokens{source.tokenizer, std::nullopt, std::nullopt};
    }
    return std::nullopt;
  };
  for (const DataPart& part : parts_of(job.data)) {
    if (auto found = std::visit(tokens_of_source, part.source)) return found;
  }
  return std::nullopt;
}

std::vector<JobIssue> settle_tokenizers(JobConfig& job) {
  std::vector<JobIssue> issues;
  settle(job.data, "data", job, issues);
  if (job.evaluation) settle(job.evaluation->data, "evaluation.data", job, issues);
  return issues;
}

}  // namespace d9d
