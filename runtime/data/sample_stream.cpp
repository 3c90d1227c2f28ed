#include "runtime/data/sample_stream.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

void ReplicaStream::load_states(const std::vector<nlohmann::json>& states, const StreamPlace& place) {
  D9D_REQUIRE(
      std::ssize(states) == place.replicas,
      "the checkpoint has the states of {}, and this job has {}: this stream cannot be dealt out anew. Go on "
      "with a mesh of as many data replicas, override load_states() of the stream, or start with --fresh",
      counted(states.size(), "data replica"), place.replicas);
  load_state(states[static_cast<std::size_t>(place.replica)]);
}

}  // namespace d9d
