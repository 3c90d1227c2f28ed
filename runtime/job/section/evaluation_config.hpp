#pragma once
// The section `evaluation` of a job: the loss of other data, between two steps. It is ours: the original has none.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/period.hpp"
#include "runtime/data/config/data_config.hpp"

namespace d9d {

struct EvaluationConfig {
  DataConfig data;
  config::Period period_steps;
  std::optional<std::int64_t> batches;
  bool keep_best = false;
  std::optional<std::int64_t> stop_after;
  std::string metric = "loss";
  std::optional<bool> higher_is_better;
  double min_delta = 0;
};
BOOST_DESCRIBE_STRUCT(EvaluationConfig, (),
                      (data, period_steps, batches, keep_best, stop_after, metric, higher_is_better,
                       min_delta))
constexpr auto keys_of(config::Tag<EvaluationConfig>) {
  using namespace config;
  return std::array{
      Key{"data", "",
          "where its samples come from: the keys of the section `data`; left out: the rows that "
          "`data.validation` holds out"},
      Key{"period_steps", "steps", "how often; also after the last step", required},
      Key{"batches", "",
          "global batches of an evaluation, from the first sample on each time; null: all of the data, the "
          "last one as it is",
          optional, above(0)},
      Key{"keep_best", "",
          "the checkpoint with the best `metric` is kept, of those that were written right after an "
          "evaluation: beside the newest num_to_keep, or as one of them. The log, `d9d-node checkpoint list` "
          "and the link `best` among the checkpoints say which it is"},
      Key{"stop_after", "evaluations",
          "the job ends well after so many evaluations one after the other that are no better than the best "
          "one: with checkpoint and export, and a further start does not train on; null: never",
          optional, at_least(1)},
      Key{"metric", "",
          "what makes an evaluation better than another: loss, or a metric of the task by its name in "
          "evaluation/metrics"},
      Key{"higher_is_better", "", "of `metric`; null: false for loss and perplexity, true for accuracy"},
      Key{"min_delta", "", "by less than this no evaluation is better, for stop_after", optional,
          at_least(0)},
  };
}

}  // namespace d9d
