#pragma once
// The device on which a rank computes. Work is queued on streams, one for each role. Work of one stream runs
// in the order in which it was queued, work of two streams in any order that their events allow. On the CPU
// each call has done its work when it returns, and all events are reached.
//
// A tensor's op is queued on the current stream of the calling thread: `compute`, or that of a StreamScope. Autograd
// runs the backward of an op on the stream that was current in its forward.

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/event.hpp"
#include "runtime/device/memory_pools.hpp"
#include "runtime/device/stream_role.hpp"

namespace at {
class Tensor;
}

namespace d9d {

// One kernel or copy that a device ran, for a trace.
struct KernelRun {
  std::string name;  // "aten::mul", "d9d::cuda::rms_norm<float>"
  StreamRole stream = StreamRole::compute;
  std::int64_t begin_ns = 0, end_ns = 0;  // of SystemClock
};

class Device {
 public:
  virtual ~Device() = default;

  // The torch device of its tensors.
  virtual c10::Device place() const = 0;
  bool is_cpu() const { return place().is_cpu(); }

  // Returns an event that is reached when all work queued on the stream so far has run.
  virtual Event record(StreamRole role) = 0;
  // The same, and the event also tells when it was reached (Event::reached_ns). Not on the CPU.
  virtual Event record_time(StreamRole role) { return record(role); }
  // Orders all work queued on the stream from now on behind the event. The host does not wait.
  virtual void wait(StreamRole role, const Event& event) = 0;
  // Keeps the memory of a tensor of another stream from being reused until the stream's work so far has run.
  // Call it after queueing the last use of the tensor.
  virtual void use(const at::Tensor& tensor, StreamRole role) = 0;
  // The same until `event`, which may be of another device that reads the tensor.
  virtual void use_until(const at::Tensor& tensor, const Event& event) = 0;
  // Makes the stream current on this thread; returns the one before.
  virtual StreamRole exchange_stream(StreamRole role) = 0;
  virtual StreamRole current_stream() const = 0;
  // Copies `from` to `into`, of one shape and dtype, on the current stream. `from` may be on another device of
  // the kind, which does not wait for the copy: the caller must order the two and call use_until().
  virtual void copy(const at::Tensor& into, const at::Tensor& from) = 0;
  // Allocates host memory, uint8 [bytes], for copies that run while the host goes on. Keep it until they are
  // done. Slow. Returns an undefined tensor if the system has no such memory left.
  virtual at::Tensor pinned(std::int64_t bytes) = 0;
  // Makes the host wait for all streams.
  virtual void finish() = 0;
  // Returns freed memory that is kept for later tensors to the system or the driver.
  virtual void trim() = 0;
  // Memory in use and free. All zeros for the CPU.
  virtual DeviceMemory memory() const { return {}; }
  // Begins or ends notes of the kernels that run. Returns why the device cannot, or "" if it can.
  virtual std::string note_kernels(bool /*on*/) { return ""; }
  // Returns the notes since the last call, of work that a host has waited for. Ranks on a device share them.
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
// The one where tensors of this place are; a place that no device was kept for is a bug.
Device& device_of(c10::Device place);
// Makes a device known to device_of(), for the life of the process; the first of a place stays, and is returned:
// streams of two objects would be two sets. The host is known.
std::shared_ptr<Device> keep_device(std::shared_ptr<Device> device);

// Queues this thread's ops on the stream until the scope ends, and counts their memory for the stream's pool.
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
