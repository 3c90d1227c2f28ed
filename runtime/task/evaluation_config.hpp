#pragma once
// The section `evaluation` of a job: the loss of other data, between two steps. It is ours: the original has none.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/period.hpp"
#include "runtime/data/data_config.hpp"

namespace d9d {

struct EvaluationConfig {
  DataConfig data;
  config::Period period_steps;
  std::optional<std::int64_t> batches;
  bool keep_best = false;
};
BOOST_DESCRIBE_STRUCT(EvaluationConfig, (), (data, period_steps, batches, keep_best))
constexpr auto keys_of(config::Tag<EvaluationConfig>) {
  using namespace config;
  return std::array{
      Key{"data", "",
          "where its samples come from: the keys of the section `data`; left out: the rows that "
          "`data.validation` "
          "holds out"},
      Key{"period_steps", "steps", "how often; also after the last step", required},
      Key{"batches", "",
          "global batches of an evaluation, from the first sample on each time; null: all of the data, the "
          "last one as it is",
          optional, above(0)},
      Key{"keep_best", "",
          "the checkpoint with the lowest loss is kept, of those that were written right after an "
          "evaluation: "
          "beside the newest num_to_keep, or as one of them. The log, `d9d-node checkpoint list` and the "
          "link "
          "`best` among the checkpoints say which it is"},
  };
}

}  // namespace d9d
