#pragma once
// The mapper graph converts the tensors of one naming scheme into those of another (a Hugging
// Face folder and a model). Dependencies are declared before any data is read, so that files
// can be streamed and mistakes are found early. Mappers are immutable; const calls from
// several threads are fine.

#include <compare>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/state/tensor_file/slice.hpp"
#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

using Names = std::set<std::string>;

// These inputs together produce these outputs.
struct StateGroup {
  Names inputs;
  Names outputs;
  friend auto operator<=>(const StateGroup&, const StateGroup&) = default;
};

// A box of an input that becomes a box of an output by moving dims: dim d of the output shows dim dims[d] of
// the input, or is a new dim of size one (-1). Input dims that are not named have size one in `from`.
struct Piece {
  std::string input;
  Slice from;             // in the input
  std::vector<int> dims;  // one for each output dim
  Slice to;               // in the output
};
using Pieces = std::vector<Piece>;

class StateMapper {
 public:
  virtual ~StateMapper() = default;
  StateMapper(const StateMapper&) = delete;
  StateMapper& operator=(const StateMapper&) = delete;

  // Groups share neither inputs nor outputs.
  const std::set<StateGroup>& groups() const { return groups_; }
  // Maps the inputs of exactly one group to all its outputs. Input error for any
  // other set of names.
  TensorMap apply(const TensorMap& inputs) const;
  // Finds without data which boxes of which inputs make up the box `wanted` of `output`. `inputs`
  // are those of the output's group, on any device; only their shapes are used. Returns nothing if
  // this mapper computes values instead of moving them: then the group must be applied.
  std::optional<Pieces> trace(const std::string& output, const Slice& wanted, const TensorMap& inputs) const;

 protected:
  // An input error when an input is used by two groups, or an output produced by two.
  explicit StateMapper(std::set<StateGroup> groups);
  // Maps a group. apply() has checked that `inputs` are those of the group.
  virtual TensorMap map(const StateGroup& group, const TensorMap& inputs) const = 0;
  virtual std::optional<Pieces> find_pieces(const std::string& output, const Slice& wanted,
                                            const TensorMap& inputs) const;

  const StateGroup& group_of_inputs(const TensorMap& inputs) const;

 private:
  std::set<StateGroup> groups_;
  std::map<std::string, const StateGroup*> by_input_;
};

using MapperPtr = std::shared_ptr<const StateMapper>;

Names inputs_of(const StateMapper& mapper);
Names outputs_of(const StateMapper& mapper);
std::string to_text(const Names& names);  // quoted, at most eight and how many more

// Returns the view of `source` that fills `piece.to`. `source` holds exactly `piece.from`.
at::Tensor view_of(const Piece& piece, const at::Tensor& source);

}  // namespace d9d
