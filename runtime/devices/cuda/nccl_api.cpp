// The functions of nccl.h (2.28, the version that torch is built with) and of the CUDA run time behind nccl::Api.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>
#include <optional>

#include "runtime/devices/cuda/cuda_device.hpp"
#include "runtime/devices/cuda/plugin_nccl.hpp"

namespace d9d::cuda {
namespace {

using nccl::Comm;
using nccl::Event;
using nccl::Stream;

static_assert(nccl::success == ncclSuccess && nccl::in_progress == ncclInProgress);
static_assert(nccl::system_error == ncclSystemError && nccl::remote_error == ncclRemoteError);
static_assert(nccl::not_ready == cudaErrorNotReady);
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));

ncclComm_t of(Comm comm) {
  return static_cast<ncclComm_t>(comm);
}
cudaStream_t stream_of(Stream stream) {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t event_of(Event event) {
  return static_cast<cudaEvent_t>(event);
}

std::optional<ncclDataType_t> type_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Bool:
    case c10::ScalarType::Byte:
      return ncclUint8;
    case c10::ScalarType::Char:
      return ncclInt8;
    case c10::ScalarType::Int:
      return ncclInt32;
    case c10::ScalarType::Long:
      return ncclInt64;
    case c10::ScalarType::Half:
      return ncclFloat16;
    case c10::ScalarType::BFloat16:
      return ncclBfloat16;
    case c10::ScalarType::Float:
      return ncclFloat32;
    case c10::ScalarType::Double:
      return ncclFloat64;
    default:
      return std::nullopt;
  }
}

ncclRedOp_t op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return ncclSum;
    case ReduceOp::max:
      return ncclMax;
    case ReduceOp::min:
      return ncclMin;
  }
  return ncclSum;
}

// call(type) in NCCL's type; refused where NCCL has none.
template <class Call>
int typed(c10::ScalarType type, Call&& call) {
  const auto known = type_of(type);
  return known ? call(*known) : ncclInvalidArgument;
}

ncclConfig_t config() {
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.blocking = 0;
  return options;
}

int init(Comm* comm, int size, const nccl::UniqueId& id, int rank) {
  ncclUniqueId theirs;
  std::memcpy(&theirs, id.bytes.data(), sizeof(theirs));
  ncclConfig_t options = config();
  return ncclCommInitRankConfig(reinterpret_cast<ncclComm_t*>(comm), size, theirs, rank, &options);
}

int async_error(Comm comm, int* result) {
  ncclResult_t found = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(of(comm), &found);
  *result = found;
  return asked;
}

void fill_nccl(nccl::Api& api) {
  api.text_of = [](int result) { return ncclGetErrorString(static_cast<ncclResult_t>(result)); };
  api.last_error = [](Comm comm) { return ncclGetLastError(of(comm)); };
  api.unique_id = [](nccl::UniqueId* id) -> int {
    return ncclGetUniqueId(reinterpret_cast<ncclUniqueId*>(id));
  };
  api.init = init;
  api.async_error = async_error;
  api.finalize = [](Comm comm) -> int { return ncclCommFinalize(of(comm)); };
  api.destroy = [](Comm comm) -> int { return ncclCommDestroy(of(comm)); };
  api.abort = [](Comm comm) -> int { return ncclCommAbort(of(comm)); };
  api.group_start = []() -> int { return ncclGroupStart(); };
  api.group_end = []() -> int { return ncclGroupEnd(); };
  api.all_reduce = [](void* data, std::size_t count, c10::ScalarType type, ReduceOp op, Comm comm,
                      Stream stream) {
    return typed(type, [&](ncclDataType_t t) -> int {
      return ncclAllReduce(data, data, count, t, op_of(op), of(comm), stream_of(stream));
    });
  };
  api.reduce_scatter = [](const void* in, void* out, std::size_t count, c10::ScalarType type, ReduceOp op,
                          Comm comm, Stream stream) {
    return typed(type, [&](ncclDataType_t t) -> int {
      return ncclReduceScatter(in, out, count, t, op_of(op), of(comm), stream_of(stream));
    });
  };
  api.all_gather = [](const void* in, void* out, std::size_t count, c10::ScalarType type, Comm comm,
                      Stream stream) {
    return typed(type, [&](ncclDataType_t t) -> int {
      return ncclAllGather(in, out, count, t, of(comm), stream_of(stream));
    });
  };
  api.broadcast = [](void* data, std::size_t count, c10::ScalarType type, int root, Comm comm,
                     Stream stream) {
    return typed(type, [&](ncclDataType_t t) -> int {
      return ncclBroadcast(data, data, count, t, root, of(comm), stream_of(stream));
    });
  };
  api.send = [](const void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm,
                Stream stream) {
    return typed(type, [&](ncclDataType_t t) -> int {
      return ncclSend(data, count, t, peer, of(comm), stream_of(stream));
    });
  };
  api.receive = [](void* data, std::size_t count, c10::ScalarType type, int peer, Comm comm, Stream stream) {
    return typed(type, [&](ncclDataType_t t) -> int {
      return ncclRecv(data, count, t, peer, of(comm), stream_of(stream));
    });
  };
}

void fill_cuda(nccl::Api& api) {
  api.cuda_text_of = [](int result) { return cudaGetErrorString(static_cast<cudaError_t>(result)); };
  api.use_device = [](int device) -> int { return cudaSetDevice(device); };
  api.current_stream = [](int device) -> Stream {
    return c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device)).stream();
  };
  api.create_stream = [](Stream* stream) -> int {
    // Its blocks come before those of a product that has filled the GPU, whose results they carry on.
    int lowest = 0, highest = 0;
    const cudaError_t error = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
    if (error != cudaSuccess) return error;
    return cudaStreamCreateWithPriority(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking, highest);
  };
  api.destroy_stream = [](Stream stream) -> int { return cudaStreamDestroy(stream_of(stream)); };
  api.create_event = [](Event* event) -> int {
    return cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event), cudaEventDisableTiming);
  };
  api.destroy_event = [](Event event) -> int { return cudaEventDestroy(event_of(event)); };
  api.record = [](Event event, Stream stream) -> int {
    return cudaEventRecord(event_of(event), stream_of(stream));
  };
  api.stream_waits = [](Stream stream, Event event) -> int {
    return cudaStreamWaitEvent(stream_of(stream), event_of(event), 0);
  };
  api.record_time = [](int device, Stream stream) { return timed_event(device, stream); };
  api.query = [](Event event) -> int { return cudaEventQuery(event_of(event)); };
}

}  // namespace

const nccl::Api* nccl_of_this_build() {
  static const nccl::Api api = [] {
    nccl::Api filled;
    fill_nccl(filled);
    fill_cuda(filled);
    return filled;
  }();
  return &api;
}

}  // namespace d9d::cuda
