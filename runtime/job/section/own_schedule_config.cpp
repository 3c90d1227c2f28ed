#include "runtime/job/section/own_schedule_config.hpp"

namespace d9d {
namespace {

constexpr std::string_view schedule_key = "schedule";

}  // namespace

bool config::Codec<OwnSchedule>::read(OwnSchedule& out, const Node& node, const Path& path,
                                      Problems& problems) {
  return Codec<Named>::read(out, node, path, problems, schedule_key);
}

config::Json config::Codec<OwnSchedule>::write(const OwnSchedule& schedule) {
  return Codec<Named>::write(schedule, schedule_key);
}

void config::Codec<OwnSchedule>::tables(Reference& reference, const std::string& path,
                                        const OwnSchedule& own) {
  Codec<Named>::tables(reference, path, own, schedule_key);
}

}  // namespace d9d
