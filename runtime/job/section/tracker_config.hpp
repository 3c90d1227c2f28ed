#pragma once
// The trackers of `trainer.logging.tracker` (A.4). Whatever the tracker, `metrics.jsonl` is written.

#include <boost/describe/class.hpp>

#include <array>
#include <optional>
#include <string>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/job/section/client_tracker_config.hpp"

namespace d9d {

// A tracker that a plugin registers: `provider: x`, and the keys that the plugin's tracker x declares.
struct OwnTracker : config::Named {
  static constexpr const char *name_under = "provider", *called = "section of a plugin's tracker";
};

struct NullTracker {};
BOOST_DESCRIBE_STRUCT(NullTracker, (), ())

struct LogTracker {};
BOOST_DESCRIBE_STRUCT(LogTracker, (), ())

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
