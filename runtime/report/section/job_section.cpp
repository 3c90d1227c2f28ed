#include "runtime/report/section/job_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "runtime/base/json_text.hpp"
#include "runtime/base/xml_text.hpp"
#include "runtime/report/html.hpp"

namespace d9d::report {
namespace {

using config::Json;

bool is_empty(const Json& value) {
  if (value.is_null()) return true;
  return value.is_structured() &&
         std::all_of(value.begin(), value.end(), [](const Json& part) { return is_empty(part); });
}

// Without quotes where YAML needs none and nobody could take it for a number or a truth value.
std::string scalar(const Json& value) {
  if (!value.is_string()) return shown_json(value);
  const std::string& text = value.get_ref<const std::string&>();
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '.' || c == '-';
  };
  const bool plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                     std::all_of(text.begin(), text.end(), is_plain) && text != "true" && text != "false" &&
                     text != "null";
  return plain ? text : shown_json(value);
}

std::string flat_list(const Json& list) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : ", ") + scalar(item);
  return "[" + text + "]";
}

void append_yaml(std::string& out, const Json& value, std::size_t depth);

void append_list(std::string& out, const Json& list, std::size_t depth) {
  for (const Json& item : list) {
    std::string text;
    append_yaml(text, item, depth + 1);
    if (text.starts_with(std::string(2 * depth + 2, ' '))) text = text.substr(2 * depth + 2);
    out += std::string(2 * depth, ' ') + "- " + text;
  }
}

void append_yaml(std::string& out, const Json& value, std::size_t depth) {
  if (!value.is_structured()) {
    out += scalar(value) + "\n";
    return;
  }
  if (value.is_array()) return append_list(out, value, depth);
  for (const auto& [key, part] : value.items()) {
    if (is_empty(part)) continue;
    out += std::string(2 * depth, ' ') + key + ":";
    const bool flat = part.is_array() && std::none_of(part.begin(), part.end(),
                                                      [](const Json& item) { return item.is_structured(); });
    if (flat) {
      out += " " + flat_list(part) + "\n";
    } else if (part.is_structured()) {
      out += "\n";
      append_yaml(out, part, depth + 1);
    } else {
      out += " " + scalar(part) + "\n";
    }
  }
}

// "pipeline_parallel 2 x data_parallel_replicate 2"; axes of one rank are left out.
std::string mesh_text(const RunFolder& run) {
  const Json mesh = run.key("/mesh");
  std::string text;
  if (!mesh.is_object()) return text;
  for (const auto& [axis, size] : mesh.items()) {
    if (!size.is_number_integer() || size <= 1) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " \u00d7 ", axis, size.get<std::int64_t>());
  }
  return text.empty() ? "one rank" : text;
}

std::string choices(const RunFolder& run) {
  std::vector<std::vector<Cell>> rows;
  const auto add = [&](const char* what, const std::string& text) {
    if (!text.empty()) rows.push_back({{what}, {text}});
  };
  const auto of = [&](const char* pointer) {
    const Json value = run.key(pointer);
    if (value.is_string()) return value.get<std::string>();
    return value.is_primitive() && !value.is_null() ? scalar(value) : std::string();
  };
  const auto both = [&](const char* first, const char* between, const char* second) {
    const std::string a = of(first), b = of(second);
    return a.empty() || b.empty() ? a : a + between + b;
  };
  add("description", run.key("/trainer/run/description").is_string()
                         ? run.key("/trainer/run/description").get<std::string>()
                         : "");
  add("model", of("/model_provider/name"));
  add("task", of("/task/name"));
  add("data", of("/data/source"));
  add("mesh", mesh_text(run));
  add("schedule", of("/trainer/pipelining/schedule/schedule"));
  add("batch", both("/trainer/batching/global_batch_size", " samples, microbatches of ",
                    "/trainer/batching/microbatch_size"));
  add("optimizer", both("/optimizer/name", ", learning rate ", "/optimizer/lr"));
  return table({{"what"}, {"choice"}}, rows);
}

}  // namespace

std::string yaml_of(const Json& value) {
  std::string text;
  append_yaml(text, value, 0);
  return text;
}

std::string job_section(const RunFolder& run) {
  if (!run.job.is_object()) {
    return section(
        "job", "Job",
        hint("The job's keys are not known: run.jsonl and the manifests of checkpoints have them, and this "
             "run has neither. Jobs of this version write run.jsonl when training begins."));
  }
  std::string html = choices(run);
  html += paragraph(
      fmt::format("All keys, from {}; defaults included, keys without a value left out.", run.job_from),
      "soft");
  for (const auto& [key, part] : run.job.items()) {
    if (!is_empty(part)) html += details(key, "<pre>" + xml_text(yaml_of(part)) + "</pre>\n");
  }
  return section("job", "Job", html);
}

}  // namespace d9d::report
