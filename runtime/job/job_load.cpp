#include "runtime/job/job_load.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/override.hpp"
#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/data/config/held_out.hpp"
#include "runtime/family/family_model.hpp"
#include "runtime/job/model_tokenizer.hpp"
#include "runtime/job/reading/job_tree.hpp"
#include "runtime/job/reading/other_words.hpp"
#include "runtime/job/reading/own_models.hpp"
#include "runtime/job/reading/reference_section.hpp"
#include "runtime/job/reading/unused_keys.hpp"
#include "runtime/job/rule/inference_rules.hpp"
#include "runtime/job/rule/job_validation.hpp"
#include "runtime/job/sample_length.hpp"
#include "runtime/nn/size/model_costs.hpp"

namespace d9d {
namespace {

using config::Node;
using config::Problems;

void report(const JobConfig& job, const std::vector<JobIssue>& issues, const Node& root, Problems& problems) {
  for (const JobIssue& found : issues) {
    const JobIssue issue = as_in_file(found, job);
    problems.error(config::locate(root, issue.path), issue.path, issue.what, issue.remedy);
  }
}

// Is there a value at the path?
bool is_given(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto item = config::integer_from(path.substr(0, dot));
    const bool in_list = node->kind == Node::Kind::list && item && *item >= 0 &&
                         *item < static_cast<std::int64_t>(node->items.size());
    node = in_list ? &node->items[static_cast<std::size_t>(*item)] : node->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node && node->kind != Node::Kind::null;
}

void warn_of(const JobConfig& job, const std::vector<JobIssue>& issues, const Node& root,
             Problems& problems) {
  for (const JobIssue& found : issues) {
    const JobIssue issue = as_in_file(found, job);
    if (!is_given(root, issue.path)) continue;
    problems.warn(config::locate(root, issue.path), issue.path, "has no effect: " + issue.what, issue.remedy);
  }
}

void settle_evaluation(JobConfig& job, const Node& root, Problems& problems) {
  if (!job.evaluation || is_given(root, "evaluation.data")) return;
  if (auto data = held_out(job.data)) {
    job.evaluation->data = std::move(*data);
    return;
  }
  problems.error(
      config::locate(root, "evaluation"), "evaluation.data", "missing",
      "add the data of the evaluation, or hold rows out of the training's: `data.validation: {fraction: "
      "0.05}`");
}

bool is_path(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '-';
  });
}

// "model_provider.model: hidden_size is 0, ..." -> its
// path, made longer by the key that the text begins with.
std::pair<std::string, std::string> split_path(const std::string& text, const Node& root) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos || !is_path(text.substr(0, colon))) return {"model_provider", text};
  std::string path = text.substr(0, colon);
  const std::string what = text.substr(colon + 2);
  const std::string key = path + "." + what.substr(0, what.find(' '));
  const config::Mark& here = config::locate(root, path);
  const config::Mark& deeper = config::locate(root, key);
  const bool found = deeper.line != here.line || deeper.column != here.column || deeper.origin != here.origin;
  return {found ? key : path, what};
}

std::shared_ptr<const FamilyModel> resolve_model(const JobConfig& job, const Node& root, Problems& problems) {
  try {
    return resolve_model(job.model_provider);
  } catch (const Error& error) {
    const auto [path, what] = split_path(error.what(), root);
    problems.error(config::locate(root, path), path, what, "");
    return nullptr;
  }
}

// The families and methods of plugins, which the keys of model_provider follow from.
void load_own_models_of(const Node& root) {
  Problems problems;
  const Node* const plugins = root.find("plugins");
  if (plugins == nullptr || plugins->kind != Node::Kind::list) return;
  for (std::size_t i = 0; i < plugins->items.size(); ++i) {
    const Node& plugin = plugins->items[i];
    if (plugin.kind != Node::Kind::scalar) continue;
    try {
      load_own_models(plugin.text);
    } catch (const Error& error) {
      problems.error(plugin.mark, fmt::format("plugins.{}", i), error.what(), "");
    }
  }
  problems.throw_if_any();
}

}  // namespace

LoadedJob load_job(Node root, const std::vector<std::string>& overrides) {
  for (const std::string& assignment : overrides) config::apply_override(root, assignment);
  Problems problems;
  settle_tree(root, problems);
  take_unused_keys(root, problems);
  load_own_models_of(root);
  LoadedJob loaded;
  loaded.job = config::decode<JobConfig>(root, problems);
  settle_mode(loaded.job, root, problems);
  with_answers(problems).throw_if_any();
  settle_evaluation(loaded.job, root, problems);
  problems.throw_if_any();
  report(loaded.job, settle_tokenizers(loaded.job), root, problems);
  loaded.model = resolve_model(loaded.job, root, problems);
  report(loaded.job, validate(loaded.job, loaded.model.get()), root, problems);
  report(loaded.job, unsupported(loaded.job), root, problems);
  problems.throw_if_any();
  warn_of(loaded.job, without_effect(loaded.job), root, problems);
  for (const JobIssue& found : cautions(loaded.job, loaded.model.get())) {
    const JobIssue issue = as_in_file(found, loaded.job);
    problems.warn(config::locate(root, issue.path), issue.path, issue.what, issue.remedy);
  }
  if (loaded.job.trainer.pipelining.layer_split == LayerSplit::costs) {
    // Attention counts as far as the length of samples is known.
    if (loaded.model) {
      loaded.split.costs = layer_costs(*loaded.model, sample_length(loaded.job.data).value_or(1));
    }
  }
  for (const config::Problem& warning : problems.warnings()) loaded.warnings.push_back(to_string(warning));
  return loaded;
}

LoadedJob load_job(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  return load_job(config::parse_file(file), overrides);
}

config::Json resolved_keys(const JobConfig& job) {
  config::Json keys = config::encode(job);
  config::Json& token = keys["node"]["job_token"];
  if (!token.is_null()) token = "(hidden)";
  return keys;
}

config::Json completed_keys(const config::Json& keys) {
  try {
    Problems problems;
    Node root = config::parse(json_text(keys), "earlier job");
    take_unused_keys(root, problems);
    const auto job = config::decode<JobConfig>(root, problems);
    return problems.errors().empty() ? resolved_keys(job) : keys;
  } catch (const Error&) {
    return keys;
  }
}

std::uint64_t job_fingerprint(const JobConfig& job) {
  config::Json keys = config::encode(job);
  keys.erase("node");
  return stable_hash(json_text(keys));
}

std::string whole_job_reference() {
  auto reference = config::reference_of<JobConfig>();
  add_unused_keys(reference);
  return "# All keys of a job file\n\n"
         "Generated by `d9d-node check --reference` from the described structs; do not edit.\n\n"
         "A job file is YAML or JSON. Every key may be changed on the command line with `--set "
         "key.path=value` (the value stands for itself, or is YAML in quotes or brackets; `files.0` is the "
         "first item of a list). Relative paths are relative to the working directory, and `~` in front of a "
         "path is the home folder. `<<: *anchor` adds the keys of a section that stands elsewhere; keys "
         "`x-...` of the top level are there for anchors only. A choice without further keys may be written "
         "as its name alone (`schedule: gpipe`). A period is a number of steps, `last_step` or `disable`. An "
         "unknown key is an error.\n" +
         reference.markdown();
}

std::string job_reference() {
  return without_repeats(whole_job_reference());
}

}  // namespace d9d
