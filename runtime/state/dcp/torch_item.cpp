#include "runtime/state/dcp/torch_item.hpp"

#include <ATen/ops/empty.h>

#include <map>

#include "runtime/base/error.hpp"
#include "runtime/state/tensor_file/slice.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

constexpr const char* rebuild_tensor = "torch._utils._rebuild_tensor_v2";

// torch's names of storages and of their elements.
const std::map<std::string, Dtype>& storages() {
  static const std::map<std::string, Dtype> names{
      {"torch.DoubleStorage", Dtype::float64}, {"torch.FloatStorage", Dtype::float32},
      {"torch.HalfStorage", Dtype::float16},   {"torch.BFloat16Storage", Dtype::bfloat16},
      {"torch.LongStorage", Dtype::int64},     {"torch.IntStorage", Dtype::int32},
      {"torch.ShortStorage", Dtype::int16},    {"torch.CharStorage", Dtype::int8},
      {"torch.ByteStorage", Dtype::uint8},     {"torch.BoolStorage", Dtype::boolean}};
  return names;
}

const std::set<std::string>& names_in_items() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all{rebuild_tensor, "collections.OrderedDict", "torch.Size"};
    for (const auto& [name, dtype] : storages()) all.insert(name);
    return all;
  }();
  return names;
}

std::string pickle_of(const ZipArchive& archive, const std::string& where) {
  D9D_REQUIRE(
      !archive.has("byteorder") || archive.read("byteorder") == "little",
      "{}: a big-endian machine saved it; load it with torch on any machine and save it on a little-endian "
      "one",
      where);
  return archive.read("data.pkl");
}

// Whether every element of such a view is inside of `count` elements.
bool is_view_of(std::int64_t count, std::int64_t offset, const Shape& shape, const Shape& strides) {
  if (shape.size() != strides.size() || offset < 0 || offset > count || !is_sane(shape, 8) ||
      num_elements(shape) > count)
    return false;
  std::int64_t last = offset;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 0) return true;
    std::int64_t reach = 0;
    if (strides[dim] < 0 || __builtin_mul_overflow(shape[dim] - 1, strides[dim], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return false;
  }
  return last < count;
}

}  // namespace

Dtype dtype_of_torch(const std::string& name, const std::string& where) {
  constexpr std::string_view module = "torch.";
  const std::string element = name.starts_with(module) ? name.substr(module.size()) : name;
  for (const auto& [storage, dtype] : storages())
    if (element == (dtype == Dtype::boolean ? "bool" : name_of(dtype))) return dtype;
  throw Error(
      ErrorKind::input,
      fmt::format("{}: dtype {}, which no file of d9d can hold; convert it with torch first", where, name));
}

TorchItem::TorchItem(const ReadFile& file, FileRange range, const std::string& where)
    : where_(where),
      archive_(file, range, where),
      pickle_(pickle_of(archive_, where), where + " in " + file.path(), names_in_items()) {}

bool TorchItem::is_tensor() const {
  return pickle_.root().is_object_of(rebuild_tensor);
}

at::Tensor TorchItem::tensor() const {
  const PickleValue& root = pickle_.root();
  if (!is_tensor() || root.items.size() < 4) pickle_.refuse("it is no tensor");
  const auto& id = *root.items[0];
  if (id.kind != PickleValue::Kind::persistent) pickle_.refuse("a tensor without a storage");
  const auto& storage = pickle_.items(*id.items.front(), "a storage");
  const bool named = storage.size() == 5 && storages().contains(storage[1]->text);
  if (!named) pickle_.refuse("a tensor with a storage of a kind that is not known");
  const Dtype dtype = storages().at(storage[1]->text);
  const std::string entry = "data/" + pickle_.text(*storage[2], "the name of a storage");
  const std::int64_t count = pickle_.integer(*storage[4], "the size of a storage");
  const Shape shape = pickle_.integers(*root.items[2], "a shape"),
              strides = pickle_.integers(*root.items[3], "strides");
  const std::int64_t offset = pickle_.integer(*root.items[1], "the offset of a tensor");
  const auto stored = static_cast<std::int64_t>(archive_.size_of(entry));
  if (count < 0 || stored % size_of(dtype) != 0 || stored / size_of(dtype) != count)
    pickle_.refuse(
        fmt::format("its storage has {} bytes, expected {} elements of {}", stored, count, name_of(dtype)));
  if (!is_view_of(count, offset, shape, strides))
    pickle_.refuse(
        fmt::format("its shape {} reaches beyond its storage of {} elements", to_text(shape), count));
  at::Tensor values = at::empty({count}, at::TensorOptions(scalar_type_of(dtype)));
  archive_.read_into(entry, values.data_ptr());
  return values.as_strided(shape, strides, offset).contiguous();
}

}  // namespace d9d
