#pragma once
// TensorLane: carries tensors from one rank to a rank in another process; there is one at each end. The
// sending one announces each transfer, and the receiving one receives in the same order. Own thread: it
// waits for its peer. Two per pair of neighbouring ranks and direction. Parent: Node.
// hears SendTensors TensorsAnnounced Sleep Wake
// says Ready TensorsAnnounced ActivationReady GradientReady Slept Awake

#include <functional>
#include <memory>

#include "actors/core/actor.hpp"
#include "messages/pipeline.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/pipeline/parcel_wire.hpp"

namespace d9d {

struct TensorLaneOptions {
  int sending_rank = 0;
  int receiving_rank = 0;
  std::function<std::unique_ptr<ParcelWire>()>
      open_wire;  // on the lane's thread; meets the other end. Called again to wake
};

class TensorLane final : public Actor {
 public:
  TensorLane(World& world, TensorLaneOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;

  void send_tensors(wire::SendTensors::Reader message);
  void tensors_announced(wire::TensorsAnnounced::Reader message);
  void sleep(wire::Sleep::Reader message);
  void wake(wire::Wake::Reader message);

 private:
  trace::Span wire_span(const char* name, std::uint64_t step, const std::vector<TransferTensor>& tensors);

  TensorLaneOptions options_;
  std::unique_ptr<ParcelWire> wire_;
  std::uint32_t track_ = 0;
};

}  // namespace d9d
