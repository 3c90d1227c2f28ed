#include "tests/kernels/cuda/emulated/fenced_memory.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace d9d::test {
namespace {

constexpr std::size_t alignment = 16;  // of tensors, as kernels may expect it of any view that begins a row
constexpr int poison = 0xff;

struct Piece {
  void* begin;
  std::size_t bytes;  // with the fence
  const unsigned char *end_of_tensor, *fence;
};

// By their addresses: who asks for memory without an owner (oneDNN's products in bf16) gives back nothing else.
struct Pieces {
  std::mutex mutex;
  std::unordered_map<void*, Piece> by_address;

  static Pieces& all() {
    static const auto of_process = new Pieces;  // memory may be freed after all else
    return *of_process;
  }
  void add(void* address, const Piece& piece) {
    const std::lock_guard lock(mutex);
    by_address.emplace(address, piece);
  }
  Piece take(void* address) {
    const std::lock_guard lock(mutex);
    return by_address.extract(address).mapped();
  }
};

void release(void* address) {
  const Piece piece = Pieces::all().take(address);
  for (const unsigned char* at = piece.end_of_tensor; at < piece.fence; ++at) {
    if (*at == poison) continue;
    std::fputs("written beyond the end of a tensor\n", stderr);
    std::abort();
  }
  munmap(piece.begin, piece.bytes);
}

class Fenced final : public at::Allocator {
 public:
  at::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, at::Device(at::kCPU)};
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + alignment - 1) / alignment * alignment;
    const std::size_t open = (used + page - 1) / page * page;
    void* const begin =
        mmap(nullptr, open + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TORCH_CHECK(begin != MAP_FAILED, "no memory for ", bytes, " bytes behind a fence");
    char* const end = static_cast<char*>(begin) + open;
    TORCH_CHECK(mprotect(end, page, PROT_NONE) == 0, "no fence for ", bytes, " bytes");
    std::memset(begin, poison, open);
    const auto* const fence = reinterpret_cast<const unsigned char*>(end);
    Pieces::all().add(end - used, {begin, open + page, fence - used + bytes, fence});
    return {end - used, end - used, release, at::Device(at::kCPU)};
  }
  at::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

constexpr std::uint8_t above_others = 2;

}  // namespace

FencedMemory::FencedMemory() : previous_(c10::GetCPUAllocator()) {
  static Fenced fenced;
  c10::SetCPUAllocator(&fenced, above_others);
}

FencedMemory::~FencedMemory() {
  c10::SetCPUAllocator(previous_, above_others);
}

}  // namespace d9d::test
