#include "runtime/state/convert/model_converter.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "runtime/base/error.hpp"
#include "runtime/state/model_files.hpp"
#include "runtime/state/model_shards.hpp"
#include "runtime/state/slice_view.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

// Cuts a tensor into contiguous boxes of at most `values` values and visits them in row-major order.
template <class Visit>
void for_each_box(const Shape& shape, std::int64_t values, const Visit& visit) {
  Slice box = whole(shape);
  if (is_empty(box) || box.num_elements() <= values) return visit(box);
  // Dims behind `cut` are whole, those before it have one index.
  std::size_t cut = shape.size() - 1;
  std::int64_t row = 1;
  while (cut > 0 && row * shape[cut] <= values) row *= shape[cut--];
  const std::int64_t rows = std::max<std::int64_t>(values / row, 1);
  for (std::size_t d = 0; d < cut; ++d) box.end[d] = 1;
  for (bool more = true; more;) {
    for (std::int64_t begin = 0; begin < shape[cut]; begin += rows) {
      box.begin[cut] = begin;
      box.end[cut] = std::min(begin + rows, shape[cut]);
      visit(box);
    }
    more = false;
    for (std::size_t d = cut; d-- > 0 && !more;) {
      more = ++box.begin[d] < shape[d];
      if (!more) box.begin[d] = 0;
      box.end[d] = box.begin[d] + 1;
    }
  }
}

// Whether the part is one run of bytes in a tensor of that shape.
bool is_one_run(const Slice& part, const Shape& shape) {
  bool begun = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto extent = part.end[d] - part.begin[d];
    if (begun && extent != shape[d]) return false;
    begun = begun || extent > 1;
  }
  return true;
}

std::int64_t first_value(const Slice& part, const Shape& shape) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + part.begin[d];
  return at;
}

// Values keep their order: dims come as they are, new ones between them.
bool keeps_order(const std::vector<int>& dims) {
  int last = -1;
  for (const int dim : dims) {
    if (dim >= 0 && dim < last) return false;
    if (dim >= 0) last = dim;
  }
  return true;
}

// Memory for one box, without clearing it.
class BoxMemory {
 public:
  explicit BoxMemory(std::uint64_t bytes) : bytes_(bytes), memory_(new std::byte[bytes]) {}

  std::byte* data() const { return memory_.get(); }
  at::Tensor as(const Shape& shape, at::ScalarType type) const {
    D9D_CHECK(static_cast<std::uint64_t>(num_elements(shape)) * c10::elementSize(type) <= bytes_,
              "a box of shape {} has more than {} bytes", to_text(shape), bytes_);
    return at::from_blob(memory_.get(), shape, at::TensorOptions(type));
  }

 private:
  std::uint64_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

class ConversionRun {
 public:
  ConversionRun(const ModelFiles& files, const StateMapper& mapper, const ConversionOptions& options)
      : files_(files),
        mapper_(mapper),
        options_(options),
        groups_(files.in_disk_order(mapper)),
        part_(std::max<std::uint64_t>(options.box_bytes, 8)),
        staged_(std::max<std::uint64_t>(options.box_bytes, 8)) {}

  std::vector<WrittenShard> run(Disk& disk, const std::string& directory) {
    std::vector<TensorSpec> specs;
    for (const auto* group : groups_)
      for (const auto& [name, tensor] : mapper_.apply(shapes_of(*group))) {
        specs.push_back({name, dtype_of_output(name, tensor), tensor.sizes().vec()});
        specs_[name] = specs.back();
        total_ += specs.back().bytes();
      }
    disk.make_directories(directory);
    ModelShards shards(disk, directory, specs, {.shard_bytes_max = options_.shard_bytes_max});
    for (const auto* group : groups_) convert(*group, shards);
    return shards.finish();
  }

 private:
  TensorMap shapes_of(const StateGroup& group) const {
    TensorMap shapes;
    for (const auto& name : group.inputs) shapes[name] = files_.shape_only(name);
    return shapes;
  }

