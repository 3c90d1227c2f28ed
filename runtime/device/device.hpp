#pragma once
// What a rank computes on. Work is given to streams, one for each role; those of one stream run in the order in
// which they were given, those of two in any order that their events allow. On the CPU each call has done its work
// when it returns, so that a stream there is nothing, and all of its events are reached.
//
// Tensors' ops go to the stream that is current on their thread: `compute`, unless a StreamScope says otherwise.

#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/event.hpp"
#include "runtime/device/kernel_run.hpp"
#include "runtime/device/memory_pools.hpp"
#include "runtime/device/stream_role.hpp"

namespace at {
class Tensor;
}

namespace d9d {

class Device {
 public:
  virtual ~Device() = default;

  // Where its tensors are.
  virtual c10::Device place() const = 0;
  bool is_cpu() const { return place().is_cpu(); }

  // Reached when everything that was given to the stream so far has run.
  virtual Event record(StreamRole role) = 0;
  // One that also tells when it was reached (Event::reached_ns), where the device's work is late.
  virtual Event record_time(StreamRole role) { return record(role); }
  // What is given to the stream from now on runs behind the event. The host does not wait.
  virtual void wait(StreamRole role, const Event& event) = 0;
  // Memory of a tensor that was made on another stream is not used again before what the stream was given so far has
  // run. Called behind the last use.
  virtual void use(const at::Tensor& tensor, StreamRole role) = 0;
  // The same until an event, of this device or of another one that reads the tensor.
  virtual void use_until(const at::Tensor& tensor, const Event& event) = 0;
  // Makes the stream current on this thread; returns the one before.
  virtual StreamRole exchange_stream(StreamRole role) = 0;
  virtual StreamRole current_stream() const = 0;
  // into := from, of one shape and dtype, on the current stream. `from` may be on another device of the kind, whose
  // streams do not wait for it: order and use_until() are up to the caller.
  virtual void copy(const at::Tensor& into, const at::Tensor& from) = 0;
  // Memory of the host, that copies of the device are made to or from while the host goes on; keep it until they are done.
  // To take it is slow. uint8 [bytes]; undefined where the system has none to give.
  virtual at::Tensor pinned(std::int64_t bytes) = 0;
  // The host waits for all streams.
  virtual void finish() = 0;
  // Memory that was freed and is kept for the next tensors goes back to the system or the driver.
  virtual void trim() = 0;
  // Of the host nothing is known here.
  virtual DeviceMemory memory() const { return {}; }
  // Whether the device notes what it runs, from here on. Returns why it cannot, "" where it can.
  virtual std::string note_kernels(bool /*on*/) { return ""; }
  // What was noted since the last call, of work that a host has waited for. Ranks that share a device share the notes.
  virtual std::vector<KernelRun> take_kernels() { return {}; }
  Event record() { return record(current_stream()); }
  void wait(const Event& event) { wait(current_stream(), event); }

 protected:
  Device() = default;
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;
};

// The host itself. Several ranks may have the same one.
std::shared_ptr<Device> cpu_device();
// A device of its own on host memory, that runs late and out of order (README.md).
// `index` counts the devices of the process from 0, at most 8. Safe to call again for the same one.
std::shared_ptr<Device> delayed_device(int index);
// The one where tensors of this place are; a place that no device was kept for is a bug.
Device& device_of(c10::Device place);
// Makes a device known to device_of(), for the life of the process; the first of a place stays, and is returned: streams
// of two objects would be two sets. The host and delayed devices are known.
std::shared_ptr<Device> keep_device(std::shared_ptr<Device> device);

// Ops of this thread go to the stream until the scope ends. What they make for `communicate` is of that pool.
class StreamScope {
 public:
  StreamScope(Device& device, StreamRole role)
      : device_(device),
        previous_(device.exchange_stream(role)),
        pool_(role == StreamRole::communicate ? MemoryPool::communication : PoolScope::current()) {}
  ~StreamScope() { device_.exchange_stream(previous_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Device& device_;
  const StreamRole previous_;
  const PoolScope pool_;
};

}  // namespace d9d
