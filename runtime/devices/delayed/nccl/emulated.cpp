#include "runtime/devices/delayed/nccl/emulated.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/devices/delayed/nccl/emulated_across.hpp"

namespace d9d::nccl {
namespace {

constexpr int internal_error = 3, invalid_usage = 5;

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

struct Emulation {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<CommGroup>> opening;  // by id
  const unsigned random = std::random_device()();             // names of this process
  std::uint64_t ids = 0;
  std::optional<EmulatedFault> fault = fault_of_process();
};

Emulation& emulation() {
  static const auto of_process = std::make_unique<Emulation>();
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

int init_across(Comm* handle, int size, const UniqueId& id, int rank) {
  auto comm = std::make_unique<EmulatedComm>();
  const int device = delayed::current().device;
  comm->group = std::make_shared<CommGroup>();
  comm->group->devices.assign(static_cast<std::size_t>(size), device);
  comm->rank = rank;
  comm->across = std::make_shared<EmulatedAcross>(id.bytes.data(), size, rank, device);
  *handle = comm.release();
  return in_progress;
}

int async_error(Comm handle, int* result) {
  EmulatedComm& comm = comm_of(handle);
  const std::lock_guard lock(comm.group->mutex);
  *result = comm.error;
  if (*result == success && comm.across) *result = comm.across->error();
  const bool whole = comm.across ? comm.across->whole() : comm.group->whole();
  if (*result == success && !whole) *result = in_progress;
  if (*result == success && !comm.across && comm.group->shares_a_device()) *result = invalid_usage;
  return success;
}

const char* text_of(int result) {
  if (result == remote_error) return "remote process ended";
  if (result == invalid_usage) return "invalid usage";
  return result == internal_error ? "internal error" : "an error";
}

const char* last_error(Comm handle) {
  EmulatedComm& comm = comm_of(handle);
  if (comm.error != success) return "an error that was planted";
  return comm.across ? "a member that it waits for is gone" : "two of its ranks are on one device";
}

int end(Comm handle, bool delivered) {
  const std::unique_ptr<EmulatedComm> comm(&comm_of(handle));
  *comm->ended = true;
  if (comm->across) comm->across->end(delivered);
  return success;
}

Api emulated_table() {
  Api api;
  api.device_type = c10::DeviceType::PrivateUse1;
  api.text_of = text_of;
  api.last_error = last_error;
  api.unique_id = [](UniqueId* id) {
    const std::lock_guard lock(emulation().mutex);
    id->bytes.fill('\0');
    const std::string text =
        fmt::format("emulated-{}-{:08x}-{}", ::getpid(), emulation().random, ++emulation().ids);
    std::copy(text.begin(), text.end(), id->bytes.begin());
    return success;
  };
  api.init = init;
  api.init_across = init_across;
  api.async_error = async_error;
  api.finalize = [](Comm) { return success; };
  api.destroy = [](Comm comm) { return end(comm, true); };
  api.abort = [](Comm comm) { return end(comm, false); };
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
