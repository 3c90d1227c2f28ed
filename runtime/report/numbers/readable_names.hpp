#pragma once
// Names numbers of metrics.jsonl for a page.

#include <string>

namespace d9d::report {

inline constexpr const char* evaluation_prefix = "evaluation/";

// "metrics/perplexity" -> "Perplexity", "evaluation/metrics/perplexity" -> "Perplexity of the evaluation",
// "grad_norm" -> "Gradient norm"; a name of a task's own keeps its words.
std::string readable_name(const std::string& name);

// "evaluation/loss" -> "loss": the number of training in whose chart it is drawn. Empty if `name`
// is not an evaluation's.
std::string evaluated_name(const std::string& name);

}  // namespace d9d::report
