#include "runtime/job/section/own_tracker_config.hpp"

namespace d9d {
namespace {

constexpr std::string_view provider_key = "provider";

}  // namespace

bool config::Codec<OwnTracker>::read(OwnTracker& out, const Node& node, const Path& path,
                                     Problems& problems) {
  return Codec<Named>::read(out, node, path, problems, provider_key);
}

config::Json config::Codec<OwnTracker>::write(const OwnTracker& tracker) {
  return Codec<Named>::write(tracker, provider_key);
}

void config::Codec<OwnTracker>::tables(Reference& reference, const std::string& path, const OwnTracker& own) {
  Codec<Named>::tables(reference, path, own, provider_key);
}

}  // namespace d9d
