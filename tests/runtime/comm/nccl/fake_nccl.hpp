#pragma once
// NCCL and CUDA without a GPU: streams are threads that do one thing after the other, communicators meet in memory, and
// "device" tensors are those of the CPU. Strict where the real ones are: a device runs its collectives in the order of
// their launches, a send ends when its receiver takes it, a communicator is not there before all members have come.

#include <memory>

#include "runtime/comm/nccl/api.hpp"

namespace d9d::nccl {

// One at a time in a process: the functions of the table find it.
class FakeNccl {
 public:
  FakeNccl();
  ~FakeNccl();  // fails the test where a communicator, a stream or an event is left
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  const Api& api() const;

  // Waits until the caller's stream of the device has done all; false where it did not within 20 s.
  bool synchronize(int device);
  // From now on nothing that the device launches takes place; with `known` its peers get a remote error.
  void stall(int device, bool known);
  // The n-th launch of the device from now on, counted from 1, gives an internal error a little later.
  void fail_launch(int device, int n);
  // The caller's stream of the device does nothing until resume().
  void hold_compute(int device);
  void resume();
  // A thread that aborts a communicator waits there until release_aborts().
  void hold_aborts();
  void release_aborts();
  // Whether the calling thread has destroyed or aborted a communicator, which may block in NCCL.
  bool caller_has_ended_one() const;
  int num_communicators() const;  // of all devices, that are not ended

  struct State;

 private:
  const std::unique_ptr<State> state_;
};

}  // namespace d9d::nccl