  Dtype dtype_of_output(const std::string& name, const at::Tensor& tensor) const {
    if (const auto own = options_.dtypes.find(name); own != options_.dtypes.end()) return own->second;
    const bool converted = options_.dtype && at::isFloatingType(tensor.scalar_type());
    return converted ? *options_.dtype : dtype_of(tensor.scalar_type());
  }

  void convert(const StateGroup& group, ModelShards& shards) {
    const TensorMap shapes = shapes_of(group);
    TensorMap applied;
    for (const auto& name : group.outputs) {
      const Shape& shape = specs_.at(name).shape;
      const bool moves = mapper_.trace(name, whole(shape), shapes).has_value();
      if (!moves && applied.empty()) applied = applied_to(group);
      if (!moves) {
        write_whole(name, applied, shards);
        continue;
      }
      const auto widest = static_cast<std::int64_t>(widest_value(shapes, name));
      const auto values = std::max<std::int64_t>(static_cast<std::int64_t>(options_.box_bytes) / widest, 1);
      for_each_box(shape, values, [&](const Slice& box) { write_box(name, box, shapes, shards); });
    }
  }

  TensorMap applied_to(const StateGroup& group) const {
    TensorMap inputs;
    for (const auto& name : group.inputs) inputs[name] = files_.read(name);
    return mapper_.apply(inputs);
  }

  void write_whole(const std::string& name, TensorMap& applied, ModelShards& shards) {
    shards.write(name, applied.at(name));
    applied.at(name).reset();
    add_done(specs_.at(name).bytes());
  }

  // Bytes of a value on either side, whichever takes more.
  std::uint64_t widest_value(const TensorMap& shapes, const std::string& output) const {
    auto widest = static_cast<std::uint64_t>(size_of(specs_.at(output).dtype));
    for (const auto& [name, tensor] : shapes) widest = std::max<std::uint64_t>(widest, tensor.element_size());
    return widest;
  }

  void write_box(const std::string& name, const Slice& box, const TensorMap& shapes, ModelShards& shards) {
    const auto type = scalar_type_of(specs_.at(name).dtype);
    const at::Tensor part = part_.as(box.shape(), type);
    const auto pieces = mapper_.trace(name, box, shapes);
    D9D_CHECK(pieces, "the pieces of \"{}\" are known, but not those of a box of it", name);
    for (const auto& piece : *pieces) put(piece, box, shapes.at(piece.input).scalar_type(), part);
    shards.append(name, part);
    add_done(part.nbytes());
  }

  void put(const Piece& piece, const Slice& box, at::ScalarType type, const at::Tensor& part) const {
    if (is_empty(piece.from)) return;
    const Slice to = relative_to(piece.to, box);
    const Shape shape = box.shape();
    if (type == part.scalar_type() && keeps_order(piece.dims) && is_one_run(to, shape)) {
      const auto offset = static_cast<std::size_t>(first_value(to, shape)) * c10::elementSize(type);
      return files_.read_into(piece.input, piece.from, part_.data() + offset);
    }
    files_.read_into(piece.input, piece.from, staged_.data());
    slice_view(part, to).copy_(view_of(piece, staged_.as(piece.from.shape(), type)));
  }

  void add_done(std::uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) options_.progress(done_, total_);
  }

  const ModelFiles& files_;
  const StateMapper& mapper_;
  const ConversionOptions& options_;
  const std::vector<const StateGroup*> groups_;
  const BoxMemory part_;
  const BoxMemory staged_;
  std::map<std::string, TensorSpec> specs_;  // of outputs
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

std::vector<WrittenShard> convert_model_state(const ModelFiles& files, const MapperPtr& mapper, Disk& disk,
                                              const std::string& directory,
                                              const ConversionOptions& options) {
  return ConversionRun(files, *mapper, options).run(disk, directory);
}

}  // namespace d9d
