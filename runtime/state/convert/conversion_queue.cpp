#include "runtime/state/convert/conversion_queue.hpp"

#include <algorithm>

#include "runtime/state/model/model_files.hpp"

namespace d9d {
namespace {

// Bytes of a value on either side, whichever takes more.
std::uint64_t widest_value(const TensorMap& inputs, const TensorSpec& output) {
  auto widest = static_cast<std::uint64_t>(size_of(output.dtype));
  for (const auto& [name, tensor] : inputs) widest = std::max<std::uint64_t>(widest, tensor.element_size());
  return widest;
}

}  // namespace

TensorMap shapes_of(const TensorSource& source, const StateGroup& group) {
  TensorMap shapes;
  for (const auto& name : group.inputs) shapes[name] = shape_only(source.spec(name));
  return shapes;
}

ConversionQueue::ConversionQueue(const TensorSource& source, const StateMapper& mapper,
                                 std::vector<Item> items, std::uint64_t box_bytes)
    : source_(source), mapper_(mapper), items_(std::move(items)), box_bytes_(box_bytes) {}

std::optional<ConversionPiece> ConversionQueue::next() {
  const std::lock_guard lock(mutex_);
  while (true) {
    while (parts_.empty()) {
      if (next_item_ == items_.size()) return {};
      split(items_[next_item_++]);
    }
    Part& part = parts_.back();
    if (!part.boxes) {
      const ConversionPiece whole_group = std::move(part.piece);
      parts_.pop_back();
      return whole_group;
    }
    if (auto box = part.boxes->next()) {
      ConversionPiece piece = part.piece;
      piece.box = std::move(*box);
      return piece;
    }
    parts_.pop_back();
  }
}

void ConversionQueue::cancel() {
  const std::lock_guard lock(mutex_);
  next_item_ = items_.size();
  parts_.clear();
}

// Outputs of a mapper that computes some of them come from one application.
void ConversionQueue::split(const Item& item) {
  if (item.outputs.empty()) return;
  const auto shapes = std::make_shared<const TensorMap>(shapes_of(source_, *item.group));
  const bool in_boxes = std::all_of(item.outputs.begin(), item.outputs.end(), [&](const TensorSpec& output) {
    return moves(*item.group, output, *shapes);
  });
  if (!in_boxes) {
    parts_.push_back({{item.group, shapes, {}, {}}, {}});
    return;
  }
  for (auto output = item.outputs.rbegin(); output != item.outputs.rend(); ++output) {
    const auto values = static_cast<std::int64_t>(box_bytes_ / widest_value(*shapes, *output));
    parts_.push_back({{item.group, shapes, *output, {}}, BoxCursor(output->shape, values)});
  }
}

bool ConversionQueue::moves(const StateGroup& group, const TensorSpec& output,
                            const TensorMap& shapes) const {
  return std::all_of(group.inputs.begin(), group.inputs.end(),
                     [&](const std::string& name) { return source_.reads_boxes(name); }) &&
         mapper_.trace(output.name, whole(output.shape), shapes).has_value();
}

}  // namespace d9d
