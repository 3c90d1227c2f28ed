#include "runtime/peft/merged_folder.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

MergedFolder::MergedFolder(const ModelFiles& base, const AdapterFolder& adapter)
    : base_(base),
      adapter_(adapter),
      changed_(adapter.changed_of(base.names())),
      added_(adapter.added_to(base.names())) {}

Names MergedFolder::names() const {
  Names names = base_.names();
  for (const TensorSpec& spec : added_) names.insert(spec.name);
  return names;
}

const TensorSpec* MergedFolder::adds(const std::string& name) const {
  const auto found =
      std::find_if(added_.begin(), added_.end(), [&](const TensorSpec& spec) { return spec.name == name; });
  return found == added_.end() ? nullptr : &*found;
}

const TensorSpec& MergedFolder::spec(const std::string& name) const {
  const TensorSpec* const own = adds(name);
  return own != nullptr ? *own : base_.spec(name);
}

at::Tensor MergedFolder::unrounded(const std::string& name) const {
  if (adds(name) != nullptr) return adapter_.added(name);
  return is_changed(name) ? adapter_.changed(name, base_.read(name)) : base_.read(name);
}

at::Tensor MergedFolder::read(const std::string& name) const {
  return unrounded(name).to(scalar_type_of(spec(name).dtype));
}

at::Tensor MergedFolder::read_exact(const std::string& name) const {
  const at::Tensor values = unrounded(name);
  return values.is_floating_point() && values.scalar_type() != at::kDouble ? values.to(at::kFloat) : values;
}

void MergedFolder::read_into(const std::string& name, const Slice& box, std::byte* into) const {
  if (reads_boxes(name)) return base_.read_into(name, box, into);
  const at::Tensor values = slice_view(read(name), box).contiguous();
  std::memcpy(into, values.data_ptr(), values.nbytes());
}

}  // namespace d9d
