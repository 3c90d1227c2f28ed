#include "runtime/state/dcp/dcp_folder.hpp"

#include <ATen/ops/empty.h>

#include "runtime/base/error.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

DcpFolder::DcpFolder(const Disk& disk, std::string directory)
    : disk_(disk), directory_(std::move(directory)), values_(read_dcp_metadata(disk_, directory_)) {}

at::Tensor DcpFolder::read(const DcpValue& value) const {
  D9D_REQUIRE(value.tensor.has_value(), "{}: {} is no tensor", directory_, value.name);
  const TensorSpec& spec = *value.tensor;
  at::Tensor whole_tensor = at::empty(spec.shape, at::TensorOptions(scalar_type_of(spec.dtype)));
  for (const DcpPart& part : value.parts) {
    const at::Tensor stored = item_of(value, part).tensor();
    at::Tensor target = whole_tensor;
    for (std::size_t dim = 0; dim < spec.shape.size(); ++dim)
      target = target.narrow(static_cast<std::int64_t>(dim), part.slice.begin[dim],
                             part.slice.end[dim] - part.slice.begin[dim]);
    D9D_REQUIRE(
        stored.sizes() == target.sizes() && stored.scalar_type() == target.scalar_type(),
        "{}: {} in {} is {} of the shape {}, and {} says {} of the shape {}; the files are of different "
        "checkpoints: copy all of one",
        directory_, value.name, part.file, name_of(dtype_of(stored.scalar_type())),
        to_text(stored.sizes().vec()), dcp_metadata_name, name_of(spec.dtype), to_text(target.sizes().vec()));
    target.copy_(stored);
  }
  return whole_tensor;
}

std::int64_t DcpFolder::read_integer(const DcpValue& value) const {
  if (value.tensor) {
    const at::Tensor number = read(value);
    D9D_REQUIRE(number.numel() == 1, "{}: {} has {} elements, expected one", directory_, value.name,
                number.numel());
    return number.item().toLong();
  }
  const TorchItem item = item_of(value, value.parts.front());
  return item.is_tensor() ? item.tensor().item().toLong()
                          : item.pickle().integer(item.pickle().root(), value.name);
}

std::vector<std::int64_t> DcpFolder::read_integers(const DcpValue& value) const {
  D9D_REQUIRE(!value.tensor, "{}: {} is a tensor, expected a list", directory_, value.name);
  const TorchItem item = item_of(value, value.parts.front());
  return item.pickle().integers(item.pickle().root(), value.name);
}

TorchItem DcpFolder::item_of(const DcpValue& value, const DcpPart& part) const {
  auto& file = files_[part.file];
  if (!file) file = disk_.open(join_path(directory_, part.file));
  return {*file, part.bytes, value.name};
}

}  // namespace d9d
