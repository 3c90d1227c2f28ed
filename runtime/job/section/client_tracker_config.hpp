#pragma once
// The keys of trackers whose client is a Python package (A.4).

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct AimTracker {
  std::string repo;
  bool log_system_params = true;
  std::optional<std::int64_t> system_tracking_interval = 10;
};
BOOST_DESCRIBE_STRUCT(AimTracker, (), (repo, log_system_params, system_tracking_interval))
constexpr auto keys_of(config::Tag<AimTracker>) {
  using namespace config;
  return std::array{
      Key{"repo", "", "Aim repository", required},
      Key{"log_system_params", "", "record the host"},
      Key{"system_tracking_interval", "s", "period of system metrics", config::optional, above(0)},
  };
}

enum class WandbMode { online, offline };
BOOST_DESCRIBE_ENUM(WandbMode, online, offline)

struct WandbTracker {
  std::string project;
  std::optional<std::string> entity;
  std::optional<std::string> group;
  std::vector<std::string> tags;
  WandbMode mode = WandbMode::online;
  std::optional<std::string> dir;
};
BOOST_DESCRIBE_STRUCT(WandbTracker, (), (project, entity, group, tags, mode, dir))
constexpr auto keys_of(config::Tag<WandbTracker>) {
  using namespace config;
  return std::array{
      Key{"project", "", "project", required}, Key{"entity", "", "user or team"},
      Key{"group", "", "group of runs"},       Key{"tags", "", "tags of the run"},
      Key{"mode", "", "send or only store"},   Key{"dir", "", "folder of its files"},
  };
}

struct MlflowTracker {
  std::string experiment;
  std::optional<std::string> tracking_uri;
};
BOOST_DESCRIBE_STRUCT(MlflowTracker, (), (experiment, tracking_uri))
constexpr auto keys_of(config::Tag<MlflowTracker>) {
  using namespace config;
  return std::array{Key{"experiment", "", "experiment, made when absent", required},
                    Key{"tracking_uri", "", "server or folder"}};
}

}  // namespace d9d
