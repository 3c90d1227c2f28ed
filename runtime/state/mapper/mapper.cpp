#include "runtime/state/mapper/mapper.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

StateMapper::StateMapper(std::set<StateGroup> groups) : groups_(std::move(groups)) {
  Names made;
  for (const auto& group : groups_) {
    for (const auto& name : group.inputs) {
      const bool is_new = by_input_.emplace(name, &group).second;
      D9D_REQUIRE(is_new, "mapper: the input \"{}\" is used by two groups", name);
    }
    for (const auto& name : group.outputs)
      D9D_REQUIRE(made.insert(name).second, "mapper: the output \"{}\" is produced by two groups", name);
  }
}

TensorMap StateMapper::apply(const TensorMap& inputs) const {
  return map(group_of_inputs(inputs), inputs);
}

std::optional<Pieces> StateMapper::trace(const std::string& output, const Slice& wanted,
                                         const TensorMap& inputs) const {
  const auto& group = group_of_inputs(inputs);
  D9D_REQUIRE(group.outputs.contains(output), "mapper: \"{}\" is not made from {}; these make {}", output,
              to_text(group.inputs), to_text(group.outputs));
  return find_pieces(output, wanted, inputs);
}

std::optional<Pieces> StateMapper::find_pieces(const std::string&, const Slice&, const TensorMap&) const {
  return {};
}

const StateGroup& StateMapper::group_of_inputs(const TensorMap& inputs) const {
  Names given;
  for (const auto& [name, tensor] : inputs) given.insert(name);
  const auto found = given.empty() ? by_input_.end() : by_input_.find(*given.begin());
  const StateGroup* group = found == by_input_.end() ? nullptr : found->second;
  D9D_REQUIRE(group != nullptr && group->inputs == given, "mapper: {} is not a group of it{}", to_text(given),
              group == nullptr ? "" : "; the group of the first is " + to_text(group->inputs));
  return *group;
}

Names inputs_of(const StateMapper& mapper) {
  Names names;
  for (const auto& group : mapper.groups()) names.insert(group.inputs.begin(), group.inputs.end());
  return names;
}

Names outputs_of(const StateMapper& mapper) {
  Names names;
  for (const auto& group : mapper.groups()) names.insert(group.outputs.begin(), group.outputs.end());
  return names;
}

std::string to_text(const Names& names) {
  constexpr std::size_t shown_max = 8;
  std::string text;
  std::size_t shown = 0;
  for (const auto& name : names) {
    if (shown == shown_max) return text + fmt::format(" and {} more", names.size() - shown_max);
    text += fmt::format("{}\"{}\"", shown++ == 0 ? "" : ", ", name);
  }
  return names.empty() ? "nothing" : text;
}

at::Tensor view_of(const Piece& piece, const at::Tensor& source) {
  std::vector<std::int64_t> order;
  for (const int dim : piece.dims)
    if (dim >= 0) order.push_back(dim);
  const auto kept = order.size();
  for (std::int64_t dim = 0; dim < source.dim(); ++dim)
    if (std::find(piece.dims.begin(), piece.dims.end(), dim) == piece.dims.end()) order.push_back(dim);
  at::Tensor view = source.permute(order);
  while (static_cast<std::size_t>(view.dim()) > kept) view = view.select(view.dim() - 1, 0);
  for (std::size_t d = 0; d < piece.dims.size(); ++d)
    if (piece.dims[d] < 0) view = view.unsqueeze(static_cast<std::int64_t>(d));
  return view;
}

}  // namespace d9d
