#pragma once
// The trackers of `trainer.logging.tracker` (A.4). Whatever the tracker, `metrics.jsonl` is written.

#include <boost/describe/class.hpp>

#include <array>
#include <optional>
#include <string>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/job/section/client_tracker_config.hpp"
#include "runtime/job/section/own_tracker_config.hpp"

namespace d9d {

struct NullTracker {};
BOOST_DESCRIBE_STRUCT(NullTracker, (), ())
constexpr auto keys_of(config::Tag<NullTracker>) {
  return std::array<config::Key, 0>{};
}

struct LogTracker {};
BOOST_DESCRIBE_STRUCT(LogTracker, (), ())
constexpr auto keys_of(config::Tag<LogTracker>) {
  return std::array<config::Key, 0>{};
}

struct TensorboardTracker {
  std::optional<std::string> log_dir;
};
BOOST_DESCRIBE_STRUCT(TensorboardTracker, (), (log_dir))
constexpr auto keys_of(config::Tag<TensorboardTracker>) {
  return std::array{
      config::Key{"log_dir", "", "folder of the event files; null: `<output_dir>/tensorboard`"}};
}

using TrackerConfig = std::variant<NullTracker, LogTracker, TensorboardTracker, AimTracker, WandbTracker,
                                   MlflowTracker, OwnTracker>;
constexpr auto choices_of(config::Tag<TrackerConfig>) {
  return config::Choices<6>{"provider",
                            {{{"null", "Nothing beside `metrics.jsonl`."},
                              {"log", "Scalars as lines of the log."},
                              {"tensorboard", "TensorBoard event files."},
                              {"aim", "Aim, through its Python client."},
                              {"wandb", "Weights & Biases, through its Python client."},
                              {"mlflow", "MLflow, through its Python client."}}}};
}

}  // namespace d9d
