#include "runtime/state/checkpoint/checkpoint_writer_core.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/state/disk/checksum.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// Appends to a file; every byte goes through its checksum while it is in the cache.
class Appender {
 public:
  explicit Appender(WriteFile& file) : file_(file) {}

  void add(const void* data, std::uint64_t bytes, Checksum* part) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const auto step = std::min<std::uint64_t>(bytes, 256 << 10);
      whole_.update(at, step);
      if (part != nullptr) part->update(at, step);
      file_.write(offset_, at, step);
      at += step;
      offset_ += step;
      bytes -= step;
    }
  }

  std::uint64_t bytes() const { return offset_; }
  std::uint64_t checksum() const { return whole_.value(); }

 private:
  WriteFile& file_;
  Checksum whole_;
  std::uint64_t offset_ = 0;
};

ManifestEntry entry_of(const NamedSlice& slice, const std::string& file) {
  D9D_REQUIRE(!slice.kind.empty() && slice.kind.find('/') == std::string::npos,
              "\"{}\" is not a kind of state; expected a word without '/'", slice.kind);
  ManifestEntry entry{
      slice.kind, slice.name, slice.global_shape, slice.slice, dtype_of(slice.tensor.scalar_type()), file, 0};
  require_inside(slice.slice, slice.global_shape, "checkpoint tensor \"" + entry.tensor_name() + "\"");
  D9D_REQUIRE(slice.tensor.sizes() == at::IntArrayRef(slice.slice.shape()),
              "checkpoint tensor \"{}\": the tensor has shape {}, its slice {}", entry.tensor_name(),
              to_text(slice.tensor.sizes().vec()), to_text(slice.slice.shape()));
  return entry;
}

// Element size decides the order, so that every tensor of the file is aligned.
std::vector<const NamedSlice*> in_file_order(const std::vector<NamedSlice>& slices) {
  std::vector<const NamedSlice*> order;
  for (const auto& slice : slices)
    if (!is_empty(slice.slice) || num_elements(slice.global_shape) == 0) order.push_back(&slice);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->tensor.element_size() > b->tensor.element_size();
  });
  return order;
}

}  // namespace

ShardReport ShardWriter::write(const std::string& directory, const std::string& shard_name,
                               const std::vector<NamedSlice>& slices) const {
  ShardReport report;
  report.file.name = shard_name + ".safetensors";
  const auto order = in_file_order(slices);
  std::vector<TensorSpec> specs;
  for (const auto* slice : order) {
    report.entries.push_back(entry_of(*slice, report.file.name));
    specs.push_back({report.entries.back().tensor_name(), report.entries.back().dtype, slice->slice.shape()});
  }
  const auto head = make_safetensors_header(specs, {{"format", "pt"}});

  disk_.make_directories(directory);
  const auto file = disk_.create(join_path(directory, report.file.name));
  Appender appender(*file);
  appender.add(head.data(), head.size(), nullptr);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const at::Tensor host = on_host(order[i]->tensor, order[i]->tensor.scalar_type());
    Checksum checksum;
    appender.add(host.data_ptr(), specs[i].bytes(), &checksum);
    report.entries[i].checksum = checksum.value();
  }
  file->close(sync_);
  if (sync_) disk_.sync_directory(directory);
  report.file.bytes = appender.bytes();
  report.file.checksum = appender.checksum();
  return report;
}

}  // namespace d9d
