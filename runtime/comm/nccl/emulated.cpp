#include "runtime/comm/nccl/emulated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/comm/nccl/emulated_comm.hpp"

namespace d9d::nccl {
namespace {

constexpr int internal_error = 3;

struct Emulation {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<CommGroup>> opening;  // by id
  std::uint64_t ids = 0;
  std::optional<EmulatedFault> fault;
};

std::optional<EmulatedFault> fault_of_process() {
  const char* const given = std::getenv("D9D_NCCL_FAULT");
  if (given == nullptr || *given == '\0') return std::nullopt;
  std::istringstream text(given);
  std::string kind;
  EmulatedFault fault;
  char colon = 0;
  std::getline(text, kind, ':');
  text >> fault.device >> colon >> fault.launch;
  D9D_REQUIRE(!text.fail() && colon == ':' && text.eof() && (kind == "hang" || kind == "error"),
              "D9D_NCCL_FAULT is \"{}\", expected hang:DEVICE:LAUNCH or error:DEVICE:LAUNCH", given);
  fault.kind = kind == "hang" ? EmulatedFault::Kind::hang : EmulatedFault::Kind::error;
  return fault;
}

Emulation& emulation() {
  static const auto of_process = [] {
    auto made = std::make_unique<Emulation>();
    made->fault = fault_of_process();
    return made;
  }();
  return *of_process;
}

int init(Comm* handle, int size, const UniqueId& id, int rank) {
  const std::lock_guard lock(emulation().mutex);
  const std::string key(id.bytes.data(), id.bytes.size());
  auto& group = emulation().opening[key];
  if (!group) group = std::make_shared<CommGroup>();
  auto comm = std::make_unique<EmulatedComm>();
  comm->group = group;
  comm->rank = rank;
  const std::lock_guard inner(group->mutex);
  group->devices.resize(static_cast<std::size_t>(size));
  group->devices[static_cast<std::size_t>(rank)] = delayed::current().device;
  ++group->arrived;
  if (comm->group->whole()) emulation().opening.erase(key);
  *handle = comm.release();
  return in_progress;
}

int async_error(Comm handle, int* result) {
  EmulatedComm& comm = comm_of(handle);
  const std::lock_guard lock(comm.group->mutex);
  *result = comm.error;
  if (*result == success && !comm.group->whole()) *result = in_progress;
  return success;
}

int end(Comm handle) {
  *comm_of(handle).ended = true;
  delete static_cast<EmulatedComm*>(handle);
  return success;
}

Api emulated_table() {
  Api api;
  api.device_type = c10::DeviceType::PrivateUse1;
  api.text_of = [](int result) { return result == internal_error ? "internal error" : "an error"; };
  api.last_error = [](Comm) { return "an error that was planted"; };
  api.unique_id = [](UniqueId* id) {
    const std::lock_guard lock(emulation().mutex);
    id->bytes.fill('\0');
    const std::string text = fmt::format("emulated {}", ++emulation().ids);
    std::copy(text.begin(), text.end(), id->bytes.begin());
    return success;
  };
  api.init = init;
  api.async_error = async_error;
  api.finalize = [](Comm) { return success; };
  api.destroy = end;
  api.abort = end;
  fill_collectives(api);
  fill_messages(api);
  fill_emulated_streams(api);
  return api;
}

}  // namespace

bool fails_here(EmulatedComm& comm, const EmulatedStream& stream) {
  const std::lock_guard lock(emulation().mutex);
  auto& fault = emulation().fault;
  if (!fault || fault->device != stream.device || --fault->launch > 0) return false;
  if (fault->kind == EmulatedFault::Kind::error) comm.error = internal_error;
  fault.reset();
  stream.machine().hold(stream.number, comm.group->mark_of(comm.rank), comm.ended);
  return true;
}

const Api& emulated_nccl() {
  static const Api api = emulated_table();
  return api;
}

void plant_fault(std::optional<EmulatedFault> fault) {
  const std::lock_guard lock(emulation().mutex);
  emulation().fault = fault;
}

}  // namespace d9d::nccl
