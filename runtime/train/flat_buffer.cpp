#include "runtime/train/flat_buffer.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

struct Pages {
  void* begin = nullptr;  // of the mapping
  std::size_t size = 0;
  void* data = nullptr;
};

Pages map_pages(std::size_t bytes) {
  const bool large = bytes >= 2 * huge_page;
  Pages pages;
  pages.size = bytes + (large ? huge_page : 0);
  pages.begin =
      mmap(nullptr, pages.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages.begin == MAP_FAILED) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot map {} MiB for parameters: {}", bytes >> 20, std::strerror(errno)));
  }
  auto address = reinterpret_cast<std::uintptr_t>(pages.begin);
  if (large) {
    address = (address + huge_page - 1) / huge_page * huge_page;
    madvise(reinterpret_cast<void*>(address), bytes, MADV_HUGEPAGE);  // only a hint, so errors do not matter
  }
  pages.data = reinterpret_cast<void*>(address);
  return pages;
}

}  // namespace

at::Tensor zeroed_flat_buffer(std::int64_t count, at::ScalarType dtype, at::Device device) {
  const auto options = at::TensorOptions().dtype(dtype).device(device);
  if (!device.is_cpu() || count == 0) return at::zeros({count}, options);
  const Pages pages = map_pages(static_cast<std::size_t>(count) * c10::elementSize(dtype));
  return at::from_blob(
      pages.data, {count}, [pages](void*) { munmap(pages.begin, pages.size); }, options);
}

void move_into(const at::Tensor& part, at::Tensor tensor, bool keep_values) {
  const at::Tensor values = part.view(tensor.sizes());
  if (keep_values) values.copy_(tensor.detach());
  tensor.set_data(values);
}

}  // namespace d9d
