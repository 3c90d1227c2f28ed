#pragma once
// What a number of metrics.jsonl is called on a page.

#include <string>

namespace d9d::report {

inline constexpr const char* evaluation_prefix = "evaluation/";

// "metrics/perplexity" -> "Perplexity", "evaluation/metrics/perplexity" -> "Perplexity of the evaluation",
// "grad_norm" -> "Gradient norm"; a name of a task's own keeps its words.
std::string readable_name(const std::string& name);

// "evaluation/loss" -> "loss": the number of training beside which it is drawn. Empty for what is no evaluation's.
std::string evaluated_name(const std::string& name);

}  // namespace d9d::report
