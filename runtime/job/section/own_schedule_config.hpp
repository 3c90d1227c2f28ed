#pragma once
// `trainer.pipelining.schedule` of a plugin: how it is read.

#include "runtime/base/config/section.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

template <>
struct config::Codec<OwnSchedule> {
  static std::string type() { return "section of a plugin's schedule"; }
  static bool read(OwnSchedule& out, const Node& node, const Path& path, Problems& problems);
  static Json write(const OwnSchedule& schedule);
  static void tables(Reference& reference, const std::string& path, const OwnSchedule&);
};

}  // namespace d9d
