#include "runtime/pipeline/lane/stage_streams.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/pipeline/lane/overlap.hpp"

namespace d9d {

StageStreams::StageStreams(std::shared_ptr<Device> device, const std::vector<int>& stages)
    : device_(std::move(device)), stages_(stages) {
  D9D_CHECK(!device_->is_cpu(), "the CPU has no streams");
}

StreamRole StageStreams::stream_of(int stage) const {
  const auto found = std::find(stages_.begin(), stages_.end(), stage);
  D9D_CHECK(found != stages_.end(), "stage {} is none of the rank's", stage);
  return stream_of_stage(static_cast<int>(found - stages_.begin())) == 0 ? StreamRole::compute
                                                                         : StreamRole::compute_beside;
}

StageStreams::Fork::Fork(const StageStreams& streams, const Instruction& instruction)
    : device_(std::any_of(instruction.parts.begin(), instruction.parts.end(),
                          [&](const Action& action) {
                            return streams.stream_of(action.stage) == StreamRole::compute_beside;
                          })
                  ? streams.device_.get()
                  : nullptr) {
  if (device_ == nullptr) return;
  const WorkName work("fork");
  device_->wait(StreamRole::compute_beside, device_->record(StreamRole::compute));
}

// Also when a part throws: what the rank frees then must not be used again beside work that was given.
StageStreams::Fork::~Fork() {
  if (device_ == nullptr) return;
  try {
    const WorkName work("join");
    device_->wait(StreamRole::compute, device_->record(StreamRole::compute_beside));
  } catch (const std::exception& error) {
    log::warn("the two compute streams of a rank cannot wait for each other: {}", error.what());
  }
}

}  // namespace d9d
